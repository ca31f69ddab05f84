"""The time that visits speak of, by the cells of a day or a week.

A rate by the clock is items over *exposure*, and a visit covers only the time that its dates speak
of: since the last visit, or since the oldest item shown where others may have been pushed out.
"""

from __future__ import annotations

import numpy as np

from dayfly.model import Array, Counts, Visits

HOUR, DAY, WEEK = 3600.0, 86400.0, 604800.0
#: 1970-01-01 was a Thursday; weeks are counted from Monday.
MONDAY = 3 * DAY


def covered_since(visits: Visits, now: float | Array, last: Array) -> Array:
    """Since when each visit has seen all items; `now` where it covers nothing.

    Parameters
    ----------
    visits, now
        What was seen, and when.
    last
        When each source answered before; minus infinity if it never did.
    """
    hidden = (visits.new >= visits.shown) & (visits.shown > 0)
    # A date from the future covers nothing; one from long ago covers no more than a gap.
    opens = np.where(hidden, np.fmax(last, np.minimum(visits.opening, now)), last)
    return np.where(np.isfinite(opens) & (opens < now), opens, now)


def cell_of(time: Array, period: float, cells: int) -> Counts:
    """In which cell of a period instants lie."""
    found: Counts = ((time + MONDAY) % period // (period / cells)).astype(np.int64)
    return np.minimum(found, cells - 1)


def time_in_cells(until: float | Array, period: float, cells: int) -> Array:
    """Time that each cell has had up to instants; differences of it are exposures."""
    t = np.atleast_1d(np.asarray(until, dtype=np.float64) + MONDAY)[:, None]
    width = period / cells
    whole = np.floor(t / period)
    found: Array = whole * width + np.clip(t - whole * period - width * np.arange(cells), 0, width)
    return found
