"""The demonstration's crawl: a simulated web on loopback, and what visits it is real."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dayfly.fetch import Guard, HttpFetcher
from dayfly.fetch.web import Deadlines
from dayfly.lab.web import Log, Plan, draw_plan, serve
from dayfly.lab.web.clock import Beside, PacedClock
from dayfly.lab.web.log import early_polls
from dayfly.lab.web.score import Score, best_share, score_items, score_rule
from dayfly.schedule import Loop, News, Rules, resume
from dayfly.store import SqliteStore

_HOUR = 3600.0
#: Seconds of the demonstration's time that pass in one real second.
SPEED = _HOUR
#: Sites that are readable or at least well-meant, and share of hostile ones among all.
FEEDS, HOSTILE = 300, 0.04
#: Visits per second (of the demonstration's time) that may be spent.
BUDGET = 60 / _HOUR
#: Decisions are made this often (in the demonstration's time).
_TICK = 60.0
#: Where an hour takes a second, so long is long enough to wait for anybody.
_DEADLINES = Deadlines(first_byte=0.5, idle=0.5, total=1.0)
#: What others would have caught with the same budget: names of field rules, best known first.
RULES: Mapping[str, str] = {
    "b3_miniflux_entry_frequency.scaled": "Miniflux, entry frequency, stretched to the budget",
    "b3_miniflux_entry_frequency": "Miniflux, entry frequency, as shipped",
    "b2_miniflux_round_robin": "Miniflux, round robin",
    "b1_fixed.scaled": "a fixed interval for all",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    plan: Plan
    score: Score
    #: The same by rule, and the share of the published value that nobody can exceed on average.
    rules: Mapping[str, Score]
    bound: float
    #: As the web saw it: answers by status, documents that robots.txt closes and that were asked
    #: for all the same, requests that came too early.
    answers: Counter[int]
    trespasses: int
    early: int


class Watcher(Protocol):
    """Somebody who looks on."""

    def begin(self, loop: Loop) -> None:
        """This loop is about to run."""
        ...

    def tell(self, news: News) -> None:
        """Something happened."""
        ...


async def crawl_demo(seconds: float, seed: int, watcher: Watcher) -> Outcome:
    """Crawl the simulated web for this many real seconds."""
    plan = draw_plan(FEEDS, seed=seed, span=seconds * SPEED, hostile=HOSTILE)
    clock, log = PacedClock(SPEED, plan.start), Log()
    with tempfile.TemporaryDirectory(prefix="dayfly-demo-") as folder:
        store = SqliteStore(Path(folder) / "demo.db")
        try:
            async with serve(plan, Beside(clock, SPEED), log=log) as web:
                guard = Guard(plan.allowed(web.port))
                async with HttpFetcher(guard, now=clock.now, deadlines=_DEADLINES) as fetcher:
                    store.add(plan.listings(web.port))
                    loop = resume(
                        store, fetcher, clock, budget=BUDGET, tick=_TICK, watch=watcher.tell
                    )
                    watcher.begin(loop)
                    await loop.run(plan.until)
            score = score_items(plan, store.items(), loop.counters.visits, plan.until)
        finally:
            store.close()
    return await asyncio.to_thread(_outcome, plan, score, log, seed)


def _outcome(plan: Plan, score: Score, log: Log, seed: int) -> Outcome:
    """Beside it what others would have caught of the same arrivals."""
    closed = {site.row for site in plan.sites if site.robots == "closed"}
    return Outcome(
        plan=plan,
        score=score,
        rules={name: score_rule(plan, name, BUDGET, plan.until, seed) for name in RULES},
        bound=best_share(plan, BUDGET),
        answers=Counter(one.status for one in log.served if one.row >= 0),
        trespasses=sum(one.row in closed for one in log.served),
        early=len(early_polls(log.served, plan, Rules())),
    )
