"""Feeds as items: a strict gate first, then the fast parser.

Only documents that pass the gate reach the fast parser, because its repairs damage links without
saying so. Any other is unreadable; a slower parser that copes with them, locked into a process of
its own, is a later addition.
"""

from __future__ import annotations

import datetime
import email.utils
import hashlib
from collections.abc import Mapping
from typing import Any

from dayfly.fetch.gate import Unreadable, pass_gate
from dayfly.model import Item

#: Longer identities are replaced by their hash, longer texts are cut.
_KEY, _TEXT, _LINK, _DATE = 512, 1024, 4096, 64
#: Dates before this are mistakes (1 January 1990), and so are those more than a day ahead.
_EARLIEST, _AHEAD = 631152000.0, 86400.0
#: Bytes that XML does not allow and feeds contain all the same.
_CONTROL = bytes(c for c in range(32) if c not in (9, 10, 13))


def read_feed(body: bytes, now: float) -> tuple[Item, ...]:
    """All items of a feed in its own order, each key once.

    Examples
    --------
    >>> feed = b'''<rss version="2.0"><channel><title>News</title><item><guid>7</guid>
    ... <link>http://example.org/?a=1&amp;b=2</link>
    ... <pubDate>Sun, 15 Nov 2026 10:00:00 GMT</pubDate></item></channel></rss>'''
    >>> read_feed(feed, now=1794800000.0)
    (Item(key='7', published=1794736800.0, worth=1.0, title='', link='http://example.org/?a=1&b=2'),)
    """
    import fastfeedparser

    body = body.lstrip()
    # In UTF-16 and UTF-32 the zero bytes are part of the characters.
    if b"\0" not in body[:4]:
        body = body.translate(None, _CONTROL)
    dates = pass_gate(body)
    try:
        # Bytes, never text: text that looks like an address would be fetched.
        feed = fastfeedparser.parse(
            bytes(body), include_content=False, include_tags=False,
            include_media=False, include_enclosures=False,
        )  # fmt: skip
    except Exception as error:
        raise Unreadable(f"not a feed: {str(error)[:80]}") from None
    if len(dates) != len(feed.entries):
        # Nobody knows which date belongs to which item; without one, first sight counts.
        dates = [""] * len(feed.entries)
    items: dict[str, Item] = {}
    for entry, date in zip(feed.entries, dates, strict=True):
        item = _item(entry, _instant(date, now))
        if item is not None:
            items.setdefault(item.key, item)
    return tuple(items.values())


def _item(entry: Mapping[str, Any], published: float | None) -> Item | None:
    title, link = _text(entry.get("title"), _TEXT), _text(entry.get("link"), _LINK)
    key = str(entry.get("id") or link or title)
    if not key:
        return None
    if len(key) > _KEY:
        key = "blake2b:" + hashlib.blake2b(key.encode("utf-8", "replace")).hexdigest()
    return Item(key=_text(key, _KEY), published=published, title=title, link=link)


def _text(text: object, longest: int) -> str:
    """One clean line of text that any store can hold."""
    printable = str(text or "").encode("utf-8", "replace").decode("utf-8")
    return " ".join(printable.replace("\0", "").split())[:longest]


def _instant(written: str, now: float) -> float | None:
    """POSIX seconds of a date that makes sense, else None: then the time of first sight counts."""
    if len(written) > _DATE:
        return None
    try:
        then = _date(written)
        # Without a zone: universal time, as good a guess as any and the same everywhere.
        seconds = (then if then.tzinfo else then.replace(tzinfo=datetime.UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    if not _EARLIEST <= seconds <= now + _AHEAD:
        return None
    # Clocks differ: a little ahead is now.
    return min(seconds, now)


def _date(written: str) -> datetime.datetime:
    """A date as Atom writes it, else as RSS does."""
    try:
        return datetime.datetime.fromisoformat(written)
    except ValueError:
        return email.utils.parsedate_to_datetime(written)
