"""A new loop carries on where the store says the last one stopped."""

import asyncio
import itertools

import numpy as np
import pytest
from msgspec.structs import replace
from tests.unit.schedule.pretend import START, Feed, stocked

from dayfly.errors import BadInput, StaleFence
from dayfly.estimate import ArrivalEstimator
from dayfly.model import Crawl, Item, Status
from dayfly.schedule import ManualClock, Notice, Rules, Scheduler, resume
from dayfly.store import Funds, Listing, MemoryStore
from dayfly.store.sources import State, fleet_of


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
            not_before=now + 3600.0, digest=f"{now}",
        )  # fmt: skip


@pytest.mark.parametrize("epoch", [None, 60.0])
def test_beliefs_validators_and_waits_survive_a_restart(epoch):
    clock, store = ManualClock(START), stocked(2)
    fetcher = Patient(clock)

    def loop():
        return resume(
            store, fetcher, clock, budget=2.0, epoch=epoch, max_interval=7200.0, tick=60.0,
            estimator=ArrivalEstimator,
        )  # fmt: skip

    asyncio.run(loop().run(START + 600))
    assert sorted((row, etag) for _, row, etag in fetcher.visits) == [(0, ""), (1, "")]
    again = loop()
    assert again.scheduler.fleet.arrival[0] == store.sources()[0].estimate.arrival
    asyncio.run(again.run(START + 3 * 3600))
    third = fetcher.visits[2]
    first = next(visit for visit in fetcher.visits if visit[1] == third[1])
    assert third[0] >= first[0] + 3600.0
    assert third[2] == f'"{first[0]:.0f}"'
    for row in (0, 1):
        times = [now for now, visited, _ in fetcher.visits if visited == row]
        assert all(later - sooner >= 3600.0 for sooner, later in itertools.pairwise(times))
        assert len(times) > 1


def test_two_loops_from_one_store_believe_the_same():
    """What sources share is found from what is remembered of each: nothing else is needed."""
    clock, store = ManualClock(START), stocked(30)
    asyncio.run(resume(store, Feed(clock), clock, budget=0.05, tick=60.0).run(START + 3 * 3600))
    one, two = (resume(store, Feed(clock), clock, budget=0.05) for _ in range(2))
    for name in ("arrival", "decay", "worth"):
        assert np.array_equal(
            getattr(one.scheduler.fleet, name), getattr(two.scheduler.fleet, name)
        )


def test_an_empty_store_gives_a_loop_with_nothing_to_do():
    clock = ManualClock(START)
    loop = resume(MemoryStore(), Patient(clock), clock, budget=1.0)
    asyncio.run(loop.run(START + 3))
    assert loop.sources == []


def test_the_store_is_owned_before_it_is_read():
    """What the owner before us writes after we read would be lost to us; so it must be refused."""
    clock, order = ManualClock(START), []

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


@pytest.mark.parametrize("state", [State.PAUSED, State.GONE, State.QUARANTINED, State.REMOVED])
def test_who_is_not_to_be_crawled_is_not(state):
    clock, store = ManualClock(START), stocked(3)
    store.change([replace(store.sources()[1], state=state)])
    feed = Feed(clock)
    asyncio.run(resume(store, feed, clock, budget=1.0).run(START + 30))
    assert {row for _, row in feed.visits} == {0, 2}


def test_a_source_has_intervals_of_its_own():
    clock, store = ManualClock(START), stocked(2)
    store.change([replace(store.sources()[0], min_interval=1200.0)])
    feed = Feed(clock)
    asyncio.run(resume(store, feed, clock, budget=1.0, tick=60.0).run(START + 3600))
    assert [t - START for t in feed.of(0)] == [0.0, 1200.0, 2400.0]
    assert len(feed.of(1)) == 12


def test_hosts_stay_alone_after_a_restart():
    """A host that said 429, and one whose robots.txt asks for a minute between visits."""
    clock, store = ManualClock(START), stocked(4, hosts={0: "a", 1: "a", 2: "b", 3: "b"})
    peace = {"status": Status.REFUSED, "items": (), "host_not_before": START + 900}
    feed = Feed(clock, changes={0: peace, 2: {"crawl_delay": 60.0}, 3: {"crawl_delay": 60.0}})
    rules = Rules(min_interval=10.0)
    for until in (3.0, 30.0, 100.0, 1000.0):
        loop = resume(store, feed, clock, budget=1.0, rules=rules)
        asyncio.run(loop.run(START + until))
    on_a = sorted(feed.of(0) + feed.of(1))
    assert on_a[0] == START
    assert on_a[1] >= START + 900
    on_b = sorted(feed.of(2) + feed.of(3))
    assert min(np.diff(on_b)) >= 60.0
    assert len(on_b) > 10


