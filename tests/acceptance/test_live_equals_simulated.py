"""Loop and simulator make the same choices; a restart loses and repeats nothing."""

import asyncio
import itertools

import numpy as np
import pytest
from msgspec.structs import replace

from dayfly.estimate import ArrivalEstimator
from dayfly.learn.live import LiveEstimator
from dayfly.model import Crawl, Fleet, Status
from dayfly.schedule import Chosen, Loop, ManualClock, News, Recorded, Rules, Scheduler, resume
from dayfly.simulate.crawl import Choice, crawl_world
from dayfly.simulate.world import World
from dayfly.store import Listing, MemoryStore, SqliteStore, Store, fleet_of

pytestmark = pytest.mark.acceptance

START, HOUR, TICK, EPOCH = 1_800_000_000.0, 3600.0, 60.0, 900.0
UNTIL = START + 24 * HOUR
#: Of the rules only the minimum interval is left, which the simulator knows too.
PLAIN = Rules(min_interval=300.0, host_spacing=0.0)


class Window:
    """A fetcher that looks at a world instead of the network."""

    def __init__(self, world: World, clock: ManualClock) -> None:
        self.world, self.clock = world, clock
        self.visits: list[tuple[float, int]] = []

    async def fetch(self, source) -> Crawl:
        now = self.clock.now()
        self.visits.append((now, source.row))
        await asyncio.sleep(0)
        return self.world.visit(source.row, now)


class Moody(Window):
    """Every fifth visit fails and asks for three hours of peace."""

    async def fetch(self, source) -> Crawl:
        crawl = await super().fetch(source)
        if len(self.visits) % 5:
            return crawl
        failed = Crawl(row=source.row, time=crawl.time, status=Status.FAILED, reason="http 503")
        return replace(failed, not_before=crawl.time + 3 * HOUR)


