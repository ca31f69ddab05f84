"""Feeds of 100 entries for the crawl benchmark: at every second visit each has one entry more.

`python -m benchmarks.crawl_server SOURCES ENTRIES VALIDATORS CORE` prints a line of JSON and ends
with its standard input.
"""

import asyncio
import json
import os
import sys

import numpy as np

from dayfly.lab.web import Format, Habit, Log, Plan, Site, serve
from dayfly.lab.web.answers import Answers
from dayfly.model import Fleet
from dayfly.schedule import ManualClock
from dayfly.simulate import Trace

#: The first item of every source appears then, the others a second apart.
START = 1_700_000_000.0
#: Hosts, each an address of its own.
HOSTS = 250
#: Items of one source in the whole run.
ITEMS = 4000


class Alternating(Answers):
    """Time passes for a source when it is visited, by half an item."""

    def __init__(self, plan: Plan, homes: list[str], entries: int) -> None:
        super().__init__(plan, homes)
        self._visits, self._entries = [row % 2 for row in range(len(plan.sites))], entries
        # All sources publish at the same instants.
        self._times = [plan.trace.time] * len(plan.sites)

    def answer(self, host, path, headers, now):
        first = path[1:].partition("/")[0]
        if first.isdecimal():
            row = int(first)
            self._visits[row] += 1
            now = START + self._entries + self._visits[row] // 2
        return super().answer(host, path, headers, now)


def plan_of(sources: int, entries: int, validators: str) -> Plan:
    sites = [
        Site(row=row, host=row % HOSTS, format=Format.RSS, habit=Habit.PLAIN, robots="open",
             validators=validators, window=entries)
        for row in range(sources)
    ]  # fmt: skip
    times = START + np.arange(float(ITEMS))
    start = np.zeros(sources + 1, dtype=np.int64)
    start[1:] = ITEMS
    trace = Trace(
        sources=tuple(f"s{row}" for row in range(sources)),
        start=start,
        time=times,
        worth=np.ones(ITEMS),
    )
    truth = Fleet(arrival=np.ones(sources), decay=1.0)
    return Plan(sites=sites, truth=truth, trace=trace, start=START, until=START + ITEMS)


async def main(sources: int, entries: int, validators: str) -> None:
    plan = plan_of(sources, entries, validators)
    async with serve(plan, ManualClock(START), log=Log(keep=False)) as web:
        homes = [f"http://{plan.address(host)}:{web.port}" for host in range(plan.hosts)]
        web.answers = Alternating(plan, homes, entries)
        told = {
            "allow": plan.allowed(web.port),
            "urls": [plan.url(row, web.port) for row in range(sources)],
        }
        print(json.dumps(told), flush=True)
        left = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin.fileno(), left.set)
        await left.wait()


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[4])})
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
