"""What time it is: what the hour of the week makes of an index. A part for any learner."""

from __future__ import annotations

import numpy as np

from dayfly.estimate.rhythm import CELLS, HOUR, RhythmEstimator, hour_of_week
from dayfly.index.phased import Phased
from dayfly.model import Array, Rows, Visits

#: Days after the start on which the rhythm is looked at anew.
_LOOKS = (1, 2, 4, 7, 14, 28, 56, 112, 224)
_DAY = 86400.0


class Rhythm:
    """By how much the time of the week multiplies the index of every source.

    Hand it the visits, and multiply. Where no rhythm is known the factor
    is 1, and where none is known of any source there is no factor at all, so that the learner
    chooses just as it would alone.
    """

    def __init__(self, sources: int, start: float, decay: float) -> None:
        self.estimator = RhythmEstimator(sources)
        self._start, self._decay = start, decay
        self._looks = 0
        self._tables: list[Phased] = []
        self._groups: list[tuple[Phased, Rows, Array]] = []

    def learn(self, visits: Visits) -> None:
        """What the visits saw; now and then the rhythm is fitted anew."""
        self.estimator.learn(visits)
        due = self._start + _LOOKS[min(self._looks, len(_LOOKS) - 1)] * _DAY
        if self._looks < len(_LOOKS) and visits.time >= due:
            self._looks += 1
            self.fit()

    def fit(self) -> None:
        """Find every source's rhythm, and solve for the index of each shape in use."""
        found = self.estimator.rhythms()
        self._groups = []
        for shape in np.unique(found.shape[found.shape >= 0]).tolist():
            rows = np.flatnonzero(found.shape == shape)
            table = Phased.of(found.profiles[shape], self._decay * HOUR)
            self._groups.append((table, rows, found.shift[rows].astype(np.float64)))

    def factor(self, now: float, age: Array) -> Array | None:
        """What to multiply the index of every source with; None if nobody has a rhythm."""
        if not self._groups:
            return None
        factor, hour = np.ones(len(age)), hour_of_week(now)
        for table, rows, shift in self._groups:
            factor[rows] = table.factor((hour - shift) % CELLS, age[rows] / HOUR)
        return factor
