"""The order of things: choose, fetch, learn, record, and only then believe."""

import asyncio
import itertools
import time

import pytest
from msgspec.structs import replace
from tests.unit.schedule.pretend import START, Feed, make, stocked

from dayfly.errors import ClockSetBack, StaleFence, StoreError
from dayfly.learn.live import LiveEstimator
from dayfly.model import Crawl, Item, RobotsCopy, Status
from dayfly.schedule import (
    Chosen,
    FastClock,
    Loop,
    ManualClock,
    Notice,
    Recorded,
    RobotsRead,
    Rules,
    Scheduler,
)
from dayfly.store import Listing, MemoryStore, SqliteStore, fleet_of
from dayfly.store.sources import State


def run(loop, seconds: float) -> None:
    asyncio.run(loop.run(loop.clock.now() + seconds))


def test_only_new_items_are_recorded_and_validators_travel():
    news = []
    loop, feed, store, *_ = make(watch=news.append)
    run(loop, 8.0)
    assert feed.visits == [(START, 0), (START, 1), (START, 2)] + [(START + 5, n) for n in (0, 1, 2)]
    recorded = [crawl for one in news if isinstance(one, Recorded) for crawl in one.crawls]
    assert [[item.key for item in crawl.items] for crawl in recorded] == [["0"]] * 3 + [["1"]] * 3
    assert recorded[0].value == 1.0
    assert [source.etag for source in store.sources()] == ["++"] * 3
    assert loop.sources == store.sources()
    assert [one.rows for one in news if isinstance(one, Chosen)] == [(0, 1, 2)] * 2
    counts = loop.counters
    assert (counts.visits, counts.changed, counts.items, counts.failed) == (6, 6, 6, 0)


def test_results_are_recorded_in_the_order_of_choice():
    loop, feed, store, *_ = make(feed={"delays": {0: 9, 1: 5, 2: 1}})
    run(loop, 1.0)
    assert feed.finished == [2, 1, 0]
    assert [visit.row for visit in store._visits] == [0, 1, 2]


def test_an_accident_in_the_fetcher_is_a_failed_visit():
    loop, feed, store, *_ = make(feed={"accident": ZeroDivisionError("oh")})
    run(loop, 4.0)
    assert [(v.status, v.reason) for v in store.visits()] == [
        (Status.FAILED, "fetcher: ZeroDivisionError: oh")
    ] * 3
    assert len(feed.visits) == 3, "it was a visit: the rules hold"
    assert loop.counters.failed == 3


def test_a_fetcher_that_answers_for_somebody_else_is_not_believed():
    loop, _, store, *_ = make(n=1, feed={"changes": {0: {"row": 7}}})
    run(loop, 1.0)
    assert "row 7 answered" in next(iter(store.visits())).reason


def test_a_slow_source_holds_up_nobody():
    loop, feed, store, *_ = make(feed={"takes": {0: 47.0}})
    run(loop, 60.0)
    assert feed.of(0) == [START, START + 52.0]  # it ended at 47 and rested for 5 seconds
    assert feed.of(1) == [START + 5.0 * n for n in range(12)]
    assert len(list(store.visits(0))) == 2


def test_somebody_else_owns_the_store_and_the_loop_stops_loudly():
    loop, feed, store, scheduler, _ = make()
    believed = scheduler.fleet.arrival.copy()
    fetch = feed.fetch

    async def taken_over(source) -> Crawl:
        store.own()
        return await fetch(source)

    feed.fetch = taken_over
    with pytest.raises(StaleFence):
        run(loop, 3600.0)
    assert list(store.items()) == []
    assert (scheduler.fleet.arrival == believed).all(), "nothing is believed that was not stored"
    assert len(feed.visits) == 3


def test_no_more_visits_are_under_way_than_allowed():
    loop, feed, *_ = make(n=20, parallel=4, feed={"delays": dict.fromkeys(range(20), 7)})
    run(loop, 1.0)
    assert feed.most_under_way == 4
    assert len(feed.visits) == 20, "who is waiting is chosen as soon as there is room"


def test_no_more_are_chosen_at_once_than_the_batch():
    loop, feed, *_ = make(n=20, batch=6)
    run(loop, 0.5)
    assert [row for _, row in feed.visits] == list(range(6))


