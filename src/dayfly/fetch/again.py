"""A feed that was read before: only what is new in it is parsed.

The text is cut into items where their tags begin. Items that are, byte for byte, in the document
that was read last are taken out, and the rest, a feed of the new items alone, is read as any other.
What was taken out was well-formed then and is now, so the rest is exactly if the whole is; if it is
not, or if anything else does not add up, the whole is read.

Where cutting is right, counting tells: a document is remembered only if as many items were read as
tags were found. So a tag inside a comment or a quotation is never taken for an item.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Container, Sequence

from dayfly.fetch.feeds import ITEMS, Feed
from dayfly.fetch.gate import Malformed
from dayfly.fetch.shown import Showing

#: How items begin and end, by the name of the first element. Others are read whole each time.
_TAGS = {
    "rss": (b"<item>", b"</item>"),
    "rdf": (b"<item ", b"</item>"),
    "feed": (b"<entry>", b"</entry>"),
}


def read_again(
    text: bytes, root: str, before: Showing | None, read: Callable[[bytes], Feed]
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
    if root not in _TAGS:
        return read(text), None
    cut = _Cut(text, *_TAGS[root])
    found = None if before is None else _only_new(cut, before, read)
    if found is not None:
        return found
    feed = read(text)
    names = _names(feed, cut.numbers)
    if names is None or not cut.whole:
        return feed, None
    return feed, Showing(array("q", cut.numbers), array("q", names), array("d", _dates(feed)))


class _Cut:
    """A text in pieces: what comes before the first item, the items, what comes after the last."""

    def __init__(self, text: bytes, begins: bytes, ends: bytes) -> None:
        self._begins, self._ends = begins, ends
        self._head, *pieces = text.split(begins)
        self._tail = b""
        if pieces:
            last, end, self._tail = pieces[-1].partition(ends)
            pieces[-1] = last + end
        self._pieces = [piece.rstrip() for piece in pieces]
        #: A number for each item.
        self.numbers = [hash(piece) for piece in self._pieces]

    @property
    def whole(self) -> bool:
        """Whether each piece is an item, all of it and nothing else."""
        ends = self._ends
        return ends not in self._tail and all(piece.endswith(ends) for piece in self._pieces)

    def without(self, known: Container[int]) -> bytes:
        """The text without the items that have these numbers."""
        numbered = zip(self.numbers, self._pieces, strict=True)
        left = [self._begins + piece for number, piece in numbered if number not in known]
        return b"".join((self._head, *left, self._tail))


def _only_new(
    cut: _Cut, before: Showing, read: Callable[[bytes], Feed]
) -> tuple[Feed, Showing | None] | None:
    """As `read_again`; None where the whole must be read."""
    known, shown = set(before.pieces), set(cut.numbers)
    if len(cut.numbers) > ITEMS or not cut.whole:
        return None
    try:
        feed = read(cut.without(known))
    except Malformed:
        return None
    new = [number for number in cut.numbers if number not in known]
    names = _names(feed, new)
    if names is None:
        return None
    kept, gone = before.without([at for at, one in enumerate(before.pieces) if one not in shown])
    if len(kept) + len(new) != len(cut.numbers) or not set(kept.names).isdisjoint(names):
        return None  # an id that several items share is none; see `identity`
    # An item that was rewritten keeps its name.
    fresh = [at for at, name in enumerate(names) if name not in gone]
    showing = kept.plus(new, names, _dates(feed))
    feed.entries = [feed.entries[at] for at in fresh]
    return feed, showing


def _names(feed: Feed, pieces: Sequence[int]) -> list[int] | None:
    """A number for the name of each item; None unless pieces, items and names are as many."""
    names = [entry.id or entry.link for entry in feed.entries]
    if feed.truncated or not (len(pieces) == len(names) == len(set(names))) or "" in names:
        return None
    return [hash(name) for name in names]


def _dates(feed: Feed) -> list[float]:
    return [math.nan if entry.published is None else entry.published for entry in feed.entries]
