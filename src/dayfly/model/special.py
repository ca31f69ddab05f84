"""The special functions behind every harvest curve, each accurate to the last few bits.

Written out, they subtract nearly equal numbers where `x` is small: 1 − e^(−x)(1+x) has no correct
digit left at x = 1e-9. Here a power series takes over before that happens.
"""

import functools
import math

import numpy as np

from dayfly.model.arrays import Array, Mask

#: Below this the power series is used: its terms reach the last bit, and the closed form is still
#: good to 1e-12 on the other side. `rise` has a bound of its own: it is evaluated by the million,
#: and the fewer rows need mending, the better.
_SMALL = 0.1
_SMALL_RISE = 0.03
#: Beyond this 1 − e^(−x)(1+x) is 1 to the last bit; it keeps infinite ages out of the arithmetic.
_FAR = 700.0

# 1 − e^(−x)(1+x) = x² Σ (−x)^n / (n! (n+2))      x − 1 + e^(−x) = x² Σ (−x)^n / (n+2)!
_RISE = [(-1.0) ** n / (math.factorial(n) * (n + 2)) for n in range(8)]
_LAG = [(-1.0) ** n / math.factorial(n + 2) for n in range(10)]
# (1−x) ln(1−x) + x = x² Σ x^n / ((n+1)(n+2))
_KNEE = [1.0 / ((n + 1) * (n + 2)) for n in range(16)]

# x − ln(1+x) = r²/2 solved for x: the series that Lagrange inversion gives (as in Stirling's).
_BRANCH = [
    1.0, 1 / 3, 1 / 36, -1 / 270, 1 / 4320, 1 / 17010, -139 / 5443200, 1 / 204120,
    -571 / 2351462400,
]  # fmt: skip


#: Knots of the table behind `rise_inverse_below`; from the last few on the curve is too steep.
_KNOTS, _STEEP = 4096, 4064


def rise(x: Array) -> Array:
    """P(2, x) = 1 − e^(−x)(1+x), the shape of the index in continuous time.

    >>> rise(np.array([1e-12, 1.0, 50.0]))
    array([5.00000000e-25, 2.64241118e-01, 1.00000000e+00])
    """
    x = np.minimum(x, _FAR)
    out = np.negative(x)
    np.exp(out, out=out)
    scratch = np.add(x, 1.0)
    out *= scratch
    np.subtract(1.0, out, out=out)
    _mend(out, x, _RISE, np.less(x, _SMALL_RISE))
    return out


def lag(x: Array) -> Array:
    """x − 1 + e^(−x): what an epoch costs beyond the continuous limit."""
    with np.errstate(under="ignore"):
        out = np.exp(-x)
    out -= 1.0
    out += x
    _mend(out, x, _LAG, x < _SMALL)
    return out


def knee(x: Array) -> Array:
    """x + (1−x) ln(1−x) for 0 ≤ x ≤ 1: the index in the observed state, in units of u*."""
    with np.errstate(divide="ignore", invalid="ignore"):
        out = x + (1.0 - x) * np.log1p(-x)
    out[x >= 1.0] = 1.0
    _mend(out, x, _KNEE, x < _SMALL)
    return out


def saturation(x: Array) -> Array:
    """1 − e^(−x): several times faster than `expm1` where that has nothing to add."""
    x = np.minimum(x, _FAR)
    out = np.negative(x)
    np.exp(out, out=out)
    np.subtract(1.0, out, out=out)
    rows = np.flatnonzero(np.less(x, _SMALL))
    if len(rows):
        out[rows] = -np.expm1(-x[rows])
    return out


