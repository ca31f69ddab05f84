"""Crawl a simulated web with the real crawler, in a time that passes by itself."""

from __future__ import annotations

import numpy as np

from dayfly.estimate import Estimate, Estimator
from dayfly.fetch import HttpFetcher
from dayfly.lab.web.direct import DirectWeb
from dayfly.lab.web.log import Log
from dayfly.lab.web.plan import FIRST, Plan
from dayfly.lab.web.score import Score, score_items
from dayfly.lab.web.server import SimulatedWeb
from dayfly.model import Crawl, Fleet, Visits
from dayfly.schedule import ManualClock, resume
from dayfly.store import MemoryStore

#: Decisions are made so often, in seconds; any port will do where there are no sockets.
TICK, _PORT = 60.0, 8000


class Known:
    """An estimator that need not learn: it knows the truth."""

    def __init__(self, told: Fleet, truth: Fleet) -> None:
        self._fleet = told.replace(arrival=truth.arrival, decay=truth.decay)

    def update(self, crawl: Crawl) -> Estimate:
        """The truth about the crawl's source."""
        row, fleet = crawl.row, self._fleet
        return Estimate(
            row=row,
            time=crawl.time,
            arrival=float(fleet.arrival[row]),
            decay=float(fleet.decay[row]),
            worth=float(fleet.worth[row]),
        )

    def apply(self, estimate: Estimate) -> None:
        """Nothing changes."""

    def learn(self, visits: Visits) -> None:
        """Nothing is learnt."""

    def mean(self) -> Fleet:
        """The truth."""
        return self._fleet

    def sample(self, rng: np.random.Generator) -> Fleet:
        """The truth, once more."""
        return self._fleet


async def crawl_plan(plan: Plan, *, budget: float, known: bool = False) -> tuple[Score, Log]:
    """Crawl a plan from its start to its end without sockets; the budget is visits per second.

    Scheduler, learner, loop, robots, hints, readers and the store's twin in memory are the real
    ones. With `known` the rates are known from the start.
    """
    clock = ManualClock(plan.start)
    web = SimulatedWeb(plan, clock, port=_PORT, first=FIRST, log=Log())
    fetcher = HttpFetcher(now=clock.now)
    fetcher.web = DirectWeb(web)
    store = MemoryStore()
    store.add(plan.listings(_PORT))

    def knows(told: Fleet) -> Estimator:
        return Known(told, plan.truth)

    async with fetcher:
        loop = resume(
            store, fetcher, clock, budget=budget, tick=TICK, estimator=knows if known else None
        )
        await loop.run(plan.until)
    visits = sum(1 for _ in store.visits())
    return score_items(plan, store.items(), visits, plan.until), web.log
