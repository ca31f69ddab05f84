"""Change rates where a visit only says whether something changed (ETag, 304).

With I the time since the last visit, a change shows with probability 1 − e^(−ΔI), and several
changes show as one. So changes over time is too low; and a page that never changed in a few visits
gets the rate 0 from every classical rule and is not visited again. What helps is a prior: two
made-up intervals, or better, what the other pages look like.
"""

from __future__ import annotations

import numpy as np

from dayfly.errors import BadInput
from dayfly.estimate.base import Estimate
from dayfly.estimate.mixture import mixing_weights, posterior
from dayfly.model import KINDS, Array, Crawl, Fleet, Mask, Rows, Visits

_DAY = 86400.0
#: Rates of the grid per day: once in three years to fifty times a day.
GRID = np.geomspace(1e-3, 50.0, 14) / _DAY
#: Weight of each rate before anything is known: broad around the guess, in decades.
_SPREAD = 0.75


class ChangeEstimator:
    """Learns change rates from change bits, with a prior that the fleet writes.

    It remembers the log-likelihood of fourteen rates and the last answer: fifteen floats. The
    belief is a weight per rate. `refit` finds how common each rate is in the fleet.

    Parameters
    ----------
    fleet
        The sources as they are believed to be. Of freshness sources it learns `decay`, their
        change rate; of others `arrival`, counting all items of one visit as one.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._fresh: Mask = fleet.kind_code == KINDS.index("freshness")
        guess = np.where(self._fresh, fleet.decay, fleet.arrival)
        if len(guess) and not (guess > 0).all():
            raise BadInput(
                "a rate of 0 is one that no observation could correct; guess a small one"
            )
        off = np.log10(GRID / guess[:, None]) / _SPREAD
        self._prior: Array = posterior(-0.5 * off**2, np.ones(len(GRID)))
        #: What was learned: log-likelihood of each rate, and when a source last answered.
        self.likelihood_ = np.zeros((len(fleet), len(GRID)))
        self.answered_ = np.full(len(fleet), -np.inf)

    def update(self, crawl: Crawl) -> Estimate:
        """The belief after this crawl; see `Estimator`."""
        row = np.array([crawl.row])
        log, answered = self.likelihood_[row], float(self.answered_[crawl.row])
        if crawl.answered:
            log = log + _evidence(np.array([crawl.time - answered]), np.array([bool(crawl.items)]))
            answered = crawl.time
        rate = self._rate(row, log)
        here = self._fleet
        fresh = bool(self._fresh[crawl.row])
        return Estimate(
            row=crawl.row,
            time=crawl.time,
            arrival=float(here.arrival[crawl.row]) if fresh else float(rate[0]),
            decay=float(rate[0]) if fresh else float(here.decay[crawl.row]),
            worth=float(here.worth[crawl.row]),
            memory=(*log[0].tolist(), answered),
        )

    def apply(self, estimate: Estimate) -> None:
        """Believe it from now on."""
        *log, self.answered_[estimate.row] = estimate.memory
        self.likelihood_[estimate.row] = log

    def learn(self, visits: Visits) -> None:
        """Update and apply a batch; see `Estimator`."""
        row = visits.row
        self.likelihood_[row] += _evidence(visits.time - self.answered_[row], visits.new > 0)
        self.answered_[row] = visits.time

    def refit(self) -> None:
        """Let the fleet say how common each rate is; sources that were never seen believe it."""
        seen = (self.likelihood_ != 0).any(axis=1)
        if seen.any():
            weights = mixing_weights(self.likelihood_[seen])
            self._prior = np.broadcast_to(weights, self.likelihood_.shape)

    def mean(self) -> Fleet:
        """The fleet with posterior mean rates."""
        # One row at a time and all at once must round alike, so both go the same way.
        return self._believed(self._rate(np.arange(len(self._fleet)), self.likelihood_))

    def sample(self, rng: np.random.Generator) -> Fleet:
        """The fleet with rates drawn from the belief."""
        below = np.cumsum(posterior(self.likelihood_, self._prior), axis=1)
        place = (below < rng.random(len(below))[:, None]).sum(axis=1)
        return self._believed(GRID[np.minimum(place, len(GRID) - 1)])

    def _rate(self, row: Rows, log: Array) -> Array:
        rate: Array = (posterior(log, self._prior[row]) * GRID).sum(axis=1)
        return rate

    def _believed(self, rate: Array) -> Fleet:
        if self._fresh.any():
            return self._fleet.replace(
                arrival=np.where(self._fresh, self._fleet.arrival, rate),
                decay=np.where(self._fresh, rate, self._fleet.decay),
            )
        return self._fleet.replace(arrival=rate)


def _evidence(gap: Array, changed: Mask) -> Array:
    """Log-likelihood of each rate; a first visit and a clock that was set back say nothing."""
    known = np.isfinite(gap) & (gap > 0)
    z = np.where(known, gap, 1.0)[:, None] * GRID
    found: Array = np.where(changed[:, None], np.log(-np.expm1(-z)), -z)
    return np.where(known[:, None], found, 0.0)


def naive(row: Rows, interval: Array, changed: Mask, sources: int) -> Array:
    """Changes seen over time watched."""
    seen = np.bincount(row, changed, minlength=sources)
    found: Array = seen / np.maximum(np.bincount(row, interval, minlength=sources), 1e-300)
    return found


def bias_reduced(row: Rows, interval: Array, changed: Mask, sources: int) -> Array:
    """Cho and Garcia-Molina: −ln((n − X + ½)/(n + ½)) per mean interval.

    >>> bias_reduced(np.zeros(4, int), np.ones(4), np.array([True, True, False, True]), 1).round(3)
    array([1.099])
    """
    n = np.bincount(row, minlength=sources).astype(np.float64)
    seen = np.bincount(row, changed, minlength=sources)
    mean = np.bincount(row, interval, minlength=sources) / np.maximum(n, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = -np.log((n - seen + 0.5) / (n + 0.5)) / mean
    return np.nan_to_num(found)


def most_likely(
    row: Rows, interval: Array, changed: Mask, sources: int, pseudo: float | None = None
) -> Array:
    """The rate that makes the bits most likely: Σ_changed I/(e^(ΔI) − 1) = Σ_unchanged I.

    Parameters
    ----------
    pseudo
        Length of two made-up intervals, one changed and one not, as in LambdaCrawl (half a day).
        Without them the answer is 0 where nothing ever changed and huge where everything did.
    """
    if pseudo is not None:
        each = np.arange(sources)
        row = np.concatenate([row, each, each])
        interval = np.concatenate([interval, np.full(2 * sources, pseudo)])
        changed = np.concatenate([changed, np.ones(sources, bool), np.zeros(sources, bool)])
    rest = np.bincount(row, np.where(changed, 0.0, interval), minlength=sources)
    where, length = row[changed], interval[changed]
    low, high = np.full(sources, -25.0), np.full(sources, 5.0)
    for _ in range(60):  # in the logarithm of the rate: the left side falls with it
        middle = 0.5 * (low + high)
        with np.errstate(over="ignore"):
            part = length / np.expm1(np.exp(middle)[where] * length)
        rises = np.bincount(where, part, minlength=sources) > rest
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    seen = np.bincount(row, changed, minlength=sources) > 0
    found: Array = np.where(seen, np.exp(0.5 * (low + high)), 0.0)
    return found
