"""Addresses and credentials as people write them: what may be stored, and under which id."""

from __future__ import annotations

import base64
import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from dayfly.errors import BadInput
from dayfly.fetch import Forbidden, check_url
from dayfly.serve.listable import id_of

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/*")
#: A host, perhaps with a port, and a path behind it: an @ in that is no secret.
_PLAIN = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d+)?[/?#]")
#: User and password where nobody can mistake where they end.
_CREDENTIALS = re.compile(r"^(https?://)([A-Za-z0-9._~!$&'()*+,;=%-]+)(?::([^\s@/?#\\]*))?@", re.I)
#: The same without a scheme, where there is nothing but an address in the text.
_LOOSE = re.compile(r"^[^\s/@:]+:[^\s/@]+@(?=[\w-]+(?:\.[\w-]+)+[^\s@]*$)")
#: Readers write it before an address, or in the place of its scheme.
_FEED = re.compile(r"^feed:(?://(?!/))?(?P<rest>(?:https?://)?)", re.I)
_SITE = re.compile(r"^[\w-]+(\.[\w-]+)+(:\d+)?([/?#]|$)")

Headers = tuple[tuple[str, str], ...]


class Address(NamedTuple):
    """Where a source answers."""

    #: As it was written, without credentials and fragment.
    url: str
    #: The same for all ways of writing it.
    canonical: str
    #: Derived from it; see `id_of`.
    id: str
    #: The credentials that stood in it.
    headers: Headers


def read_address(text: str) -> Address:
    """The address in what somebody wrote; `BadInput` says why it is none.

    >>> read_address("https://Example.org:443/feed?a=1&b=[2]").id
    'example.org/feed?a=1&b=%5B2%5D'
    >>> read_address("https://joe:pw@example.org/").headers
    (('Authorization', 'Basic am9lOnB3'),)
    >>> read_address("feed://example.org/").url, read_address("feed:https://example.org/").url
    ('http://example.org/', 'https://example.org/')
    >>> read_address("example.org/feed")
    Traceback (most recent call last):
    dayfly.errors.BadInput: not an http or https address: 'example.org/feed'; write
    https://example.org/feed
    """
    url = _FEED.sub(lambda found: found["rest"] or "http://", text.strip())
    headers: Headers = ()
    if credentials := _CREDENTIALS.match(url):
        url = url[: credentials.end(1)] + url[credentials.end() :]
        headers = (("Authorization", _basic_of(credentials[2], credentials[3] or "")),)
    if "\ufffd" in url:
        raise BadInput(f"a character that could not be read: {shown(text)}")
    try:
        parsed = check_url(url)
    except Forbidden as error:
        hint = f"; write https://{url}" if _SITE.match(url) else ""
        raise BadInput(f"{error}: {shown(text)}{hint[:220]}") from None
    canonical = str(parsed)
    return Address(url.partition("#")[0], canonical, id_of(canonical), headers)


def authorization(*, basic: str = "", bearer: str = "") -> Headers:
    """The header for a user and password `user:password`, or for a token."""
    if basic:
        if ":" not in basic:
            raise BadInput("basic must be user:password")
        return (("Authorization", "Basic " + base64.b64encode(basic.encode()).decode()),)
    return (("Authorization", f"Bearer {bearer}"),) if bearer else ()


def without_credentials(text: str) -> str:
    """What somebody wrote without user and password, if it is an address; else as it is.

    >>> without_credentials("https://joe:pw@example.org/a@b"), without_credentials("Joe @ home: a")
    ('https://example.org/a@b', 'Joe @ home: a')
    """
    for pattern, kept in ((_CREDENTIALS, r"\1"), (_LOOSE, "")):
        plain, found = pattern.subn(kept, text.strip())
        if found:
            return plain
    scheme, mark, rest = text.strip().partition("://")
    if mark and "@" in rest and not _PLAIN.match(rest):
        return f"{scheme}://{rest.rpartition('@')[2]}"
    return text


def shown(text: str) -> str:
    """What somebody wrote for an address, short and without credentials."""
    text = text.strip()
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    if "@" in rest and not _PLAIN.match(rest):
        text = f"{scheme[0] if scheme else ''}…@{rest.rpartition('@')[2]}"
    return repr(text[:200])


def _basic_of(user: str, password: str) -> str:
    pair = unquote_to_bytes(user) + b":" + unquote_to_bytes(password)
    if any(byte < 0x20 or byte == 0x7F for byte in pair):
        raise BadInput("a control character in the credentials")
    return "Basic " + base64.b64encode(pair).decode()
