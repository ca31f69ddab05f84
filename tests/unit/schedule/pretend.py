"""Stand-ins for the network, and ways to build a loop around them."""

import asyncio

from msgspec.structs import replace

from dayfly.estimate import ArrivalEstimator
from dayfly.model import Crawl, Item, Status
from dayfly.schedule import Loop, ManualClock, Rules, Scheduler
from dayfly.store import Listing, MemoryStore, fleet_of

START = 1_800_000_000.0


class Feed:
    """A fetcher: every visit shows one item more than the last; moods as told."""

    def __init__(self, clock, *, delays=None, accident=None, takes=None, changes=None) -> None:
        self.clock, self.delays, self.accident = clock, delays or {}, accident
        #: Seconds that a visit takes, by row, and what its crawl says besides.
        self.takes, self.changes = takes or {}, changes or {}
        self.visits: list[tuple[float, int]] = []
        self.finished: list[int] = []
        self.under_way = self.most_under_way = 0

    async def fetch(self, source) -> Crawl:
        self.visits.append((self.clock.now(), source.row))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            for _ in range(self.delays.get(source.row, 1)):
                await asyncio.sleep(0)
            if source.row in self.takes:
                await self.clock.sleep(self.takes[source.row])
        finally:
            self.under_way -= 1
        self.finished.append(source.row)
        if self.accident is not None:
            raise self.accident
        now = self.clock.now()
        times = [when for when, row in self.visits if row == source.row]
        items = tuple(Item(key=str(n), published=when) for n, when in enumerate(times))
        crawl = Crawl(
            row=source.row, time=now, status=Status.CHANGED, items=items, visible=len(items),
            oldest_s=now - times[0], etag=f"{source.etag}+", digest=f"{now}",
        )  # fmt: skip
        return replace(crawl, **self.changes.get(source.row, {}))

    def of(self, row: int) -> list[float]:
        """When this row was visited."""
        return [when for when, visited in self.visits if visited == row]


def stocked(n: int, store=None, hosts=None):
    """A store with n sources, each on a host of its own unless told."""
    store = MemoryStore() if store is None else store
    store.add(
        Listing(id=str(row), url=f"http://{(hosts or {}).get(row, f'h{row}')}.example/{row}")
        for row in range(n)
    )
    return store


def make(n: int = 3, *, store=None, clock=None, rules=None, feed=None, budget=100.0, **changes):
    """A loop over n sources: (loop, fetcher, store, scheduler, clock)."""
    clock = clock or ManualClock(START)
    store = stocked(n, store)
    fleet = fleet_of(store.sources())
    fetcher = Feed(clock, **(feed or {}))
    scheduler = Scheduler(fleet, budget, clock.now(), min_interval=0.0, max_interval=60.0)
    loop = Loop(
        scheduler, ArrivalEstimator(fleet), fetcher, store, clock,
        rules=rules or Rules(min_interval=5.0, backoff_first=5.0), **changes,
    )  # fmt: skip
    return loop, fetcher, store, scheduler, clock
