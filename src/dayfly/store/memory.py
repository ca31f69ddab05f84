"""A store that forgets when the process ends: for tests, notebooks and simulations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from dayfly.errors import StaleFence, StoreError
from dayfly.model import Crawl, RobotsCopy, compared, told_as
from dayfly.store.base import Event, Funds, HostState, Record, StoredItem
from dayfly.store.keys import clean_text
from dayfly.store.rows import storable
from dayfly.store.sources import Listing, State, StoredSource, check_listings

#: What the operator says about a source, and no crawl can change.
_LISTED = [name for name in Listing.__struct_fields__ if name not in ("url", "host")]


class MemoryStore:
    """The twin of `SqliteStore`, with the same promises except that of surviving."""

    def __init__(self) -> None:
        self._sources: list[StoredSource] = []
        self._known: set[tuple[int, str]] = set()
        self._items: list[StoredItem] = []
        self._numbers = 0
        self._visits: list[Crawl] = []
        self._claims: dict[int, int] = {}
        self._hosts: dict[str, HostState] = {}
        self._robots: dict[str, RobotsCopy] = {}
        self._events: dict[tuple[float, int, str], Event] = {}
        self._funds: Funds | None = None
        self._fence = 0

    def add(self, sources: Iterable[Listing]) -> list[int]:
        """Store these sources under new rows."""
        listings = list(sources)
        check_listings(listings, (source.id for source in self._sources))
        first = len(self._sources)
        for row, listing in enumerate(listings, start=first):
            listed = {name: getattr(listing, name) for name in Listing.__struct_fields__}
            self._sources.append(StoredSource(row=row, **listed))
        return list(range(first, len(self._sources)))

    def change(self, sources: Iterable[StoredSource]) -> None:
        """Replace these sources."""
        changed = list(sources)
        check_listings(changed, ())
        self._exist(source.row for source in changed)
        for source in changed:
            if source.id != self._sources[source.row].id:
                raise StoreError(f"no source in row {source.row} is called {source.id!r}")
        for source in changed:
            self._sources[source.row] = source

    def sources(self) -> list[StoredSource]:
        """All sources in the order of their rows."""
        return list(self._sources)

    def own(self) -> int:
        """Become the owner."""
        self._fence += 1
        return self._fence

    def claim(
        self, rows: Sequence[int], time: float, fence: int, funds: Funds | None = None
    ) -> None:
        """These visits begin."""
        self._check(fence)
        self._exist(rows)
        self._claims.update((int(row), fence) for row in rows)
        self._funds = funds or self._funds

    def funds(self) -> Funds | None:
        """What the last claim left."""
        return self._funds

    def release(self, rows: Sequence[int], fence: int) -> None:
        """These visits did not take place after all."""
        self._check(fence)
        for row in rows:
            self._claims.pop(row, None)

    def lost(self, fence: int) -> list[int]:
        """Rows whose visits began under an earlier fence and never ended."""
        self._check(fence)
        return sorted(row for row, claimed in self._claims.items() if claimed < fence)

    def unseen(self, row: int, keys: Sequence[str]) -> set[str]:
        """Those of the keys that are not known for this source."""
        return {key for key in keys if (row, compared(clean_text(key))) not in self._known}

    def record(self, records: Sequence[Record], fence: int) -> None:
        """Store these crawls whole, or refuse them whole."""
        self._check(fence)
        for record in records:
            if record.crawl.row != record.source.row:
                raise StoreError(
                    f"crawl of row {record.crawl.row} with source of row {record.source.row}"
                )
        self._exist(record.crawl.row for record in records)
        for record in map(storable, records):
            self._record(record.crawl, record.source)

    def _record(self, crawl: Crawl, source: StoredSource) -> None:
        before = self._sources[crawl.row]
        listed = {name: getattr(before, name) for name in _LISTED}
        gone = before.state == State.ACTIVE and source.state == State.GONE
        state = State.GONE if gone else before.state
        self._sources[crawl.row] = replace(source, **listed, state=state)
        for item in crawl.items:
            if told := told_as(item):
                self._known.add((crawl.row, told))
            if (crawl.row, compared(item.key)) not in self._known:
                self._known.add((crawl.row, compared(item.key)))
                self._numbers += 1
                self._items.append(
                    StoredItem(
                        row=crawl.row, key=item.key, published=item.published, seen=crawl.time,
                        worth=item.worth, title=item.title, link=item.link, number=self._numbers,
                    )
                )  # fmt: skip
        self._tell_host(crawl, source)
        self._visits.append(_as_visit(crawl))
        self._claims.pop(crawl.row, None)

    def _tell_host(self, crawl: Crawl, source: StoredSource) -> None:
        state = self._hosts.get(source.host, HostState(host=source.host))
        if crawl.host_not_before is not None:
            until = max(state.not_before or crawl.host_not_before, crawl.host_not_before)
            state = replace(state, not_before=until)
        if crawl.crawl_delay is not None or (crawl.answered and source.obey_robots):
            state = replace(state, crawl_delay=crawl.crawl_delay)
        self._hosts[source.host] = state

    def items(
        self, since: float = 0.0, *, after: int = 0, limit: int | None = None
    ) -> Iterator[StoredItem]:
        """Items first seen at or after this time, by number."""
        found = [item for item in self._items if item.seen >= since and item.number > after]
        return iter(found if limit is None else found[: max(limit, 0)])

    def visits(self, row: int | None = None, since: float = 0.0) -> Iterator[Crawl]:
        """Visits that ended at or after this time, oldest first."""
        found = [v for v in self._visits if v.time >= since and row in (None, v.row)]
        return iter(sorted(found, key=lambda visit: visit.time))

    def hosts(self) -> list[HostState]:
        """What is remembered about hosts."""
        said = (state for _, state in sorted(self._hosts.items()))
        return [s for s in said if s.not_before is not None or s.crawl_delay is not None]

    def robots(self) -> list[RobotsCopy]:
        """All copies of robots.txt."""
        return [copy for _, copy in sorted(self._robots.items())]

    def keep_robots(self, copies: Sequence[RobotsCopy], fence: int) -> None:
        """Remember these copies instead of earlier ones."""
        self._check(fence)
        self._robots.update(
            (copy.origin, replace(copy, reason=clean_text(copy.reason))) for copy in copies
        )

    def add_events(self, events: Sequence[Event]) -> int:
        """Keep these events; the answer is how many were new."""
        self._exist(event.row for event in events)
        before = len(self._events)
        for event in events:
            kept = replace(event, key=clean_text(event.key))
            self._events.setdefault((kept.time, kept.row, kept.key), kept)
        return len(self._events) - before

    def events(self, since: float = 0.0) -> Iterator[Event]:
        """Events at or after this time, oldest first."""
        return iter([event for place, event in sorted(self._events.items()) if place[0] >= since])

    def forget(
        self, *, items_before: float, visits_before: float, fence: int
    ) -> tuple[int, int, int]:
        """Drop what is older, all in one portion; the keys of items stay known."""
        self._check(fence)
        items, visits, events = len(self._items), len(self._visits), len(self._events)
        self._items = [item for item in self._items if item.seen >= items_before]
        self._visits = [visit for visit in self._visits if visit.time >= visits_before]
        self._events = {at: event for at, event in self._events.items() if at[0] >= items_before}
        return items - len(self._items), visits - len(self._visits), events - len(self._events)

    def close(self) -> None:
        """Nothing to let go of."""

    def _check(self, fence: int) -> None:
        if fence != self._fence:
            raise StaleFence(f"fence {fence} is stale, the store is at {self._fence}")

    def _exist(self, rows: Iterable[int]) -> None:
        for row in rows:
            if not 0 <= row < len(self._sources):
                raise StoreError(f"no source in row {row}; nothing was written")


def _as_visit(crawl: Crawl) -> Crawl:
    """What is kept of a crawl: neither its items nor what is kept with its source and host."""
    return Crawl(
        row=crawl.row, time=crawl.time, status=crawl.status, reason=crawl.reason,
        visible=crawl.visible, oldest_s=crawl.oldest_s, value=crawl.value, cost=crawl.cost,
        truncated=crawl.truncated, malformed=crawl.malformed, wire_bytes=crawl.wire_bytes,
        took_s=crawl.took_s,
    )  # fmt: skip
