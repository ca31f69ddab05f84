"""Arrival rates from the timestamps of items: Gamma belief, Poisson arrivals.

    Λ ~ Gamma(a + Σn, b + Σexposure)

A visit adds n new items over the time since the last answer. But a feed that shows K items, all of
them new, may have pushed others out unseen: then all that is known is that the last K came within
the age of the oldest of them, so the visit adds (K, that age). The naive K over the gap is a third
too low on a busy feed.
"""

from __future__ import annotations

import math

import numpy as np

from dayfly.errors import BadInput
from dayfly.estimate.base import Estimate
from dayfly.model import Array, Crawl, Fleet, Rows, Visits


class ArrivalEstimator:
    """Learns `arrival`; decay, worth and the rest are taken from the fleet as known.

    Parameters
    ----------
    fleet
        The sources as they are believed to be before the first crawl; `arrival` must be positive.
    prior_items
        How many items the fleet's `arrival` weighs against what is seen: little, so that one
        visit to a feed with dated items already decides.

    Examples
    --------
    A first visit shows three items, the oldest two hours old:

    >>> from dayfly.model import Item, Status
    >>> estimator = ArrivalEstimator(Fleet(arrival=1 / 3600, decay=1e-4), prior_items=1)
    >>> items = tuple(Item(key=str(age), published=1e9 - age) for age in (600, 3600, 7200))
    >>> crawl = Crawl(row=0, time=1e9, status=Status.CHANGED, items=items, visible=3,
    ...               oldest_s=7200.0)
    >>> estimate = estimator.update(crawl)
    >>> round(estimate.arrival * 3600, 3)         # (1 + 3) items in (1 + 2) hours
    1.333
    >>> estimator.mean()[0].arrival * 3600        # not applied yet
    1.0
    >>> estimator.apply(estimate)
    >>> round(estimator.mean()[0].arrival * 3600, 3)
    1.333
    """

    def __init__(self, fleet: Fleet, *, prior_items: float = 0.5) -> None:
        if len(fleet) and not (fleet.arrival > 0).all():
            row = int(np.flatnonzero(fleet.arrival <= 0)[0])
            raise BadInput(
                f"arrival[{row}] is 0, which no observation could correct; give a small guess"
            )
        if not (math.isfinite(prior_items) and prior_items > 0):
            raise BadInput(f"prior_items must be positive and finite, got {prior_items}")
        self._fleet = fleet
        self._shape = prior_items
        self._rate: Array = prior_items / fleet.arrival
        #: What was learned: items counted, the time over which, and when a source last answered.
        self.count_ = np.zeros(len(fleet))
        self.exposure_ = np.zeros(len(fleet))
        self.answered_ = np.full(len(fleet), -np.inf)

    def update(self, crawl: Crawl) -> Estimate:
        """The belief after this crawl; see `Estimator`."""
        row = crawl.row
        count, exposure = float(self.count_[row]), float(self.exposure_[row])
        answered = float(self.answered_[row])
        if crawl.answered:
            n, over = _evidence(crawl, gap=max(crawl.time - answered, 0.0))
            count, exposure, answered = count + n, exposure + over, crawl.time
        return Estimate(
            row=row,
            time=crawl.time,
            arrival=(self._shape + count) / (float(self._rate[row]) + exposure),
            decay=float(self._fleet.decay[row]),
            worth=float(self._fleet.worth[row]),
            memory=(count, exposure, answered),
        )

    def apply(self, estimate: Estimate) -> None:
        """Believe it from now on."""
        row = estimate.row
        self.count_[row], self.exposure_[row], self.answered_[row] = estimate.memory

    def learn(self, visits: Visits) -> None:
        """Update and apply a batch; see `Estimator`."""
        row = visits.row
        over = np.maximum(visits.time - self.answered_[row], 0.0)
        # The oldest date is looked up only where it counts: it may be anywhere in memory.
        full = np.flatnonzero((visits.new > 0) & (visits.new >= visits.shown))
        oldest = visits.time - visits.published[visits.start[full]]
        over[full] = np.minimum(np.maximum(oldest, 0.0), over[full])
        # A first visit that is not full says nothing about how long its items took to gather.
        known = np.isfinite(over)
        self.count_[row] += np.where(known, visits.new, 0)
        self.exposure_[row] += np.where(known, over, 0.0)
        self.answered_[row] = visits.time

    def mean(self) -> Fleet:
        """The fleet with posterior mean rates."""
        return self._fleet.replace(arrival=self.rate())

    def rate(self) -> Array:
        """Posterior mean rates alone."""
        return (self._shape + self.count_) / self._total()

    def sample(self, rng: np.random.Generator) -> Fleet:
        """The fleet with rates drawn from the posterior."""
        return self._fleet.replace(arrival=self.draw(rng, slice(None)))

    def draw(self, rng: np.random.Generator, rows: Rows | slice) -> Array:
        """Rates of these sources alone, drawn from the posterior."""
        drawn: Array = rng.gamma(self._shape + self.count_[rows]) / self._total()[rows]
        return drawn

    def _total(self) -> Array:
        return self._rate + self.exposure_


def _evidence(crawl: Crawl, gap: float) -> tuple[int, float]:
    """New items and the time over which they appeared."""
    n = len(crawl.items)
    if n and n >= crawl.visible and crawl.oldest_s is not None:
        # Late additions to a feed may be dated before the last visit; they came after it.
        # A date in the future adds no negative time.
        return n, max(min(crawl.oldest_s, gap), 0.0)
    # A first visit without dates says nothing about how long its items took to gather.
    return (n, gap) if math.isfinite(gap) else (0, 0.0)
