"""What would be crawled: the scheduler's own decisions, made ahead of time on a copy of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
    last: Callable[[int], float | None],
    rest: Callable[[int], float],
) -> list[Rehearsed]:
    """Drive this scheduler, which is used up by it, as if every visit were answered at once.

    Beliefs stay as they are: what the visits would teach, nobody knows. `last` tells when a row was
    visited before, `rest` how long it is left alone after a visit.
    """
    visits: list[Rehearsed] = []
    before: dict[int, float] = {}
    tick = max(_TICK, seconds / _DECISIONS)
    for step in range(math.ceil(seconds / tick)):
        at = now + step * tick
        rows = scheduler.due(at, most - len(visits)).tolist()
        price = scheduler.price
        for row in rows:
            then = before.get(row, last(row))
            age = math.inf if then is None else max(at - then, 0.0)
            index = scheduler.explain(row, at).index if len(visits) < _EXPLAINED else None
            why = _reason(age, index, price)
            visits.append(Rehearsed(row=row, time=at, age=age, index=index, price=price, why=why))
            before[row] = at
        if rows:
            scheduler.crawled(rows, at, not_before=[at + rest(row) for row in rows])
        if len(visits) >= most:
            break
    return visits


def _reason(age: float, index: float | None, price: float) -> str:
    if math.isinf(age):
        return "never visited"
    if index is not None and index < price:
        return "unseen for long" if age > _LONG else "near the price"
    return "worth the price"


def ways_of(sources: Sequence[StoredSource], rules: Rules) -> dict[str, Any]:
    """`last` and `rest` of these sources under these rules."""

    def rest(row: int) -> float:
        own = sources[row].min_interval
        return rules.min_interval if own is None else own

    return {"last": lambda row: sources[row].last_crawl, "rest": rest}
