"""The rules that everybody compares with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.model import Rows
from dayfly.policies.base import View
from dayfly.policies.select import fill_budget


@dataclass(frozen=True)
class Greedy:
    """Largest expected harvest now, by age: the papers' greedy policy [J §IX]."""

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """Rows by falling harvest per cost."""
        harvest = view.fleet.harvest.value(view.age)
        return fill_budget(harvest / view.fleet.cost, view.fleet.cost, budget, view.allowed)


@dataclass(frozen=True)
class Myopic:
    """Largest harvest now, by what is seen to wait; by age where nothing is seen."""

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """Rows by falling waiting value per cost."""
        waiting = view.fleet.harvest.value(view.age)
        if view.state is not None:
            waiting = np.where(np.isnan(view.state), waiting, view.state)
        return fill_budget(waiting / view.fleet.cost, view.fleet.cost, budget, view.allowed)


@dataclass(frozen=True)
class RoundRobin:
    """Whoever waited longest."""

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """Rows by falling age."""
        return fill_budget(view.age, view.fleet.cost, budget, view.allowed)


@dataclass(frozen=True)
class Random:
    """Anybody."""

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """Rows in random order."""
        return fill_budget(rng.random(len(view.fleet)), view.fleet.cost, budget, view.allowed)
