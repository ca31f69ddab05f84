"""Ours: rates from dates, the Whittle index, and exploration at its price.

The score of a source is what a visit now is worth, in one currency:

    γ(τ)                       the index of what waits there, at the level that is forecast, for
                               this time of the week (`rhythm.py`)
    + H·G_mean·(share learned)²       knowing its mean rate better
    + G_level·Σ_θ θ·P(2, τ/θ)         seeing at which level it is now
    + G_waking·θ·P(2, τ/θ)            seeing whether it has begun, if it never showed anything

G are the gains of `explore.py` per second of knowing, H the time for which a mean is remembered.
What a look teaches grows with the time τ since the last one, like a harvest, so it gets an index
like a harvest, f − τf′: a share τ/(τ + c) learned gives the square of it, and knowledge that goes
stale at rate 1/θ gives P(2, τ/θ), the same function as news that fade. Levels change on all time
scales: a burst of a day, and a source that wakes up for weeks.

A source never visited is scored by the fleet's prior: its harvest and all of H·G_mean. So it is
visited when that is the best buy, and not before. Nobody is forgotten: evidence fades, belief
returns to the prior, and a source long unseen becomes as attractive as a new one.
"""

from __future__ import annotations

import numpy as np

from dayfly.estimate.stamps import StampEstimator
from dayfly.learn.explore import Market
from dayfly.learn.rhythm import Rhythm
from dayfly.learn.shape import Shape
from dayfly.model import Array, Fleet, Rows, Visits
from dayfly.model.special import rise, saturation
from dayfly.policies import Contest, top

_DAY = 86400.0
#: Where a prior of rates is centred before anything is known.
GUESS = 1.0 / _DAY
#: Beliefs of all sources are brought up to date so often, in seconds …
_REFIT = 1.0 * _DAY
#: … and while the fleet is being discovered whenever it has grown by this factor.
_GROWTH = 1.3


class Dayfly:
    """A contender that learns from dated items and pays for knowledge what it is worth.

    Parameters
    ----------
    contest
        What is known beforehand.
    rhythm
        Whether to learn the hours of the week as well; without, every hour is like any other.

    Examples
    --------
    >>> contest = Contest(sources=3, start=0.0, epoch=900.0, budget=1, decay=1e-4, window=20,
    ...                   span=9e9)
    >>> Dayfly(contest).choose(0.0, 2, np.random.default_rng(0))
    array([0, 1])
    """

    def __init__(self, contest: Contest, *, rhythm: bool = True) -> None:
        n = contest.sources
        self.contest = contest
        self._rhythm = Rhythm(n, contest.start, contest.decay) if rhythm else None
        self.estimator = StampEstimator(known_nothing(contest))
        self.market = Market(contest.decay, contest.epoch, contest.budget / contest.epoch)
        self._last = np.full(n, contest.start)
        self._seen = np.zeros(n, dtype=np.bool_)
        self._silent = np.zeros(n, dtype=np.bool_)
        self._shape = Shape(contest.decay, contest.epoch, contest.window)
        #: Items per second, by how many more at the last visit, and worth of an item.
        self._rate, self._excess, self._worth = np.zeros(n), np.zeros(n), np.ones(n)
        self._gain_mean, self._certainty = np.zeros(n), np.ones(n)
        self._gain_level = np.zeros(n)
        self._next, self._known = -np.inf, 0

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The k rows with the highest scores."""
        seen = int(self._seen.sum())
        if now >= self._next or seen > _GROWTH * self._known + 20:
            self._next, self._known = now + _REFIT, seen
            self._refit(now)
        return top(self.score(now), k)

    def observe(self, visits: Visits) -> None:
        """Learn from what was seen."""
        self.estimator.learn(visits)
        if self._rhythm is not None:
            self._rhythm.learn(visits)
            if self._rhythm.due(visits.time):
                rows = np.arange(len(self._last))
                self._rhythm.fit(visits.time, self.estimator.belief(rows, visits.time).burst)
        self._last[visits.row], self._seen[visits.row] = visits.time, True
        self._believe(visits.row, visits.time)

    def score(self, now: float) -> Array:
        """What a visit to each source is worth now."""
        contest, reach, span = self.contest, self.estimator.reach, self.estimator.span
        age = now - self._last
        with np.errstate(under="ignore"):
            rate = self._rate + self._excess * np.exp(-age / span)
        found: Array = rate * self._worth / contest.decay * self._shape.at(rate, age)
        factor = None if self._rhythm is None else self._rhythm.factor(now, age)
        if factor is not None:
            found *= factor
        found += reach * self._gain_mean * (age / (age + self._certainty)) ** 2
        found += self._gain_level * (span * rise(age / span) + reach * rise(age / reach))
        silent = np.flatnonzero(self._silent)
        found[silent] += self.market.gain_of_waking(age[silent])
        new = np.flatnonzero(~self._seen)
        if len(new):
            income = self._rate[new] * self._worth[new]
            waiting = income / contest.decay * saturation(contest.decay * age[new])
            found[new] = waiting + reach * self._gain_mean[new]
        return found

    def _refit(self, now: float) -> None:
        """Learn the prior and the price anew, and what they mean for every source."""
        self.estimator.refit()
        rows = np.arange(len(self._last))
        belief = self.estimator.belief(rows, now)
        worth = self.estimator.worth_of(rows)
        new = np.flatnonzero(~self._seen)
        income, number = belief.mean * worth, np.ones(len(rows))
        if len(new):
            # Of those never seen nobody is average: they are what the prior says they are.
            one = belief.mixture.component_mean[new[0]] * belief.scale[new[0]] * worth[new[0]]
            income = np.concatenate([income[self._seen], one])
            crowd = belief.mixture.weight[new[0]] * len(new)
            number = np.concatenate([np.ones(len(rows) - len(new)), crowd])
        self.market.settle(income, number)
        earns, silence = belief.mean * worth, self.estimator.silence(rows)
        self.market.await_waking(earns[self._seen], earns, silence, self.estimator.reach)
        self._believe(rows, now)

    def _believe(self, rows: Rows, now: float) -> None:
        """Bring what is believed of these sources into the columns that are scored."""
        belief = self.estimator.belief(rows, now)
        worth = self.estimator.worth_of(rows)
        income = belief.mean * worth
        self._rate[rows], self._worth[rows] = belief.mean, worth
        self._excess[rows] = belief.level - belief.mean
        self._gain_mean[rows] = self.market.gain_of_mean(belief.mixture, belief.scale * worth)
        self._certainty[rows] = belief.certainty
        self._silent[rows] = self.estimator.silence(rows).silent
        self._gain_level[rows] = self.market.gain_of_level(income, belief.shape)
        self._gain_level[rows] += self.market.gain_of_growth(income)


def known_nothing(contest: Contest) -> Fleet:
    """The sources of a contest as a stranger sees them."""
    return Fleet(
        arrival=np.full(contest.sources, GUESS),
        decay=contest.decay,
        # Where all items are shown, whoever shows fewer than any number shows all.
        window=1e9 if contest.window is None else contest.window,
    )
