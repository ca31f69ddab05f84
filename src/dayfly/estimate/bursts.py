"""Bursts: items that bring more items (Hawkes), and what to expect after a visit.

The rate at time t is ν + a Σ e^(−b(t − t_i)) over the items so far: each brings a/b others on
average. The likelihood needs one pass,

    Σ ln(ν + a A_i) − νT − (a/b) Σ (1 − e^(−b(T − t_i))),   A_i = e^(−b(t_i − t_{i−1}))(1 + A_{i−1})

and after a visit that found the rate at l₀ the mean rate falls back to ν/(1 − a/b) at the speed
b − a, which gives what gathers until the next visit in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.model import Array


@dataclass(frozen=True, kw_only=True)
class Hawkes:
    """A source with bursts.

    Examples
    --------
    >>> source = Hawkes(base=1.0, jump=0.5, memory=1.0)
    >>> source.mean
    2.0
    >>> round(float(source.harvest(3.0, decay=1.0, rate=source.mean)), 4)  # as if it were steady
    1.9004
    """

    #: Items per second that come by themselves (ν).
    base: float
    #: By how much an item raises the rate (a), and how fast that fades, per second (b).
    jump: float
    memory: float

    def __post_init__(self) -> None:
        if not (self.base > 0 and self.jump >= 0 and self.memory > self.jump):
            raise BadInput("bursts need base > 0 and 0 ≤ jump < memory, or they never end")

    @property
    def mean(self) -> float:
        """Items per second in the long run."""
        return self.base / (1 - self.jump / self.memory)

    def rate(self, time: Array, now: float) -> float:
        """Items per second expected right now, from the items of the past."""
        past = time[time <= now]
        return self.base + self.jump * float(np.exp(-self.memory * (now - past)).sum())

    def harvest(self, age: npt.ArrayLike, *, decay: float, rate: float) -> Array:
        """What waits so long after a visit that left the source at this rate; an item is worth 1.

        X(τ) = l̄(1 − e^(−μτ))/μ + (l₀ − l̄)(e^(−(b−a)τ) − e^(−μτ))/(μ − (b − a))
        """
        t = np.asarray(age, dtype=np.float64)
        back = self.memory - self.jump
        steady = self.mean * -np.expm1(-decay * t) / decay
        # Where both speeds are equal the quotient is its limit, τ e^(−μτ).
        if abs(decay - back) < 1e-9 * decay:
            extra = t * np.exp(-decay * t)
        else:
            extra = np.exp(-back * t) * -np.expm1(-(decay - back) * t) / (decay - back)
        found: Array = steady + (rate - self.mean) * extra
        return found


def log_likelihood(time: Array, start: float, end: float, source: Hawkes) -> float:
    """How likely these items are, all within the interval and in order of time."""
    fades = np.exp(-source.memory * np.diff(time))
    carried, log = 0.0, 0.0
    for step, fade in enumerate([0.0, *fades.tolist()] if len(time) else []):
        carried = fade * (1.0 + carried) if step else 0.0
        log += np.log(source.base + source.jump * carried)
    brings = source.jump / source.memory * -np.expm1(-source.memory * (end - time))
    return float(log - source.base * (end - start) - brings.sum())


def fit_bursts(time: Array, start: float, end: float) -> Hawkes:
    """The most likely Hawkes source for these items; needs about fifty of them to say much."""
    from scipy.optimize import minimize

    when = np.sort(np.asarray(time, dtype=np.float64))
    if len(when) < 2 or not end > start or when[0] < start or when[-1] > end:
        raise BadInput("bursts are fitted to two items or more, all within the interval")
    mean = len(when) / (end - start)

    def source(x: Array) -> Hawkes:
        share, memory = 0.98 / (1 + np.exp(-x[1])), mean * np.exp(np.clip(x[2], -12, 12))
        base = mean * np.exp(np.clip(x[0], -12, 12))
        return Hawkes(base=float(base), jump=float(share * memory), memory=float(memory))

    def cost(x: Array) -> float:
        return -log_likelihood(when, start, end, source(x))

    starts = [np.array([-0.7, 0.0, speed]) for speed in (-1.0, 1.0, 3.0)]
    tried = [minimize(cost, x, method="Nelder-Mead", options={"maxiter": 400}) for x in starts]
    return source(min(tried, key=lambda one: float(one.fun)).x)
