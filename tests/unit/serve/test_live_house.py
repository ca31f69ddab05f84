"""The office beside a running crawl: everything happens on the loop's thread, nothing stops it."""

import asyncio
import json

import numpy as np
import pytest
from msgspec import structs
from msgspec.structs import replace

from dayfly.errors import BadInput, StoreError
from dayfly.model import Crawl, Item, Status
from dayfly.schedule import FastClock, ManualClock, Recorded, Rules, SystemClock, resume
from dayfly.serve import LiveHouse, Office
from dayfly.serve.alarms import Alarms
from dayfly.serve.errand import Errand
from dayfly.serve.vocabulary import plain_listing
from dayfly.store import Listing, MemoryStore, State, StoredSource

from .conftest import listing

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


def crawl(body, n=3, *, clock=None, takes=0.0, rules=QUICK, budget=100.0, until=None, watch=None):
    """Run this beside a crawl on real time; its answer."""

    async def main():
        time = clock or SystemClock()
        store = MemoryStore()
        store.add([listing(number) for number in range(n)])
        fetcher = Feeds(time, takes)
        loop = resume(store, fetcher, time, budget=budget, rules=rules, tick=0.05, watch=watch)
        running = asyncio.ensure_future(loop.run(until))
        try:
            return await asyncio.wait_for(body(loop, Office(LiveHouse(loop)).answer, fetcher), 20)
        finally:
            loop.stop()
            await running

    return asyncio.run(main())


def stand(body, n=3):
    """Do this beside a crawl that has not begun."""

    async def main():
        store = MemoryStore()
        store.add([listing(number) for number in range(n)])
        loop = resume(store, None, ManualClock(1000.0), budget=1.0)
        await body(loop, Office(LiveHouse(loop)).answer, None)

    asyncio.run(main())


async def until(condition, times: int = 400) -> None:
    for _ in range(times):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came true")


def test_everything_can_be_asked_while_it_crawls():
    async def body(loop, ask, fetcher):
        await until(lambda: loop.counters.items >= 3)
        items = await ask("items", {})
        stats = await ask("stats", {})
        plan = await ask("plan", {"seconds": 5.0})
        explained = await ask("explain", {"source": "feed1"})
        for answer in (items, stats, plan, explained):
            json.dumps(answer, allow_nan=False)
        assert len(items["items"]) >= 3
        assert (stats["running"], explained["running"]) == (True, True)
        assert stats["budget_per_s"] == plan["budget_per_s"] == 100.0
        assert explained["decision"]["price"] >= 0
        assert (await ask("plan", {"seconds": 5.0, "budget_per_s": 2.0}))["budget_per_s"] == 2.0
        assert loop.scheduler.budget == 100.0

    crawl(body)


def test_a_source_that_is_added_is_crawled():
    async def body(loop, ask, fetcher):
        await until(lambda: fetcher.visits)
        answer = await ask("sources.add", {"sources": [plain_listing(listing(7))]})
        assert answer == {"added": 1, "known": 0, "rows": [3]}
        await until(lambda: 3 in fetcher.visits)

    crawl(body)


def test_a_paused_source_is_not_crawled_until_it_is_resumed():
    async def body(loop, ask, fetcher):
        await until(lambda: 1 in fetcher.visits)
        await ask("sources.pause", {"source": "feed1"})
        await asyncio.sleep(0.2)
        before = fetcher.visits.count(1)
        await asyncio.sleep(1.3)
        assert fetcher.visits.count(1) == before
        assert (await ask("explain", {"source": "feed1"}))["decision"]["held_by"] == "paused"
        await ask("sources.resume", {"source": "feed1"})
        await until(lambda: fetcher.visits.count(1) > before)

    crawl(body)


def test_a_source_that_was_removed_and_added_again_is_crawled():
    async def body(loop, ask, fetcher):
        await until(lambda: 1 in fetcher.visits)
        await ask("sources.remove", {"source": "feed1"})
        await asyncio.sleep(0.2)
        before = fetcher.visits.count(1)
        answer = await ask("sources.add", {"sources": [plain_listing(listing(1))]})
        assert answer == {"added": 1, "known": 0, "rows": [1]}
        await until(lambda: fetcher.visits.count(1) > before, times=150)

    crawl(body)


def test_a_refresh_never_comes_early_and_says_when_it_comes():
    async def body(loop, ask, fetcher):
        await until(lambda: loop.counters.visits >= 3)
        before = fetcher.visits.count(0)
        answer = await ask("refresh", {"source": "feed0"})
        assert answer["held_by"] == "minimum interval"
        assert answer["visit_at"] == loop.sources[0].not_before
        await asyncio.sleep(0.3)
        assert fetcher.visits.count(0) == before
        await ask("sources.pause", {"source": "feed0"})
        with pytest.raises(BadInput, match="is paused"):
            await ask("refresh", {"source": "feed0"})
        await ask("sources.remove", {"source": "feed0"})
        with pytest.raises(BadInput, match="was removed; dayfly sources add brings it back"):
            await ask("refresh", {"source": "feed0"})

    crawl(body, rules=Rules(min_interval=60.0))


