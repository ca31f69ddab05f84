"""Crawl a world: the live loop's twin, with arrays in place of network, store and clock."""

from __future__ import annotations

from dataclasses import dataclass

from dayfly.estimate import Estimator
from dayfly.model import Crawl
from dayfly.schedule import Scheduler, keep_new
from dayfly.simulate.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen at one instant, and what came of it."""

    time: float
    #: Rows, best first.
    rows: tuple[int, ...]
    #: One crawl per row, in the same order, with its new items only.
    crawls: tuple[Crawl, ...]


def crawl_world(
    world: World,
    scheduler: Scheduler,
    estimator: Estimator,
    *,
    start: float,
    until: float,
    tick: float,
    batch: int = 1000,
) -> list[Choice]:
    """Drive scheduler and estimator through a recorded world; the choices, instant by instant.

    Visits take no time. With the same scheduler, estimator and world the live loop makes the same
    choices.

    Parameters
    ----------
    start, until, tick
        Decide at start, start + tick, … before `until`; with a slotted scheduler tick is its epoch.
    batch
        Most sources chosen at one instant.

    Examples
    --------
    Two sources, one crawl per epoch: the one that was visited waits.

    >>> import numpy as np
    >>> from dayfly.estimate import ArrivalEstimator
    >>> from dayfly.model import Fleet
    >>> fleet = Fleet(arrival=[2.0, 1.0], decay=0.1)
    >>> world = World.draw(fleet, start=0.0, until=6.0, rng=np.random.default_rng(0))
    >>> scheduler = Scheduler(fleet, 1.0, 0.0, epoch=1.0, min_interval=0.0)
    >>> choices = crawl_world(world, scheduler, ArrivalEstimator(fleet), start=0, until=6, tick=1)
    >>> [choice.rows[0] for choice in choices]
    [0, 1, 0, 1, 0, 0]
    """
    seen: list[set[str]] = [set() for _ in range(len(world.fleet))]
    choices: list[Choice] = []
    n = 0
    while (now := start + n * tick) < until:
        n += 1
        rows = scheduler.due(now, batch).tolist()
        crawls: list[Crawl] = []
        estimates = []
        for row in rows:
            visit = world.visit(row, now)
            unseen = {item.key for item in visit.items} - seen[row]
            crawl = keep_new(visit, unseen, world.fleet[row])
            seen[row] |= unseen
            estimate = estimator.update(crawl)
            estimator.apply(estimate)
            estimates.append(estimate)
            crawls.append(crawl)
        if rows:
            scheduler.crawled(
                rows, now, estimates,
                not_before=[crawl.not_before for crawl in crawls],
                failed=[not crawl.answered for crawl in crawls],
                spent=[crawl.cost for crawl in crawls],
            )  # fmt: skip
        choices.append(Choice(time=now, rows=tuple(rows), crawls=tuple(crawls)))
    return choices
