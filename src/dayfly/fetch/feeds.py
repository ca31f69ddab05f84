"""RSS, Atom, RDF and CDF as entries, read strictly.

One strict parse is gate and parser in one: what is not well-formed raises, and nothing of it is
used, because a parser that repairs damages links without saying so. Limits that the parser has of
its own (256 levels, 10 MB of text in one place) stay on. A small document becomes a tree at once;
a large one is read piece by piece, and each item is forgotten when it has been read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from dayfly.fetch.entries import LONGEST, TEXTS, EntryReader, shorten, weight_of
from dayfly.fetch.gate import fed_up, pass_gate, pull_parser, refusal
from dayfly.fetch.identity import Entry, clean
from dayfly.fetch.vocabulary import TITLE, use_of

if TYPE_CHECKING:
    from lxml.etree import XMLPullParser, _Element

_T = TypeVar("_T")

#: So much of a feed is read; a document that has more is called truncated. Tags and attributes are
#: counted because they take some hundred bytes each, however cheap they are to send: in the whole
#: document, because their names are kept, and since the last item, because until it ends they are
#: all there; as are all bytes since then.
ITEMS, _TAGS, _ATTRIBUTES, _PARTS, SPAN = 2000, 400_000, 200_000, 150_000, 12 << 20
#: Of a longer list its beginning and its end: some have the newest first, some last.
HALF = ITEMS // 2
#: Shorter bodies are read at once: they cannot hold too many tags, nor a text that is too long.
_SHORT = LONGEST
_PIECE = 1 << 18

_ITEMS = ("item", "entry", "Item", "ITEM")
_ITEM_TAGS = tuple("{*}" + name for name in _ITEMS)


@dataclass(slots=True)
class Feed:
    """What a feed says."""

    entries: list[Entry] = field(default_factory=list)
    title: str = ""
    truncated: bool = False
    ttl: str = ""
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[str, ...] = ()


def read_feed(body: bytes, now: float, url: str = "") -> Feed:
    """All entries of a feed in UTF-8, in its own order.

    Examples
    --------
    >>> feed = read_feed(b'''<rss version="2.0"><channel><title>News</title><item><guid>7</guid>
    ... <link>http://example.org/?a=1&amp;b=2</link>
    ... <pubDate>Sun, 15 Nov 2026 10:00:00 GMT</pubDate></item></channel></rss>''', now=1.8e9)
    >>> feed.entries[0].link, feed.entries[0].published
    ('http://example.org/?a=1&b=2', 1794736800.0)
    """
    from lxml import etree

    pass_gate(body)
    feed = Feed()
    read = _at_once if len(body) <= _SHORT else _by_pieces
    try:
        root = read(body, feed, now, url)
    except etree.XMLSyntaxError as error:
        raise refusal(error) from None
    channel = next(root.iterchildren("{*}channel"), root)
    if len(body) > _SHORT:
        shorten(channel)
    _describe(feed, root.tag, channel)
    return feed


def strict() -> dict[str, Any]:
    """How every XML parser here is set: no repairs, no files, no network."""
    return {
        "resolve_entities": "internal", "no_network": True, "load_dtd": False,
        "huge_tree": False, "recover": False, "remove_comments": True, "remove_pis": True,
        # The body is UTF-8 by now, whatever it says of itself.
        "encoding": "utf-8",
    }  # fmt: skip


def _at_once(body: bytes, feed: Feed, now: float, url: str) -> _Element:
    from lxml import etree

    root = etree.fromstring(body, etree.XMLParser(**strict()), base_url=url or None)
    reader, items = EntryReader(root.tag, now, url), list(_own_items(root))
    feed.truncated = len(items) > ITEMS
    feed.entries = [reader.read(item) for item in both_ends(items)]
    return root


def both_ends(items: list[_T]) -> list[_T]:
    """All of them, or the first and the last of very many.

    >>> some = both_ends(list(range(5000)))
    >>> len(some), some[0], some[-1]
    (2000, 0, 4999)
    """
    return items if len(items) <= ITEMS else items[:HALF] + items[-HALF:]


def _own_items(root: _Element) -> Iterator[_Element]:
    """The items of the feed, and not of something deep inside."""
    for child in root.iterchildren("*"):
        if child.tag.rpartition("}")[2] in _ITEMS:
            yield child
        yield from child.iterchildren(*_ITEM_TAGS)


def _by_pieces(body: bytes, feed: Feed, now: float, url: str) -> _Element:
    with pull_parser(*_ITEM_TAGS, base_url=url or None, **strict()) as parser:
        return _fed(parser, body, feed, now, url)


def _fed(parser: XMLPullParser, body: bytes, feed: Feed, now: float, url: str) -> _Element:
    tags = attributes = parts = 0
    room = TEXTS
    latest: deque[Entry] = deque()
    root = reader = None
    last = 0
    for start in range(0, len(body), _PIECE):
        piece = body[start : start + _PIECE]
        parser.feed(piece)
        here = piece.count(b"<"), piece.count(b"=")
        tags, attributes, parts = tags + here[0], attributes + here[1], parts + sum(here)
        for _, item in parser.read_events():
            if root is None or reader is None:
                root = item.getroottree().getroot()
                reader = EntryReader(root.tag, now, url)
            parent = item.getparent()
            if parent is None or not (parent is root or parent.getparent() is root):
                continue  # of something deep inside
            if start - last >= LONGEST:
                shorten(item)
            entry = reader.read(item)
            item.clear()
            last, parts = start, sum(here)
            room -= weight_of(entry)
            if len(latest) == HALF or (room < 0 and latest):
                feed.truncated = True
                room += weight_of(latest.popleft())
            if room < 0:
                break
            (feed.entries if len(feed.entries) < HALF else latest).append(entry)
        few = tags <= _TAGS and attributes <= _ATTRIBUTES and parts <= _PARTS
        if room < 0 or not few or start - last > SPAN:
            if root is None:
                raise fed_up(parser, "so many tags, attributes or bytes and no item")
            feed.truncated = True
            break
    else:
        root = parser.close()
    feed.entries += latest
    assert root is not None
    return root


def _describe(feed: Feed, root: str, channel: _Element) -> None:
    """What a feed says of itself, in its channel or at its root."""
    for child in channel.iterchildren("{*}title", "{*}ttl", "{*}skipHours", "{*}skipDays"):
        local = child.tag.rpartition("}")[2]
        if local == "title":
            if not feed.title and use_of(child.tag, root) == TITLE:
                feed.title = clean("".join(child.itertext()))
        elif local == "ttl":
            feed.ttl = clean(child.text or "", 16)
        else:
            said = [clean(one.text or "", 16) for one in islice(child, 32)]
            if local == "skipHours":
                feed.skip_hours = tuple(int(one) for one in said if _is_hour(one))
            else:
                feed.skip_days = tuple(one for one in said if one)


def _is_hour(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) <= 24