def test_a_refreshed_source_is_visited_when_its_time_has_come():
    async def body(loop, ask, fetcher):
        await until(lambda: loop.counters.visits >= 3)
        await ask("refresh", {"source": "feed2"})
        at = loop.sources[2].not_before
        await until(lambda: fetcher.visits.count(2) >= 2)
        assert loop.clock.now() >= at

    # With this budget alone its turn would not come for minutes.
    crawl(body, rules=Rules(min_interval=0.5, host_spacing=0.0), budget=3.0)


def test_who_asks_while_it_ends_is_told():
    async def body(loop, ask, fetcher):
        await until(lambda: fetcher.visits)
        loop.stop()

        async def ask_on():
            for _ in range(300):
                await ask("items", {})
                await asyncio.sleep(0.01)

        with pytest.raises(StoreError, match="about to end"):
            await ask_on()

    crawl(body)


def test_the_house_admits_only_what_the_run_may_visit():
    def admit(one: Listing) -> None:
        raise BadInput(f"not {one.url}")

    async def body(loop, ask, fetcher):
        closed = Office(LiveHouse(loop, admit=admit)).answer
        with pytest.raises(BadInput, match="not https://9"):
            await closed("sources.add", {"sources": [plain_listing(listing(9))]})
        with pytest.raises(BadInput, match="not https://x"):
            await closed("sources.change", {"source": "feed1", "url": "https://x.org/"})
        assert len(loop.sources) == 3

    crawl(body)


def test_an_errand_visits_everybody_once_and_ends():
    told = []

    async def main():
        clock = ManualClock(1000.0)
        store = MemoryStore()
        store.add([listing(number) for number in range(30)])
        fetcher = Feeds(clock)
        errands = []

        def watch(news):
            told.append(news)
            errands[0].tell(news)

        loop = resume(store, fetcher, clock, budget=1.0, rules=QUICK, watch=watch)
        errands.append(Errand(loop))
        await loop.run(None)
        return fetcher.visits, clock.now()

    visits, end = asyncio.run(main())
    assert sorted(visits) == list(range(30))
    assert end < 1000.0 + 120.0
    assert any(isinstance(news, Recorded) for news in told)


def test_an_errand_waits_for_a_host_that_was_just_visited_but_not_for_one_that_asks_for_peace():
    async def main(peace):  # for so many seconds
        clock = ManualClock(1000.0)
        store = MemoryStore()
        store.add(Listing(id=f"s{n}", url=f"https://one.example/{n}") for n in range(6))
        store.add([Listing(id="other", url="https://other.example/")])
        fetcher = Feeds(clock)
        errands = []
        rules = Rules(min_interval=300.0, host_spacing=5.0)
        loop = resume(
            store,
            fetcher,
            clock,
            budget=10.0,
            rules=rules,
            watch=lambda news: errands[0].tell(news),
        )
        loop.block_host("one.example", 1000.0 + peace)
        errands.append(Errand(loop))
        await loop.run(None)
        return sorted(fetcher.visits), clock.now() < 1100.0

    assert asyncio.run(main(5.0)) == (list(range(7)), True)
    assert asyncio.run(main(3600.0)) == ([6], True)


def test_an_errand_ends_when_the_last_on_its_list_is_removed(monkeypatch):
    monkeypatch.setattr("dayfly.serve.errand._EVERY", 0.01)

    async def main():
        clock = FastClock(1.0, 1000.0)
        store = MemoryStore()
        store.add([listing(0)])
        loop = resume(store, Feeds(clock), clock, budget=1.0, rules=QUICK)
        loop.block_host(loop.sources[0].host, 1015.0)
        errand = Errand(loop)
        beside = asyncio.ensure_future(errand.run())
        task = asyncio.ensure_future(loop.run(None))
        await asyncio.sleep(0.05)
        assert errand.left == {0}
        loop.change(structs.replace(loop.sources[0], state=State.REMOVED))
        await asyncio.wait_for(task, 10.0)
        await beside

    asyncio.run(main())


def test_an_errand_with_nobody_due_ends_at_once():
    async def main():
        clock = ManualClock(1000.0)
        store = MemoryStore()
        store.add([listing(0)])

        store.change([structs.replace(store.sources()[0], not_before=5000.0)])
        fetcher = Feeds(clock)
        loop = resume(store, fetcher, clock, budget=1.0, rules=QUICK)
        Errand(loop)
        await loop.run(None)
        return fetcher.visits, clock.now()

    assert asyncio.run(main()) == ([], 1000.0)


def visit(row, time, **changes):
    return Crawl(row=row, time=time, status=changes.pop("status", Status.UNCHANGED), **changes)


