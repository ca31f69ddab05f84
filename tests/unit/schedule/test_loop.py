"""The order of things: choose, fetch, learn, record, and only then believe."""

import asyncio

import pytest

from dayfly.errors import StaleFence
from dayfly.estimate import ArrivalEstimator
from dayfly.model import Crawl, Item, Status
from dayfly.schedule import Loop, ManualClock, Scheduler
from dayfly.store import Listing, MemoryStore, fleet_of


class Feed:
    """A fetcher: every visit shows one more item; delays and accidents as told."""

    def __init__(self, clock: ManualClock, delays=None, accident=None, takes: float = 0.0) -> None:
        self.clock, self.delays, self.accident, self.takes = clock, delays or {}, accident, takes
        self.visits: list[int] = []
        self.finished: list[int] = []
        self.under_way = self.most_under_way = 0

    async def fetch(self, source) -> Crawl:
        self.visits.append(source.row)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        for _ in range(self.delays.get(source.row, 1)):
            await asyncio.sleep(0)
        if self.takes:
            await self.clock.sleep(self.takes)
        self.under_way -= 1
        self.finished.append(source.row)
        if self.accident is not None:
            raise self.accident
        now = self.clock.now()
        items = tuple(Item(key=str(n), published=now) for n in range(self.visits.count(source.row)))
        return Crawl(
            row=source.row, time=now, status=Status.CHANGED, items=items, visible=len(items),
            oldest_s=0.0, etag=f"{source.etag}+",
        )  # fmt: skip


def make(n: int = 3, **changes):
    clock = ManualClock(1000.0)
    store = MemoryStore()
    store.add(Listing(id=str(row), url=f"http://{row}.example.org/") for row in range(n))
    fleet = fleet_of(store.sources())
    moods = {name: changes.pop(name) for name in ("delays", "accident", "takes") if name in changes}
    fetcher = Feed(clock, **moods)
    scheduler = Scheduler(fleet, 100.0, clock.now(), min_interval=5.0, max_interval=60.0)
    estimator = ArrivalEstimator(fleet)
    loop = Loop(scheduler, estimator, fetcher, store, clock, **changes)
    return loop, fetcher, store, estimator, scheduler, clock


def test_only_new_items_are_recorded_and_validators_travel():
    loop, _, store, *_ = make()
    first = asyncio.run(loop.tick(1000.0))
    assert first.rows == (0, 1, 2)
    assert [len(crawl.items) for crawl in first.crawls] == [1, 1, 1]
    assert first.crawls[0].value == 1.0
    second = asyncio.run(loop.tick(1100.0))
    assert [item.key for crawl in second.crawls for item in crawl.items] == ["1"] * 3
    assert [source.etag for source in store.sources()] == ["++"] * 3
    assert list(loop.sources) == store.sources()


def test_results_are_recorded_in_the_order_of_choice():
    loop, fetcher, store, *_ = make(delays={0: 9, 1: 5, 2: 1})
    choice = asyncio.run(loop.tick(1000.0))
    assert fetcher.finished == [2, 1, 0]
    assert [crawl.row for crawl in choice.crawls] == [0, 1, 2]
    assert [visit.row for visit in store._visits] == [0, 1, 2]


def test_an_accident_in_the_fetcher_is_a_failed_visit():
    loop, _, store, estimator, scheduler, _ = make(accident=ZeroDivisionError("oh"))
    choice = asyncio.run(loop.tick(1000.0))
    for crawl in choice.crawls:
        assert (crawl.status, crawl.reason) == (Status.FAILED, "fetcher: ZeroDivisionError: oh")
    assert len(store._visits) == 3
    assert (estimator.exposure_ == 0).all()
    assert scheduler.due(1001.0, 9).tolist() == []  # it was a visit: the minimum interval holds


def test_nothing_is_believed_that_was_not_stored():
    loop, _, store, estimator, scheduler, _ = make()
    before = estimator.mean().arrival.copy()
    store.own()  # somebody else takes over
    with pytest.raises(StaleFence):
        asyncio.run(loop.tick(1000.0))
    assert (estimator.mean().arrival == before).all()
    assert (scheduler.fleet.arrival == before).all()
    assert list(store.items()) == []
    assert scheduler.due(1000.0, 9).tolist() == [0, 1, 2]  # given back, not lost in flight


def test_being_stopped_gives_back_what_was_under_way():
    loop, _, store, _, scheduler, _ = make(delays={1: 10**9})

    async def stopped() -> None:
        task = asyncio.ensure_future(loop.tick(1000.0))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    assert store._visits == []
    assert scheduler.due(1000.0, 9).tolist() == [0, 1, 2]


def test_no_more_visits_are_under_way_than_allowed():
    loop, fetcher, *_ = make(n=20, parallel=4, delays=dict.fromkeys(range(20), 7))
    asyncio.run(loop.tick(1000.0))
    assert fetcher.most_under_way == 4
    assert len(fetcher.visits) == 20


def test_no_more_are_chosen_at_once_than_the_batch():
    loop, *_ = make(n=20, batch=6)
    assert asyncio.run(loop.tick(1000.0)).rows == tuple(range(6))


def test_it_decides_at_every_tick_until_the_end():
    times = []
    loop, *_, clock = make(tick=10.0, watch=lambda choice: times.append(choice.time))
    asyncio.run(loop.run(1200.0))
    assert times == [1000.0 + 10 * n for n in range(20)]
    assert clock.now() == 1200.0


def test_of_the_instants_missed_while_busy_the_latest_is_made_up_for():
    """Visits of 25 seconds, decisions every 10: after a visit one late decision, not two."""
    asked = []
    loop, fetcher, _, _, scheduler, _ = make(n=1, tick=10.0, takes=25.0)
    due = scheduler.due
    scheduler.due = lambda now, k: (asked.append(now), due(now, k))[1]  # type: ignore[method-assign]
    asyncio.run(loop.run(1075.0))
    # At 1020 and 1050 the source has just been visited; it is again at 1030 and 1060.
    assert asked == [1000.0, 1020.0, 1030.0, 1050.0, 1060.0]
    assert fetcher.visits == [0, 0, 0]
