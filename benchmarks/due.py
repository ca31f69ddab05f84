"""The scheduler: which thousand sources now, out of a hundred thousand to ten million.

Every fleet has the same sources on a clock that runs the faster the fewer they are, so that about
a thousand fall due per second and the price is the same whatever N. Each starts in its steady
state: the time since the last visit is spread evenly up to the age at which a source is due.

Rivals: the fastest scans of everybody (`dayfly.policies.best`; numpy by hand, in blocks, in two
threads, with a threshold from a sample), neither of which looks at any constraint; a heap and a
sorted list of due times, which take the latest first, not the best, and never hear of a new price.
"""

import gc
import heapq
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sortedcontainers import SortedList

from benchmarks.measure import Times, compare, show
from dayfly import Fleet, relax, whittle_index
from dayfly.estimate import Estimates
from dayfly.policies import best
from dayfly.schedule import Limits, Scheduler, Tally
from dayfly.schedule.snapshot import load, save

M = 1000
FULL = 10**7
SIZES = (10**5, 10**6, FULL)
CALLS, WARM, ROUND = 2000, 200, 100
MIXED = 5000
NOW, DAY = 1.8e9, 86400.0


def run() -> None:
    for name, epoch in (("continuous", None), ("slotted", 1.0)):
        per_call(name, epoch)
    start = steady(FULL)
    rivals(start)
    build_and_update(start)
    snapshot(start)
    del start
    mixed_run()
    hosts()
    memory()


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


