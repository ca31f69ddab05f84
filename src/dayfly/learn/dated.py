"""Our learner where visits show dated items and their total value, but no item's own worth.

The dates give the rate (Gamma belief, Poisson arrivals). With the ages a_i of its items a visit is
worth ξ Σ e^(−μ a_i): the level ξ and the decay μ are fitted to that as they are to rewards alone,
but without the noise of arrivals, so that a few visits tell both.
"""

from __future__ import annotations

import numpy as np

from dayfly.estimate import ArrivalEstimator
from dayfly.estimate.rewards import RewardEstimator, Seen
from dayfly.learn.rewards import DECAY, FLEET, PATIENCE, bold_index
from dayfly.model import Array, Fleet, Rows, Visits
from dayfly.policies import Contest
from dayfly.policies.select import top

#: The fleet's mean rate counts like so many items at each source.
PRIOR_ITEMS = 0.5


class DatedLearner:
    """A contender that learns rate, worth and decay from dates and totals.

    Examples
    --------
    >>> learner = DatedLearner(Contest(sources=2, start=-1.0, epoch=1.0, budget=1.0, decay=1.0,
    ...                                window=None, span=100.0))
    >>> learner.choose(0.0, 1, np.random.default_rng(0))
    array([0])
    """

    def __init__(self, contest: Contest) -> None:
        n, self.epoch, self.start = contest.sources, contest.epoch, contest.start
        guess = Fleet(arrival=np.full(n, 1 / contest.epoch), decay=DECAY / contest.epoch)
        self.rates = ArrivalEstimator(guess)
        self.values = RewardEstimator(guess)
        self.last = np.full(n, contest.start)
        self.visits = np.zeros(n, dtype=np.int64)
        self._round = contest.epoch * n / contest.budget
        self._seen, self._refit_at = 0, n

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The k rows with the highest scores."""
        return top(self.score(now), k)

    def observe(self, visits: Visits) -> None:
        """Count what is dated, and fit worth and decay where anything was found."""
        rows = visits.row
        # What nobody had seen before was gathered since the start: all of it is dated.
        self.rates.count_[rows] += visits.new
        self.rates.exposure_[rows] += visits.time - self.last[rows]
        some = np.flatnonzero(visits.new > 0)
        if len(some):
            self.values.regress(rows[some], visits.value[some], _by_age(visits, some))
        self.last[rows] = visits.time
        self.visits[rows] += 1
        self._seen += len(rows)
        if self._seen >= self._refit_at:
            if len(self.last) >= FLEET:
                self.values.refit()
            self._refit_at *= 2

    def score(self, now: float) -> Array:
        """What a visit now is worth, with what it may teach; infinite for who was never seen."""
        count, exposure = self.rates.count_, self.rates.exposure_
        over = max(float(exposure.sum()), self.epoch)
        typical = max(float(count.sum()), 1.0) / over
        shape = PRIOR_ITEMS + count
        rate = shape / (PRIOR_ITEMS / typical + exposure)
        decay = self.values.node_decay_
        ceiling = rate[:, None] * self.values.node_ceiling_ / decay
        age = np.maximum(now - self.last, self.epoch)
        score = bold_index(ceiling, decay, 1 / shape + 1 / self.values.items_, age, self.epoch)
        return np.where(age > PATIENCE * self._round * self.visits, np.inf, score)


def _by_age(visits: Visits, some: Rows) -> Seen:
    """Σ e^(−μ·age) over the new items of those visits, for any decays."""
    begin, owner = visits.start[1:][some] - visits.new[some], np.repeat(some, visits.new[some])
    first = np.cumsum(visits.new[some]) - visits.new[some]
    item = np.arange(len(owner)) - np.repeat(first - begin, visits.new[some])
    age = np.maximum(visits.time - visits.published[item], 0.0)
    lines = np.repeat(np.arange(len(some)), visits.new[some])

    def seen(decay: Array) -> Array:
        left = np.exp(-np.minimum(decay[lines] * age[:, None], 500.0))
        return np.asarray(np.add.reduceat(left, first, axis=0))

    return seen
