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
from dayfly.model.harvest import Ephemeral

#: Nodes of the quadrature behind `bend`, and how many panels it may use.
_NODES = 24
_PANELS = 64


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

    def age_at(self, price: Array) -> Array:
        from dayfly.model.inverse import first_age

        age = first_age(lambda t: self._sums(t)[1], price, self._scale())
        return age if self.lifetime is None else self._by_expiry(age, price)

    def age_of(self, state: Array) -> Array:
        return super(Ephemeral, self).age_of(state)

    def index_at(self, state: Array) -> Array:
        return super(Ephemeral, self).index_at(state)

    def _scale(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.minimum(1.0 / np.maximum(self.decay, 1e-300), self._filled_after())

    def _filled_after(self) -> Array:
        with np.errstate(divide="ignore"):
            return self.window / np.maximum(self.arrival, 1e-300)

    def _sums(self, age: Array) -> tuple[Array, Array]:
        """The sums behind f and γ, by downward recurrence P(j) = P(j+1) + x^j e^(−x)/j!."""
        from scipy.special import gammainc, gammaln

        s = self.arrival + self.decay
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.where(s > 0, self.arrival / s, 0.0)
            log_q = np.log(q)
            x = np.where(s > 0, s * age, 0.0)
            log_x = np.log(x)
        top = int(self.window.max(initial=1.0))
        value, index = np.zeros(len(x)), np.zeros(len(x))
        upper = gammainc(self.window + 1.0, x)  # P(j+1, x), starting at j = K
        with np.errstate(under="ignore", invalid="ignore"):
            index += self.window * q * np.exp(self.window * log_q) * upper
            faded = np.where(s > 0, self.decay / s, 0.0)
            for j in range(top, 0, -1):
                at = j <= self.window
                weight = np.where(at, np.exp(j * log_q), 0.0)
                index += faded * j * weight * upper
                term = np.exp(j * log_x - x - gammaln(j + 1.0))
                upper = np.where(at, upper + np.where(np.isfinite(x), term, 0.0), upper)
                value += weight * np.minimum(upper, 1.0)
        return self.worth * value, self.worth * index

    def _bend_by_quadrature(self, age: Array, epoch: Array) -> Array:
        from scipy.special import gammaincc, gammaln

        s = self.arrival + self.decay
        # The integrand changes on the scale √K/Λ; a panel may span a few of those.
        wanted = s * epoch / np.maximum(4.0 * np.sqrt(np.minimum(self.window, 1e6)), 8.0)
        panels = int(np.clip(np.ceil(wanted.max()), 1, _PANELS))
        nodes, weights = _gauss()
        total = np.zeros(len(age))
        width = epoch / panels
        for panel in range(panels):
            for node, weight in zip(nodes, weights, strict=True):
                r = (panel + 0.5 * (node + 1.0)) * width
                t = age + r
                load = self.arrival * t
                with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
                    last = np.exp((self.window - 1) * np.log(load) - load - gammaln(self.window))
                    fall = self.decay * gammaincc(self.window, load) + self.arrival * last
                    fall = fall * np.exp(-self.decay * t)
                total += 0.5 * width * weight * (epoch - r) * np.where(self.arrival > 0, fall, 0.0)
        return self.income * total


@functools.cache
def _gauss() -> tuple[Array, Array]:
    """Nodes and weights of the quadrature on [−1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights
