"""How often to crawl each source, in the long run: the research rules as functions.

All of them share a budget R among sources of importance w (value published per second), so that
the rates add up to R.

* `proportional`: ρ ∝ w.
* `square_root`: ρ ∝ √w, which minimises the total delay Σ w/(2ρ) (Sia, Cho and Cho, 2007).
* `azar`: ρ = (√(wD/λ) − D)⁺, which minimises the staleness Σ wD/(ρ + D) of crawls at random times
  for sources that change at rate D (Azar et al., 2018), in O(n log n). With a floor under the rates
  it is BinaryLambdaCrawl (Kolobov et al., 2019).
* `harmonic`: ρ = (−D + √(D² + 4wD/λ))/2, which minimises −Σ w log(ρ/(ρ + D)): LambdaCrawl
  (Kolobov et al., 2019).
"""

from __future__ import annotations

import numpy as np

from dayfly.model import Array

#: Halvings of the logarithmic bracket of a price: beyond the last digit of a float.
_HALVINGS = 64


def proportional(weight: Array, budget: float) -> Array:
    """Rates in proportion to importance; all the same if there is none.

    >>> proportional(np.array([1.0, 3.0]), 8.0)
    array([2., 6.])
    """
    total = float(weight.sum())
    if total <= 0:
        return np.full(len(weight), budget / max(len(weight), 1))
    rate: Array = weight * (budget / total)
    return rate


def square_root(weight: Array, budget: float) -> Array:
    """Rates in proportion to the root of importance.

    >>> square_root(np.array([1.0, 9.0]), 8.0)
    array([2., 6.])
    """
    return proportional(np.sqrt(weight), budget)


def azar(weight: Array, change: Array, budget: float, least: float = 0.0) -> Array:
    """Rates that minimise Σ wD/(ρ + D), none below `least`.

    >>> azar(np.array([1.0, 4.0, 0.01]), np.ones(3), 3.0).round(4)
    array([0.6667, 2.3333, 0.    ])
    """
    n = len(weight)
    root = np.sqrt(weight * change)
    # At price λ a source is above the floor if wD/(D + least)² > λ: those first.
    order = np.argsort(-root / (change + least), kind="stable")
    sums, changes = np.cumsum(root[order]), np.cumsum(change[order])
    floor = least * (n - 1 - np.arange(n))
    with np.errstate(divide="ignore", invalid="ignore"):
        level = (budget - floor + changes) / sums  # 1/√λ if the first m are above the floor
        inside = root[order] * level > change[order] + least
    if not inside.any():
        return np.full(n, budget / max(n, 1))
    best = float(level[np.flatnonzero(inside)[-1]])
    rate: Array = np.maximum(least, root * best - change)
    return rate


def harmonic(weight: Array, change: Array, budget: float) -> Array:
    """Rates that minimise −Σ w log(ρ/(ρ + D)).

    >>> harmonic(np.array([1.0, 4.0]), np.ones(2), 3.0).round(4)
    array([0.8798, 2.1202])
    """
    product = weight * change
    if not (product > 0).any():
        return np.full(len(weight), budget / max(len(weight), 1))

    def rate(price: float) -> Array:
        # The root of ρ² + Dρ = wD/λ, without cancellation where it is small beside D.
        part = product / price
        found: Array = 2 * part / (change + np.sqrt(change**2 + 4 * part))
        return found

    # ρ ≤ √(wD/λ), and ρ ≤ w/λ: either gives a price at which too little is spent.
    high = min((float(np.sqrt(product).sum()) / budget) ** 2, float(weight.sum()) / budget)
    low = high
    while float(rate(low).sum()) < budget:
        low /= 16.0
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        if float(rate(middle).sum()) < budget:
            high = middle
        else:
            low = middle
    return proportional(rate(low), budget)