def test_of_the_instants_missed_only_the_last_is_made_up_for():
    """Somebody sets the manual clock ahead by hours: one decision, not thousands."""
    loop, _, _, scheduler, clock = make(n=1, tick=10.0)
    asked, due = [], scheduler.due

    def noted(now: float, k: int):
        asked.append(now - START)
        if len(asked) == 2:
            clock._now += 7203.0
        return due(now, k)

    scheduler.due = noted  # type: ignore[method-assign]
    run(loop, 7240.0)
    assert asked == [0.0, 10.0, 7210.0, 7220.0, 7230.0]


class Full(MemoryStore):
    """A disk that is full for a while."""

    def __init__(self, clock, begin: float, end: float) -> None:
        super().__init__()
        self.clock, self.begin, self.end, self.refused = clock, begin, end, 0

    def _or_fail(self) -> None:
        if self.begin <= self.clock.now() < self.end:
            self.refused += 1
            raise StoreError("database or disk is full")

    def claim(self, rows, time, fence, funds=None):
        self._or_fail()
        super().claim(rows, time, fence, funds)

    def record(self, records, fence):
        self._or_fail()
        super().record(records, fence)


def test_D06_a_full_disk_stops_visits_and_loses_nothing():
    clock, news = ManualClock(START), []
    store = Full(clock, START + 20, START + 320)
    loop, feed, *_ = make(clock=clock, store=store, watch=news.append, feed={"takes": {0: 7.0}})
    run(loop, 600.0)
    assert [one.kind for one in news if isinstance(one, Notice)] == ["store", "stored"]
    assert 5 < store.refused < 60, "waits grow"
    meanwhile = [when for when, _ in feed.visits if START + 30 < when < START + 320]
    assert meanwhile == []
    assert len(list(store.visits())) == len(feed.visits)
    assert len(list(store.items())) == len(feed.visits)
    assert not loop.store_fails


def test_D06_a_disk_that_stays_full_is_told_every_ten_minutes_with_a_count():
    clock, news = ManualClock(START), []
    store = Full(clock, START + 20, START + 2000)
    loop, *_ = make(clock=clock, store=store, watch=news.append)
    run(loop, 2400.0)
    told = [one for one in news if isinstance(one, Notice)]
    assert [one.kind for one in told] == ["store"] * 4 + ["stored"]
    assert "tries failed" not in told[0].text
    assert all("tries failed in" in one.text for one in told[1:])
    assert f"({store.refused} tries failed in 33min" in told[-1].text
    gaps = [later.time - sooner.time for sooner, later in itertools.pairwise(told[:4])]
    assert min(gaps) >= 600.0


def test_D06_a_disk_that_is_full_again_is_told_at_once_again():
    clock, news = ManualClock(START), []
    store = Full(clock, START + 20, START + 50)
    loop, *_ = make(clock=clock, store=store, watch=news.append)

    async def go() -> None:
        task = asyncio.ensure_future(loop.run(START + 400))
        await clock.sleep(200.0)
        store.begin, store.end = START + 200, START + 230
        await task

    asyncio.run(go())
    kinds = [one.kind for one in news if isinstance(one, Notice)]
    assert kinds == ["store", "stored"] * 2


def test_D06_a_store_that_never_recovers_does_not_keep_the_loop_from_stopping():
    clock = ManualClock(START)
    store = Full(clock, START, START + 1e9)
    loop, *_ = make(clock=clock, store=store)

    async def stopped() -> None:
        task = asyncio.ensure_future(loop.run(None))
        await asyncio.sleep(0.05)
        loop.stop()
        await task

    with pytest.raises(StoreError, match="full"):
        asyncio.run(stopped())


def test_one_visit_that_cannot_be_stored_does_not_spoil_the_others():
    class Fussy(MemoryStore):
        def record(self, records, fence):
            if any(record.crawl.row == 1 and record.crawl.answered for record in records):
                raise UnicodeError("surrogates")
            super().record(records, fence)

    news = []
    loop, _, store, *_ = make(store=Fussy(), watch=news.append)
    run(loop, 1.0)
    assert [(v.row, v.reason) for v in store.visits()] == [
        (0, ""), (1, "record: UnicodeError: surrogates"), (2, ""),
    ]  # fmt: skip
    assert [one.kind for one in news if isinstance(one, Notice)] == ["record"]


