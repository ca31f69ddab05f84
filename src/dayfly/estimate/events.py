"""What an item is worth and how fast it fades, from the ages at which people clicked or voted.

Interest fades as e^(−μ·age), but ages are seen only up to a window w. The most likely decay of
ages so truncated solves

    1/μ − w/(e^(μw) − 1) = mean age

which is the mean of the truncated law. Many things fade in two phases, fast and slow; those are
fitted by expectation–maximisation. Where nobody says anything a half-life of six hours stands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.model import Array, Counts, Rows

#: Decay where nobody says anything: a half-life of six hours.
DEFAULT_DECAY = float(np.log(2) / (6 * 3600.0))
_ROUNDS = 300


def decay_from_mean(mean: npt.ArrayLike, window: npt.ArrayLike) -> Array:
    """The decay whose ages, cut off at the window, have this mean; 0 where they do not fall.

    >>> decay_from_mean([0.343482, 0.5], 1.0).round(3)
    array([2., 0.])
    """
    m, w = np.broadcast_arrays(np.asarray(mean, dtype=np.float64), np.asarray(window, np.float64))
    share = m / w  # between 0, infinitely fast, and ½, not at all
    low, high = np.zeros(share.shape), np.full(share.shape, 1e9)
    for _ in range(100):
        z = 0.5 * (low + high)
        slower = _mean_share(z) > share
        low, high = np.where(slower, z, low), np.where(slower, high, z)
    found: Array = np.where(share < 0.5, 0.5 * (low + high), 0.0) / w
    return found


def _mean_share(z: Array) -> Array:
    """Mean age over the window where decay × window is z; near 0 the two terms cancel."""
    safe = np.where(z > 1e-3, z, 1.0)
    with np.errstate(over="ignore"):
        exact = 1.0 / safe - 1.0 / np.expm1(safe)
    found: Array = np.where(z > 1e-3, exact, 0.5 - z / 12)
    return found


@dataclass(frozen=True, kw_only=True)
class Fading:
    """How interest fades: one phase, or two."""

    #: Per second; the slow one is 0 where there is one phase.
    decay: float
    slow_decay: float = 0.0
    #: Share of all interest, seen or not, that fades slowly.
    slow_share: float = 0.0
    #: Log-likelihood of the ages it was fitted to.
    log_likelihood: float

    @property
    def half_life(self) -> float:
        """When half of the interest is gone, in seconds."""
        low, high = 0.0, 60.0 / min(filter(None, (self.decay, self.slow_decay)), default=1.0)
        for _ in range(100):
            age = 0.5 * (low + high)
            left = (1 - self.slow_share) * np.exp(-self.decay * age)
            left += self.slow_share * np.exp(-self.slow_decay * age)
            low, high = (age, high) if left > 0.5 else (low, age)
        return low


def one_phase(age: Array, window: float, weight: Array | None = None) -> Fading:
    """The most likely single decay of ages seen within a window."""
    age, weight = _checked(age, window, weight)
    decay = float(decay_from_mean((age * weight).sum() / weight.sum(), window))
    log = np.log(_density(age, decay, window))
    return Fading(decay=decay, log_likelihood=float((weight * log).sum()))


def two_phase(age: Array, window: float, weight: Array | None = None) -> Fading:
    """The most likely mix of two decays of ages seen within a window, by EM.

    Within the window both are truncated laws; the share is turned into that of all interest.
    """
    age, weight = _checked(age, window, weight)
    mean = (age * weight).sum() / weight.sum()
    decay = decay_from_mean(np.array([0.3, 1.6]) * mean, window)
    share = np.array([0.5, 0.5])
    for _ in range(_ROUNDS):
        each = np.stack([share[k] * _density(age, float(decay[k]), window) for k in (0, 1)])
        belongs = each / each.sum(axis=0) * weight
        total = belongs.sum(axis=1)
        share = total / total.sum()
        decay = decay_from_mean((belongs * age).sum(axis=1) / np.maximum(total, 1e-300), window)
    each = np.stack([share[k] * _density(age, float(decay[k]), window) for k in (0, 1)])
    log = float((weight * np.log(each.sum(axis=0))).sum())
    fast, slow = (0, 1) if decay[0] >= decay[1] else (1, 0)
    # Of a phase the window sees 1 − e^(−μw); what does not fade at all is seen in part, too.
    least = 1e-3 / window
    seen = -np.expm1(-np.maximum(decay, least) * window)
    whole = share / seen
    return Fading(
        decay=float(max(decay[fast], least)),
        slow_decay=float(max(decay[slow], least)),
        slow_share=float(whole[slow] / whole.sum()),
        log_likelihood=log,
    )


def _density(age: Array, decay: float, window: float) -> Array:
    if decay * window < 1e-9:
        return np.full(len(age), 1.0 / window)
    found: Array = decay * np.exp(-decay * age) / -np.expm1(-decay * window)
    return np.maximum(found, 1e-300)


def _checked(age: Array, window: float, weight: Array | None) -> tuple[Array, Array]:
    age = np.asarray(age, dtype=np.float64)
    weight = np.ones(len(age)) if weight is None else np.asarray(weight, dtype=np.float64)
    if not (np.isfinite(window) and window > 0):
        raise BadInput(f"window must be positive and finite, got {window}")
    if not len(age) or weight.sum() <= 0:
        raise BadInput("there are no events to fit; keep the default half-life")
    if not (np.isfinite(age).all() and age.min() >= 0 and age.max() <= window):
        raise BadInput(f"ages of events must lie between 0 and the window of {window:g} s")
    return age, weight


class EventEstimator:
    """Worth and decay of every source from events on its items, shrunk towards the fleet.

    Three floats per source: events, the sum of their ages, and items.

    Parameters
    ----------
    sources
        How many there are.
    window
        Events are seen up to this age, in seconds.
    prior_events, prior_items
        How many events, and items, the fleet's mean weighs against a source's own.
    """

    def __init__(
        self, sources: int, window: float, *, prior_events: float = 20.0, prior_items: float = 3.0
    ) -> None:
        if not (np.isfinite(window) and window > 0):
            raise BadInput(f"window must be positive and finite, got {window}")
        self.window = window
        self._prior_events, self._prior_items = prior_events, prior_items
        #: What was learned: events, the sum of their ages, and items that could have had some.
        self.events_ = np.zeros(sources)
        self.ages_ = np.zeros(sources)
        self.items_ = np.zeros(sources)

    def learn(self, row: Rows, age: Array, items: Counts | Array) -> None:
        """Events of these ages at these rows, and how many more items each source has shown.

        Events older than the window are no part of it; `items` has one number per source.
        """
        age = np.asarray(age, dtype=np.float64)
        kept = (age >= 0) & (age <= self.window)
        rows = np.asarray(row)[kept]
        self.events_ += np.bincount(rows, minlength=len(self.events_))
        self.ages_ += np.bincount(rows, age[kept], minlength=len(self.events_))
        self.items_ += items

    def decay(self) -> Array:
        """Decay of each source; the default where there is no event at all."""
        total = self.events_.sum()
        if not total:
            return np.full(len(self.events_), DEFAULT_DECAY)
        fleet = self.ages_.sum() / total
        mean = (self.ages_ + self._prior_events * fleet) / (self.events_ + self._prior_events)
        # Interest that does not seem to fade within the window fades beyond it.
        return np.maximum(decay_from_mean(mean, self.window), 0.1 / self.window)

    def worth(self) -> Array:
        """Events that a new item will ever get, at each source; 1 where there are none."""
        items = self.items_.sum()
        if not items or not self.events_.sum():
            return np.ones(len(self.events_))
        fleet = self.events_.sum() / items
        seen = (self.events_ + self._prior_items * fleet) / (self.items_ + self._prior_items)
        whole: Array = seen / -np.expm1(-self.decay() * self.window)
        return whole
