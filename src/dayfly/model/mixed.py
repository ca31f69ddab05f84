# ruff: noqa: D102  (`Harvest` says once what each of its methods means)
"""Curves of several kinds side by side in one fleet."""

from collections.abc import Callable
from typing import Self

import numpy as np

from dayfly.model.arrays import Array, Rows
from dayfly.model.harvest import Harvest


class Mixed(Harvest):
    """Hands each row to the curves of its kind."""

    def __init__(self, n: int, parts: list[tuple[Rows, Harvest]]) -> None:
        self.n, self.parts = n, parts

    def __getitem__(self, rows: slice | Rows) -> Self:
        wanted = np.arange(self.n)[rows]
        place = np.full(self.n, -1)
        place[wanted] = np.arange(len(wanted))
        if len(np.unique(wanted)) < len(wanted):
            raise IndexError("a mixed fleet can be cut, not repeated")
        parts = []
        for held, curves in self.parts:
            inside = np.flatnonzero(place[held] >= 0)
            if len(inside):
                parts.append((place[held[inside]], curves[inside]))
        return type(self)(len(wanted), parts)

    def value(self, age: Array) -> Array:
        return self._each(lambda curves, rows: curves.value(age[rows]))

    def slope(self, age: Array) -> Array:
        return self._each(lambda curves, rows: curves.slope(age[rows]))

    def index(self, age: Array) -> Array:
        return self._each(lambda curves, rows: curves.index(age[rows]))

    def bend(self, age: Array, epoch: float) -> Array:
        return self._each(lambda curves, rows: curves.bend(age[rows], epoch))

    def age_at(self, price: Array) -> Array:
        return self._each(lambda curves, rows: curves.age_at(price[rows]))

    def age_of(self, state: Array) -> Array:
        return self._each(lambda curves, rows: curves.age_of(state[rows]))

    def slotted(self, age: Array, epoch: float) -> Array:
        return self._each(lambda curves, rows: curves.slotted(age[rows], epoch))

    def age_below(self, price: Array) -> Array:
        return self._each(lambda curves, rows: curves.age_below(price[rows]))

    def index_at(self, state: Array) -> Array:
        return self._each(lambda curves, rows: curves.index_at(state[rows]))

    def _each(self, ask: Callable[[Harvest, Rows], Array]) -> Array:
        out = np.empty(self.n)
        for rows, curves in self.parts:
            out[rows] = ask(curves, rows)
        return out

    def _zeros(self) -> Array:
        return np.zeros(self.n)