def per_call(name: str, epoch: float | None) -> None:
    """All sizes in turn, a hundred calls at a time."""
    crawlers = {}
    for n in SIZES:
        start = steady(n)
        crawlers[n] = Crawler(start.scheduler(epoch), start.fleet.arrival)
        del start
        crawlers[n].play(WARM)
        crawlers[n].forget()
    before = {n: crawlers[n].scheduler.tally for n in SIZES}
    for _ in range(CALLS // ROUND):
        for n in SIZES:
            crawlers[n].play(ROUND)
    print(f"\n{name}, {M:,} per call, {CALLS:,} calls: ms, min / median / mean / max")
    for n, crawler in crawlers.items():
        print(f"  {n:>10,} sources  due {shown(crawler.due)}   + crawled {shown(crawler.both)}")
    for n, crawler in crawlers.items():
        text = counted(before[n], crawler.scheduler.tally, CALLS)
        print(f"  {n:>10,} sources, per call: {text}")
    for what in ("due", "both"):
        few, many = (figures(getattr(crawlers[n], what)) for n in (SIZES[0], SIZES[-1]))
        growth = " / ".join(f"{b / a:.2f}x" for a, b in zip(few, many, strict=True))
        print(f"  growth over two decades, {what}: {growth} min / median / mean (aim: 1.5x)")


def rivals(start: Steady) -> None:
    fleet, n = start.fleet, len(start.fleet)
    crawler = Crawler(start.scheduler(), fleet.arrival)
    crawler.play(WARM)
    scan = Scan(start)
    age = NOW - start.last
    assert set(scan.best(NOW)) == set(best(fleet, age, M)), "the rivals disagree"
    interval = np.concatenate([start.due_age(rows) for rows in blocks(n)])
    lists = {
        "heapq of due times": Heap(start, interval),
        "SortedList of due times": Sorted(start, interval),
    }
    times = compare(
        {
            "scan: policies.best": lambda: best(fleet, age, M),
            "scan: numpy by hand": lambda: scan.best(NOW),
            **{name: rival.step for name, rival in lists.items()},
            "scheduler, 20 x (due, crawled)": lambda: crawler.play(20),
        },
        rounds=15,
    )
    del times["scheduler, 20 x (due, crawled)"]
    times["scheduler: due"] = Times(crawler.due[-15 * 20 :])
    times["scheduler: due + crawled"] = Times(crawler.both[-15 * 20 :])
    fastest = min(
        ("scan: policies.best", "scan: numpy by hand"), key=lambda name: times[name].least
    )
    show(f"best {M:,} of {n:,} (min / median)", times, fastest)
    for what, seconds in (("due", crawler.due), ("due + crawled", crawler.both)):
        mean = times[fastest].median / statistics.fmean(seconds[-15 * 20 :])
        print(f"  {what}: {mean:.1f}x by the scheduler's mean and the scan's median (aim: 50x)")
    del lists
    gc.collect()


class Scan:
    """The best thousand by looking at everybody: blocks, two threads, a threshold from a sample."""

    SIZE = 1 << 17

    def __init__(self, start: Steady) -> None:
        fleet = start.fleet
        self.ceiling, self.decay, self.last = fleet.harvest.ceiling, fleet.decay, start.last
        self.n, self.pool = len(fleet), ThreadPoolExecutor(2)
        self.room = [np.empty((2, self.SIZE)) for _ in range(2)]

    def score(self, rows: slice | np.ndarray, now: float) -> np.ndarray:
        x = self.decay[rows] * (now - self.last[rows])
        return self.ceiling[rows] * (1 - np.exp(-x) * (1 + x))

    def best(self, now: float) -> np.ndarray:
        sample = self.score(slice(None, None, max(self.n // 16384, 1)), now)
        expected = len(sample) * M / self.n
        keep = len(sample) - int(expected + 4 * np.sqrt(expected) + 4)
        least = np.partition(sample, keep)[keep]
        middle = self.n // 2
        halves = [(0, middle), (middle, self.n)]
        found = self.pool.map(self.above, halves, self.room, [now] * 2, [least] * 2)
        rows, score = (np.concatenate(columns) for columns in zip(*found, strict=True))
        assert len(rows) >= M, "the sample misled"
        return rows[np.argpartition(score, len(score) - M)[len(score) - M :]]

    def above(self, part, room, now, least):
        """Rows of this part with an index above `least`, and their indices."""
        found, scores = [], []
        for at in range(*part, self.SIZE):
            rows = slice(at, min(at + self.SIZE, part[1]))
            x, bound = room[:, : rows.stop - rows.start]
            # P(2, x) ≤ x²/(2 + 4x/3) and ≤ 1: no exponential for those whom that rules out.
            np.subtract(now, self.last[rows], out=x)
            x *= self.decay[rows]
            np.multiply(x, x, out=bound)
            bound *= self.ceiling[rows]
            x *= least * 4 / 3
            x += least * 2
            left = np.flatnonzero((bound >= x) & (self.ceiling[rows] >= least)) + at
            score = self.score(left, now)
            found.append(left[score >= least])
            scores.append(score[score >= least])
        return np.concatenate(found), np.concatenate(scores)


class Heap:
    """One entry per source; each step takes the thousand latest and puts them back."""

    def __init__(self, start: Steady, interval: np.ndarray) -> None:
        self.now, self.interval = NOW, interval
        due = (start.last + interval).tolist()
        gc.disable()
        self.queue = list(zip(due, range(len(due)), strict=True))
        self.arrange()
        gc.enable()
        gc.freeze()

    def arrange(self) -> None:
        heapq.heapify(self.queue)

    def step(self) -> None:
        self.now += 1.0
        rows = [heapq.heappop(self.queue)[1] for _ in range(M)]
        for entry in self.back(rows):
            heapq.heappush(self.queue, entry)

    def back(self, rows: list[int]) -> Iterator[tuple[float, int]]:
        return zip((self.now + self.interval[rows]).tolist(), rows, strict=True)


class Sorted(Heap):
    def arrange(self) -> None:
        self.queue = SortedList(self.queue)

    def step(self) -> None:
        self.now += 1.0
        rows = [row for _, row in self.queue[:M]]
        del self.queue[:M]
        self.queue.update(self.back(rows))


def mixed_run() -> None:
    """Beliefs walk, the budget drifts by a tenth and back, sources come and go, at every call."""
    start, rng = steady(FULL, costs=(0.5, 1.0, 1.5)), np.random.default_rng(6)
    scan, age = Scan(start), NOW - start.last
    rivals = {
        "scan: policies.best": lambda: best(start.fleet, age, M),
        "scan: numpy by hand": lambda: scan.best(NOW),
    }
    scheduler = start.scheduler()
    arrival = np.concatenate([start.fleet.arrival, np.empty(10 * MIXED)])
    crawler = Crawler(scheduler, arrival, 2 * M)  # the budget decides how many, not the caller
    crawler.play(WARM)
    crawler.forget()
    newcomers = start.fleet.take(rng.integers(FULL, size=10 * MIXED))
    leavers = rng.permutation(FULL)[: 10 * MIXED].reshape(MIXED, 10)
    before, taken, between = scheduler.tally, [], []
    scanned: dict[str, list[float]] = {name: [] for name in rivals}
    for call in range(MIXED):
        budget = M * (1 + 0.1 * np.sin(2 * np.pi * call / MIXED))
        some = newcomers.take(slice(10 * call, 10 * call + 10))
        begin = time.perf_counter()
        scheduler.set_budget(budget, crawler.now)
        rows = scheduler.add(some)
        scheduler.remove(leavers[call])
        between.append(time.perf_counter() - begin)
        crawler.arrival[rows] = some.arrival
        crawler.play(1)
        taken.append(between[-1] + crawler.both[-1])
        if call % (MIXED // 20) == 0:  # the rivals at the same time, on the same machine
            for name, work in rivals.items():
                begin = time.perf_counter()
                work()
                scanned[name].append(time.perf_counter() - begin)
    print(f"\nmixed run, {FULL:,} sources, {MIXED:,} calls: ms, min / median / mean / max")
    print(f"  set_budget, add, remove   {shown(between)}")
    print(f"  due                       {shown(crawler.due)}")
    print(f"  due + crawled             {shown(crawler.both)}")
    print(f"  all of it                 {shown(taken)}")
    for name, seconds in scanned.items():
        print(f"  {name:<25} {shown(seconds)}")
    print(f"  {counted(before, scheduler.tally, 1)}")
    fastest = min(statistics.median(seconds) for seconds in scanned.values())
    ratio = fastest / statistics.fmean(taken)
    print(f"  the faster scan by its median over all of it by its mean: {ratio:.1f}x (aim: 20x)")


def build_and_update(start: Steady) -> None:
    fleet, n = start.fleet, len(start.fleet)
    age = NOW - start.last
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # one thread for all that is compared here
    try:
        times = compare(
            {
                "index, 1 thread": lambda: whittle_index(fleet, age, threads=1),
                "build, continuous": lambda: start.scheduler(),
                "build, slotted": lambda: start.scheduler(1.0),
                "build and first call": lambda: start.scheduler().due(NOW + 1, M),
            },
            rounds=3,
        )
        show(f"build, {n:,} sources, one core (min / median)", times, "index, 1 thread")
        unit = times["index, 1 thread"]
        for name in ("build, continuous", "build, slotted", "build and first call"):
            least, median = times[name].least / unit.least, times[name].median / unit.median
            print(f"  {name}: {least:.1f} / {median:.1f} index evaluations (aim: at most 15)")
        scheduler, rng = start.scheduler(), np.random.default_rng(7)
        rows = rng.permutation(n)[: n // 10]
        one = Estimates(row=rows, arrival=fleet.arrival[rows] * 1.1)
        all_three = Estimates(
            row=rows, arrival=one.arrival, decay=fleet.decay[rows], worth=fleet.worth[rows]
        )
        times = compare(
            {
                "update, arrival": lambda: scheduler.update(one),
                "update, arrival, decay, worth": lambda: scheduler.update(all_three),
            },
            rounds=5,
        )
    finally:
        os.sched_setaffinity(0, cores)
    print(f"\nupdate of {len(rows):,} of {n:,} sources in one batch, one core (min / median)")
    for name, taken in times.items():
        rate = " / ".join(f"{len(rows) / s:,.0f}" for s in (taken.least, taken.median))
        print(f"  {name:<30} {taken!s:>22}   {rate} sources/s (aim: 1,000,000)")


def snapshot(start: Steady) -> None:
    crawler = Crawler(start.scheduler(), start.fleet.arrival)
    crawler.play(WARM)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot"
        begin = time.perf_counter()
        save(crawler.scheduler, path)
        saved = time.perf_counter()
        size = path.stat().st_size
        again = load(path)
        loaded = time.perf_counter()
    print(f"\nsnapshot, {len(start.fleet):,} sources, {size / len(start.fleet):.1f} bytes each")
    print(f"  save {saved - begin:.2f} s, load {loaded - saved:.2f} s (aim: seconds)")
    for call in range(20):
        now = crawler.now + 1.0 + call
        rows, same = crawler.scheduler.due(now, M), again.due(now, M)
        assert np.array_equal(rows, same), "other decisions after a restore"
        for scheduler in (crawler.scheduler, again):
            scheduler.crawled(rows, now)
    print("  the same decisions afterwards, 20 calls")


def hosts() -> None:
    """Ten sources on each host; a tenth of all sources on one host that allows one a second."""
    print(f"\nhosts, {FULL:,} sources, {CALLS // 2:,} calls: ms, min / median / mean / max")
    plain = steady(FULL)
    names = [f"h{code}" for code in range(FULL // 10)]
    many = steady(FULL, host=[name for name in names for _ in range(10)])
    crowded = steady(FULL, host=["crowded"] * (FULL // 10) + ["h"] * (FULL - FULL // 10))
    _crowd(crowded, FULL // 10)
    crawlers = {
        "no hosts": Crawler(plain.scheduler(), plain.fleet.arrival),
        f"{FULL // 10:,} hosts of 10, 10 s apart": Crawler(
            many.scheduler(limits=Limits(spacing=10.0)), many.fleet.arrival
        ),
        f"{FULL // 10:,} sources on one host, 1 s apart": Crawler(
            crowded.scheduler(limits=Limits(spacing={"crowded": 1.0})), crowded.fleet.arrival
        ),
    }
    del plain, many, crowded
    for crawler in crawlers.values():
        crawler.play(WARM)
        crawler.forget()
    for _ in range(CALLS // 2 // ROUND):
        for crawler in crawlers.values():
            crawler.play(ROUND)
    base = next(iter(crawlers.values())).both
    width = max(map(len, crawlers))
    for name, crawler in crawlers.items():
        ratios = zip(figures(crawler.both), figures(base), strict=True)
        ratio = " / ".join(f"{taken / unit:.2f}x" for taken, unit in ratios)
        print(f"  {name:<{width}}  {shown(crawler.both)}   {ratio} of no hosts")


def _crowd(start: Steady, n: int) -> None:
    """The first n sources share one visit a second: theirs is a steady state of its own."""
    part = start.fleet.take(slice(0, n))
    longest = np.minimum(relax(part, 1.0).age, start.longest)
    start.last[:n] = NOW - np.random.default_rng(8).random(n) * longest


def memory() -> None:
    print(flush=True)
    script = f"from benchmarks.hundred_million import footprint; footprint({FULL})"
    subprocess.run([sys.executable, "-c", script], check=True)
