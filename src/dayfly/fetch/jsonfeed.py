"""JSON Feed as entries.

Fields are left as they came until somebody wants them: an object takes many times the bytes that it
is written in, and the text of an item is mostly not needed.
"""

from __future__ import annotations

import re

import msgspec

from dayfly.fetch.dates import instant
from dayfly.fetch.entries import TEXTS, short_title, weight_of
from dayfly.fetch.feeds import ITEMS, Feed, both_ends
from dayfly.fetch.gate import Unreadable
from dayfly.fetch.identity import Entry, clean, web_link

#: An array of more parts than this takes more memory than the bytes are worth.
_PARTS = 500_000
#: Longer fields say nothing: as text they may take four times their bytes.
_FIELD = 1 << 20
#: Larger bodies are not mended: each fault takes its time.
_MENDED = 2 << 20
#: A character beyond U+FFFF is written as two halves; a half alone is no character. A backslash
#: that is itself escaped begins neither.
_HALVES = re.compile(
    rb"(?<!\\)((?:\\\\)*+)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_NOTHING = msgspec.Raw()


class _Item(msgspec.Struct):
    """Any JSON is let in here: one odd field must not cost the whole feed."""

    id: msgspec.Raw = _NOTHING
    url: msgspec.Raw = _NOTHING
    external_url: msgspec.Raw = _NOTHING
    title: msgspec.Raw = _NOTHING
    date_published: msgspec.Raw = _NOTHING
    date_modified: msgspec.Raw = _NOTHING
    content_text: msgspec.Raw = _NOTHING
    content_html: msgspec.Raw = _NOTHING


class _Feed(msgspec.Struct):
    version: msgspec.Raw
    items: list[msgspec.Raw]
    title: msgspec.Raw = _NOTHING


_FEEDS, _ITEMS = msgspec.json.Decoder(_Feed), msgspec.json.Decoder(_Item)
_VALUES: msgspec.json.Decoder[str | float | None] = msgspec.json.Decoder(str | int | float | None)


def read_json(body: bytes, url: str, now: float) -> Feed:
    """All entries of a JSON Feed.

    >>> feed = read_json(b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": 7}]}',
    ...                  "http://example.org/", 0.0)
    >>> feed.entries[0].id
    '7'
    """
    if body.count(b",") > _PARTS:
        raise Unreadable(f"hostile: JSON with more than {_PARTS} parts")
    found = _feed(body)
    version = _value(found.version)
    if not isinstance(version, str) or (
        "jsonfeed.org" not in version[:80] and version not in ("1", "1.0", "1.1")
    ):
        raise Unreadable("not a feed: JSON, but no JSON Feed")
    feed = Feed(title=clean(_text(found.title)), truncated=len(found.items) > ITEMS)
    room = TEXTS
    for raw in both_ends(found.items):
        try:
            item = _ITEMS.decode(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue  # not an item; the others may be
        entry = _entry(item, url, now)
        if len(body) > _FIELD:
            room -= weight_of(entry)
            if room < 0:
                feed.truncated = True
                break
        feed.entries.append(entry)
    return feed


def _feed(body: bytes) -> _Feed:
    try:
        try:
            return _FEEDS.decode(body)
        except msgspec.DecodeError:
            if len(body) > _MENDED or not _HALVES.search(body):
                raise
            return _FEEDS.decode(_HALVES.sub(_whole, body))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Unreadable(f"not a feed: {str(error)[:80]}") from None


def _whole(found: re.Match[bytes]) -> bytes:
    """Two halves as they are, U+FFFD for one alone."""
    return found[0] if len(found[2]) == 12 else found[1] + rb"\ufffd"


def _entry(item: _Item, url: str, now: float) -> Entry:
    link = web_link(_text(item.url) or _text(item.external_url), url)
    date = _text(item.date_published) or _text(item.date_modified)
    key, title = _text(item.id).strip(), _text(item.title)
    text = "" if key or link or title else _text(item.content_text) or _text(item.content_html)
    return Entry(
        id=key, link=link, title=short_title(title), date=date, published=instant(date, now),
        text=text,
    )  # fmt: skip


def _text(raw: msgspec.Raw) -> str:
    """A text, or a number as it is written; anything else is nothing."""
    value = _value(raw)
    if isinstance(value, str):
        return value
    try:
        return "" if value is None else str(value)
    except ValueError:  # more digits than anybody prints
        return ""


def _value(raw: msgspec.Raw) -> str | float | None:
    if not 0 < len(raw) <= _FIELD:
        return None
    try:
        return _VALUES.decode(raw)
    except (msgspec.MsgspecError, ValueError):
        return None
