"""What a visit is worth at every age, and when that reaches the price.

The score of `learner.py`, for sources that may differ in decay μ and cost C. All is counted per
unit of cost, in units of u* = Λξ/(μC); the gains of `explore.py` are then those of a market in
which interest fades at rate 1, times μ.

A source that shows K items at a time has shown all that it will when K have come: its index is

    γ(τ) = u*·[P(2, μτ)·Pr(N < K) + (1 − e^(−μK/Λ))·Pr(N ≥ K)],   N ~ Poisson(Λτ),

within a few per cent of the exact sum (`model/window.py`) at a hundredth of its price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.estimate.stamps import Belief
from dayfly.learn.explore import Market
from dayfly.model import Array, Mask
from dayfly.model.special import rise, rise_inverse

_DAY = 86400.0
#: Ages at which scores are computed, in seconds: between them the logarithm is straight enough.
AGES: Array = np.geomspace(30.0, 400 * _DAY, 56)
_LOG = np.log(AGES)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Traits:
    """What is known of some sources besides their rates; one number each."""

    decay: Array
    cost: Array
    #: Worth of an item, and how many of them are shown at a time.
    worth: Array
    window: Array
    #: Whether they were ever looked at, and whether they have shown nothing all the same.
    seen: Mask
    silent: Mask

    @property
    def unit(self) -> Array:
        """u* of a source with one item per second."""
        return self.worth / (self.decay * self.cost)


def harvests(belief: Belief, traits: Traits, span: float) -> Array:
    """The index of what waits at each source at each of `AGES`, shape (n_sources, n_ages)."""
    decay, mean = traits.decay, belief.mean
    excess = belief.level - mean
    with np.errstate(under="ignore"):
        rate = mean[:, None] + excess[:, None] * np.exp(-AGES / span)
    found: Array = rise(np.multiply.outer(decay, AGES).ravel()).reshape(rate.shape)
    some = np.flatnonzero(np.isfinite(traits.window) & (mean * AGES[-1] > 0.25 * traits.window))
    if len(some):
        found[some] = _shown(found[some], rate[some], decay[some], traits.window[some])
    found *= rate * traits.unit[:, None]
    return found


def scores(
    harvest: Array, belief: Belief, traits: Traits, market: Market, reach: float, span: float
) -> Array:
    """The score at each of `AGES`: the harvest, and what a look teaches."""
    unit, decay, mean = traits.unit, traits.decay, belief.mean
    of_mean = decay * market.gain_of_mean(belief.mixture, belief.scale * unit)
    of_level = market.gain_of_level(mean * unit, belief.shape) + market.gain_of_growth(mean * unit)
    of_level *= decay
    learned = (AGES / (AGES + belief.certainty[:, None])) ** 2
    found = harvest + reach * of_mean[:, None] * learned
    found += of_level[:, None] * _stale(span, reach)
    silent = np.flatnonzero(traits.silent)
    found[silent] += decay[silent, None] * market.gain_of_waking(AGES)
    new = np.flatnonzero(~traits.seen)
    # A first look takes all that waits there and teaches all that a look can.
    found[new] = (mean[new] * unit[new] + reach * of_mean[new])[:, None]
    return found


def due_ages(score: Array, price: float | Array) -> Array:
    """The age at which each score reaches the price first; infinite if it never does."""
    reached = score >= (price if isinstance(price, float) else price[:, None])
    first = reached.argmax(axis=1)
    rows = np.arange(len(score))
    high, low = score[rows, first], score[rows, np.maximum(first - 1, 0)]
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(first > 0, (price - low) / (high - low), 0.0)
    log = _LOG[first] - (1.0 - part) * (_LOG[first] - _LOG[np.maximum(first - 1, 0)])
    return np.where(reached[rows, first], np.exp(log), np.inf)


def between(score: Array, age: Array) -> Array:
    """Scores at ages of each source's own, shape (n_sources, any), straight over the logarithm."""
    place = np.clip((np.log(age) - _LOG[0]) * ((len(_LOG) - 1) / (_LOG[-1] - _LOG[0])), 0, None)
    column = np.minimum(place.astype(np.int64), len(_LOG) - 2)
    flat, line = score.ravel(), np.arange(len(score))[:, None] * score.shape[1] + column
    low = flat[line]
    found: Array = low + (place - column) * (flat[line + 1] - low)
    return found


def plain_curves(score: Array, price: float) -> tuple[Array, Array]:
    """The plain index A·P(2, dτ) that is closest to each score: its ceiling A and its decay d.

    It ends where the score does, and reaches the price with it (or half its height, if that is
    lower).
    """
    ceiling: Array = np.maximum(score.max(axis=1), 1e-300)
    level = np.minimum(price, 0.5 * ceiling)
    # Who is there at the first of ages already is met there.
    level = np.clip(level, score[:, 0], 0.999 * ceiling)
    age = due_ages(score, level)
    decay: Array = rise_inverse(level / ceiling) / age
    return ceiling, decay


def _shown(plain: Array, rate: Array, decay: Array, window: Array) -> Array:
    from scipy.special import ndtr

    came, most = rate * AGES, window[:, None]
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        full = ndtr((came - most + 0.5) / np.sqrt(np.maximum(came, 1e-300)))
        last = -np.expm1(-decay[:, None] * most / np.maximum(rate, 1e-300))
    found: Array = plain + (last - plain) * full
    return found


def _stale(span: float, reach: float) -> Array:
    """∫ of what is forgotten: knowledge of levels that last for a span, and of those that last."""
    return span * rise(AGES / span) + reach * rise(AGES / reach)
