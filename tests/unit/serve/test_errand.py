"""One errand: everybody who is due is visited once, and then the crawl ends."""

import asyncio

from msgspec import structs

from dayfly.schedule import FastClock, ManualClock, Recorded, Rules, resume
from dayfly.serve.errand import Errand
from dayfly.store import Listing, MemoryStore, State

from .conftest import QUICK, Feeds, listing


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