class Mortal(MemoryStore):
    """A store that takes nothing more from a crawler that is dead."""

    dead = False

    def _check(self, fence: int) -> None:
        if self.dead:
            raise StaleFence("the crawler is dead")
        super()._check(fence)


def test_D14_a_visit_that_kills_the_crawler_three_times_is_left_alone():
    """The others that were under way with it are cleared of suspicion."""
    clock, store, news = ManualClock(START), stocked(6, store=Mortal()), []

    class Killer(Feed):
        async def fetch(self, source) -> Crawl:
            if source.row == 3:
                store.dead = True
            return await super().fetch(source)

    deaths = 0
    for _ in range(8):
        store.dead = False
        loop = resume(store, Killer(clock), clock, budget=1.0, tick=20.0, watch=news.append)
        try:
            asyncio.run(loop.run(clock.now() + 400.0))
        except StaleFence:
            deaths += 1
    states = [source.state for source in store.sources()]
    assert states[3] is State.QUARANTINED
    assert deaths == 3
    assert all(state is State.ACTIVE for row, state in enumerate(states) if row != 3)
    assert [source.lost for source in store.sources()] == [0, 0, 0, 3, 0, 0]
    assert [one.kind for one in news if isinstance(one, Notice)] == ["quarantine"]


def test_suspects_are_visited_one_at_a_time():
    clock, store = ManualClock(START), stocked(5)
    store.claim([0, 1, 2], START, store.own())
    feed = Feed(clock, takes=dict.fromkeys(range(5), 10.0))
    under_way = []
    fetch = feed.fetch

    async def noted(source) -> Crawl:
        under_way.append(sum(loop.sources[row].lost > 0 for row in loop.under_way))
        return await fetch(source)

    feed.fetch = noted
    loop = resume(store, feed, clock, budget=10.0)
    asyncio.run(loop.run(START + 400))
    assert max(under_way) == 1
    assert feed.of(0)[0] >= START + 300.0, "it may have been asked just before the crash"
    assert [source.lost for source in store.sources()] == [0] * 5


def test_C16_twenty_restarts_in_five_minutes_poll_nobody_early_and_spend_nothing_more():
    clock, store = ManualClock(START), stocked(40, hosts={row: f"h{row % 10}" for row in range(40)})
    feed = Feed(clock)
    rng = np.random.default_rng(16)
    for _ in range(20):
        loop = resume(store, feed, clock, budget=0.1, tick=2.5)
        asyncio.run(loop.run(clock.now() + float(rng.uniform(5, 25))))
    span = clock.now() - START
    assert len(feed.visits) <= 0.1 * span + 17, "the budget and one burst"
    for row in range(40):
        assert all(b - a >= 300.0 for a, b in itertools.pairwise(feed.of(row)))
    for host in range(10):
        times = sorted(when for when, row in feed.visits if row % 10 == host)
        assert all(b - a >= 5.0 for a, b in itertools.pairwise(times))


def spending(store, clock, feed, *, budget=1.0, **changes):
    """A loop that wants more than its budget: nobody has an interval, and every visit pays."""
    return resume(store, feed, clock, budget=budget, rules=Rules(min_interval=0.0), **changes)


def test_C16_ten_restarts_within_a_minute_spend_what_one_run_would():
    """60 visits per minute. A first run begins with a tenth of the burst, the others with nothing
    but what was left; the last visit of each decision may overdraw the purse.
    """
    clock, store = ManualClock(START), stocked(300)
    feed = Feed(clock)
    rng = np.random.default_rng(16)
    print("seed 16")
    for _ in range(10):
        before = store.funds()
        loop = spending(store, clock, feed)
        if before is not None:
            assert loop.scheduler.funds.markup == pytest.approx(before.markup)
            came = clock.now() - before.time
            assert loop.scheduler.funds.left == pytest.approx(before.left + came)
        asyncio.run(loop.run(clock.now() + float(rng.uniform(2.0, 10.0))))
    span = clock.now() - START
    burst = 60.0 + 10.0
    assert len(feed.visits) <= span + 0.1 * burst + 1.0
    assert len(feed.visits) >= span - 1.0, "and nothing is lost"


