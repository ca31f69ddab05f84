"""The scheduler: which thousand sources now, out of a hundred thousand to ten million.

Rivals, in the same run: scans of everybody, as fast as numpy makes them on two cores, and queues of
due times (`benchmarks.scans`).
"""

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import Times, compare, show
from benchmarks.scans import Heap, Scan, Sorted
from benchmarks.steady import NOW, Crawler, M, Steady, blocks, counted, figures, shown, steady
from dayfly import relax, whittle_index
from dayfly.estimate import Estimates
from dayfly.policies import best
from dayfly.schedule import Limits, load, save

FULL = 10**7
SIZES = (10**5, 10**6, FULL)
CALLS, WARM, ROUND = 2000, 200, 100
MIXED = 5000


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
    plain, scan = Scan(start, rule_out=False), Scan(start, rule_out=True)
    age = NOW - start.last
    right = set(best(fleet, age, M))
    assert set(scan.best(NOW)) == set(plain.best(NOW)) == right, "the rivals disagree"
    interval = np.concatenate([start.due_age(rows) for rows in blocks(n)])
    lists = {
        "heapq of due times": Heap(start, interval),
        "SortedList of due times": Sorted(start, interval),
    }
    times = compare(
        {
            "scan: policies.best": lambda: best(fleet, age, M),
            "scan: blocks, two threads, sample": lambda: plain.best(NOW),
            "scan: the same, most ruled out": lambda: scan.best(NOW),
            **{name: rival.step for name, rival in lists.items()},
            "scheduler, 20 x (due, crawled)": lambda: crawler.play(20),
        },
        rounds=15,
    )
    del times["scheduler, 20 x (due, crawled)"]
    times["scheduler: due"] = Times(crawler.due[-15 * 20 :])
    times["scheduler: due + crawled"] = Times(crawler.both[-15 * 20 :])
    scans = [name for name in times if name.startswith("scan")]
    fastest = min(scans, key=lambda name: times[name].least)
    show(f"best {M:,} of {n:,} (min / median)", times, fastest)
    for what, seconds in (("due", crawler.due), ("due + crawled", crawler.both)):
        mean = times[fastest].median / statistics.fmean(seconds[-15 * 20 :])
        print(f"  {what}: {mean:.1f}x by the scheduler's mean and the scan's median")
    for name in (fastest, "scan: blocks, two threads, sample"):
        aim, ours = times[name], times["scheduler: due"]
        least, median = aim.least / ours.least, aim.median / ours.median
        print(f"  due against {name}: {least:.1f}x min, {median:.1f}x median (aim: 50x)")
    del lists
    gc.collect()


def mixed_run() -> None:
    """Beliefs walk, the budget drifts by a tenth and back, sources come and go, at every call."""
    start, rng = steady(FULL, costs=(0.5, 1.0, 1.5)), np.random.default_rng(6)
    plain, scan = Scan(start, rule_out=False), Scan(start, rule_out=True)
    rivals = {
        "scan: blocks, two threads": lambda: plain.best(NOW),
        "scan: most ruled out": lambda: scan.best(NOW),
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
    for name, seconds in scanned.items():
        ratio = statistics.median(seconds) / statistics.fmean(taken)
        print(f"  {name}, its median over all of it by its mean: {ratio:.1f}x (aim: 20x)")


def build_and_update(start: Steady) -> None:
    fleet, n = start.fleet, len(start.fleet)
    age = NOW - start.last
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # one thread for all that is compared here
    try:
        times = compare(
            {
                "index, 1 thread": lambda: whittle_index(fleet, age, threads=1),
                "index, slotted": lambda: whittle_index(fleet, age, epoch=1.0, threads=1),
                "memory, first touch": lambda: _touch(84 * n),
                "build, continuous": lambda: start.scheduler(),
                "build, slotted": lambda: start.scheduler(1.0),
                "build and first call": lambda: start.scheduler().due(NOW + 1, M),
            },
            rounds=3,
        )
        show(f"build, {n:,} sources, one core (min / median)", times, "index, 1 thread")
        for name, index, aim in (
            ("build, continuous", "index, 1 thread", " (aim: at most 15)"),
            ("build, slotted", "index, slotted", " (aim: at most 15)"),
            ("build, slotted", "index, 1 thread", ""),
            ("build and first call", "index, 1 thread", ""),
        ):
            unit = times[index]
            least, median = times[name].least / unit.least, times[name].median / unit.median
            print(f"  {name}: {least:.1f} / {median:.1f} evaluations of {index}{aim}")
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


def _touch(size: int) -> None:
    """What the system takes to hand out as much memory as a scheduler's columns need."""
    np.empty(size, np.uint8)[::4096] = 0


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
