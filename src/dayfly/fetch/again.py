"""A feed that was read before: only what is new in it is parsed.

The text is cut into items where their tags begin. Items that are, byte for byte, in the document
that was read last are taken out, and the rest, a feed of the new items alone, is read as any other.
Each item that is taken out was well-formed by itself, so the rest is well-formed if the whole is.
If it is not, or if anything else does not add up, the whole is read.

A tag may also stand in a comment or a quotation. So a document is remembered only if it holds no
more tags that look like an item's than items were read: then each of them is one.

The same bytes may mean something else at another address or under another `xml:base`: a link may be
relative to it. So these are part of what an item is known by.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Container
from dataclasses import replace
from itertools import islice

from dayfly.fetch.feeds import ITEMS, Feed
from dayfly.fetch.gate import Unreadable
from dayfly.fetch.identity import kept_key
from dayfly.fetch.shown import Showing
from dayfly.model import compared

#: How items begin and end, by the name of the first element. Others are read whole each time.
_MARKS = {
    "rss": (b"<item>", b"</item>"),
    "rdf": (b"<item ", b"</item>"),
    "feed": (b"<entry>", b"</entry>"),
}
#: Whatever may be an item to a reader of feeds, or look like one.
_LOOKS = re.compile(rb"<(?:[^\s<>/:]*:)?(?:item|entry)[\s/>]", re.IGNORECASE)
#: What gives the bytes of an item their meaning, and how long it may take to say it.
_CONTEXT = re.compile(rb"""\bxml(?:ns|:base)[^<>]*""")
_LONGEST_HEAD = 1 << 16
_SPACE = b" \t\r\n"


def read_again(
    text: bytes, root: str, before: Showing | None, read: Callable[[bytes], Feed], url: str = ""
) -> tuple[Feed, Showing | None]:
    """What is new in a feed, and what to remember of it for the next time.

    Parameters
    ----------
    text, root
        The feed in UTF-8, and the name of its first element.
    before
        What was remembered of the document that was read last; None to read all.
    read
        Reads all entries of a text.
    url
        The address that relative links in it belong to.

    Returns
    -------
    tuple
        The feed without the items that the last document had; None in the second place where
        names do not tell its items apart, or where it cannot be cut into them.

    Examples
    --------
    >>> from dayfly.fetch.feeds import read_feed
    >>> one, two = b"<item><guid>1</guid></item>", b"<item><guid>2</guid></item>"
    >>> read = lambda text: read_feed(text, now=1.8e9)
    >>> feed, showing = read_again(b"<rss>" + one + b"</rss>", "rss", None, read)
    >>> feed, showing = read_again(b"<rss>" + two + one + b"</rss>", "rss", showing, read)
    >>> [entry.id for entry in feed.entries], len(showing)
    (['2'], 2)
    """
    cut = _cut(text, *_MARKS[root], url) if root in _MARKS else None
    if cut is None:
        return read(text), None
    if before is not None:
        found = _only_new(cut, before, read)
        if found is not None:
            return found
    feed = read(text)
    names = _names(feed, text, len(cut.numbers))
    if names is None:
        return feed, None
    return feed, Showing(array("q", cut.numbers), array("q", names), array("d", _dates(feed)))


class _Cut:
    """A text in pieces: what comes before the first item, the items, what comes after the last."""

    def __init__(
        self, head: bytes, begins: bytes, pieces: list[bytes], tail: bytes, url: str
    ) -> None:
        self._head, self._begins, self._pieces, self._tail = head, begins, pieces, tail
        context = hash((url, *_CONTEXT.findall(head)))
        #: A number for each item.
        self.numbers = [hash(piece) ^ context for piece in pieces]

    def without(self, known: Container[int]) -> bytes:
        """The text without the items that have these numbers."""
        numbered = zip(self.numbers, self._pieces, strict=True)
        left = [self._begins + piece for number, piece in numbered if number not in known]
        return b"".join((self._head, *left, self._tail))


def _cut(text: bytes, begins: bytes, ends: bytes, url: str) -> _Cut | None:
    """A text in pieces; None unless each is an item, all of it and nothing else."""
    head, *pieces = text.split(begins, ITEMS + 1)
    # What a document declares itself may give the same bytes another meaning the next time.
    if not pieces or len(pieces) > ITEMS or b"<!ENTITY" in head or len(head) > _LONGEST_HEAD:
        return None
    last, end, tail = pieces[-1].partition(ends)
    pieces[-1] = last + end
    pieces = [piece.rstrip(_SPACE) for piece in pieces]
    if ends in tail or not all(piece.endswith(ends) for piece in pieces):
        return None
    return _Cut(head, begins, pieces, tail, url)


def _only_new(
    cut: _Cut, before: Showing, read: Callable[[bytes], Feed]
) -> tuple[Feed, Showing] | None:
    """As `read_again`; None where the whole must be read."""
    known, here = set(before.pieces), set(cut.numbers)
    rest = cut.without(known)
    try:
        feed = read(rest)
    except Unreadable:
        return None
    new = [number for number in cut.numbers if number not in known]
    names = _names(feed, rest, len(new))
    if names is None:
        return None
    kept, gone = before.without([at for at, one in enumerate(before.pieces) if one not in here])
    if not set(kept.names).isdisjoint(names):
        return None  # an id that several items share is none; see `identity`
    showing = kept.plus(new, names, _dates(feed))
    # An item that was rewritten keeps its name.
    named = zip(feed.entries, names, strict=True)
    return replace(feed, entries=[entry for entry, name in named if name not in gone]), showing


def _names(feed: Feed, text: bytes, pieces: int) -> list[int] | None:
    """A number for the name of each item; None unless each piece of the text is one, with a name.

    What the reader found and what looks like an item must be as many: then they are the same.
    """
    if feed.truncated or len(feed.entries) != pieces:
        return None
    names = [compared(kept_key(entry.id or entry.link)) for entry in feed.entries]
    looks = sum(1 for _ in islice(_LOOKS.finditer(text), pieces + 1))
    if looks != pieces or len(set(names)) < pieces or "" in names:
        return None
    return [hash(name) for name in names]


def _dates(feed: Feed) -> list[float]:
    return [math.nan if entry.published is None else entry.published for entry in feed.entries]
