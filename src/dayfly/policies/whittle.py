"""Crawl where one crawl is worth most: the Whittle index policy."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from dayfly.index import AnyLaw, relax, stochastic_index, whittle_index, whittle_index_at
from dayfly.model import Array, Fleet, Rows
from dayfly.policies.base import View
from dayfly.policies.select import affordable, fill_budget
from dayfly.policies.shortlist import best


def index_of(view: View) -> Array:
    """The index of every source: by its state where that is observed, else by its age."""
    if view.state is None:
        return whittle_index(view.fleet, view.age, view.epoch)
    seen = ~np.isnan(view.state)
    if seen.all():
        return whittle_index_at(view.fleet, view.state, view.epoch)
    by_age = whittle_index(view.fleet, view.age, view.epoch)
    by_state = whittle_index_at(view.fleet, np.where(seen, view.state, 0.0), view.epoch)
    return np.where(seen, by_state, by_age)


def patience(view: View) -> float:
    """The share of the price at which a source is crawled, where budget is saved up.

    A little above the price while the purse is empty, so that it can fill for who is dear; below it
    as it fills, and down to nothing where it would overflow, so that no budget is lost. In between
    it finds the level at which just the budget is spent.
    """
    return min(1.02 - 0.2 * view.full, 8.4 * (1.0 - view.full))


@functools.lru_cache(maxsize=8)
def fair_price(fleet: Fleet, pace: float, epoch: float | None) -> float:
    """The price at which the believed fleet spends the budget; solved once per belief."""
    return relax(fleet, pace, epoch).price


@functools.lru_cache(maxsize=8)
def saves(fleet: Fleet, pace: float, epoch: float | None) -> bool:
    """Whether budget must be saved up: in continuous time, and where an epoch's budget does not
    pay for everybody who is worth a crawl while cheaper ones would spend it.
    """
    if epoch is None:
        return True
    dear = fleet.cost > pace
    if not dear.any() or (fleet.cost == fleet.cost[0]).all():
        return False
    return bool((relax(fleet, pace, epoch).rate[dear] > 0).any())


def least_index(view: View) -> float:
    """The index from which on a source is crawled now, if the budget affords it.

    Without it, whoever is cheap would be crawled the moment its cost has accrued, and nothing
    would ever be saved up for the dear. Slotted time fills its budget, as the papers do.
    """
    if not saves(view.fleet, view.pace, view.epoch):
        return -np.inf
    return patience(view) * fair_price(view.fleet, view.pace, view.epoch)


@dataclass(frozen=True)
class Whittle:
    """Takes the largest Whittle indices [J, Theorem 1]; mixes observed and unobserved sources."""

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """The best rows that the budget affords; where it is saved up, those near the price."""
        if view.epoch is not None and view.state is None and view.allowed is None:
            cost = float(view.fleet.cost[0]) if len(view.fleet) else 1.0
            if len(view.fleet) and bool((view.fleet.cost == cost).all()) and np.isfinite(budget):
                return best(view.fleet, view.age, affordable(budget, cost), view.epoch)
        least = least_index(view)
        return fill_budget(index_of(view), view.fleet.cost, budget, view.allowed, least)


@dataclass(frozen=True)
class StochasticWhittle:
    """Takes the largest indices of the stochastic model [J §VIII] where the state is observed."""

    #: How the worth of items is drawn.
    law: AnyLaw = "constant"

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """The best rows that the budget affords."""
        if view.state is None or view.epoch is None:
            return Whittle().choose(view, budget, rng)
        seen = ~np.isnan(view.state)
        state = np.where(seen, view.state, 0.0)
        index = stochastic_index(view.fleet, state, view.epoch, self.law)
        if not seen.all():
            index = np.where(seen, index, whittle_index(view.fleet, view.age, view.epoch))
        return fill_budget(index, view.fleet.cost, budget, view.allowed, least_index(view))


@dataclass(frozen=True)
class Threshold:
    """Crawls every source whose index reaches a price [J 16]: the relaxed control.

    Within a hard budget the best of them are taken; with an infinite one the budget holds only on
    average, which is what the relaxation means.
    """

    #: The price; None asks the relaxed problem.
    price: float | None = None

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """The rows whose index is at least the price."""
        price = fair_price(view.fleet, view.pace, view.epoch) if self.price is None else self.price
        return fill_budget(index_of(view), view.fleet.cost, budget, view.allowed, least=price)


class DualDescent:
    """The relaxed control that finds its own price, p ← max(0, p + b_k (ΣC_i v_i − M)) [J 22].

    [J 22] prints M/N against a sum over all sources; this is the step that descends. It carries
    the price from one call to the next, so make a new one for every run.

    Parameters
    ----------
    price
        Where to start.
    step
        b_k = step / ⌈k/100⌉.
    continuous_threshold
        Decide by [J 21], whose threshold belongs to continuous time, instead of [J 16].
    """

    def __init__(
        self, price: float = 0.0, step: float = 1.0, *, continuous_threshold: bool = False
    ) -> None:
        self.price, self.step = price, step
        self.continuous_threshold = continuous_threshold
        self.calls, self.last = 0, 0.0

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """The rows at or above the present price; then moves the price."""
        if self.continuous_threshold:
            waiting = view.fleet.harvest.value(view.age)
            if view.state is not None:
                waiting = np.where(np.isnan(view.state), waiting, view.state)
            index = whittle_index_at(view.fleet, waiting, epoch=None)
        else:
            index = index_of(view)
        rows = fill_budget(index, view.fleet.cost, budget, view.allowed, least=self.price)
        self.calls += 1
        b = self.step / -(-self.calls // 100)
        # In continuous time the budget of this call is what accrued since the last one.
        due = view.pace if view.epoch is not None else view.pace * (view.now - self.last)
        self.last = view.now
        self.price = max(0.0, self.price + b * (float(view.fleet.cost[rows].sum()) - due))
        return rows
