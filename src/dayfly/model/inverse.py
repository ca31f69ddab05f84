"""Ages from prices and states, for curves that have no closed inverse."""

from collections.abc import Callable

import numpy as np

from dayfly.model.arrays import Array

#: Ages are searched up to 2^60 typical ages; a target not reached by then is never reached.
_DOUBLINGS = 60


def first_age(curve: Callable[[Array], Array], target: Array, scale: Array) -> Array:
    """Smallest age at which an increasing curve reaches its target; infinite where it never does.

    A bracket grows from `scale` by doubling and halving, then bisection on the logarithm of the
    age closes it to the last bit. Slow and sure: every closed form overrides it.
    """
    n = len(scale)
    target = np.broadcast_to(np.asarray(target, dtype=float), (n,))
    high = scale.astype(float).copy()
    for _ in range(_DOUBLINGS):
        short = curve(high) < target
        if not short.any():
            break
        high = np.where(short, high * 2.0, high)
    never = curve(np.where(curve(high) < target, np.inf, high)) < target
    reached = ~(curve(high) < target)
    low = high / 2.0
    for _ in range(_DOUBLINGS * 2):
        long = (curve(low) >= target) & (target > 0)
        if not long.any():
            break
        low, high = np.where(long, low / 2.0, low), np.where(long, low, high)
    for _ in range(64):
        middle = np.sqrt(low) * np.sqrt(high)
        enough = curve(middle) >= target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        if np.all((high - low) <= 4e-16 * high):
            break
    age = np.where(reached & ~never, high, np.inf)
    return np.where(target <= 0, 0.0, age)
