"""What documents showed the last time, so that only what is new in them needs to be read.

A feed that has changed shows mostly what it showed before, byte for byte. Of each item of its last
document three numbers are remembered: one that stands for its bytes, one for its name, and its
date. What was shown counts as known only if that very document is the one that
the store has of the source, by its digest: a visit that could not be stored leaves another one
there, and then everything is read.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from msgspec import Struct

#: Bytes that are remembered in all; of each item, and beside them of each document.
_MOST, _ITEM, _DOCUMENT = 128 << 20, 24, 600


class Showing(Struct, frozen=True, gc=False):
    """The items of one document, of which no two have the same name."""

    #: A number for the bytes of each, one for its name, and its date (nan if it has none).
    pieces: array[int]
    names: array[int]
    dates: array[float]

    def __len__(self) -> int:
        return len(self.pieces)

    def without(self, places: Sequence[int]) -> tuple[Showing, set[int]]:
        """The items but those in these places, in ascending order; and the names of those."""
        left = Showing(self.pieces[:], self.names[:], self.dates[:])
        for at in reversed(places):
            del left.pieces[at], left.names[at], left.dates[at]
        return left, {self.names[at] for at in places}

    def plus(self, pieces: list[int], names: list[int], dates: list[float]) -> Showing:
        """These items and those."""
        return Showing(
            self.pieces + array("q", pieces),
            self.names + array("q", names),
            self.dates + array("d", dates),
        )


class Shown:
    """Items by source, of the documents that were read last.

    >>> shown, one = Shown(), Showing(array("q", [1]), array("q", [7]), array("d", [1.8e9]))
    >>> shown.keep(7, "digest", one)
    >>> shown.of(7, "digest") is one, shown.of(7, "another"), shown.of(8, "digest")
    (True, None, None)
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most, self._size = most, 0
        self._documents: dict[int, tuple[str, Showing]] = {}

    def of(self, row: int, digest: str) -> Showing | None:
        """What the document with this digest showed; None if it is not the one remembered."""
        kept = self._documents.get(row)
        return kept[1] if kept is not None and kept[0] == digest else None

    def keep(self, row: int, digest: str, showing: Showing | None) -> None:
        """What a document showed, None if that is not known; the oldest make room."""
        self._forget(row)
        if showing is not None and digest:
            self._documents[row] = (digest, showing)
            self._size += _size(showing)
        while self._size > self._most:
            self._forget(next(iter(self._documents)))

    def _forget(self, row: int) -> None:
        if row in self._documents:
            self._size -= _size(self._documents.pop(row)[1])


def _size(showing: Showing) -> int:
    return _DOCUMENT + _ITEM * len(showing)
