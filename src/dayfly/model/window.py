# ruff: noqa: D102  (`Harvest` says once what each of its methods means)
"""A feed that shows only its newest K items: what is pushed out is lost for ever.

An item of age s is still worth e^(−μs) and still visible if fewer than K came after it, so

    f(τ) = ξ Σ_{j=1..K} (Λ/s)^j P(j, sτ),   f′(τ) = ξ Λ e^(−μτ) Pr[Poisson(Λτ) < K],   s = Λ + μ
    γ(τ) = ξ [ μ Σ_{j=1..K} j Λ^j s^(−j−1) P(j+1, sτ) + K (Λ/s)^(K+1) P(K+1, sτ) ]

P is the regularised lower incomplete gamma function. All terms are positive.
"""

import functools
from typing import Self

import numpy as np

from dayfly.model.arrays import Array, Rows
from dayfly.model.harvest import Ephemeral, Harvest

#: Nodes of the quadrature behind `bend`, and how many panels it may use.
_NODES = 24
_PANELS = 64
#: Cells of a matrix with one row per source that stays in the cache.
_CELLS = 1 << 15


class Windowed(Ephemeral):
    """Items fade, may expire, and are pushed out of a feed that shows K at a time."""

    def __init__(
        self, arrival: Array, worth: Array, decay: Array, window: Array, lifetime: Array
    ) -> None:
        super().__init__(arrival * worth, decay, lifetime)
        self.arrival, self.worth, self.window = arrival, worth, window

    def __getitem__(self, rows: slice | Rows) -> Self:
        part = super().__getitem__(rows)
        part.arrival, part.worth = self.arrival[rows], self.worth[rows]
        part.window = self.window[rows]
        return part

    def value(self, age: Array) -> Array:
        if self.lifetime is not None:
            age = np.minimum(age, self.lifetime)
        total, _ = self._sums(age)
        return total

    def slope(self, age: Array) -> Array:
        from scipy.special import gammaincc

        visible = gammaincc(self.window, self.arrival * np.where(np.isinf(age), 0.0, age))
        visible = np.where(np.isinf(age) & (self.arrival > 0), 0.0, visible)
        return super().slope(age) * visible

    def index(self, age: Array) -> Array:
        _, total = self._sums(age)
        return self._expired(total, age)

    def bend(self, age: Array, epoch: float) -> Array:
        """T f′(τ) − (f(τ+T) − f(τ)) = ∫₀ᵀ (T − r)(−f″(τ + r)) dr, by Gauss–Legendre."""
        grows, slope = self._grows(age, epoch), self.slope(age)
        value, index = self._sums(age if self.lifetime is None else np.minimum(age, self.lifetime))
        later = self.value(age + grows)
        found = np.maximum(grows * slope - (later - value), 0.0)
        # The difference has lost digits where its rounding shows in the index γ + k·bend.
        k = np.where(np.isfinite(age), age / epoch, 0.0)
        lost = (epoch - grows) * slope
        rounding = k * np.finfo(float).eps * (later + grows * slope)
        lossy = rounding > 1e-14 * (index + k * (found + lost))
        rows = np.flatnonzero(lossy & np.isfinite(age))
        if len(rows):
            found[rows] = self[rows]._bend_by_quadrature(age[rows], grows[rows])
        return found + lost

    def index_limit(self, age: Array, epoch: float | None) -> Array | None:
        return None  # being pushed out bends the curve beyond what fading does

    def slotted(self, age: Array, epoch: float) -> Array:
        return Harvest.slotted(self, age, epoch)

    def age_below(self, price: Array) -> Array:
        return Harvest.age_below(self, price)

    def age_at(self, price: Array) -> Array:
        from dayfly.model.inverse import smooth_age

        def index(t: Array) -> tuple[Array, Array]:
            return self._sums(t)[1], np.where(np.isinf(t), 0.0, t) * self._falls(t)  # γ′ = −τ f″

        age = smooth_age(index, price, self._scale())
        return age if self.lifetime is None else self._by_expiry(age, price)

    def age_of(self, state: Array) -> Array:
        return super(Ephemeral, self).age_of(state)

    def index_at(self, state: Array) -> Array:
        return super(Ephemeral, self).index_at(state)

    def _falls(self, age: Array) -> Array:
        finite = np.where(np.isinf(age), 0.0, age)
        found = self.income * _fall(self.arrival, self.decay, self.window, finite)
        return np.where(np.isinf(age), 0.0, found)

    def _scale(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.minimum(1.0 / np.maximum(self.decay, 1e-300), self._filled_after())

    def _filled_after(self) -> Array:
        with np.errstate(divide="ignore"):
            return self.window / np.maximum(self.arrival, 1e-300)

    def _sums(self, age: Array) -> tuple[Array, Array]:
        """The sums behind f and γ, some rows at a time: one row takes as many columns as terms."""
        value, index = np.empty(len(age)), np.empty(len(age))
        terms = int(self.window.max(initial=1.0))
        step = max(_CELLS // terms, 1)
        for start in range(0, len(age), step):
            rows = slice(start, start + step)
            value[rows], index[rows] = _sums(
                self.arrival[rows], self.decay[rows], self.window[rows], age[rows]
            )
        return self.worth * value, self.worth * index

    def _bend_by_quadrature(self, age: Array, epoch: Array) -> Array:
        # The integrand changes on the scale √K/Λ; a panel may span a few of those.
        s = self.arrival + self.decay
        wanted = s * epoch / np.maximum(4.0 * np.sqrt(np.minimum(self.window, 1e6)), 8.0)
        panels = np.clip(np.ceil(wanted), 1, _PANELS)
        total = np.empty(len(age))
        # Each row has its own number of panels: its bits must not depend on who stands beside it.
        for count in np.unique(panels).astype(int).tolist():
            rows = np.flatnonzero(panels == count)
            places, weights = _quadrature(count)
            step = max(_CELLS // len(places), 1)
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                arrival, decay, window, span = (
                    column[some, None] for column in (self.arrival, self.decay, self.window, epoch)
                )
                fall = _fall(arrival, decay, window, age[some, None] + span * places)
                total[some] = (fall * (span * span * (1.0 - places)) * weights).sum(axis=1)
        return self.income * total


def _fall(arrival: Array, decay: Array, window: Array, age: Array) -> Array:
    """−f″/ξΛ = e^(−μτ) (μ Pr[Poisson(Λτ) < K] + Λ Pr[Poisson(Λτ) = K − 1])."""
    from scipy.special import gammaincc, gammaln

    load = arrival * age
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        log_load = np.where(window > 1, np.log(load), 0.0)
        last = np.exp((window - 1.0) * log_load - load - gammaln(window))
        found = (decay * gammaincc(window, load) + arrival * last) * np.exp(-decay * age)
    return np.where(arrival > 0, found, 0.0)


def _sums(arrival: Array, decay: Array, window: Array, age: Array) -> tuple[Array, Array]:
    """f/ξ and γ/ξ; terms that are below the last bit of the sum are left out."""
    from scipy.special import gammainc, gammaln

    s = arrival + decay
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.where(s > 0, arrival / s, 0.0)
        log_q = np.log(q)
        x = np.where(s > 0, s * age, 0.0)
        log_x = np.log(x)
        # (Λ/s)^j is nothing beyond the first bound, P(j, x) beyond the second.
        reach = np.minimum(2.0 + 80.0 / np.abs(log_q), 60.0 + x + 12.0 * np.sqrt(x))
    reach = np.floor(np.fmax(np.fmin(reach, window), 1.0))
    j = np.arange(1.0, reach.max(initial=1.0) + 1.0)[:, None]
    short = np.flatnonzero(reach < len(j))
    outside = j > reach[short]
    with np.errstate(under="ignore", invalid="ignore"):
        # P(j) = P(j+1) + x^j e^(−x)/j!, downwards: only positive numbers are added.
        upper = np.empty((len(j) + 1, len(x)))
        each = np.multiply(j, log_x, out=upper[:-1])
        each -= x
        each -= gammaln(j + 1.0)
        np.exp(each, out=each)
        each[:, short] = np.where(outside, 0.0, each[:, short])
        each[:, np.isinf(x)] = 0.0
        upper[-1] = gammainc(reach + 1.0, x)
        for place in range(len(j) - 1, -1, -1):
            upper[place] += upper[place + 1]
        weight = j * log_q
        np.exp(weight, out=weight)
        weight[:, short] = np.where(outside, 0.0, weight[:, short])
        value = _dot(weight, upper[:-1])
        weight *= j
        index = np.where(s > 0, decay / s, 0.0) * _dot(weight, upper[1:])
        index += window * q * np.exp(window * log_q) * gammainc(window + 1.0, x)
    return value, index


def _dot(left: Array, right: Array) -> Array:
    """Sums of products down the columns, in the same order however many columns there are."""
    total = np.zeros(left.shape[1])
    for one, other in zip(left, right, strict=True):
        total += one * other
    return total


@functools.cache
def _quadrature(panels: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1] of Gauss–Legendre in so many panels."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    places = ((np.arange(panels)[:, None] + 0.5 * (nodes + 1.0)) / panels).ravel()
    return places, np.tile(0.5 * weights / panels, panels)
