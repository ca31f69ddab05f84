"""Ages from prices and states, for curves that have no closed inverse."""

from collections.abc import Callable

import numpy as np

from dayfly.model.arrays import Array

#: Ages are searched up to 2^60 typical ages; a target not reached by then is never reached.
_DOUBLINGS = 60
_STEPS = 80


def first_age(curve: Callable[[Array], Array], target: Array, scale: Array) -> Array:
    """Smallest age at which an increasing curve reaches its target; infinite where it never does.

    A bracket grows from `scale` by doubling and halving; the Illinois method on logarithms closes
    it, with a bisection whenever that is too slow. Sure, but every closed form is faster.
    """
    target = np.broadcast_to(np.asarray(target, dtype=float), (len(scale),))
    high = scale.astype(float).copy()
    at_high = curve(high)
    for _ in range(_DOUBLINGS):
        short = at_high < target
        if not short.any():
            break
        high = np.where(short, high * 2.0, high)
        at_high = curve(high)
    reached = at_high >= target
    low = high / 2.0
    at_low = curve(low)
    for _ in range(2 * _DOUBLINGS):
        long = (at_low >= target) & (target > 0)
        if not long.any():
            break
        high, at_high = np.where(long, low, high), np.where(long, at_low, at_high)
        low = np.where(long, low / 2.0, low)
        at_low = curve(low)
    age = _close(curve, target, low, high, at_low, at_high)
    age = _youngest(curve, target, low, age)
    return np.where(target <= 0, 0.0, np.where(reached, age, np.inf))


def smooth_age(curve: Callable[[Array], tuple[Array, Array]], target: Array, start: Array) -> Array:
    """The same for a smooth curve that comes with its slope, in a fifth of the evaluations.

    Newton's method on logarithms: where ages are small the index grows like a power, and the first
    step is right. A bracket holds it where the curve is nearly flat.
    """
    target = np.broadcast_to(np.asarray(target, dtype=float), (len(start),))
    reached = curve(np.full(len(start), np.inf))[0] >= target
    sought = reached & (target > 0)
    c, low, high = np.log(start), np.full(len(start), -np.inf), np.full(len(start), np.inf)
    for _ in range(_STEPS):
        age = np.exp(c)
        value, slope = curve(age)
        miss = _miss(value, target)
        low, high = np.where(miss < 0, c, low), np.where(miss < 0, high, c)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            power = age * slope / value
            step = -miss / power
        least = 4e-16 * np.maximum(np.abs(c), 1.0)
        done = ~sought | (np.abs(miss) <= 1e-15) | (np.abs(step) <= least) | (high - low <= least)
        if done.all():
            break
        # A nearly flat curve sends Newton far off: a factor of 20 at a time.
        most = np.where(power > 0.1, 60.0, 3.0)
        ahead = c + np.clip(np.where(np.isfinite(step), step, -np.sign(miss) * most), -most, most)
        with np.errstate(invalid="ignore"):
            middle = 0.5 * (low + high)
        between = (ahead > low) & (ahead < high)
        c = np.where(done, c, np.where(between, ahead, middle))
    return np.where(target <= 0, 0.0, np.where(reached, np.exp(c), np.inf))


def _close(
    curve: Callable[[Array], Array],
    target: Array,
    low: Array,
    high: Array,
    at_low: Array,
    at_high: Array,
) -> Array:
    """The root of log curve − log target in log age, between two ages that bracket it."""
    a, b = np.log(low), np.log(high)
    f_a, f_b = _miss(at_low, target), _miss(at_high, target)
    best, least = b.copy(), np.abs(f_b)
    side = np.zeros(len(a))
    done = np.zeros(len(a), bool)
    for step in range(_STEPS):
        with np.errstate(invalid="ignore", divide="ignore"):
            c = b - f_b * (b - a) / (f_b - f_a)
        halve = ~np.isfinite(c) | (c <= a) | (c >= b) | (step % 4 == 3)
        c = np.where(halve, 0.5 * (a + b), c)
        f_c = _miss(curve(np.exp(c)), target)
        # Who is done stays as it is, however long it takes the others.
        better = (np.abs(f_c) < least) & ~done
        best, least = np.where(better, c, best), np.where(better, np.abs(f_c), least)
        up = f_c >= 0
        # Illinois: the end that stays twice in a row counts half.
        f_a = np.where(up, np.where(side > 0, 0.5 * f_a, f_a), f_c)
        f_b = np.where(up, f_c, np.where(side < 0, 0.5 * f_b, f_b))
        a, b = np.where(up, a, c), np.where(up, c, b)
        side = np.where(up, 1.0, -1.0)
        done |= (least <= 2e-16) | (b - a <= 4e-16 * np.maximum(np.abs(b), 1.0))
        if done.all():
            break
    return np.exp(best)


def _youngest(curve: Callable[[Array], Array], target: Array, low: Array, age: Array) -> Array:
    """Where the curve is flat at its target, the age at which that begins."""
    flat = (curve(age * (1 - 1e-9)) >= target) & (target > 0)
    if not flat.any():
        return age
    short, long = low, age
    for _ in range(_STEPS):
        middle = 0.5 * (short + long)
        enough = curve(middle) >= target
        done = long - short <= 4e-16 * long
        if done.all():
            break
        short = np.where(enough | done, short, middle)
        long = np.where(enough & ~done, middle, long)
    return np.where(flat, long, age)


def _miss(value: Array, target: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(np.log(value / target), -700.0, 700.0)
