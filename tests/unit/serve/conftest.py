import asyncio

import pytest
from msgspec.structs import replace

from dayfly.estimate import Estimate
from dayfly.model import Crawl, Item, Status
from dayfly.schedule import Rules
from dayfly.serve import Office, StillHouse
from dayfly.store import Listing, MemoryStore, Record
from dayfly.store.standing import after

NOW = 1_800_000_000.0
SECRET = "tellnobody"
QUICK = Rules(min_interval=1.0, host_spacing=0.0)


class Feeds:
    """A fetcher: every visit shows one more item."""

    def __init__(self, clock, takes: float = 0.0) -> None:
        self.clock, self.takes, self.visits = clock, takes, []

    async def fetch(self, source) -> Crawl:
        self.visits.append(source.row)
        if self.takes:
            await asyncio.sleep(self.takes)
        now = self.clock.now()
        items = tuple(Item(key=str(n), published=now) for n in range(len(self.visits)))
        return Crawl(
            row=source.row, time=now, status=Status.CHANGED, items=items, visible=len(items),
            oldest_s=0.0,
        )  # fmt: skip


def listing(number: int, **changes) -> Listing:
    return Listing(id=f"feed{number}", url=f"https://{number}.example.org/feed.xml", **changes)


def record(store, row, fence, *, time=NOW, items=(), status=Status.CHANGED, **changes):
    """One visit into a store, as a crawl would leave it."""
    source = store.sources()[row]
    crawl = Crawl(row=row, time=time, status=status, items=tuple(items), **changes)
    estimate = Estimate(row=row, time=time, arrival=1e-4, decay=source.decay, worth=source.worth)
    # What an estimator remembers is its own business: here nothing.
    then = replace(after(source, crawl, estimate, None, ""), estimate=None)
    store.record([Record(crawl=crawl, source=then)], fence)


@pytest.fixture
def store():
    store = MemoryStore()
    store.add(
        [
            listing(0, tags=("news",), headers=(("Authorization", f"Bearer {SECRET}"),)),
            listing(1, title="Second", tags=("news", "local")),
            listing(2, obey_robots=False),
        ]
    )
    fence = store.own()
    for row, keys in ((0, "ab"), (1, "ac")):
        items = [
            Item(key=f"{row}{key}", published=NOW - 60, title=key, link=f"https://x.org/{key}")
            for key in keys
        ]
        record(store, row, fence, time=NOW + row, items=items, value=2.0, wire_bytes=100)
    return store


@pytest.fixture
def office(store):
    return Office(StillHouse(store, now=lambda: NOW + 100.0))
