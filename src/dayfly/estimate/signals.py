"""Signals: a ping says that something new may wait, and silence that less does.

Of the items of a source the share `recall` is announced, and of its pings the share `precision` is
true. So what waits, as expected, is what gathers unannounced plus what was announced:

    x = (1 − recall)·f(age) + ξ·precision·Σ e^(−μ·age of ping)

It goes wherever an observed state goes: `whittle_index_at`, `View.state`, `Scheduler.observe`.
"""

from __future__ import annotations

import numpy as np

from dayfly.errors import BadInput
from dayfly.model import Array, Fleet, Rows


class Pings:
    """What waits at each source as far as its pings tell.

    Two floats per source: what was announced and still waits, and when that was last counted.

    Parameters
    ----------
    fleet
        The sources as they are believed to be; ephemeral ones.
    precision
        Share of pings behind which there is a new item.
    recall
        Share of items that are announced.

    Examples
    --------
    >>> pings = Pings(Fleet(arrival=[0.1, 0.1], decay=0.5), precision=0.5, recall=1.0)
    >>> pings.heard(np.array([1]), now=10.0)
    >>> pings.state(np.array([4.0, 4.0]), now=10.0)
    array([0. , 0.5])
    """

    def __init__(self, fleet: Fleet, *, precision: float, recall: float) -> None:
        for name, share in (("precision", precision), ("recall", recall)):
            if not 0 <= share <= 1:
                raise BadInput(f"{name} must lie between 0 and 1, got {share}")
        self.fleet, self.precision, self.recall = fleet, precision, recall
        self._announced = np.zeros(len(fleet))
        self._at = np.zeros(len(fleet))

    def heard(self, rows: Rows, now: float) -> None:
        """These sources pinged; a source may be named more than once."""
        which, times = np.unique(np.asarray(rows, dtype=np.int64), return_counts=True)
        self._announced[which] = self._waits(which, now)
        self._announced[which] += times * self.precision * self.fleet.worth[which]
        self._at[which] = now

    def crawled(self, rows: Rows) -> None:
        """These sources were visited: nothing waits there any more."""
        self._announced[rows] = 0.0

    def state(self, age: Array, now: float) -> Array:
        """What waits at each source so long after its last visit."""
        every = np.arange(len(self.fleet))
        unheard = (1.0 - self.recall) * self.fleet.harvest.value(age)
        found: Array = unheard + self._waits(every, now)
        return found

    def _waits(self, rows: Rows, now: float) -> Array:
        since = np.maximum(now - self._at[rows], 0.0)
        found: Array = self._announced[rows] * np.exp(-self.fleet.decay[rows] * since)
        return found
