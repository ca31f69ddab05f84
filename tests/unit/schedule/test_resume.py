"""A new loop carries on where the store says the last one stopped."""

import asyncio
import itertools

import pytest

from dayfly.model import Crawl, Item, Status
from dayfly.schedule import ManualClock, resume
from dayfly.store import Listing, MemoryStore


class Patient:
    """Asks to be left alone for an hour after each visit."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.visits: list[tuple[float, int, str]] = []

    async def fetch(self, source) -> Crawl:
        now = self.clock.now()
        self.visits.append((now, source.row, source.etag))
        return Crawl(
            row=source.row, time=now, status=Status.CHANGED, etag=f'"{now:.0f}"',
            items=(Item(key=f"{now:.0f}", published=now - 50.0),), visible=1, oldest_s=50.0,
            not_before=now + 3600.0,
        )  # fmt: skip


@pytest.mark.parametrize("epoch", [None, 60.0])
def test_beliefs_validators_and_waits_survive_a_restart(epoch):
    clock, store = ManualClock(1e6), MemoryStore()
    store.add(Listing(id=name, url=f"http://{name}.example.org/") for name in "ab")
    fetcher = Patient(clock)

    def loop():
        return resume(
            store, fetcher, clock, budget=2.0, epoch=epoch, max_interval=7200.0, tick=60.0
        )

    asyncio.run(loop().run(1e6 + 600))
    assert [(row, etag) for _, row, etag in fetcher.visits] == [(0, ""), (1, "")]
    again = loop()
    assert again._estimator.mean().arrival[0] == store.sources()[0].estimate.arrival
    asyncio.run(again.run(1e6 + 3 * 3600))
    third = fetcher.visits[2]
    assert third[0] >= fetcher.visits[third[1]][0] + 3600.0
    assert third[2] == f'"{fetcher.visits[third[1]][0]:.0f}"'
    for row in (0, 1):
        times = [now for now, visited, _ in fetcher.visits if visited == row]
        assert all(later - sooner >= 3600.0 for sooner, later in itertools.pairwise(times))
        assert len(times) > 1


def test_an_empty_store_gives_a_loop_with_nothing_to_do():
    clock = ManualClock(1e6)
    loop = resume(MemoryStore(), Patient(clock), clock, budget=1.0)
    asyncio.run(loop.run(1e6 + 3))
    assert list(loop.sources) == []


def test_the_store_is_owned_before_it_is_read():
    """What the owner before us writes after we read would be lost to us; so it must be refused."""
    clock, order = ManualClock(1e6), []

    class Watched(MemoryStore):
        def own(self):
            order.append("own")
            return super().own()

        def sources(self):
            order.append("sources")
            return super().sources()

    resume(Watched(), Patient(clock), clock, budget=1.0)
    assert order[0] == "own"
    assert order.count("own") == 1