def rise_inverse(y: Array) -> Array:
    """The x with P(2, x) = y; 0 for y ≤ 0, infinite for y ≥ 1.

    The same number as −1 − W₋₁((y − 1)/e) [J §VII], which scipy's lambertw loses near the branch
    point. With L = −ln(1−y) it is the root of x − ln(1+x) = L: a series in √(2L) starts close,
    a Halley step finishes, two where L is large.

    >>> rise_inverse(np.array([0.0, 5e-25, 0.264241117657115, 1.0]))
    array([0.e+00, 1.e-12, 1.e+00,    inf])
    """
    share = np.clip(y, 0.0, 1.0 - 1e-16)
    target = np.subtract(1.0, share)
    np.log(target, out=target)
    np.negative(target, out=target)
    rows = np.flatnonzero(np.less(share, _SMALL))
    if len(rows):
        target[rows] = -np.log1p(-share[rows])
    r = np.sqrt(2.0 * target)
    x = np.full_like(r, _BRANCH[-1])
    for coefficient in reversed(_BRANCH[:-1]):
        x *= r
        x += coefficient
    x *= r
    far = np.flatnonzero(np.greater(target, 4.0))
    if len(far):
        goal = target[far]
        x[far] = goal + np.log1p(goal + np.log1p(goal + np.log1p(goal)))
    near = _halley(x, target)
    again = np.flatnonzero(np.greater(target, 1.5))
    if len(again):
        near[again] = _halley(near[again], target[again])
    # Where x is small the series is exact and x − ln(1+x) has lost its digits.
    np.copyto(near, x, where=np.less(x, 0.02))
    np.copyto(near, np.inf, where=np.greater_equal(y, 1.0))
    return near


@functools.cache
def _knots() -> tuple[Array, Array]:
    """x and its growth to the next knot, at evenly spaced t = √y where P(2, x) = y."""
    t = np.arange(_KNOTS) / _KNOTS
    x = rise_inverse(t**2)
    slope = np.full_like(x, math.sqrt(2.0))
    slope[1:] = 2.0 * t[1:] / (x[1:] * np.exp(-x[1:]))
    safe = 1.0 - 1e-9  # what the knots themselves may be off
    return x * safe, slope * (safe / _KNOTS)


def rise_inverse_below(y: Array) -> Array:
    """A number not above the x with P(2, x) = y, and close to it, at a quarter of the work.

    x is convex in √y, so each tangent of that curve lies below it; here the one at the knot before.

    >>> y = np.array([1e-4, 0.3, 0.9])
    >>> (rise_inverse_below(y) / rise_inverse(y)).round(5)
    array([1., 1., 1.])
    >>> rise_inverse_below(np.array([0.0, 1.0]))
    array([ 0., inf])
    """
    x, growth = _knots()
    t = np.sqrt(y)
    t *= _KNOTS
    knot = np.minimum(t, _STEEP).astype(np.int64)
    t -= knot
    t *= growth[knot]
    t += x[knot]
    steep = np.flatnonzero(knot == _STEEP)
    if len(steep):
        # x = L + ln(1+x) with L = −ln(1−y), from below: each round adds a digit.
        with np.errstate(divide="ignore"):
            target = -np.log1p(-np.minimum(y[steep], 1.0))
        near = target
        for _ in range(4):
            near = target + np.log1p(near)
        t[steep] = near * (1.0 - 1e-9)
    return t


def _halley(x: Array, target: Array) -> Array:
    """One step towards x − ln(1+x) = target: f′ = x/(1+x), f″ = 1/(1+x)²."""
    above = 1.0 + x
    miss = np.log(above)
    np.subtract(x, miss, out=miss)
    miss -= target
    with np.errstate(divide="ignore", invalid="ignore"):
        step = miss * above / (x - 0.5 * miss / x)
    return x - step


def _mend(out: Array, x: Array, series: list[float], small: Mask) -> None:
    """Put the power series in where x is small, in place."""
    rows = np.flatnonzero(small)
    if not len(rows):
        return
    t = x[rows]
    total = np.full_like(t, series[-1])
    for coefficient in reversed(series[:-1]):
        total *= t
        total += coefficient
    total *= t
    total *= t
    out[rows] = total
