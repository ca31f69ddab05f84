"""A store that forgets when the process ends: for tests, notebooks and simulations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from dayfly.errors import StaleFence, StoreError
from dayfly.estimate import Estimate
from dayfly.model import Crawl
from dayfly.store.base import Listing, StoredItem, StoredSource, check_listings


class MemoryStore:
    """The twin of `SqliteStore`, with the same promises except that of surviving."""

    def __init__(self) -> None:
        self._sources: list[StoredSource] = []
        self._items: dict[tuple[int, str], StoredItem] = {}
        self._visits: list[Crawl] = []
        self._fence = 0

    def add(self, sources: Iterable[Listing]) -> list[int]:
        """Store these sources under new rows."""
        listings = list(sources)
        check_listings(listings, (source.id for source in self._sources))
        first = len(self._sources)
        for row, listing in enumerate(listings, start=first):
            self._sources.append(StoredSource(row=row, **asdict(listing)))
        return list(range(first, len(self._sources)))

    def sources(self) -> list[StoredSource]:
        """All sources in the order of their rows."""
        return list(self._sources)

    def own(self) -> int:
        """Become the owner."""
        self._fence += 1
        return self._fence

    def unseen(self, row: int, keys: Sequence[str]) -> set[str]:
        """Those of the keys that are not stored for this source."""
        return {key for key in keys if (row, key) not in self._items}

    def record(self, crawl: Crawl, estimate: Estimate, fence: int) -> None:
        """Store one crawl whole, or refuse it whole."""
        if fence != self._fence:
            raise StaleFence(f"fence {fence} is stale, the store is at {self._fence}")
        if not 0 <= crawl.row < len(self._sources):
            raise StoreError(f"no source in row {crawl.row}; nothing was written")
        for item in crawl.items:
            kept = StoredItem(row=crawl.row, seen=crawl.time, **asdict(item))
            self._items.setdefault((crawl.row, item.key), kept)
        self._sources[crawl.row] = self._sources[crawl.row].after(crawl, estimate)
        self._visits.append(crawl)

    def items(self, since: float = 0.0) -> Iterator[StoredItem]:
        """Items first seen at or after this time."""
        found = [item for item in self._items.values() if item.seen >= since]
        return iter(sorted(found, key=lambda item: item.seen))

    def close(self) -> None:
        """Nothing to let go of."""
