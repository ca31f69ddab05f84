"""Two learners that do not price exploration: what ours has to beat.

Posterior means alone starve: a source believed to be too slow is never visited again. The floor
visits everybody once first, and gives a twentieth of the visits to those longest unseen. Thompson
sampling draws a rate for a source whenever it was visited, and believes in it until the next time.
"""

from __future__ import annotations

import numpy as np

from dayfly.estimate import ArrivalEstimator
from dayfly.learn.learner import known_nothing
from dayfly.learn.shape import Shape
from dayfly.model import Array, Rows, Visits
from dayfly.policies import Contest, top

#: Share of the visits that goes to those longest unseen.
_FLOOR = 0.05


class PosteriorMean:
    """Everybody once; then by the index of mean rates, and a few for the longest unseen.

    Examples
    --------
    >>> contest = Contest(sources=3, start=0.0, epoch=900.0, budget=1, decay=1e-4, window=20,
    ...                   span=9e9)
    >>> PosteriorMean(contest).choose(0.0, 2, np.random.default_rng(0))
    array([0, 1])
    """

    def __init__(self, contest: Contest) -> None:
        self.contest = contest
        self.estimator = ArrivalEstimator(known_nothing(contest).replace(window=np.inf))
        self._index = _Index(contest)
        self._last = np.full(contest.sources, -np.inf)
        self._unspent = 0.0

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """Those never seen, then those longest unseen as far as their share goes, then the best."""
        never = np.flatnonzero(np.isinf(self._last))[:k]
        self._unspent = min(self._unspent + _FLOOR * k, float(k))
        floor = min(int(self._unspent), k - len(never))
        self._unspent -= max(floor, 0)
        oldest = np.argsort(self._last, kind="stable")[len(never) : len(never) + floor]
        taken = np.concatenate([never, oldest])
        index = self._index(self.estimator.rate(), now - self._last)
        index[taken] = 0.0
        rest = top(index, k - len(taken))
        return np.concatenate([taken, rest[~np.isin(rest, taken)]]).astype(np.int64)

    def observe(self, visits: Visits) -> None:
        """Count."""
        self.estimator.learn(visits)
        self._last[visits.row] = visits.time


class Thompson:
    """By the index of rates drawn from the belief; a draw holds until the next visit.

    Examples
    --------
    >>> contest = Contest(sources=3, start=0.0, epoch=900.0, budget=1, decay=1e-4, window=20,
    ...                   span=9e9)
    >>> len(Thompson(contest).choose(900.0, 2, np.random.default_rng(0)))
    2
    """

    def __init__(self, contest: Contest) -> None:
        self.contest = contest
        self.estimator = ArrivalEstimator(known_nothing(contest).replace(window=np.inf))
        self._index = _Index(contest)
        self._last = np.full(contest.sources, contest.start)
        self._drawn: Array = np.zeros(contest.sources)
        self._stale: Rows = np.arange(contest.sources)

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The k largest indices."""
        if len(self._stale):
            self._drawn[self._stale] = self.estimator.draw(rng, self._stale)
            self._stale = self._stale[:0]
        return top(self._index(self._drawn, now - self._last), k)

    def observe(self, visits: Visits) -> None:
        """Count, and draw anew for those visited."""
        self.estimator.learn(visits)
        self._last[visits.row] = visits.time
        self._stale = visits.row


class _Index:
    """The index of sources that show everything, by rate and age."""

    def __init__(self, contest: Contest) -> None:
        self._decay = contest.decay
        self._shape = Shape(contest.decay, contest.epoch, None)

    def __call__(self, rate: Array, age: Array) -> Array:
        # Whoever was never seen has waited for ever: for so long that nothing is left to gain.
        long = np.minimum(age, 1e4 / self._decay)
        found: Array = rate / self._decay * self._shape.at(rate, long)
        return found
