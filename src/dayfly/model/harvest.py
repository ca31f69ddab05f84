# ruff: noqa: D102  (`Harvest` says once what each of its methods means)
"""What a crawl brings home, as a function of the time since the last one.

Let f(τ) be the expected harvest of a crawl at age τ: increasing, concave, f(0) = 0. Then

    index     γ(τ) = f(τ) − τ f′(τ)                       per unit of cost, continuous time
    slotted   γ_k  = f_k − k (f_{k+1} − f_k) = γ(kT) + k·bend(kT, T)

and γ′ = −τ f″ ≥ 0: every such source is indexable, and one price decides at which age it is due.
A new kind of source is one small subclass of `Harvest`: `value` and `slope` suffice, the rest has
a default that is right but slower, and less exact where the difference cancels.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from dayfly.model.arrays import Array, Mask, Rows
from dayfly.model.special import (
    knee,
    lag,
    rise,
    rise_inverse,
    rise_inverse_below,
    saturation,
)

#: Decays below this count as none.
_ENDLESS = 1e-100


class Harvest:
    """The seam behind a kind of source; every argument and result has shape (n_sources,)."""

    def value(self, age: Array) -> Array:
        """Expected harvest of a crawl at this age, f(τ); `value(inf)` is its ceiling."""
        raise NotImplementedError

    def slope(self, age: Array) -> Array:
        """Growth of the harvest, f′(τ)."""
        raise NotImplementedError

    def __getitem__(self, rows: slice | Rows) -> Self:
        """The same curves for some of the rows."""
        raise NotImplementedError

    def index(self, age: Array) -> Array:
        """Worth of crawling now rather than a moment later, f(τ) − τ f′(τ)."""
        with np.errstate(invalid="ignore"):
            found = self.value(age) - age * self.slope(age)
        return np.where(np.isinf(age), self.value(age), found)

    def bend(self, age: Array, epoch: float) -> Array:
        """How far the slope now overstates the next epoch: T f′(τ) − (f(τ+T) − f(τ)) ≥ 0."""
        gain = self.value(age + epoch) - self.value(age)
        return np.maximum(epoch * self.slope(age) - gain, 0.0)

    def slotted(self, age: Array, epoch: float) -> Array:
        """The same if crawls start at multiples of an epoch: f_k − k (f_{k+1} − f_k) at age kT."""
        k = np.where(np.isfinite(age), age / epoch, 0.0)
        return self.index(age) + k * self.bend(age, epoch)

    def index_limit(self, age: Array, epoch: float | None) -> Array | None:
        """A number that the index cannot exceed and that is cheaper to get; None if there is none.

        Choosing the best few of millions, most sources are ruled out by it.
        """
        return None

    def age_at(self, price: Array) -> Array:
        """Youngest age whose index reaches the price; infinite where none does."""
        from dayfly.model.inverse import first_age

        return first_age(self.index, price, self._scale())

    def age_below(self, price: Array) -> Array:
        """An age not above `age_at(price)`, close to it, and perhaps cheaper to get."""
        return self.age_at(price) * (1.0 - 1e-7)

    def age_of(self, state: Array) -> Array:
        """Age at which this much is expected to wait; infinite from the ceiling on."""
        from dayfly.model.inverse import first_age

        return first_age(self.value, state, self._scale())

    def index_at(self, state: Array) -> Array:
        """Index of a source at which `state` waits (seen or predicted), continuous time."""
        ceiling = self.value(np.full(len(state), np.inf))
        inside = np.clip(state, 0.0, ceiling)
        return np.where(state >= ceiling, state, self.index(self.age_of(inside)))

    def _scale(self) -> Array:
        """A typical age, from which a search may start."""
        first = self.slope(self._zeros())
        with np.errstate(divide="ignore", invalid="ignore"):
            scale: Array = self.value(self._zeros() + np.inf) / first
        return np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)

    def _zeros(self) -> Array:
        raise NotImplementedError


class Ephemeral(Harvest):
    """Items fade at one rate and may expire: f = (Λξ/μ)(1 − e^(−μ·min(τ, L))) [J 1], [L]."""

    def __init__(self, income: Array, decay: Array, lifetime: Array | None = None) -> None:
        self._income: Array | None = income
        # What takes 1e100 units of time to fade does not fade; prices would underflow.
        self.decay = np.where(decay < _ENDLESS, 0.0, decay) if (decay < _ENDLESS).any() else decay
        self.lifetime = None if lifetime is None or np.isinf(lifetime).all() else lifetime
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            self.ceiling = income / self.decay  # u*, before expiry
        # Items that never fade make u* infinite; their index is the limit 0, not 0·∞.
        self.fades = bool(np.isfinite(self.ceiling).all())

    @property
    def income(self) -> Array:
        """Value that appears per unit of time, Λξ."""
        if self._income is None:
            self._income = self.ceiling * self.decay
        return self._income

    def __getitem__(self, rows: slice | Rows) -> Self:
        part = object.__new__(type(self))
        part._income, part.decay = self.income[rows], self.decay[rows]
        part.lifetime = None if self.lifetime is None else self.lifetime[rows]
        part.ceiling, part.fades = self.ceiling[rows], self.fades
        return part

    @classmethod
    def fading(cls, ceiling: Array, decay: Array) -> Self:
        """Curves of items that fade, all of them, and do not expire; nothing is checked."""
        curves = object.__new__(cls)
        curves.ceiling, curves.decay, curves._income = ceiling, decay, None
        curves.lifetime, curves.fades = None, True
        return curves

    def value(self, age: Array) -> Array:
        if self.lifetime is not None:
            age = np.minimum(age, self.lifetime)
        if self.fades:
            filled = saturation(self.decay * age)
            filled *= self.ceiling
            return filled
        # The same formula as above: what a row is worth must not depend on who stands beside it.
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            fading = saturation(self.decay * age) * self.ceiling
        with np.errstate(invalid="ignore"):
            steady = np.where(self.income > 0, self.income * age, 0.0)
        return np.where((self.decay > 0) & np.isfinite(self.ceiling), fading, steady)

    def slope(self, age: Array) -> Array:
        with np.errstate(under="ignore", invalid="ignore"):
            rate = np.exp(-np.where(self.decay > 0, self.decay * age, 0.0)) * self.income
        return rate if self.lifetime is None else np.where(self._past(age), 0.0, rate)

    def index(self, age: Array) -> Array:
        # [J, Theorem 1] for T → 0: γ = (Λξ/μ) P(2, μτ).
        found: Array
        if self.fades:
            found = rise(self.decay * age)
            found *= self.ceiling
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                found = rise(self.decay * age) * self.ceiling
            found = np.where((self.decay > 0) & np.isfinite(self.ceiling), found, 0.0)
        return self._expired(found, age)

    def bend(self, age: Array, epoch: float) -> Array:
        # T f′ − Δf = (Λξ/μ) e^(−μτ) (μT − 1 + e^(−μT)): a product of positives, nothing cancels.
        # The epoch in which items expire grows for its first part only; the rest is all lost.
        grows = self._grows(age, epoch)
        with np.errstate(under="ignore", invalid="ignore"):
            found = np.exp(-self.decay * age) * lag(self.decay * grows) * self.ceiling
        found = np.where((self.decay > 0) & np.isfinite(age) & np.isfinite(found), found, 0.0)
        return found if self.lifetime is None else found + (epoch - grows) * self.slope(age)

    def slotted(self, age: Array, epoch: float) -> Array:
        found = self._slotted(age, epoch)
        others = self._not_plain()
        if len(others):
            found[others] = super(Ephemeral, self[others]).slotted(age[others], epoch)
        return found

    def _slotted(self, age: Array, epoch: float) -> Array:
        """The same for items that fade and do not expire."""
        # (Λξ/μ) [P(2, x) + k e^(−x) (μT − 1 + e^(−μT))] with x = kμT: one exponential less.
        step = self.decay * epoch
        with np.errstate(under="ignore", invalid="ignore", over="ignore", divide="ignore"):
            x = np.minimum(self.decay * age, 700.0)
            found = np.exp(-x)
            found *= lag(step)
            found *= x
            found /= step
            found += rise(x)
            found *= self.ceiling
        return found

    def index_limit(self, age: Array, epoch: float | None) -> Array | None:
        # P(2, x) ≤ x²/2 and x − 1 + e^(−x) ≤ x²/2: γ + k·bend ≤ Λξμ τ(τ+T)/2, and never above u*.
        if self.lifetime is not None or not self.fades:
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            limit = age * (age + (epoch or 0.0))
            limit *= 0.5 * self.income * self.decay
        return np.fmin(limit, self.ceiling, out=limit)

    def age_at(self, price: Array) -> Array:
        if self.fades:
            # 0/0 where nothing ever appears: the index stays 0 and reaches only a price of 0.
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(price > 0, price / self.ceiling, 0.0)
                age = np.where(price > 0, rise_inverse(share) / self.decay, 0.0)
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                age = rise_inverse(price / self.ceiling) / self.decay
            age = np.where((self.decay > 0) & np.isfinite(self.ceiling), age, np.inf)
            age = np.where(price > 0, age, 0.0)
        return age if self.lifetime is None else self._by_expiry(age, price)

    def age_below(self, price: Array) -> Array:
        if self.lifetime is not None or not self.fades:
            return super().age_below(price)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = price / self.ceiling
            share[~(price > 0)] = 0.0  # 0/0 where nothing ever appears
            age = rise_inverse_below(share)
            age /= self.decay
        return age

    def age_of(self, state: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            age = -np.log1p(-np.clip(state / self.ceiling, 0.0, 1.0)) / self.decay
            steady = state / self.income
        age = np.where((self.decay > 0) & np.isfinite(self.ceiling), age, steady)
        if self.lifetime is not None:
            age = np.where(state >= self.value(np.full(len(age), np.inf)), np.inf, age)
        return np.where(state > 0, age, 0.0)

    def index_at(self, state: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            filled = np.clip(state / self.ceiling, 0.0, 1.0)
            filled = np.where(self.ceiling > 0, filled, 1.0)
            below = knee(filled) * self.ceiling
        found = np.where(filled >= 1.0, np.maximum(state, 0.0), below)
        others = self._not_plain()
        if len(others):
            found[others] = super(Ephemeral, self[others]).index_at(state[others])
        return found

    def _not_plain(self) -> Rows:
        """Rows whose items never fade, or expire: they have formulas of their own.

        A fleet may have both; what a row is worth must not depend on who stands beside it, not by
        the last bit.
        """
        other = np.zeros(0, bool) if self.fades else ~np.isfinite(self.ceiling)
        if self.lifetime is not None:
            mortal = np.isfinite(self.lifetime)
            other = other | mortal if len(other) else mortal
        return np.flatnonzero(other)

    def _falls(self, age: Array) -> Array:
        """How fast the slope falls, −f″(τ), before items expire."""
        with np.errstate(under="ignore", invalid="ignore"):
            found = np.exp(-self.decay * age) * self.income * self.decay
        return np.where(np.isinf(age), 0.0, found)

    def _grows(self, age: Array, epoch: float) -> Array:
        """How much of the epoch that begins at this age still adds to the harvest."""
        if self.lifetime is None:
            return np.full(len(age), epoch)
        return np.clip(self.lifetime - np.where(np.isinf(age), 0.0, age), 0.0, epoch)

    def _past(self, age: Array) -> Mask:
        """Where items have begun to expire; never where they do not, not even at infinite age."""
        assert self.lifetime is not None
        return (age >= self.lifetime) & np.isfinite(self.lifetime)

    def _expired(self, index: Array, age: Array) -> Array:
        """From the lifetime on waiting gains nothing: the index jumps to the whole harvest."""
        if self.lifetime is None:
            return index
        old = self._past(age)
        return np.where(old, self.value(age), index) if old.any() else index

    def _by_expiry(self, age: Array, price: Array) -> Array:
        """Prices inside the jump make the lifetime itself the best age; above it, never."""
        assert self.lifetime is not None
        top = self.value(self.lifetime)
        return np.where(price > top, np.inf, np.minimum(age, self.lifetime))

    def _zeros(self) -> Array:
        return np.zeros(len(self.decay))


class Freshness(Ephemeral):
    """A copy that is worth `income` per second until the source changes (rate `decay`).

    The curve is the same as for items; the harvest comes *after* the crawl, while the copy is
    still fresh, so a first visit pays nothing on arrival (`simulate` knows).
    """


class TwoPhase(Harvest):
    """Interest that falls fast at first and slowly later: the sum of two ephemeral curves."""

    def __init__(self, fast: Ephemeral, slow: Ephemeral) -> None:
        self.fast, self.slow = fast, slow

    def __getitem__(self, rows: slice | Rows) -> Self:
        return type(self)(self.fast[rows], self.slow[rows])

    def value(self, age: Array) -> Array:
        return self.fast.value(age) + self.slow.value(age)

    def slope(self, age: Array) -> Array:
        return self.fast.slope(age) + self.slow.slope(age)

    def index(self, age: Array) -> Array:
        return self.fast.index(age) + self.slow.index(age)

    def bend(self, age: Array, epoch: float) -> Array:
        return self.fast.bend(age, epoch) + self.slow.bend(age, epoch)

    def age_at(self, price: Array) -> Array:
        from dayfly.model.inverse import smooth_age

        def index(age: Array) -> tuple[Array, Array]:
            falls = self.fast._falls(age) + self.slow._falls(age)
            return self.index(age), np.where(np.isinf(age), 0.0, age) * falls  # γ′ = −τ f″

        return smooth_age(index, price, self._scale())

    def _scale(self) -> Array:
        with np.errstate(divide="ignore"):
            slowest = 1.0 / np.minimum(self.fast.decay, self.slow.decay)
        return np.where(np.isfinite(slowest), slowest, 1.0)

    def _zeros(self) -> Array:
        return self.fast._zeros()
