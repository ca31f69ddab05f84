"""What a source is worth: the value that waits, the index of a crawl, when it reaches a mark.

Asked about some rows, with their records at hand: a decision looks up each record once.
"""

from __future__ import annotations

import numpy as np

from dayfly.index import whittle_index_at
from dayfly.model import Array, Ephemeral, Harvest, Mask, Rows
from dayfly.schedule.purse import slot
from dayfly.schedule.roster import CEILING, COST, DECAY, OBSERVED, SINCE, Roster

#: Rounding errors of instants, as a share of the clock.
_CLOCK_ERROR = 8 * np.finfo(float).eps


def age(roster: Roster, since: Array, now: float) -> Array:
    """Time over which value has gathered; in slotted time whole epochs."""
    if roster.epoch is None:
        return np.maximum(now - since, 0.0)
    found: Array = np.maximum(slot(now, roster.epoch) - since, 0.0) * roster.epoch
    return found


def curves(roster: Roster, rows: Rows, record: Array) -> Harvest:
    """The harvest curves of some rows, whose records are at hand."""
    if roster.plain and roster.fades:
        return Ephemeral.fading(record[CEILING], record[DECAY])
    return roster.part(rows, record).harvest


def index(roster: Roster, rows: Rows, record: Array, now: float) -> Array:
    """Worth of crawling these rows now, per unit of cost."""
    harvest, elapsed = curves(roster, rows, record), age(roster, record[SINCE], now)
    epoch = roster.epoch
    found = harvest.index(elapsed) if epoch is None else harvest.slotted(elapsed, epoch)
    found /= record[COST]
    if roster.any_observed:
        _index_by_state(roster, found, rows, record, now)
    return found


def _index_by_state(roster: Roster, found: Array, rows: Rows, record: Array, now: float) -> None:
    """Put in the index of those whose state was seen: it is off the lattice, or above it."""
    seen = np.flatnonzero(roster.flags[rows] & OBSERVED)
    if not len(seen):
        return
    part = roster.part(rows[seen], record[:, seen])
    state = waiting(roster, rows[seen], record[:, seen], now)
    if roster.epoch is not None:
        found[seen] = whittle_index_at(part, state, roster.epoch)
    above = surging(roster, rows[seen])
    if above is not None:
        high = seen[above]
        found[high] = state[above] / record[COST, high]


def waiting(roster: Roster, rows: Rows, record: Array, now: float) -> Array:
    """Value expected to wait at these rows now."""
    harvest = curves(roster, rows, record)
    value = harvest.value(age(roster, record[SINCE], now))
    above = surging(roster, rows)
    if above is not None and above.any():
        some = np.flatnonzero(above)
        state, when = roster.optional["surge"][rows[some]], roster.optional["surge_at"][rows[some]]
        ceiling = harvest[some].value(np.full(len(some), np.inf))
        left = np.exp(-record[DECAY, some] * np.maximum(now - when, 0.0))
        with np.errstate(invalid="ignore"):
            falling = ceiling + (state - ceiling) * left
        # What never fades has no ceiling to fall back to.
        value[some] = np.where(np.isfinite(ceiling), falling, state)
    return value


def surging(roster: Roster, rows: Rows) -> Mask | None:
    """At whom more was seen waiting than ever does on average; None if that never happened."""
    if "surge" not in roster.optional:
        return None
    found: Mask = ~np.isnan(roster.optional["surge"][rows])
    return found


def reaches(roster: Roster, rows: Rows, record: Array, mark: Array | float, now: float) -> Array:
    """An instant not after that at which the index reaches the mark."""
    if (mark if isinstance(mark, float) else np.max(mark)) <= 0:
        return np.full(len(rows), -np.inf)
    # A hair lower: who saturates just at the mark reaches it in floats, if not on paper.
    fee = record[COST] * (mark * (1 - 1e-10))
    due = curves(roster, rows, record).age_below(fee)
    epoch = roster.epoch
    with np.errstate(invalid="ignore"):
        if epoch is None:
            due += record[SINCE]
            due -= _CLOCK_ERROR * abs(now)
        else:
            # The slotted index is that of continuous time an epoch later at most, two where the
            # state was seen in between: γ(kT) ≤ γ_k ≤ γ((k+1)T).
            due /= epoch
            np.ceil(due, out=due)
            due += record[SINCE]
            due -= 2.0 + 2e-9 if roster.any_observed else 1.0 + 2e-9
            due *= epoch
    # Never visited, and never worth it: the sum of two infinities.
    due[due != due] = np.inf
    above = surging(roster, rows)
    if above is not None:
        due[above] = -np.inf
    return due


# What was seen without a visit.


def see(roster: Roster, rows: Rows, state: Array, now: float) -> None:
    """So much waits there: as if value had been gathering for as long as that takes."""
    record = roster.look_up(rows)
    harvest = curves(roster, rows, record)
    ceiling = harvest.value(np.full(len(rows), np.inf))
    above = state >= ceiling
    elapsed = np.where(above, np.inf, harvest.age_of(np.where(above, 0.0, state)))
    if roster.epoch is None:
        roster.record[rows, SINCE] = now - elapsed
    else:
        roster.record[rows, SINCE] = slot(now, roster.epoch) - elapsed / roster.epoch
    roster.flags[rows] |= OBSERVED
    roster.any_observed = True
    if above.any() or "surge" in roster.optional:
        roster.column("surge", np.float64, np.nan)[rows] = np.where(above, state, np.nan)
        roster.column("surge_at", np.float64, 0.0)[rows] = now


def forget_state(roster: Roster, rows: Rows) -> None:
    """A visit took what was there."""
    roster.flags[rows] &= ~np.uint8(OBSERVED)
    if "surge" in roster.optional:
        roster.optional["surge"][rows] = np.nan