def told_of_moves(where):
    """What is said while forty sources, each of a host of its own, move there a minute apart."""
    alarms, told = Alarms(), []
    sources = [StoredSource(row=row, **vars_of(listing(row))) for row in range(40)]
    for row, source in enumerate(sources):
        time = 1e9 + 60.0 * row
        sources[row] = replace(source, moved_to=where(row), moved_since=time)
        told += alarms.see(visit(row, time, moved=where(row)), sources)
    return told


def vars_of(given):
    return structs.asdict(given)


def test_C13_everybody_moving_to_one_place_is_an_alarm_given_once():
    told = told_of_moves(lambda _: "https://portal.example/login")
    assert len(told) == 1
    assert "portal.example" in told[0]
    assert told_of_moves(lambda row: f"https://{row}.example/") == []


@pytest.mark.parametrize(
    "down",
    [
        {"status": Status.FAILED, "reason": "dns: no answer"},
        {"status": Status.REFUSED, "reason": "robots unreachable: connect: connection refused"},
        {"status": Status.REFUSED, "reason": "robots unreachable: dns: no answer"},
    ],
)
def test_reaching_nobody_is_an_alarm(down):
    alarms, sources = Alarms(), [None] * 100
    told = [text for row in range(100) for text in alarms.see(visit(row, row, **down), sources)]
    assert len(told) == 1
    assert "network down" in told[0]
    answered = {"status": Status.REFUSED, "reason": "robots unreachable: http 503"}
    for said in ({}, answered, {"status": Status.REFUSED, "reason": "robots"}):
        fine = Alarms()
        assert not [
            text for row in range(100) for text in fine.see(visit(row, row, **said), sources)
        ]


def test_a_host_that_was_looked_at_for_feeds_is_spared_by_the_crawl():
    from dayfly.serve.discovering import _spare

    async def body(loop, ask, fetcher):
        await until(lambda: 1 in fetcher.visits)
        house = LiveHouse(loop)
        _spare(house, "https://1.example.org/page", 300.0)
        decision = (await ask("explain", {"source": "feed1"}))["decision"]
        assert decision["until_at"] == pytest.approx(house.now() + 300.0, abs=5.0)

    crawl(body)


def test_long_imports_share_one_index():
    async def body(loop, ask, fetcher):
        house = LiveHouse(loop)
        known = house.known()
        answer = await Office(house).answer("sources.add", {"sources": [plain_listing(listing(8))]})
        assert answer["added"] == 1
        assert house.known() is known
        assert known.row("feed8", "") == 3

    crawl(body)


def test_an_address_that_somebody_gave_up_is_free_at_once():
    async def body(loop, ask, fetcher):
        house = Office(LiveHouse(loop)).answer
        await house("sources.add", {"sources": [plain_listing(listing(8))]})
        await house("sources.change", {"source": "feed1", "url": "https://elsewhere.org/"})
        new = {"id": "heir", "url": listing(1).url}
        assert (await house("sources.add", {"sources": [new]}))["added"] == 1
        await house("sources.remove", {"source": "feed2"})
        again = {"id": "again", "url": listing(2).url}
        assert (await house("sources.add", {"sources": [again]}))["rows"] == [2]

    crawl(body)


def test_many_changes_are_one_and_nobody_comes_in_between():
    async def body(loop, ask, fetcher):
        stored, told = [], []
        writer = loop._writer
        change, update = writer._store.change, loop.scheduler.update
        writer._store.change = lambda sources: (stored.append(len(sources)), change(sources))
        loop.scheduler.update = lambda estimates: (
            told.append(len(estimates.row)),
            update(estimates),
        )
        heavier = [plain_listing(listing(row, weight=5.0)) for row in range(50)]
        task = asyncio.ensure_future(ask("sources.add", {"sources": heavier, "update": True}))
        other = asyncio.ensure_future(ask("sources.pause", {"source": "feed40"}))
        await asyncio.gather(task, other)
        assert stored == [50, 1]
        assert told[0] == 50
        assert {source.weight for source in loop.sources} == {5.0}
        assert [source.row for source in loop.sources if source.state == "paused"] == [40]
        _, _, worth = writer.estimator.curves(np.arange(50))
        assert [loop.scheduler.source(row).worth for row in range(50)] == worth.tolist()

    stand(body, n=50)


@pytest.mark.parametrize(
    ("what", "arguments"),
    [
        ("sources.add", {"sources": [plain_listing(listing(9))]}),
        ("sources.pause", {"source": "feed1"}),
        ("sources.change", {"source": "feed1", "weight": 2.0}),
        ("events.learn", {}),
    ],
)
def test_who_changes_something_while_it_ends_is_told(what, arguments):
    async def body(loop, ask, fetcher):
        loop._writer.close()
        with pytest.raises(StoreError, match="about to end"):
            await ask(what, arguments)

    stand(body)
