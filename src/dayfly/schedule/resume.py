"""Carry on where the store says that the last run stopped."""

from __future__ import annotations

from collections.abc import Callable

from dayfly.estimate import ArrivalEstimator, Estimator
from dayfly.fetch import Fetcher
from dayfly.model import Fleet
from dayfly.schedule.clock import Clock
from dayfly.schedule.loop import Choice, Loop
from dayfly.schedule.scheduler import Scheduler
from dayfly.store import Store, fleet_of


def resume(
    store: Store,
    fetcher: Fetcher,
    clock: Clock,
    *,
    budget: float,
    epoch: float | None = None,
    min_interval: float = 300.0,
    max_interval: float = 14 * 86400.0,
    burst: float | None = None,
    tick: float = 1.0,
    estimator: Callable[[Fleet], Estimator] = ArrivalEstimator,
    watch: Callable[[Choice], None] | None = None,
) -> Loop:
    """A loop over all stored sources, with the beliefs, ages and waits that the store remembers.

    A store that was never crawled gives a loop that starts from the operator's guesses.
    """
    # Owned first, read then: what the owner before us still wrote would be missed otherwise.
    fence = store.own()
    sources = store.sources()
    belief = estimator(fleet_of(sources))
    for source in sources:
        if source.estimate is not None:
            belief.apply(source.estimate)
    scheduler = Scheduler(
        belief.mean(),
        budget,
        clock.now(),
        epoch=epoch,
        min_interval=min_interval,
        max_interval=max_interval,
        burst=burst,
        last=[source.last_crawl for source in sources],
        not_before=[source.not_before for source in sources],
    )
    return Loop(
        scheduler,
        belief,
        fetcher,
        store,
        clock,
        tick=tick if epoch is None else epoch,
        watch=watch,
        fence=fence,
    )
