"""What visits add to the memories of the sources visited.

What was remembered fades by the time that has passed, and each new item is counted as far as its
date is remembered. Whatever that date says, an item first seen now came since the last visit.
"""

from __future__ import annotations

import numpy as np

from dayfly.estimate.memory import (
    ANSWERED,
    COUNT,
    LATE_TIME,
    LATELY,
    NEWEST,
    SQUARES,
    TIME,
    WORTH,
    remembered,
)
from dayfly.model import Array, Visits


def add_evidence(
    memory: Array, visits: Visits, now: Array, gap: Array, covered: Array, reach: float, span: float
) -> None:
    """Fade memories and add what visits saw.

    Parameters
    ----------
    memory
        One column for each visit, changed in place; the oldest date is left as it is.
    visits, now
        What was seen, and when.
    gap
        Time since the last answer; infinite at the first.
    covered
        The time up to now of which all items were seen.
    reach, span
        How long evidence is remembered, and what is called late.
    """
    fade, fade_fast = np.exp(gap / -reach), np.exp(gap / -span)
    for column in (COUNT, TIME, SQUARES, WORTH):
        memory[column] *= fade
    for column in (LATELY, LATE_TIME):
        memory[column] *= fade_fast
    memory[TIME] += remembered(covered, reach)
    memory[LATE_TIME] += remembered(covered, span)
    np.copyto(memory[NEWEST], now - covered, where=np.isinf(gap))
    if visits.new.any():
        _count(memory, visits, now, gap, covered, reach, span)
    np.maximum(memory[ANSWERED], now, out=memory[ANSWERED])


def _count(
    memory: Array, visits: Visits, now: Array, gap: Array, covered: Array, reach: float, span: float
) -> None:
    """Add the new items to memories that have faded."""
    # The new items are the last of each visit; among all new ones those of visit j end at `end[j]`.
    new, end = visits.new, np.cumsum(visits.new)
    visit = np.repeat(np.arange(len(new)), new)
    kept = np.arange(len(visit)) + (visits.start[1:] - end)[visit]
    instant = now[visit]
    date = np.minimum(np.maximum(visits.published[kept], (now - covered)[visit]), instant)
    since = date - instant

    # The time that passed before each item without any; 0 where that is not known.
    some = np.flatnonzero(new > 0)
    last = end[some] - 1
    begin = last + 1 - new[some]
    newest = memory[NEWEST]
    silence = np.empty_like(date)
    np.subtract(date[1:], date[:-1], out=silence[1:])
    silence[begin] = np.where(np.isinf(gap[some]), 0.0, date[begin] - newest[some])
    # Where items were pushed out unseen, the silence that was known before has ended at some time.
    missing = np.flatnonzero((covered < gap) & np.isfinite(gap))
    silence[end[missing] - new[missing]] = memory[ANSWERED, missing] - newest[missing]
    newest[some] = date[last]

    def total(value: Array) -> Array:
        return np.bincount(visit, value, len(new)).astype(np.float64, copy=False)

    weight = np.exp(since / reach)
    squares = total(weight * remembered(silence, reach) ** 2)
    squares[missing] *= np.exp(gap[missing] / -reach)
    memory[COUNT] += total(weight)
    memory[SQUARES] += squares
    memory[WORTH] += total(weight * visits.worth[kept])
    memory[LATELY] += total(np.exp(since / span))