def listings(seed: int, n: int = 25) -> tuple[list[Listing], World]:
    """Sources as an operator lists them, all with the same guess, and the truth behind them."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    half_life = rng.choice([1.0, 6.0, 24.0], n) * HOUR
    cost = rng.choice([0.5, 1.0, 2.0], n)
    weight = rng.choice([1.0, 1.0, 3.0], n)
    listed = [
        Listing(
            id=f"s{row}", url=f"http://s{row}.example.org/feed", arrival=1 / HOUR,
            decay=float(np.log(2) / half_life[row]), cost=float(cost[row]),
            weight=float(weight[row]),
        )
        for row in range(n)
    ]  # fmt: skip
    truth: Fleet = fleet_of(listed).replace(
        arrival=10 ** rng.uniform(-1, 1, n) / HOUR, window=np.full(n, 15.0)
    )
    return listed, World.draw(truth, start=START, until=UNTIL, rng=rng, history=48 * HOUR)


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request, tmp_path):
    number = itertools.count()

    def make() -> Store:
        if request.param == "memory":
            return MemoryStore()
        return SqliteStore(tmp_path / f"{next(number)}.db")

    return make


def learner(name: str, fleet: Fleet):
    return ArrivalEstimator(fleet) if name == "arrivals" else LiveEstimator(fleet, budget=12 / HOUR)


def scheduler_for(fleet: Fleet, epoch: float | None) -> Scheduler:
    return Scheduler(fleet, 12 / HOUR if epoch is None else 3.0, START, epoch=epoch)


def choices(news: list[News]) -> list[Choice]:
    """What a live loop told, as the simulator tells it: time stands still during the visits."""
    found, crawls = [], iter([c for one in news if isinstance(one, Recorded) for c in one.crawls])
    for one in news:
        if isinstance(one, Chosen):
            seen = tuple(itertools.islice(crawls, len(one.rows)))
            assert all(crawl.time == one.time for crawl in seen)
            found.append(Choice(time=one.time, rows=one.rows, crawls=seen))
    return found


@pytest.mark.parametrize("name", ["arrivals", "live"])
@pytest.mark.parametrize("epoch", [None, EPOCH], ids=["continuous", "slotted"])
@pytest.mark.parametrize("seed", [1, 2])
def test_live_equals_simulated(make_store, epoch, seed, name):
    """The same seed, the same choices, the same harvest; store, clock and tasks change nothing.

    What sources share is not found anew on the way: that is the loop's business alone.
    """
    listed, world = listings(seed)
    tick = TICK if epoch is None else epoch
    fleet = fleet_of(listed)
    estimator = learner(name, fleet)
    simulated = crawl_world(
        world, scheduler_for(estimator.mean(), epoch), estimator,
        start=START, until=UNTIL, tick=tick,
    )  # fmt: skip

    store, clock = make_store(), ManualClock(START)
    store.add(listed)
    estimator = learner(name, fleet)
    if name == "live":
        estimator.refit_due = lambda now: False
    live: list[News] = []
    loop = Loop(
        scheduler_for(estimator.mean(), epoch), estimator, Window(world, clock), store, clock,
        rules=PLAIN, tick=tick, watch=live.append,
    )  # fmt: skip
    asyncio.run(loop.run(UNTIL))

    assert choices(live) == [choice for choice in simulated if choice.rows]
    assert sum(len(choice.rows) for choice in choices(live)) > 150
    stored = {(item.row, item.key): item.seen for item in store.items()}
    caught = {(c.row, i.key): c.time for x in simulated for c in x.crawls for i in c.items}
    assert stored == caught
    store.close()


@pytest.mark.parametrize("epoch", [None, EPOCH], ids=["continuous", "slotted"])
def test_a_crawl_in_pieces_catches_what_one_in_a_piece_does(make_store, epoch):
    """Stopped and restored every four hours: no item twice, and hardly one of them is missed."""
    listed, world = listings(3)
    tick = TICK if epoch is None else epoch
    settings = {"budget": 12 / HOUR if epoch is None else 3.0, "epoch": epoch, "tick": tick}

    def run(store: Store, stops: list[float]) -> list[Crawl]:
        store.add(listed)
        clock, news = ManualClock(START), []
        for stop in stops:
            loop = resume(store, Window(world, clock), clock, watch=news.append, **settings)
            asyncio.run(loop.run(stop))
        return [crawl for one in news if isinstance(one, Recorded) for crawl in one.crawls]

    whole_store, parts_store = make_store(), make_store()
    run(whole_store, [UNTIL])
    parts = run(parts_store, [START + hours * HOUR for hours in range(4, 25, 4)])
    seen = [(crawl.row, item.key) for crawl in parts for item in crawl.items]
    assert len(seen) == len(set(seen)) == len(list(parts_store.items()))
    whole = {(item.row, item.key) for item in whole_store.items()}
    assert len(whole & set(seen)) > 0.95 * len(whole)
    whole_store.close()
    parts_store.close()


@pytest.mark.parametrize("epoch", [None, EPOCH], ids=["continuous", "slotted"])
def test_after_a_restart_nothing_is_stored_twice_and_nobody_is_visited_too_early(make_store, epoch):
    """Stopped between any two ticks, again and again, with sources that ask for peace."""
    listed, world = listings(4)
    store, clock = make_store(), ManualClock(START)
    store.add(listed)
    fetcher, fences = Moody(world, clock), []
    rng = np.random.default_rng(4)
    peace: dict[int, float] = {}
    last: dict[int, float] = {}
    crawls: list[Crawl] = []

    def watch(news: News) -> None:
        for crawl in news.crawls if isinstance(news, Recorded) else ():
            assert crawl.time >= peace.get(crawl.row, -np.inf), "visited before not_before"
            assert crawl.time - last.get(crawl.row, -np.inf) >= 300.0, "visited too often"
            last[crawl.row] = crawl.time
            if crawl.not_before is not None:
                peace[crawl.row] = crawl.not_before
            crawls.append(crawl)

    while clock.now() < UNTIL:
        loop = resume(
            store, fetcher, clock, budget=30 / HOUR if epoch is None else 8.0, epoch=epoch,
            tick=TICK, watch=watch,
        )  # fmt: skip
        fences.append(loop.fence)
        asyncio.run(loop.run(min(clock.now() + rng.uniform(0.2, 3.0) * HOUR, UNTIL)))

    assert len(fences) > 5
    assert fences == sorted(set(fences))
    assert len(crawls) == len(fetcher.visits) > 100
    assert any(crawl.not_before for crawl in crawls)
    items = [(crawl.row, item.key) for crawl in crawls for item in crawl.items]
    assert len(items) == len(set(items))
    assert sorted(items) == sorted((item.row, item.key) for item in store.items())
    store.close()
