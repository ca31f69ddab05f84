"""At what time of day a source publishes: what a live crawl remembers of it, in six numbers.

Items and exposure are kept for each of six blocks of the day, four hours each, and fade like all
other evidence. Which rhythm that is, `family.py` says. A week would need more items than a source
shows before it changes its ways; on the news and social traces the day alone does as well.

A date is not trusted. An item that has none, or one that is not after the last visit and before
this one, came at any time since then: it is counted in each block in proportion to the time that
was covered there. That says nothing for or against a rhythm, whereas an hour that was made up, most
often that of our visit or midnight, would be taken for one. So is an item counted that is dated to
the same instant of a day as the one before it: feeds that know the day alone write midnight, in
whatever time zone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dayfly.estimate.exposure import DAY, cell_of, covered_since, time_in_cells
from dayfly.estimate.family import BLOCKS
from dayfly.model import Array, Visits

#: Of each block its items and its exposure, in single precision: a pair is as long as one number
#: of a stored memory. That it is never read as "not a number" needs the second of a pair, where the
#: exponent is, to be finite. The order of the bytes is that of the store.
_PAIR, _WHOLE = np.dtype("<f4"), np.dtype("<f8")
Hours = npt.NDArray[np.float32]
#: How many numbers that are in a memory.
NUMBERS = BLOCKS


def no_hours(n: int) -> Hours:
    """What is remembered of sources that were never visited; one row each."""
    return np.zeros((n, 2 * BLOCKS), dtype=_PAIR)


def packed(hours: Hours) -> Array:
    """The same as numbers for a memory, shape (n_sources, 6); only `unpacked` can read them."""
    return np.ascontiguousarray(hours).view(_WHOLE)


def unpacked(numbers: npt.ArrayLike) -> Hours:
    """What was packed.

    >>> hours = np.arange(12, dtype="<f4")[None]
    >>> bool((unpacked(packed(hours)) == hours).all())
    True
    """
    return np.ascontiguousarray(numbers, dtype=_WHOLE).view(_PAIR)


def counts(hours: Hours) -> Array:
    """Items in each block of the day, as far as they are remembered."""
    return hours[:, 0::2].astype(np.float64)


def exposures(hours: Hours) -> Array:
    """Time covered in each block of the day, in seconds, as far as it is remembered."""
    return hours[:, 1::2].astype(np.float64)


def after(hours: Hours, visits: Visits, now: Array, last: Array, reach: float) -> Hours:
    """What is remembered after visits.

    Parameters
    ----------
    hours
        What was remembered of the sources visited.
    visits, now
        What was seen, and when.
    last
        When each source answered before; minus infinity if it never did.
    reach
        How long evidence is remembered, in seconds. A single visit reaches no further back.
    """
    n = len(now)
    begins = np.maximum(covered_since(visits, now, last), now - reach)
    covers = time_in_cells(now, DAY, BLOCKS) - time_in_cells(begins, DAY, BLOCKS)
    # Ratios of instants far away must not turn into little less than nothing.
    np.maximum(covers, 0.0, out=covers)
    count = np.zeros((n, BLOCKS))
    if visits.new.any():
        count = _count(visits, now, last, begins, covers)
    fade = np.exp(np.maximum(now - last, 0.0) / -reach)[:, None]
    found = np.empty((n, 2 * BLOCKS), dtype=_PAIR)
    found[:, 0::2] = hours[:, 0::2] * fade + count
    found[:, 1::2] = hours[:, 1::2] * fade + covers
    return found


def _count(visits: Visits, now: Array, last: Array, begins: Array, covers: Array) -> Array:
    """New items by block of the day."""
    n, new = len(now), visits.new
    visit = np.repeat(np.arange(n), new)
    kept = np.arange(len(visit)) + (visits.start[1:] - np.cumsum(new))[visit]
    date = visits.published[kept]
    # The item that opens the time covered says when it opens, not how often items come.
    dated = (date > begins[visit]) & (date < now[visit])
    same = np.zeros_like(dated)
    same[1:] = dated[1:] & (visit[1:] == visit[:-1]) & (np.diff(date) % DAY == 0)
    dated ^= same
    where = visit[dated] * BLOCKS + cell_of(date[dated], DAY, BLOCKS)
    count = np.bincount(where, minlength=n * BLOCKS).reshape(n, BLOCKS).astype(np.float64)
    stray = visit[same | (date >= now[visit]) | (date <= last[visit])]
    if len(stray):
        share = covers / np.maximum(now - begins, 1e-9)[:, None]
        count += np.bincount(stray, minlength=n)[:, None] * share
    return count
