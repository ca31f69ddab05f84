"""What documents showed the last time, so that only what is new in them needs to be read.

A feed that has changed shows mostly what it showed before. Of each item of its last document a
number that stands for its id is remembered, and its date: sixteen bytes. What was shown counts as
known only if that very document is the one that the store has of the source, by its digest: a visit
that could not be stored leaves another one there, and then everything is read.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

#: Items that are remembered in all; 64 MB.
_MOST = 4_000_000
#: Where nothing was shown before.
NOTHING: Mapping[int, float] = {}


class Shown:
    """Items by source, of the documents that were read last.

    >>> shown = Shown()
    >>> shown.keep(7, "digest", {1: 1.8e9})
    >>> shown.of(7, "digest"), shown.of(7, "another"), shown.of(8, "digest")
    ({1: 1800000000.0}, {}, {})
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most, self._count = most, 0
        self._documents: dict[int, tuple[str, array[int], array[float]]] = {}

    def of(self, row: int, digest: str) -> Mapping[int, float]:
        """What the document with this digest showed; nothing if it is not the one remembered."""
        kept = self._documents.get(row)
        if kept is None or kept[0] != digest:
            return NOTHING
        return dict(zip(kept[1], kept[2], strict=True))

    def keep(self, row: int, digest: str, items: Mapping[int, float] | None) -> None:
        """What a document showed, None if that is not known; the oldest make room."""
        old = self._documents.pop(row, None)
        if old is not None:
            self._count -= len(old[1])
        if items and digest:
            self._documents[row] = (digest, array("q", items), array("d", items.values()))
            self._count += len(items)
        while self._count > self._most:
            oldest = next(iter(self._documents))
            self._count -= len(self._documents.pop(oldest)[1])
