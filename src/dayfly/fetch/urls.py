r"""One way to read an address: what is checked is what is asked.

Address parsers disagree about odd forms (``http://a\@b/``, ``http://127.3/``), and whoever checks
with one and asks with another can be led astray. So the odd forms are refused here, and the parsed
address that comes out is the very object that the client is given.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yarl import URL

#: The longest address that we ask for.
LONGEST = 8192
_WEB = re.compile(r"https?://", re.IGNORECASE)
#: Host and port as everybody reads them: no user, no escapes, no zone, a port in plain digits.
_PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.\-\u0080-\U0010ffff]+)(?::[0-9]{1,5})?\Z")
#: Control characters, bytes that were no text, and the backslash, which some read as a slash.
_ODD = re.compile(r"[\x00-\x20\x7f-\x9f\\\ud800-\udfff]")
_END = re.compile(r"[/?#]|\Z")
_NAME = re.compile(r"(?!-)[a-z0-9_\-]{1,63}(?:\.[a-z0-9_\-]{1,63})*\Z")
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_USUAL = re.compile(rf"{_BYTE}(?:\.{_BYTE}){{3}}\Z")


class Forbidden(Exception):
    """This address is not for us to visit; the text says why."""

    #: Whether it may be otherwise before long.
    passing = False


# The same sources are asked again and again.
@functools.lru_cache(maxsize=4096)
def check_url(text: str) -> URL:
    r"""The address to ask, without its fragment; raises `Forbidden` for what could be misread.

    Examples
    --------
    >>> str(check_url("HTTP://Example.org:80/a b".replace(" ", "%20")))
    'http://example.org/a%20b'
    >>> check_url("http://127.0.0.1\\@example.org/")
    Traceback (most recent call last):
    ...
    dayfly.fetch.urls.Forbidden: a control character, space or backslash in the address
    """
    from yarl import URL

    if len(text) > LONGEST:
        raise Forbidden(f"an address of more than {LONGEST} characters")
    if has_odd(text):
        raise Forbidden("a control character, space or backslash in the address")
    web = _WEB.match(text)
    if web is None:
        raise Forbidden("not an http or https address")
    end = _END.search(text, web.end())
    place = text[web.end() : end.start() if end else len(text)]
    if not _PLACE.match(place):
        if "@" in place:
            raise Forbidden("a user name in the address")
        raise Forbidden("no plain host and port in the address")
    try:
        url = URL(text)
        host, port = url.raw_host, url.port
        # Not everything that begins like an international name is one.
        fits = host and port and ("xn--" not in host or url.host)
    except ValueError:
        raise Forbidden("not an address") from None
    if not fits or not host:
        raise Forbidden("no plain host and port in the address")
    if ":" not in host:
        _check_name(host, written=place)
    return url.with_fragment(None) if url.raw_fragment else url


def origin(url: URL) -> tuple[str, str | None, int | None]:
    """Scheme, host and port: whoever shares all three is the same to us."""
    return url.scheme, url.raw_host, url.port


def has_odd(text: str) -> bool:
    """Whether there are characters that no address has, or on which parsers disagree."""
    return _ODD.search(text) is not None


def is_literal(host: str) -> bool:
    """Whether the host of a checked address is an address itself, and no name."""
    return ":" in host or host.rpartition(".")[2].isdigit()


def _check_name(host: str, written: str) -> None:
    """A host that can only be a name, or an address in the one usual way of writing it."""
    if not _NAME.match(host) or len(host) > 253:
        raise Forbidden("not a host name")
    last = host.rpartition(".")[2]
    # Names never end in a number; the system's look-up would read 127.3 and 0x7f.1 as addresses.
    number = last[0] in "0123456789" and (last.isdigit() or last.startswith("0x"))
    if number and not (_USUAL.match(host) and written.startswith(host)):
        raise Forbidden("an unusual way to write an address")
