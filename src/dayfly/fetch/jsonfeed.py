"""JSON Feed as entries."""

from __future__ import annotations

from typing import Any

import msgspec

from dayfly.fetch.dates import instant
from dayfly.fetch.feeds import ITEMS, Feed
from dayfly.fetch.gate import Unreadable
from dayfly.fetch.identity import Entry, clean, web_link

#: An array of more parts than this takes more memory than the bytes are worth.
_PARTS = 500_000


class _Item(msgspec.Struct):
    """Any JSON is let in here: one odd field must not cost the whole feed."""

    id: Any = None
    url: Any = None
    external_url: Any = None
    title: Any = None
    date_published: Any = None
    date_modified: Any = None
    content_text: Any = None
    content_html: Any = None


class _Feed(msgspec.Struct):
    version: str
    items: list[msgspec.Raw]
    title: Any = None


def read_json(body: bytes, url: str, now: float) -> Feed:
    """All entries of a JSON Feed.

    >>> feed = read_json(b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": 7}]}',
    ...                  "http://example.org/", 0.0)
    >>> feed.entries[0].id
    '7'
    """
    if body.count(b",") > _PARTS:
        raise Unreadable(f"hostile: JSON with more than {_PARTS} parts")
    try:
        found = msgspec.json.decode(body, type=_Feed)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Unreadable(f"not a feed: {str(error)[:80]}") from None
    if "jsonfeed.org" not in found.version[:80] and found.version not in ("1", "1.0", "1.1"):
        raise Unreadable("not a feed: JSON, but no JSON Feed")
    feed = Feed(title=clean(_text(found.title)), truncated=len(found.items) > ITEMS)
    for raw in found.items[:ITEMS]:
        try:
            item = msgspec.json.decode(raw, type=_Item)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue  # not an item; the others may be
        feed.entries.append(_entry(item, url, now))
    return feed


def _entry(item: _Item, url: str, now: float) -> Entry:
    link = web_link(_text(item.url) or _text(item.external_url), url)
    date = _text(item.date_published) or _text(item.date_modified)
    return Entry(
        id=_text(item.id).strip(), link=link, title=_text(item.title), date=date,
        published=instant(date, now), text=_text(item.content_text) or _text(item.content_html),
    )  # fmt: skip


def _text(value: object) -> str:
    """A text, or a number as it is written; anything else is nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return str(value)
        except ValueError:  # more digits than anybody prints
            return ""
    return ""
