"""Our learner where visits tell their reward and nothing else: estimate, index, look again.

Everybody is visited once. From then on the source with the highest index is next, where the index
is that of no single guess but the mean over what the source may be like, plus one standard
deviation of it: a source that is little known counts for more. One that looks worthless is looked
at again all the same, more and more rarely. As long as a source's decay is in doubt its gap is
varied, a little early one time and a little late the next, because at one and the same gap a decay
never shows.
"""

from __future__ import annotations

import numpy as np

from dayfly.estimate.rewards import RewardEstimator
from dayfly.model import Array, Ephemeral, Fleet, Rows, Visits
from dayfly.policies import Contest
from dayfly.policies.select import top

#: Standard deviations of the index that are added to its mean.
BOLDNESS = 1.0
#: How far the index is bent up and down by turns, per unit of doubt about the log of the decay.
VARIETY = 0.05
#: A source visited k times goes unseen for at most so many rounds times k: however little it seems
#: to have, it may have changed, or the first visit was bad luck.
PATIENCE = 25.0
#: Fewer sources than this are no fleet to fit a prior to.
FLEET = 20
#: A decay to begin with, per epoch; it need only be right within a factor of thirty.
DECAY = 0.3


class RewardLearner:
    """A contender that knows nothing, not even how fast news fades.

    Parameters
    ----------
    contest
        Where it takes part. The decay that it tells is not looked at.
    together
        Whether the sources are one fleet, from which a prior may be learned. Not so where several
        runs are played side by side.

    Examples
    --------
    >>> from dayfly.estimate.rewards import rewarded
    >>> learner = RewardLearner(Contest(sources=3, start=0.0, epoch=1.0, budget=1.0, decay=1.0,
    ...                                 window=None, span=100.0))
    >>> rng = np.random.default_rng(0)
    >>> for now in (1.0, 2.0, 3.0):                      # everybody once
    ...     row = learner.choose(now, 1, rng)
    ...     learner.observe(rewarded(now, row, [np.inf], [100.0 / (1 + row[0])]))
    >>> learner.choose(4.0, 1, rng)
    array([0])
    """

    def __init__(self, contest: Contest, *, together: bool = True) -> None:
        self.epoch, self.start = contest.epoch, contest.start
        guess = DECAY / contest.epoch
        self.estimator = RewardEstimator(
            Fleet(arrival=np.full(contest.sources, guess), decay=guess)
        )
        self.last = np.full(contest.sources, contest.start)
        self.visits = np.zeros(contest.sources, dtype=np.int64)
        self._round = contest.epoch * contest.sources / contest.budget
        self._refits = together and contest.sources >= FLEET
        self._refit_at = contest.sources

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The k rows with the highest scores."""
        return top(self.score(now), k)

    def observe(self, visits: Visits) -> None:
        """Learn from the values; what nobody had seen was gathered since the start."""
        seen, rows = int(self.visits.sum()), visits.row
        gap = visits.time - self.last[rows]
        self.last[rows] = visits.time
        self.visits[rows] += 1
        self.estimator.learn(_with_gap(visits, gap))
        # After one visit each, then whenever as many have come again: what there is to learn of the
        # fleet doubles from one time to the next.
        if self._refits and seen + len(rows) >= self._refit_at:
            self.estimator.refit()
            self._refit_at *= 2

    def score(self, now: float) -> Array:
        """What a visit now is worth, with what it may teach; infinite for who was never seen."""
        belief = self.estimator
        age = np.maximum(now - self.last, self.epoch)
        score = bold_index(
            belief.node_ceiling_, belief.node_decay_, 1 / belief.items_, age, self.epoch
        )
        turn = np.where(self.visits % 2 == 0, VARIETY, -VARIETY)
        score *= np.exp(turn * belief.doubt_)
        return np.where(age > PATIENCE * self._round * self.visits, np.inf, score)


def bold_index(ceiling: Array, decay: Array, doubt: Array, age: Array, epoch: float) -> Array:
    """Mean of the index over what sources may be like, plus `BOLDNESS` standard deviations.

    Parameters
    ----------
    ceiling, decay
        Equally likely pairs of Λξ/μ and μ, shape (n_sources, any).
    doubt
        Relative variance of the ceiling beyond that, shape (n_sources,).
    age
        Time since the last visit.
    """
    curves = Ephemeral.fading(ceiling.reshape(-1), decay.reshape(-1))
    ages = np.repeat(age, ceiling.shape[1])
    index = curves.slotted(ages, epoch).reshape(ceiling.shape)
    mean = index.mean(axis=1)
    spread = (index**2).mean(axis=1) * (1 + doubt) - mean**2
    return np.asarray(mean + BOLDNESS * np.sqrt(np.maximum(spread, 0.0)))


def _with_gap(visits: Visits, gap: Array) -> Visits:
    return Visits(
        time=visits.time, row=visits.row, gap=gap, start=visits.start, published=visits.published,
        worth=visits.worth, new=visits.new, value=visits.value,
    )  # fmt: skip