def test_C16_a_crash_loop_whose_visits_are_never_recorded_brings_no_money():
    clock, store = ManualClock(START), stocked(300, store=Mortal())
    for _ in range(20):
        store.dead = False
        feed = Feed(clock, takes=dict.fromkeys(range(300), 60.0))
        loop = resume(store, feed, clock, budget=1.0)

        async def killed(loop=loop) -> None:
            task = asyncio.ensure_future(loop.run(None))
            await clock.sleep(3.0)
            store.dead = True
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(killed())
    assert list(store.visits()) == []
    span = clock.now() - START
    assert span < 70.0
    claimed = sum(source.lost for source in store.sources()) + len(store._claims)
    assert span - 5.0 < claimed <= span + 0.1 * 70.0 + 1.0


def test_what_was_learnt_of_the_price_survives_a_restart():
    clock, store = ManualClock(START), stocked(60)
    first = resume(store, Feed(clock), clock, budget=0.05, tick=30.0)
    asyncio.run(first.run(START + 3600.0))
    learnt = store.funds().markup
    assert learnt != pytest.approx(1.0, abs=1e-3), "there was something to learn"
    clock._now += 86400.0
    for budget in (0.05, 0.01):
        again = resume(store, Feed(clock), clock, budget=budget).scheduler
        solved = Scheduler(again.fleet, budget, clock.now())
        assert again.funds.markup == pytest.approx(learnt)
        # What was learnt is how far off the reckoning was; the sources may be others by now.
        assert again._desk.market.pricing.base == pytest.approx(
            learnt * solved._desk.market.pricing.base
        )
        full = budget * 60.0 + 10.0
        assert again.funds.left == pytest.approx(full), "a day fills the purse, and no more"


def test_funds_that_are_no_numbers_say_nothing_and_no_budget_lives_on_savings():
    nan = float("nan")
    for funds in (Funds(time=nan, left=1.0), Funds(time=START, left=nan, markup=nan)):
        scheduler = Scheduler(fleet_of(stocked(3).sources()), 1.0, START, funds=funds)
        assert 0.0 < scheduler.price < float("inf")
        assert scheduler.funds.left >= 0.0
    saved = Funds(time=START, left=9.0)
    idle = Scheduler(fleet_of(stocked(3).sources()), 0.0, START, funds=saved)
    assert len(idle.due(START, 3)) == 0


@pytest.mark.parametrize("epoch", [None, 60.0])
@pytest.mark.parametrize(
    ("left", "ago", "expected"),
    [
        (-0.5, 0.0, -0.5),
        (3.0, 0.0, 3.0),
        (3.0, 60.0, 3.0 + 0.5),
        (1e6, 0.0, "burst"),
        (-1e6, 0.0, "debt"),
        (3.0, 1e9, "burst"),
        (3.0, -1e9, 3.0),
    ],
)
def test_what_was_left_counts_as_far_as_the_budget_of_today_allows(epoch, left, ago, expected):
    """A budget of half a visit per minute; what was left comes from elsewhere."""
    now = 60.0 * round(START / 60.0)
    clock, store = ManualClock(now), stocked(3)
    funds = Funds(time=now - ago, left=left, markup=0.1)
    store.claim([], now, store.own(), funds)
    budget = 0.5 / 60.0 if epoch is None else 0.5
    scheduler = resume(store, Feed(clock), clock, budget=budget, epoch=epoch).scheduler
    burst = 0.5 + 10.0 if epoch is None else 0.5 + 1.0
    numbers = {"burst": burst, "debt": -burst}
    assert scheduler.funds.left == pytest.approx(min(numbers.get(expected, expected), burst))
    assert scheduler.funds.time == now, "time goes on from here"
    assert scheduler.pace == pytest.approx(0.5 / 60.0)


def test_dead_sources_leave_the_budget_to_the_living():
    """Twenty sources with a visit per hour each; a quarter of them never answer."""
    clock, store = ManualClock(START), stocked(20)
    dead = {"status": Status.FAILED, "reason": "timeout", "items": ()}
    feed = Feed(clock, changes=dict.fromkeys(range(5), dead))
    loop = resume(store, feed, clock, budget=20.0 / 3600.0, tick=120.0)
    asyncio.run(loop.run(START + 8 * 3600.0))
    for row in range(5):
        gaps = np.diff(feed.of(row))
        assert len(gaps) >= 3
        # A quarter of the round, then twice as long each time.
        assert all(gaps >= 900.0 * 2.0 ** np.arange(len(gaps)))
    assert len(feed.visits) > 0.9 * 20.0 * 8.0, "the living have the rest"


