"""Fleets of any size in their steady state, and a crawler that keeps asking and reporting.

Every fleet has the same sources on a clock that runs the faster the fewer they are, so that about
a thousand fall due per second and the price is the same whatever N. Each starts in its steady
state: the time since the last visit is spread evenly up to the age at which a source is due.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dayfly import Fleet, relax
from dayfly.estimate import Estimates
from dayfly.schedule import Scheduler, Tally

M = 1000
NOW, DAY = 1.8e9, 86400.0


@dataclass
class Steady:
    """A fleet, and when each source was last seen, as after a long time of crawling."""

    fleet: Fleet
    last: np.ndarray
    #: How slowly time passes for its sources: 1 for ten million.
    pace: float
    #: Index at which a source is due.
    price: float

    def scheduler(self, epoch: float | None = None, **options) -> Scheduler:
        options = {"min_interval": 300 * self.pace, "max_interval": self.longest, **options}
        return Scheduler(self.fleet, M, NOW, epoch=epoch, last=self.last, **options)

    @property
    def longest(self) -> float:
        return 14 * DAY * self.pace

    def due_age(self, rows: slice) -> np.ndarray:
        """Age at which a source is due; the longest interval where the price is never reached."""
        part = self.fleet.take(rows)
        return np.minimum(part.harvest.age_at(self.price * part.cost), self.longest)


def steady(n: int, costs: tuple[float, ...] = (1.0,), host: list[str] | None = None) -> Steady:
    """Half-lives of some hours and some items a day; a sixth of the sources never pays."""
    rng, pace = np.random.default_rng(4), n / 1e7
    fleet = Fleet(
        arrival=drawn(n, lambda k: 5 / DAY / pace * np.exp(rng.standard_normal(k))),
        decay=drawn(n, lambda k: np.log(2) / (3 * 3600 * pace) * np.exp(rng.standard_normal(k))),
        worth=drawn(n, rng.random),
        cost=drawn(n, lambda k: rng.choice(costs, k)),
        host=host,
    )
    few = fleet.take(slice(None, None, max(n // 10**6, 1)))
    start = Steady(fleet, np.empty(n), pace, relax(few, M * len(few) / n).price)
    for rows in blocks(n):
        start.last[rows] = NOW - rng.random(rows.stop - rows.start) * start.due_age(rows)
    return start


def blocks(n: int, size: int = 1 << 20) -> Iterator[slice]:
    return (slice(at, min(at + size, n)) for at in range(0, n, size))


def drawn(n: int, draw: Callable[[int], np.ndarray]) -> np.ndarray:
    """A column drawn in blocks that nobody can write to: a fleet takes it as it is."""
    column = np.empty(n)
    for rows in blocks(n):
        column[rows] = draw(rows.stop - rows.start)
    column.flags.writeable = False
    return column


class Crawler:
    """Asks once a second, and reports every visit with a new estimate of the arrival rate.

    Estimates scatter around `arrival`; where that may be written to, they walk away from it.
    """

    def __init__(self, scheduler: Scheduler, arrival: np.ndarray, k: int = M) -> None:
        self.scheduler, self.now, self.k = scheduler, NOW, k
        self.arrival, self.rng = arrival, np.random.default_rng(5)
        self.due: list[float] = []
        self.both: list[float] = []
        self.chosen = 0

    def play(self, calls: int) -> None:
        clock = time.perf_counter
        for _ in range(calls):
            self.now += 1.0
            start = clock()
            rows = self.scheduler.due(self.now, self.k)
            chosen = clock()
            # What estimating takes is not the scheduler's time.
            new = self.arrival[rows] * np.exp(0.05 * self.rng.standard_normal(len(rows)))
            if self.arrival.flags.writeable:
                self.arrival[rows] = new
            estimates = Estimates(row=rows, arrival=new)
            told = clock()
            self.scheduler.crawled(rows, self.now, estimates)
            self.both.append(chosen - start + clock() - told)
            self.due.append(chosen - start)
            self.chosen += len(rows)

    def forget(self) -> None:
        self.due, self.both, self.chosen = [], [], 0


def figures(seconds: list[float]) -> tuple[float, float, float]:
    return min(seconds), statistics.median(seconds), statistics.fmean(seconds)


def shown(seconds: list[float]) -> str:
    return " / ".join(f"{1e3 * figure:7.3f}" for figure in (*figures(seconds), max(seconds)))


def counted(before: Tally, after: Tally, calls: int) -> str:
    """What the scheduler did in between, per call."""
    fields = ("chosen", "scored", "moved", "rekeyed", "scans")
    done = {name: (getattr(after, name) - getattr(before, name)) / calls for name in fields}
    return ", ".join(
        f"{name} {value:,.0f}" if value >= 100 else f"{name} {value:.3g}"
        for name, value in done.items()
    )
