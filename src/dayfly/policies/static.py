"""Fixed rates, and the Lagrangian index: policies built on the relaxed problem's price."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from dayfly.index import Relaxed, relax
from dayfly.index.response import Response
from dayfly.model import Array, Fleet, Rows
from dayfly.policies.base import View
from dayfly.policies.select import fill_budget
from dayfly.policies.whittle import patience


@functools.lru_cache(maxsize=8)
def _solved(fleet: Fleet, pace: float, epoch: float | None) -> Relaxed:
    return relax(fleet, pace, epoch)


@dataclass(frozen=True)
class Static:
    """The best fixed period for every source, run most overdue first.

    This is what Lefortier et al. (CIKM 2013) optimise; at random times instead of the most overdue
    first the same rates earn several percent less.
    """

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """Rows by how many of their periods have passed."""
        rate = _solved(view.fleet, view.pace, view.epoch).rate
        with np.errstate(invalid="ignore"):
            overdue = np.where(rate > 0, view.age * rate, 0.0)
        # Who is never to be crawled is not crawled, even if budget is left.
        wanted = rate > 0 if view.allowed is None else (rate > 0) & view.allowed
        least = patience(view) if view.epoch is None else -np.inf
        return fill_budget(overdue, view.fleet.cost, budget, wanted, least)


@dataclass(frozen=True)
class Lagrangian:
    """Advantage of crawling now at the relaxed problem's price, Q(x, 1) − Q(x, 0).

    After Avrachenkov, Borkar and Shah (arXiv 2412.12641); for the lattice arm, with k* the best
    age at the price and g = (f_k* − pC)/k* what it earns:
    A(k) = g − (f_{k+1} − f_k) for k ≥ k* − 1, else f_k − f_k* + g (k* − k).
    """

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """Rows by falling advantage per cost."""
        advantage = self._advantage(view) / view.fleet.cost
        least = -np.inf
        if view.epoch is None:
            least = (patience(view) - 1.0) * _solved(view.fleet, view.pace, None).price
        return fill_budget(advantage, view.fleet.cost, budget, view.allowed, least)

    def _advantage(self, view: View) -> Array:
        harvest, epoch = view.fleet.harvest, view.epoch
        best = _solved(view.fleet, view.pace, epoch)
        price = np.full(len(view.fleet), best.price)
        response = Response(view.fleet, epoch)
        due = response.age(price)
        earns = response.profit(price, due)
        age = np.where(np.isinf(view.age), np.maximum(due, view.age), view.age)
        unit = 1.0 if epoch is None else epoch
        if epoch is None:
            later, gain = age >= due, harvest.slope(age)
        else:
            later = age >= due - epoch
            with np.errstate(invalid="ignore"):  # ∞ − ∞: what never fades, never crawled
                gain = harvest.value(age + epoch) - harvest.value(age)
            gain = np.where(np.isinf(age), epoch * harvest.slope(age), gain)
        with np.errstate(invalid="ignore"):
            early = harvest.value(age) - harvest.value(due) + earns * (due - age) / unit
        # A source never worth a crawl at this price: what a crawl would lose.
        never = np.isinf(due)
        fee = best.price * view.fleet.cost
        early = np.where(never, harvest.value(age) - fee, early)
        return np.where(later & ~never, earns - gain, early)
