"""When a source will be crawled, and why not sooner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.index import whittle_index
from dayfly.model import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a source waits, or that it does not."""

    row: int
    #: Seconds since its last visit; infinite before the first.
    age: float
    #: Value expected to wait there now.
    waiting: float
    #: Worth of a crawl now, per unit of cost, and the price of one unit.
    index: float
    price: float
    #: When it will probably be crawled, POSIX seconds: a forecast that moves with price and belief.
    due: float
    #: What holds it back: removed, paused, in flight, not_before, min_interval, price, budget;
    #: empty if nothing does.
    held_by: str
    #: Until when, POSIX seconds; None where nobody knows.
    until: float | None


def due_age(one: Fleet, price: float, epoch: float | None) -> float:
    """Age at which the index of this single source reaches the price; infinite if never.

    Examples
    --------
    >>> source = Fleet(arrival=250, decay=.7)
    >>> due_age(source, 100.0, epoch=1.0), round(due_age(source, 100.0, None), 3)
    (2.0, 1.49)
    """
    age = float(one.harvest.age_at(price * one.cost)[0])
    if epoch is None or not np.isfinite(age):
        return age
    # The slotted index lies above the continuous one: not later than this, perhaps sooner.
    low, high = 0, max(int(np.ceil(age / epoch)), 1)
    while high - low > 1:
        middle = (low + high) // 2
        reached = whittle_index(one, middle * epoch, epoch)[0] >= price
        low, high = (low, middle) if reached else (middle, high)
    return high * epoch
