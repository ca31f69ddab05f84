"""The papers' formulas as printed, for study: what they say where they are not what they mean.

All three index forms agree on the lattice x_k = u*(1 − α^k) that a deterministic source visits.
Noise takes the state off it, and there they part; `dayfly.index.whittle_index_at` is right
everywhere. docs/errata.md tells the story.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from dayfly.errors import BadInput
from dayfly.index import whittle_index, whittle_index_at
from dayfly.lab.table1 import ceiling
from dayfly.model import Array, Fleet, Rows
from dayfly.policies import View, fill_budget

#: An index by state: form(fleet, state, epoch) -> one number per source.
Form: TypeAlias = Callable[[Fleet, Array, float], Array]


def literal_index(fleet: Fleet, state: Array, epoch: float) -> Array:
    """[J, Theorem 1] with log⁺ read literally: η = 0 above u*, so the best sources count nothing.

    >>> from dayfly.lab.table1 import TABLE_ONE
    >>> literal_index(TABLE_ONE, np.array([356., 499., 71., 96.]), 1.0).round(1)
    array([351.3, 493.8,  69.4,   0. ])
    """
    alpha, u, eta = _parts(fleet, state, epoch)
    gamma = eta * ((1 - alpha) * state - u) + u * (1 - alpha**eta) / (1 - alpha)
    return np.asarray(gamma / fleet.cost)


def slides_index(fleet: Fleet, state: Array, epoch: float) -> Array:
    """[S]: the form that [J] simplifies for the lattice, with the ceiling that [J] drops from it.

    Just above a lattice state the ceiling jumps and nothing makes up for it, so the index falls.

    >>> from dayfly.lab.table1 import TABLE_ONE, first_state
    >>> slides_index(TABLE_ONE, first_state(TABLE_ONE), 1.0).round(1)
    array([90.5, 43.6, 18.1,  3.4])
    >>> slides_index(TABLE_ONE, first_state(TABLE_ONE) + .1, 1.0).round(1)
    array([  1.4, -60.3,   0.4, -11.1])
    """
    alpha, u, eta = _parts(fleet, state, epoch)
    return np.asarray((eta * ((1 - alpha) * state - u) + state) / fleet.cost)


#: The forms by the name that rows and figures use.
FORMS: dict[str, Form] = {
    "whittle_slides": slides_index,
    "whittle_literal": literal_index,
    "whittle": whittle_index_at,
}


class PrintedDescent:
    """The relaxed control with (22) as printed, λ ← λ − b_k (M/N − ΣC_i v_i), b_k = step/k.

    M/N is one source's share of the budget and the sum runs over all of them, so the price rises
    as long as more than M/N is spent. It carries the price from call to call: one per run.
    """

    def __init__(self, price: float, step: float) -> None:
        self.price, self.step = price, step
        self.calls = 0

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """The rows whose index reaches the present price [J 16]; then moves the price."""
        index = whittle_index(view.fleet, view.age, view.epoch)
        rows = fill_budget(index, view.fleet.cost, budget, view.allowed, least=self.price)
        self.calls += 1
        spent = float(view.fleet.cost[rows].sum())
        self.price -= self.step / self.calls * (view.pace / len(view.fleet) - spent)  # [J 22]
        return rows


def _parts(fleet: Fleet, state: Array, epoch: float) -> tuple[Array, Array, Array]:
    """α, u and η = ⌈log⁺_α(1 − x/u*)⌉ [J 18]."""
    if not (fleet.decay > 0).all() or not (fleet.arrival * fleet.worth > 0).all():
        raise BadInput("the printed forms need sources that publish and whose items fade")
    alpha = np.exp(-fleet.decay * epoch)
    left = 1.0 - np.asarray(state, dtype=np.float64) / ceiling(fleet)
    positive = left > 0
    steps = np.log(np.where(positive, left, 1.0)) / -(fleet.decay * epoch)
    # A state on the lattice is on it, whatever the last digit of the logarithm says.
    eta = np.maximum(np.ceil(steps - 1e-9), 0.0)
    return alpha, ceiling(fleet) * (1 - alpha), eta
