"""The office beside a running crawl: everything happens on the loop's thread, nothing stops it."""

import asyncio
import json

import numpy as np
import pytest

from dayfly.errors import BadInput, StoreError
from dayfly.schedule import ManualClock, Rules, SystemClock, resume
from dayfly.serve import LiveHouse, Office
from dayfly.serve.vocabulary import plain_listing
from dayfly.store import Listing, MemoryStore

from .conftest import QUICK, Feeds, listing


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
