"""Learning the stochastic index of one state from draws of U: the schemes (32) and (33)–(36) [J].

For study: the solver in `dayfly.index.stochastic` is exact and takes milliseconds. As printed the
schemes miss the index, because (30) and with it V_n(u) in (33)–(35) should be ∫V dφ; see
`dayfly.index.literal`. Corrected, V_n(u) becomes ∫V_n dφ in (33) and (34), and (35) becomes
V_{n+1}(x) = x.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dayfly.errors import UnknownName
from dayfly.index.law import EpochLaw
from dayfly.index.literal import NORMALISATIONS, Equations
from dayfly.model import Array


def default_steps(n: int) -> float:
    """a(n) = 1/(1 + n/20): divergent sum, convergent sum of squares."""
    return 1.0 / (1.0 + n / 20.0)


def approximate(
    law: EpochLaw,
    threshold: float,
    rng: np.random.Generator,
    *,
    steps: int = 4000,
    normalisation: str = "corrected",
    cost: float = 1.0,
    step_size: Callable[[int], float] = default_steps,
    points: int = 200,
) -> Array:
    """γ_0, γ_1, … of the stochastic approximation (32), which solves (28)–(30) at every step.

    Parameters
    ----------
    law, threshold
        The source, and the state x̌ whose index is sought.
    rng
        Draws the Ũ_n.
    normalisation
        corrected, or printed for V(u) = 0.
    step_size
        a(n), positive, with a divergent sum and a convergent sum of squares.
    points
        Grid of states below the threshold.

    Returns
    -------
    array of shape (steps + 1,), starting at x̌/C.
    """
    equations = Equations.at(law, threshold, points)
    a, b, d = equations.parts
    one, p, beta = equations.normal(normalisation)
    arrivals = law.retention * threshold + law.sample(rng, steps)
    # V at the arrival as a number, a slope in p and a slope in β: linear, so solved once for all n.
    at = [np.interp(arrivals, equations.state, part) for part in (a, b, d)]
    above = arrivals >= threshold
    at[0][above], at[1][above], at[2][above] = arrivals[above], 0.0, -1.0
    price = threshold
    path = np.empty(steps + 1)
    path[0] = price
    for n in range(steps):
        gain = -(one + p * price) / beta
        value = at[0][n] + at[1][n] * price + at[2][n] * gain
        price -= step_size(n) * (price + value - threshold)  # [J 32]
        path[n + 1] = price
    return path / cost


def two_time_scales(
    law: EpochLaw,
    threshold: float,
    rng: np.random.Generator,
    *,
    steps: int = 4000,
    normalisation: str = "corrected",
    cost: float = 1.0,
    step_size: Callable[[int], float] = default_steps,
    damping: float = 0.5,
    points: int = 200,
) -> Array:
    """γ_0, γ_1, … of (33) with relative value iteration (34)–(35) beside it, one sweep per step.

    Parameters
    ----------
    normalisation
        corrected, or printed.
    damping
        Share of the new V_{n+1} that is taken. 1 is the text; there the iteration oscillates for
        ever where the cycle is nearly periodic, which is the rule with many arrivals.

    Returns
    -------
    array of shape (steps + 1,), starting at x̌/C.
    """
    if normalisation not in NORMALISATIONS:
        raise UnknownName("normalisation", normalisation, NORMALISATIONS)
    printed = normalisation == "printed"
    equations = Equations.at(law, threshold, points)
    x, matrix, crossing, found = (
        equations.state, equations.matrix, equations.crossing, equations.found,
    )  # fmt: skip
    arrivals = law.retention * threshold + law.sample(rng, steps)
    u = law.mean
    value, above = x.copy(), 0.0  # V_n below the threshold, and x − V_n above it
    price = threshold
    path = np.empty(steps + 1)
    path[0] = price
    for n in range(steps):
        ahead = matrix @ value + found - above * crossing  # ∫V_n(αx + u)φ(du)
        if printed:
            offset = u - above if u >= threshold else float(np.interp(u, x, value))  # V_n(u)
        else:
            offset = float(ahead[0])  # ∫V_n dφ: what follows a reset follows state 0
        y = arrivals[n]
        seen = y - above if y >= threshold else float(np.interp(y, x, value))
        step = price + seen - offset - threshold
        value += damping * (price - offset + ahead - value)  # [J 34]
        if printed:
            above += damping * (offset - above)  # [J 35]
        price -= step_size(n) * step  # [J 33]
        path[n + 1] = price
    return path / cost