@pytest.mark.parametrize("fails", [False, True])
def test_the_last_words_count_what_was_not_stored(monkeypatch, fails):
    """The store takes longer than the end may; what it has stored after all is stored."""
    from dayfly.schedule import loop as deciding

    monkeypatch.setattr(deciding, "_LAST_WORDS_S", 0.05)

    class Slow(MemoryStore):
        def record(self, records, fence):
            time.sleep(0.5)
            if fails:
                raise StoreError("the disk is gone")
            super().record(records, fence)

    loop, _, store, *_ = make(n=3, store=Slow(), clock=FastClock(1.0, START), tick=0.05)

    async def stopped() -> None:
        task = asyncio.ensure_future(loop.run(None))
        await asyncio.sleep(0.2)
        loop.stop()
        await task

    if not fails:
        asyncio.run(stopped())
        assert len(list(store.visits())) == 3
        return
    with pytest.raises(StoreError, match="3 visits could not be stored"):
        asyncio.run(stopped())


def test_D05_a_crawl_whose_clock_is_astray_ends_in_good_order():
    class Wrong(ManualClock):
        @property
        def astray(self):
            return self.now() >= START + 60.0

    loop, feed, store, *_ = make(clock=Wrong(START))
    with pytest.raises(ClockSetBack, match="start anew"):
        asyncio.run(loop.run(START + 1000.0))
    assert feed.visits
    assert len(list(store.visits())) == len(feed.visits)
    assert store.lost(store.own()) == []


def test_D15_all_that_is_done_at_the_end_fits_into_ten_seconds():
    from dayfly.schedule import loop, visiting
    from dayfly.serve import crawler, retention

    crawl = loop._GRACE_S + visiting._LETTING_GO_S + loop._LAST_WORDS_S
    assert crawl + retention._LAST_WORDS + crawler._LAST_WORDS <= 10.0


def test_D15_stopping_ends_visits_and_returns_claims():
    """Three quick ones are recorded; the one that hangs is given up and blamed for nothing."""
    loop, _, store, *_ = make(n=4, feed={"delays": {3: 10**9}})
    asyncio.run(_stop_soon(loop, grace=0.05))
    assert sorted(visit.row for visit in store.visits()) == [0, 1, 2, 3]
    assert next(v for v in store.visits(3)).reason == "stopped"
    assert store.lost(store.own()) == [], "no claim is left behind"
    hung = store.sources()[3]
    assert (hung.failures, hung.lost) == (0, 0)
    assert hung.not_before == hung.last_crawl + 5.0, "it was asked, so it is left alone"
    assert loop.counters.abandoned == 1
    assert len(list(store.items())) == 3


async def _stop_soon(loop: Loop, grace: float) -> None:
    import dayfly.schedule.loop as module

    before, module._GRACE_S = module._GRACE_S, grace
    try:
        task = asyncio.ensure_future(loop.run(None))
        await asyncio.sleep(0.05)
        loop.stop()
        await task
    finally:
        module._GRACE_S = before


# What an operator may do.


def live(n: int = 3, **changes):
    """A loop with our own estimator."""
    clock, store = ManualClock(START), stocked(n)
    fleet = fleet_of(store.sources())
    estimator = LiveEstimator(fleet, budget=1.0)
    feed = Feed(clock)
    scheduler = Scheduler(estimator.mean(), 1.0, START, min_interval=0.0)
    changes = {"tick": 60.0, "rules": Rules(min_interval=600.0), **changes}
    loop = Loop(scheduler, estimator, feed, store, clock, **changes)
    return loop, feed, store, clock


def between(loop: Loop, clock: ManualClock, *steps) -> None:
    """Run the loop, and do each step an hour after the one before."""

    async def go() -> None:
        task = asyncio.ensure_future(loop.run(START + 3600.0 * (len(steps) + 1)))
        for step in steps:
            await clock.sleep(3600.0)
            step()
        await task

    asyncio.run(go())


def test_sources_are_added_to_a_running_crawl():
    loop, feed, store, clock = live()
    rows = []
    new = [Listing(id=name, url=f"http://{name}.example/") for name in ("new", "newer")]
    between(loop, clock, lambda: rows.extend(loop.add(new)))
    assert rows == [3, 4]
    assert feed.of(3)[0] >= START + 3600.0
    assert feed.of(4)
    assert [source.id for source in loop.sources] == ["0", "1", "2", "new", "newer"]
    assert loop.sources == store.sources()