def test_C17_a_thousand_sources_on_one_host_keep_their_gap_and_take_nothing_from_others():
    crowd = dict.fromkeys(range(1000), "crowd")
    clock, store = ManualClock(START), stocked(1050, hosts=crowd)
    feed = Feed(clock)
    asyncio.run(resume(store, feed, clock, budget=1.0, tick=5.0).run(START + 700))
    on_crowd = [when for when, row in feed.visits if row < 1000]
    assert min(np.diff(on_crowd)) >= 5.0
    assert len(on_crowd) > 100
    assert all(feed.of(row) for row in range(1000, 1050)), "all others were visited"
    assert feed.most_under_way <= 51


def test_C16_a_crash_while_lost_visits_are_noted_loses_none_of_them():
    """Killed between reading which visits were lost and storing that they were."""
    clock, store = ManualClock(START), stocked(2)
    store.claim([1], START, store.own())

    class Killed(Exception):
        pass

    def killed(sources):
        raise Killed

    change, store.change = store.change, killed
    with pytest.raises(Killed):
        resume(store, Feed(clock), clock, budget=1.0)
    store.change = change
    resume(store, Feed(clock), clock, budget=1.0)
    source = store.sources()[1]
    assert (source.lost, source.why_not) == (1, "lost visit")
    assert source.not_before == START + 300.0
    resume(store, Feed(clock), clock, budget=1.0)
    assert store.sources()[1].lost == 1, "noted once"


def test_C17_a_host_that_answers_slowly_rests_from_its_answer_on():
    """The page is asked for after a slow robots.txt: a gap between decisions would be too short."""
    clock, store = ManualClock(START), stocked(3, hosts=dict.fromkeys(range(3), "one"))
    feed = Feed(clock, takes=dict.fromkeys(range(3), 4.0))
    asyncio.run(resume(store, feed, clock, budget=1.0, tick=1.0).run(START + 60))
    when = sorted(time for time, _ in feed.visits)
    assert len(when) == 3
    assert min(np.diff(when)) >= 4.0 + 5.0


DAY = 86400.0


@pytest.mark.parametrize(
    "change",
    [
        {"not_before": START + 30 * DAY, "why_not": "paused"},
        {"not_before": START + 7 * DAY, "why_not": "minimum interval", "min_interval": 7 * DAY},
        {"not_before": START + DAY, "why_not": "Retry-After"},
    ],
)
def test_C16_a_restart_does_not_cut_a_long_wait_short(change):
    store = stocked(1)
    store.change([replace(store.sources()[0], last_crawl=START, **change)])
    for start in (START + 60.0, START + 0.5 * DAY):
        clock = ManualClock(start)
        feed = Feed(clock)
        asyncio.run(resume(store, feed, clock, budget=1.0, tick=600.0).run(start + DAY / 3))
        assert feed.visits == []
        assert store.sources()[0].not_before == change["not_before"]


def test_a_source_whose_numbers_nobody_can_hold_can_be_removed():
    store = stocked(2)
    store._sources[1] = replace(store._sources[1], weight=1e300)
    store.change([replace(store.sources()[1], state=State.REMOVED)])
    assert len(resume(store, Feed(ManualClock(START)), ManualClock(START), budget=1.0).sources) == 2


def test_a_source_whose_numbers_nobody_can_hold_is_named():
    store = stocked(2)
    store._sources[1] = replace(store._sources[1], weight=1e300)
    with pytest.raises(BadInput, match=r"source '1': weight must be .* --update"):
        resume(store, Feed(ManualClock(START)), ManualClock(START), budget=1.0)


def test_a_source_that_is_added_later_has_the_longest_interval_of_the_run():
    clock, store = ManualClock(START), stocked(2)
    store.change([replace(store.sources()[0], max_interval=7200.0)])
    loop = resume(store, Feed(clock), clock, budget=1.0, max_interval=3600.0)
    loop.add([Listing(id="new", url="http://new.example/")])
    assert loop.scheduler.promise.max_interval == 7200.0
    loop.add([Listing(id="own", url="http://own.example/", max_interval=9000.0)])
    assert loop.scheduler.promise.max_interval == 9000.0


def test_a_fleet_that_is_busier_than_was_guessed_is_discovered_at_once():
    """Whoever was seen is worth a visit all the time; who was not has its turn nevertheless."""
    clock, store = ManualClock(START), stocked(30)
    feed = Feed(clock)
    asyncio.run(resume(store, feed, clock, budget=0.05, tick=60.0).run(START + 1500))
    assert {row for _, row in feed.visits} == set(range(30))
