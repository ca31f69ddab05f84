"""What it is worth to know a rate, at the price that a visit costs elsewhere.

At price λ a source of rate Λ, visited whenever it is due, earns beyond what its visits cost

    s(Λ) = max_τ (f(τ) − λ)/τ,    f(τ) = (Λ/μ)(1 − e^(−μτ))

per second, and nothing if Λ/μ ≤ λ: then it is never visited. s is convex, so whoever knows the
rate earns more on average than whoever knows its mean: E s(Λ) − s(E Λ) ≥ 0. That, times the time
for which the knowledge lasts, is what a look may cost. A first look at a source is the best
purchase of this kind; a look at a source long unseen, or one that comes in bursts, is the same
purchase, with less to learn.

A source that has never shown anything may begin at any time, and nobody says so. If it wakes with
hazard h and would then earn s, waiting τ for the next look loses h·s·τ²/2 on average, so its index
grows like that. Both numbers are learned from those that were silent at first and have woken.

The price is the one at which the fleet, as it is believed to be, spends the budget.
"""

from __future__ import annotations

import numpy as np

from dayfly.estimate.prior import Mixture
from dayfly.estimate.silence import Silence
from dayfly.model import Array
from dayfly.model.special import rise, rise_inverse, saturation

#: Incomes are tabled per factor of ten at so many points.
_PER_DECADE = 40
#: How much growth is to be expected, as a share of the income. A choice, not a law: of a few tried,
#: 0.01 did best on recorded posts and 0.03 on recorded news.
_GROWTH = 0.02
#: Points and weights that stand for a normal law. Evenly spaced, because what matters is how much
#: of the law lies beyond the price, which a few Gauss points far apart would miss.
_POINTS: Array = np.linspace(-4.0, 4.0, 17)
_WEIGHTS: Array = np.exp(-0.5 * _POINTS**2) / np.exp(-0.5 * _POINTS**2).sum()


class Market:
    """The price of a visit, and what a source earns beyond it.

    Parameters
    ----------
    decay
        Loss of interest per second, the same for all.
    epoch
        Seconds between decisions: nobody is visited more often.
    budget
        Visits per second.

    Examples
    --------
    Two sources and a visit every hour: the price is where they share it.

    >>> market = Market(decay=1e-4, epoch=60.0, budget=1 / 3600)
    >>> market.settle(np.array([1e-3, 2e-3]), np.ones(2))
    >>> 1.5 < market.price < 2.5
    True
    >>> market.surplus(np.array([1e-5, 1e-3, 2e-3])).round(4)
    array([0.    , 0.0004, 0.0011])
    """

    def __init__(self, decay: float, epoch: float, budget: float) -> None:
        self.decay, self.epoch, self.budget = decay, epoch, budget
        self.price = 0.0
        #: What a silent source will earn per second once it wakes, and how long that takes.
        self.waking, self.calm = 0.0, 1.0
        self._log = np.zeros(2)
        self._table = np.zeros(2)

    def settle(self, income: Array, number: Array) -> None:
        """Find the price for so many sources of such incomes (worth per second)."""
        some = (income > 0) & (number > 0)
        bins = np.round(np.log10(income[some]) * _PER_DECADE).astype(np.int64)
        first = int(bins.min(initial=0))
        crowd = np.bincount(bins - first, number[some])
        level = 10.0 ** ((np.arange(len(crowd)) + first) / _PER_DECADE)
        low, high = 0.0, float(level[-1]) / self.decay
        for _ in range(50):
            middle = 0.5 * (low + high)
            spent = float((crowd / self._age(level, middle)).sum())
            low, high = (middle, high) if spent > self.budget else (low, middle)
        self.price = high
        # From the rate that is just not worth a visit up to ten thousand times it.
        least = max(np.log(high * self.decay), -700.0)
        self._log = np.linspace(least, least + np.log(1e4), 4 * _PER_DECADE + 1)
        income = np.exp(self._log)
        age = self._age(income, high)
        harvest = income / self.decay * saturation(self.decay * age)
        with np.errstate(invalid="ignore"):
            self._table = np.where(np.isfinite(age), np.maximum(harvest - high, 0.0) / age, 0.0)

    def await_waking(self, usual: Array, income: Array, silence: Silence, reach: float) -> None:
        """Learn what silence is worth a look.

        Parameters
        ----------
        usual, income
            Incomes of those that were ever seen, and of all.
        silence
            Who had nothing to show, and who of them has begun since.
        reach
            The guess before: one wakes in this time, and is then like the others on average.
        """
        number = 1.0 + float(silence.remembered.sum())
        typical = float(self.surplus(usual).mean()) if len(usual) else 0.0
        earned = silence.remembered * self.surplus(income[silence.woken])
        self.waking = (typical + float(earned.sum())) / number
        self.calm = (reach + silence.watched) / number

    def gain_of_waking(self, age: Array) -> Array:
        """What a look is worth at a source that was silent when last seen, so long ago."""
        found: Array = self.waking * self.calm * rise(age / self.calm)
        return found

    def surplus(self, income: Array) -> Array:
        """What sources of these incomes earn per second beyond the price, s."""
        with np.errstate(divide="ignore"):
            log = np.log(income)
        found: Array = np.interp(log, self._log, self._table, left=0.0)
        # Beyond the table visits are a matter of course: all that is added is earned.
        found += np.maximum(income - np.exp(self._log[-1]), 0.0)
        return found

    def gain_of_mean(self, belief: Mixture, worth: Array) -> Array:
        """E s − s(E) of a mean rate that is known as well as this: each component by two points."""
        centre = belief.component_mean * worth[:, None]
        width = 1.0 / np.sqrt(belief.shape)[:, None]
        both = self.surplus(centre * (1 + width)) + self.surplus(centre * np.maximum(1 - width, 0))
        expected: Array = 0.5 * np.einsum("ng,ng->n", belief.weight, both)
        return np.maximum(expected - self.surplus(belief.mean * worth), 0.0)

    def gain_of_level(self, mean: Array, shape: Array) -> Array:
        """E s − s(E) of a level with this mean and variance mean²/shape, log-normal."""
        variance = np.log1p(1.0 / shape)
        tilt = np.sqrt(variance)[:, None] * _POINTS - 0.5 * variance[:, None]
        expected: Array = self.surplus(mean[:, None] * np.exp(tilt)) @ _WEIGHTS
        return np.maximum(expected - self.surplus(mean), 0.0)

    def gain_of_growth(self, mean: Array) -> Array:
        """The same of a source that may outgrow all that it has shown.

        Laws fitted to what was seen have thin tails; growth has not. With Pr[factor > x] falling
        little faster than 1/x, what lies beyond any income is in proportion to the mean.
        """
        return _GROWTH * mean

    def _age(self, income: Array, price: float) -> Array:
        """How long sources of these incomes wait between visits at this price."""
        age = rise_inverse(price * self.decay / income) / self.decay
        return np.maximum(age, self.epoch)
