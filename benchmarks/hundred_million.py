"""A hundred million sources on a machine of 24 GiB: `make bench-100m`.

Memory is what the process holds (RSS) beyond what it held before the fleet was made. The fleet is
the caller's: a program that reads its sources from a store drops it once the scheduler stands.
"""

import gc
import os
import time
from pathlib import Path

from benchmarks.steady import NOW, Crawler, M, shown, steady
from dayfly import whittle_index

N = 10**8
CALLS, WARM = 1000, 100
#: The index of all takes long at this size: a part of the fleet says how long.
PART = 10**7


def run() -> None:
    footprint(N)


def footprint(n: int) -> None:
    """Memory and time of a scheduler for n sources; wants a process of its own."""
    small = steady(1000)
    Crawler(small.scheduler(), small.fleet.arrival).play(3)  # from here on all is imported
    empty = resident()

    def each(what: str, size: int, aim: str = "") -> None:
        print(f"  {what:<36} {(size - empty) / n:6.1f} bytes per source {aim}", flush=True)

    print(f"{n:,} sources in a process of their own, {empty / 2**20:.0f} MiB without them")
    start = steady(n)
    each("fleet and last visits", resident())
    unit = evaluation(start)
    forget_peak()
    begin, before = time.perf_counter(), os.times()
    scheduler = start.scheduler()
    built, after = time.perf_counter() - begin, os.times()
    each("at most while building", peak())
    each("fleet, last visits and scheduler", resident())
    crawler = Crawler(scheduler, start.fleet.arrival)
    del start
    forget_peak()
    crawler.play(WARM + CALLS)
    each("at most while calling", peak())
    del crawler.arrival
    gc.collect()
    each("scheduler alone, after the calls", resident(), "(aim: at most 96)")
    print(f"  build {built:.1f} s: {built / unit:.1f} evaluations of the index by one thread")
    own, system = after.user - before.user, after.system - before.system
    print(f"  of these {own:.1f} s ({own / unit:.1f}) ours, {system:.1f} s to be given the memory")
    print(f"  {CALLS:,} calls for {M:,}: ms, min / median / mean / max")
    print(f"  due {shown(crawler.due[WARM:])}   + crawled {shown(crawler.both[WARM:])}")
    print(f"  {scheduler.tally}")


def evaluation(start) -> float:
    """Seconds for the index of all sources, one thread, judged by a part of them."""
    n = len(start.fleet)
    rows = slice(0, min(n, PART))
    part, age = start.fleet.take(rows), NOW - start.last[rows]
    taken = []
    for _ in range(3):
        begin = time.perf_counter()
        whittle_index(part, age, threads=1)
        taken.append(time.perf_counter() - begin)
    return min(taken) * n / len(part)


def resident() -> int:
    """Bytes that this process holds in memory now."""
    return _status("VmRSS")


def peak() -> int:
    """Most bytes that it held since `forget_peak`."""
    return _status("VmHWM")


def forget_peak() -> None:
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))
