"""The four special functions behind every harvest curve, each accurate to the last few bits.

Written out, they subtract nearly equal numbers where `x` is small: 1 − e^(−x)(1+x) has no correct
digit left at x = 1e-9. Here a power series takes over before that happens.
"""

import math
from collections.abc import Callable

import numpy as np

from dayfly.model.arrays import Array

#: Below this the power series is used: ten terms reach the last bit, and the closed form is still
#: good to 1e-13 on the other side.
_SMALL = 0.1

# 1 − e^(−x)(1+x) = x² Σ (−x)^n / (n! (n+2))      x − 1 + e^(−x) = x² Σ (−x)^n / (n+2)!
_RISE = [(-1.0) ** n / (math.factorial(n) * (n + 2)) for n in range(10)]
_LAG = [(-1.0) ** n / math.factorial(n + 2) for n in range(10)]
# (1−x) ln(1−x) + x = x² Σ x^n / ((n+1)(n+2))
_KNEE = [1.0 / ((n + 1) * (n + 2)) for n in range(16)]


def rise(x: Array) -> Array:
    """P(2, x) = 1 − e^(−x)(1+x), the shape of the index in continuous time.

    >>> rise(np.array([1e-12, 1.0, 50.0]))
    array([5.00000000e-25, 2.64241118e-01, 1.00000000e+00])
    """
    with np.errstate(under="ignore"):
        decayed = np.exp(-x)
    out = np.add(x, 1.0)
    with np.errstate(invalid="ignore"):  # inf · 0: a source that was never crawled; mended below
        out *= decayed
    np.subtract(1.0, out, out=out)
    _mend(out, x, _RISE)
    return _forever(out, x, 1.0)


def lag(x: Array) -> Array:
    """x − 1 + e^(−x): what an epoch costs beyond the continuous limit."""
    with np.errstate(under="ignore"):
        out = np.exp(-x)
    out -= 1.0
    out += x
    _mend(out, x, _LAG)
    return out


def knee(x: Array) -> Array:
    """x + (1−x) ln(1−x) for 0 ≤ x ≤ 1: the index in the observed state, in units of u*."""
    with np.errstate(divide="ignore", invalid="ignore"):
        out = x + (1.0 - x) * np.log1p(-x)
    out[x >= 1.0] = 1.0
    _mend(out, x, _KNEE)
    return out


def rise_inverse(y: Array) -> Array:
    """The x with P(2, x) = y; 0 for y ≤ 0, infinite for y ≥ 1.

    The same number as −1 − W₋₁((y − 1)/e) [J §VII], which scipy's lambertw loses near the branch
    point. With L = −ln(1−y) it is the root of x − ln(1+x) = L: a series in √(2L) starts within
    a percent, two Halley steps finish.

    >>> rise_inverse(np.array([0.0, 5e-25, 0.264241117657115, 1.0]))
    array([0.e+00, 1.e-12, 1.e+00,    inf])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        target = -np.log1p(-np.clip(y, 0.0, 1.0))
    r = np.sqrt(2.0 * target)
    x = r * (1 + r * (1 / 3 + r * (1 / 36 + r * (-1 / 270 + r * (1 / 4320 + r / 17010)))))
    far = target > 4.0
    if far.any():
        x[far] = target[far] + np.log1p(target[far] + np.log1p(target[far]))
    polish = np.flatnonzero((x > 0.02) & (x < np.inf))
    if len(polish):
        full = len(polish) == len(x)
        near, goal = (x, target) if full else (x[polish], target[polish])
        for _ in range(2):
            miss, slope = near - np.log1p(near) - goal, near / (1.0 + near)
            near = near - miss / (slope - 0.5 * miss / (near * (1.0 + near)))
        if full:
            x = near
        else:
            x[polish] = near
    x[np.isnan(y)] = np.nan
    return x


def _mend(out: Array, x: Array, series: list[float]) -> None:
    """Put the power series in where x is small, in place."""
    small = x < _SMALL
    if small.any():
        t = x[small]
        out[small] = t * t * _horner(series)(t)


def _horner(series: list[float]) -> Callable[[Array], Array]:
    def polynomial(t: Array) -> Array:
        total = np.full_like(t, series[-1])
        for coefficient in reversed(series[:-1]):
            total *= t
            total += coefficient
        return total

    return polynomial


def _forever(out: Array, x: Array, limit: float) -> Array:
    endless = np.isinf(x)
    if endless.any():
        out[endless] = limit
    return out
