"""Header fields: which an operator may set, which of a server we send back, and who we are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dayfly.errors import BadInput

#: Names as the standard spells them, and values that stay on one line.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}\Z")
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?\Z")
_LONGEST, _MOST = 4096, 16
#: Set by the client itself, or able to change what a request means or who seems to send it.
_OURS = frozenset(
    (
        "accept-encoding", "authority", "connection", "content-encoding", "content-length",
        "content-type", "date", "expect", "forwarded", "host", "if-match", "if-modified-since",
        "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "max-forwards", "origin",
        "range", "referer", "remote-addr", "remote-user", "te", "trailer", "transfer-encoding",
        "true-client-ip", "upgrade", "user-agent", "via", "x-client-ip", "x-forwarded",
        "x-original-url", "x-real-ip", "x-remote-user", "x-rewrite-url", "x-http-method-override",
    )
)  # fmt: skip
_OUR_BEGINNINGS = ("proxy-", "sec-", "x-forwarded-", "remote-", "x-remote-", "x-authenticated-")
#: The longest validator that is worth keeping.
_VALIDATOR = 1024


def check_headers(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The header fields that an operator sets for a source; raises `BadInput`.

    Values may be secret and are never quoted in an error.

    Examples
    --------
    >>> check_headers([("Authorization", "Bearer abc")])
    (('Authorization', 'Bearer abc'),)
    """
    checked: list[tuple[str, str]] = []
    seen: set[str] = set()
    for name, value in pairs:
        # Many servers take the one for the other.
        low = name.lower().replace("_", "-")
        if not _NAME.match(name):
            raise BadInput(f"not the name of a header: {name[:64]!r}")
        if low in _OURS or low.startswith(_OUR_BEGINNINGS):
            raise BadInput(f"header {name} cannot be set for a source; the crawler sets it or not")
        if low in seen:
            raise BadInput(f"header {name} is set twice")
        if len(value) > _LONGEST or not _VALUE.match(value):
            raise BadInput(
                f"header {name}: its value must be one line of at most {_LONGEST} plain characters"
            )
        seen.add(low)
        checked.append((name, value))
    if len(checked) > _MOST:
        raise BadInput(f"{len(checked)} headers for one source; at most {_MOST}")
    return tuple(checked)


def validator(headers: Mapping[str, str], name: str) -> str:
    """A field to be sent back byte for byte at the next visit; one that cannot be is dropped."""
    value = headers.get(name, "")
    return value if len(value) <= _VALIDATOR and value.isascii() and value.isprintable() else ""


def user_agent(contact: str = "") -> str:
    """How we introduce ourselves: name, version, and where complaints are heard.

    Examples
    --------
    >>> user_agent("https://example.org/bot")
    'dayfly/... (+https://example.org/bot)'
    """
    from importlib.metadata import version

    if contact and (not _VALUE.match(contact) or len(contact) > 256 or set(contact) & set("()\\")):
        raise BadInput(
            f"not a contact: {contact[:64]!r}; give an address of a page or of a mailbox"
        )
    name = f"dayfly/{version('dayfly')}"
    return f"{name} (+{contact})" if contact else name
