"""The stock estimator of the rivals: items over time watched, per source."""

from __future__ import annotations

import numpy as np

from dayfly.model import Array, Visits


class Rates:
    """How often each source publishes and what an item is worth, by plain counting.

    A visit that shows fewer new items than the window holds has watched the whole gap; one that
    shows a window full of new ones has watched as far back as the oldest of them. A first visit
    has watched since the oldest item it shows. A weak Gamma prior keeps a source that has shown
    nothing above zero, and the worth of a source leans on the fleet's by one item.

    Examples
    --------
    >>> rates = Rates(sources=2, window=3)
    >>> rates.learn(Visits(time=3600.0, row=np.array([1]), gap=np.array([np.inf]),
    ...     start=np.array([0, 3]), published=np.array([0.0, 1800.0, 3600.0]), worth=np.ones(3),
    ...     new=np.array([3]), value=np.array([2.0])))
    >>> (rates.arrival * 3600).round(2).tolist()
    [0.02, 0.44]
    """

    #: The prior as if so many items had been seen …
    items = 0.1
    #: … in so many seconds: one item in two and a half days, and soon outweighed.
    seconds = 21_600.0

    def __init__(self, sources: int, window: int | None) -> None:
        self.window = np.inf if window is None else window
        self.count = np.zeros(sources)
        self.exposure = np.zeros(sources)
        self.earned = np.zeros(sources)

    def learn(self, visits: Visits) -> None:
        """Count what the visits saw."""
        if not len(visits.row):
            return
        whole = (visits.new < self.window) & np.isfinite(visits.gap)
        watched = np.where(whole, visits.gap, np.nan_to_num(visits.oldest))
        self.count[visits.row] += visits.new
        self.exposure[visits.row] += watched
        upto = np.concatenate([[0.0], np.cumsum(visits.worth)])
        end = visits.start[1:]
        self.earned[visits.row] += upto[end] - upto[end - visits.new]

    @property
    def arrival(self) -> Array:
        """Items per second."""
        rate: Array = (self.items + self.count) / (self.seconds + self.exposure)
        return rate

    @property
    def worth(self) -> Array:
        """Mean worth of an item."""
        total = float(self.count.sum())
        fleet = float(self.earned.sum()) / total if total else 1.0
        mean: Array = (self.earned + fleet) / (self.count + 1)
        return mean

    @property
    def weight(self) -> Array:
        """Value published per second."""
        return self.arrival * self.worth