def test_a_source_is_paused_resumed_and_removed():
    loop, feed, store, clock = live()

    def change(**fields):
        return lambda: loop.change(replace(loop.sources[1], **fields))

    between(
        loop, clock, change(state=State.PAUSED), change(state=State.ACTIVE),
        change(state=State.REMOVED),
    )  # fmt: skip
    hours = [sum(when // 3600 == START // 3600 + n for when in feed.of(1)) for n in range(4)]
    assert hours[0] > 0 == hours[1] < hours[2]
    assert hours[3] == 0
    assert store.sources()[1].state is State.REMOVED
    assert loop.sources == store.sources()


def test_a_change_does_not_undo_what_visits_wrote_meanwhile():
    loop, feed, store, clock = live()
    between(loop, clock, lambda: loop.change(replace(loop.sources[0], title="T", weight=9.0)))
    new = store.sources()[0]
    assert (new.title, new.weight) == ("T", 9.0)
    assert new.etag.count("+") == len(feed.of(0))
    assert new.last_crawl == feed.of(0)[-1]


def test_a_refresh_comes_before_all_others_but_not_before_the_rules():
    loop, feed, _, clock = live(n=40)
    held = feed.visits
    wanted = []

    def ask() -> None:
        row = max(range(40), key=lambda row: loop.sources[row].last_crawl or 0.0)
        wanted.append((row, loop.sources[row].last_crawl, loop.sources[row].not_before))
        loop.refresh(row)

    between(loop, clock, ask)
    row, last, not_before = wanted[0]
    after = [when for when, visited in held if visited == row and when > last]
    assert not_before <= after[0] <= not_before + 240.0


def test_what_waits_is_told_as_people_count_it():
    loop, _, _, clock = live()
    between(loop, clock)
    told = loop.explain(0)
    source = loop.sources[0]
    assert told.waiting <= source.estimate.arrival / source.decay
    assert told.index > 0


@pytest.mark.parametrize("kind", [MemoryStore, SqliteStore])
def test_P11_ids_that_are_made_up_anew_each_time_bring_no_new_items(kind, tmp_path):
    """Link, title and date tell an item where its id does not; a new one is found all the same."""
    store = kind() if kind is MemoryStore else SqliteStore(tmp_path / "s.db")
    loop, feed, *_ = make(n=1, store=store)

    async def fetch(source) -> Crawl:
        now = loop.clock.now()
        feed.visits.append((now, 0))
        shown = 50 + len(feed.visits)
        # Two of them are alike in all but their ids.
        items = tuple(
            Item(key=f"{now} {place}", published=START + n, title="T", link=f"http://x.example/{n}")
            for place, n in enumerate((1, *range(1, shown)))
        )
        return Crawl(row=0, time=now, status=Status.CHANGED, items=items, visible=shown)

    feed.fetch = fetch
    run(loop, 200.0)
    visits = list(store.visits())
    assert len(visits) > 10
    assert len(list(store.items())) == 50 + len(visits)
    if kind is SqliteStore:
        ((known,),) = store._file.db.execute("SELECT count(*) FROM known")
        assert known == 2 * (50 + len(visits)) - 1, "nothing grows with visits but what is new"
    store.close()


def test_P11_items_alike_with_ids_of_their_own_are_all_new():
    """Notes without a title, on one page, with the day alone: their ids tell them apart."""
    loop, feed, store, *_ = make(n=1)

    async def fetch(source) -> Crawl:
        feed.visits.append((loop.clock.now(), 0))
        shown = len(feed.visits)
        items = tuple(
            Item(key=f"note-{n}", published=START, link="http://x.example/notes")
            for n in range(shown)
        )
        return Crawl(
            row=0, time=loop.clock.now(), status=Status.CHANGED, items=items, visible=shown
        )

    feed.fetch = fetch
    run(loop, 60.0)
    assert len(list(store.items())) == len(feed.visits) > 3


def test_C02_copies_of_robots_txt_are_told_once_they_are_stored():
    class Robots:
        def __init__(self):
            said = {"outcome": "absent", "reason": "http 404", "fetched": START}
            self.copies = [RobotsCopy(origin="http://h0.example:80", expires=START + 60, **said)]

        def news(self):
            found, self.copies = self.copies, []
            return found

    news = []
    loop, feed, store, *_ = make(n=1, watch=news.append)
    feed.robots = Robots()
    run(loop, 20.0)
    told = [one for one in news if isinstance(one, RobotsRead)]
    assert [copy.reason for one in told for copy in one.copies] == ["http 404"]
    assert [copy.origin for copy in store.robots()] == ["http://h0.example:80"]
