"""What time it is: what the hour of the week makes of an index. A part for any learner.

A source that publishes by the clock has another index at another hour (`index/phased.py`): the
evening's harvest is worth waiting for. Sources whose rhythms are alike share a table of what the
hour multiplies the plain index with, by age; the tables of all shapes in use lie one after the
other, so that all sources are looked up at once.
"""

from __future__ import annotations

import functools

import numpy as np

from dayfly.estimate.exposure import HOUR
from dayfly.estimate.rhythm import CELLS, RhythmEstimator, hour_of_week
from dayfly.index.phased import Phased, interpolated
from dayfly.model import Array, Rows, Visits

#: The rhythm is looked at after a day, and again whenever the time since the start has doubled.
_FIRST_LOOK = 86400.0


class Rhythm:
    """By how much the time of the week multiplies the index of every source.

    Hand it the visits, fit it when it is due, and multiply. Where no rhythm is known the factor is
    1, and where none is known of any source there is no factor at all, so that the learner chooses
    just as it would alone.
    """

    def __init__(self, sources: int, start: float, decay: float) -> None:
        self.estimator = RhythmEstimator(sources)
        self._start, self._decay = start, decay
        self._look = start + _FIRST_LOOK
        #: Who has a rhythm, by how many whole hours it comes later, and which table is its own.
        self._rows: Rows = np.empty(0, dtype=np.int64)
        self._shift = self._table = self._rows
        #: All tables in use: shape (n_tables, n_cells, n_ages).
        self._ratio = np.empty((0, CELLS, 0))

    def learn(self, visits: Visits) -> None:
        """What the visits saw."""
        self.estimator.learn(visits)

    def due(self, now: float) -> bool:
        """Whether the rhythm should be fitted anew."""
        return now >= self._look

    def fit(self, now: float, burst: Array) -> None:
        """Find every source's rhythm, and solve for the index of each shape in use."""
        self._look = now + (now - self._start)
        found = self.estimator.rhythms(burst)
        self._rows = np.flatnonzero(found.shape >= 0)
        if not len(self._rows):
            return
        shapes, self._table = np.unique(found.shape[self._rows], return_inverse=True)
        self._shift = found.shift[self._rows]
        decay = self._decay * HOUR
        self._ratio = np.stack(
            [_solved(found.profiles[shape].tobytes(), decay).ratio for shape in shapes]
        )

    def factor(self, now: float, age: Array) -> Array | None:
        """What to multiply the index of every source with; None if nobody has a rhythm."""
        if not len(self._rows):
            return None
        hour, width = hour_of_week(now), self._ratio.shape[2]
        # Shifts are whole hours: the part of an hour is the same for all.
        cell, own = (int(hour) - self._shift) % CELLS, self._table * CELLS
        first, second = (own + cell) * width, (own + (cell + 1) % CELLS) * width
        factor = np.ones(len(age))
        factor[self._rows] = interpolated(
            self._ratio.ravel(), first, second, hour % 1.0, age[self._rows] / HOUR
        )
        return factor


@functools.lru_cache(maxsize=64)
def _solved(profile: bytes, decay: float) -> Phased:
    """The plain waves among the profiles are the same at every look."""
    return Phased.of(np.frombuffer(profile), decay)
