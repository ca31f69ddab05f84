"""What would be crawled: the scheduler's own decisions, made ahead of time on a copy of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dayfly.schedule import Rules, Scheduler
from dayfly.store import StoredSource

#: Seconds between decisions at least, as in a crawl, and decisions at most; most visits told.
_TICK, _DECISIONS = 1.0, 3600
MOST_VISITS = 100_000
#: The index is worked out for the first so many: it takes longer than the decision.
_EXPLAINED = 200
#: Visits below the price: after so many seconds because nobody is left alone for ever, before that
#: because the price moves between two decisions.
_LONG = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """One visit that would be made, and why."""

    row: int
    time: float
    #: Seconds since the visit before; infinite for the first.
    age: float
    #: At that time; None where nobody worked it out.
    index: float | None
    price: float
    why: str


def copied(scheduler: Scheduler) -> Scheduler:
    """A scheduler that decides the same and shares nothing with this one."""
    settings, columns = scheduler.state()
    return Scheduler.from_state(settings, {name: np.array(kept) for name, kept in columns.items()})


def rehearse(
    scheduler: Scheduler,
    now: float,
    seconds: float,
    most: int = MOST_VISITS,
    *,
    sources: Sequence[StoredSource],
    rules: Rules,
) -> list[Rehearsed]:
    """Drive this scheduler, which is used up by it, as if every visit ended at once.

    Beliefs stay as they are: what the visits would teach, nobody knows. Who did not answer the last
    time is taken not to answer again, and left alone for twice as long each time.
    """
    visits: list[Rehearsed] = []
    before = _Before(sources, rules)
    tick = max(_TICK, seconds / _DECISIONS)
    for step in range(math.ceil(seconds / tick)):
        at = now + step * tick
        rows = scheduler.due(at, most - len(visits)).tolist()
        price = scheduler.price
        for row in rows:
            age = at - before.last.get(row, -math.inf)
            index = scheduler.explain(row, at).index if len(visits) < _EXPLAINED else None
            why = _reason(sources[row], age, index, price)
            visits.append(
                Rehearsed(row=row, time=at, age=max(age, 0.0), index=index, price=price, why=why)
            )
        if rows:
            scheduler.crawled(rows, at, not_before=[before.visited(row, at) for row in rows])
        if len(visits) >= most:
            break
    return visits


class _Before:
    """When each source was visited last, and how long it was then left alone."""

    def __init__(self, sources: Sequence[StoredSource], rules: Rules) -> None:
        self._sources, self._rules = sources, rules
        self.last = {one.row: one.last_crawl for one in sources if one.last_crawl is not None}
        self._rests: dict[int, float] = {}

    def visited(self, row: int, at: float) -> float:
        """It is visited now; when it may be again."""
        source, self.last[row] = self._sources[row], at
        own = source.min_interval
        rest = self._rules.min_interval if own is None else own
        if source.failures:
            waited = (source.not_before or 0.0) - (source.last_crawl or 0.0)
            self._rests[row] = 2.0 * self._rests.get(row, waited)
            rest = max(rest, min(self._rests[row], self._rules.backoff_cap))
        return at + rest


def _reason(source: StoredSource, age: float, index: float | None, price: float) -> str:
    if math.isinf(age):
        return "never visited"
    if source.failures:
        return "failed before"
    if index is not None and index < price:
        return "unseen for long" if age > _LONG else "near the price"
    return "worth the price"
