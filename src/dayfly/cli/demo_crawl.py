"""The demonstration's crawl: true rates, three feeds, and everything in between for real."""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dayfly.cli.demo_web import serve_feeds
from dayfly.fetch import Guard, HttpFetcher
from dayfly.index import relax
from dayfly.model import Array, Fleet
from dayfly.schedule import Choice, Loop, resume
from dayfly.simulate.world import World
from dayfly.store import Listing, SqliteStore, Store, fleet_of

_HOUR = 3600.0
#: Seconds of the demonstration's time that pass in one real second.
SPEED = 2 * _HOUR
#: Visits per second (of the demonstration's time) that may be spent.
BUDGET = 4 / _HOUR
#: What really happens: (name, format, items per second, half-life, items shown).
FEEDS = (
    ("ticker", "rss", 30 / _HOUR, 1 * _HOUR, 20),
    ("newspaper", "rss", 4 / _HOUR, 3 * _HOUR, 20),
    ("blog", "atom", 0.5 / _HOUR, 12 * _HOUR, 10),
)
#: What the crawler is told about the rate of each: the same guess.
GUESS = 1 / _HOUR
#: Decisions are made this often (in the demonstration's time).
_TICK = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where the crawl stands, one entry per source."""

    #: Seconds of the demonstration's time since the start.
    elapsed: float
    visits: tuple[int, ...]
    #: Items per second, as believed now.
    learnt: tuple[float, ...]
    #: Items that appeared since the start and were seen; all that appeared.
    caught: tuple[int, ...]
    published: tuple[int, ...]
    #: Worth of what was caught, at the time it was, and of all that appeared, when new.
    value_caught: tuple[float, ...]
    value_published: tuple[float, ...]


class FastClock:
    """Time that runs faster than the wall clock by a factor."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._start, self._origin = float(int(time.time())), time.monotonic()

    def now(self) -> float:
        """POSIX seconds of the fast time."""
        return self._start + (time.monotonic() - self._origin) * self._speed

    async def sleep(self, seconds: float) -> None:
        """Wait for this long in the fast time."""
        await asyncio.sleep(max(seconds, 0.0) / self._speed)


def truth(shown: bool = True) -> Fleet:
    """The sources as they really are; on request without what their feeds leave out."""
    return Fleet(
        arrival=[rate for _, _, rate, _, _ in FEEDS],
        decay=[math.log(2) / half_life for _, _, _, half_life, _ in FEEDS],
        window=[window if shown else math.inf for *_, window in FEEDS],
        id=[name for name, *_ in FEEDS],
    )


def best_share() -> float:
    """Share of the published value that can be caught on average with the true rates known."""
    # Feeds that show everything are worth no less, so this is a bound for ours too.
    fleet = truth(shown=False)
    return relax(fleet, BUDGET).bound / float(np.dot(fleet.arrival, fleet.worth))


async def crawl_demo(
    seconds: float, seed: int, watch: Callable[[Progress], None] | None = None
) -> Progress:
    """Crawl the three feeds for this many real seconds; `watch` is told of every visit."""
    clock = FastClock(SPEED)
    start = clock.now()
    until = start + seconds * SPEED
    # Publishing goes on a little longer than crawling, in case the machine is slow.
    world = World.draw(
        truth(),
        start=start,
        until=until + _HOUR * 12,
        rng=np.random.default_rng(seed),
        history=_HOUR * 48,
    )
    with tempfile.TemporaryDirectory(prefix="dayfly-demo-") as folder:
        store = SqliteStore(Path(folder) / "demo.db")
        try:
            async with serve_feeds(world, [f for _, f, *_ in FEEDS], clock.now) as port:
                guard = Guard([f"127.0.0.1/32:{port}"])
                async with HttpFetcher(guard, now=clock.now) as fetcher:
                    store.add(_listings(port))
                    visits = np.zeros(len(FEEDS), dtype=int)

                    def count(choice: Choice) -> None:
                        np.add.at(visits, list(choice.rows), 1)
                        if watch is not None:
                            watch(_progress(world, store, loop, visits, start, choice.time))

                    loop = resume(store, fetcher, clock, budget=BUDGET, tick=_TICK, watch=count)
                    await loop.run(until)
                    return _progress(world, store, loop, visits, start, until)
        finally:
            store.close()


def _listings(port: int) -> list[Listing]:
    return [
        Listing(
            id=name,
            url=f"http://127.0.0.1:{port}/{row}",
            arrival=GUESS,
            decay=math.log(2) / half_life,
        )
        for row, (name, _, _, half_life, _) in enumerate(FEEDS)
    ]


def _progress(
    world: World, store: Store, loop: Loop, visits: Array, start: float, now: float
) -> Progress:
    """Read from the store what was caught, and from the world what there was to catch."""
    decay = fleet_of(loop.sources).decay
    caught, value = [0] * len(FEEDS), [0.0] * len(FEEDS)
    for item in store.items():
        # The feeds' dates are in whole seconds; what appeared just before the start is not counted.
        if item.published is not None and start <= item.published < now:
            caught[item.row] += 1
            value[item.row] += math.exp(-decay[item.row] * max(item.seen - item.published, 0.0))
    published = world.published(start, now)
    return Progress(
        elapsed=now - start,
        visits=tuple(int(n) for n in visits),
        learnt=tuple(s.estimate.arrival if s.estimate else s.arrival for s in loop.sources),
        caught=tuple(caught),
        published=tuple(int(n) for n in published),
        value_caught=tuple(value),
        value_published=tuple(float(n) for n in published),
    )
