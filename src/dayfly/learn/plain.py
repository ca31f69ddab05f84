"""Two learners that do not price exploration: what ours has to beat.

Posterior means alone starve: a source believed to be too slow is never visited again. The floor
visits everybody once first, and gives a twentieth of the visits to those longest unseen. Thompson
sampling draws a rate for a source whenever it was visited, and believes in it until the next time.
"""

from __future__ import annotations

import numpy as np

from dayfly.estimate import ArrivalEstimator
from dayfly.learn.learner import known_nothing
from dayfly.model import Array, Rows, Visits
from dayfly.policies import Contest, best

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
        age = now - self._last
        age[taken] = 0.0
        fleet = self.estimator.mean()
        rest = best(fleet, age, k - len(taken), self.contest.epoch)
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
        self._last = np.full(contest.sources, contest.start)
        self._drawn: Array = np.zeros(contest.sources)
        self._stale: Rows = np.arange(contest.sources)

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The k largest indices."""
        if len(self._stale):
            self._drawn[self._stale] = self.estimator.sample(rng).arrival[self._stale]
            self._stale = self._stale[:0]
        fleet = self.estimator.mean().replace(arrival=self._drawn)
        return best(fleet, now - self._last, k, self.contest.epoch)

    def observe(self, visits: Visits) -> None:
        """Count, and draw anew for those visited."""
        self.estimator.learn(visits)
        self._last[visits.row] = visits.time
        self._stale = visits.row
