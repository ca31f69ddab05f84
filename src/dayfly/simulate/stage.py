"""A policy on stage: the world, what the policy may see of it, and the purse it spends from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dayfly.errors import BadInput
from dayfly.index import relax
from dayfly.model import Array, Fleet, Mask, Rows
from dayfly.policies import Policy, View
from dayfly.simulate.waiting import Waiting

#: Continuous time is looked at so often within the age at which the busiest source is due.
_FINEST = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One epoch of a run."""

    #: When the epoch's crawls were decided (the last of them, in continuous time).
    time: float
    #: The sources crawled, in the order chosen.
    rows: Rows
    #: What each of those crawls brought.
    rewards: Array
    #: Cost of those crawls.
    spent: float

    @property
    def reward(self) -> float:
        """What the epoch brought."""
        return float(self.rewards.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Stage:
    """All that a run needs besides the number of its epochs."""

    #: The truth, and what the policy believes.
    fleet: Fleet
    believed: Fleet
    policy: Policy
    world: Waiting
    #: Which states the policy sees.
    seen: Mask
    #: Age of each source at the first decision.
    age: Array
    #: Cost units per epoch, and the length of one.
    budget: float
    epoch: float
    #: Most that may be carried over, and whether the policy may spend what it wants all the same.
    burst: float
    soft: bool
    #: What the policy draws for itself; the world has its own.
    rng: np.random.Generator

    def slotted(self, epochs: int) -> Iterator[Step]:
        """All crawls of an epoch are decided at once, at its end."""
        age, purse, plenty = self.age, 0.0, self._plenty(1.0)
        for number in range(epochs):
            now = number * self.epoch
            saved = min(purse, self.burst)
            purse = np.inf if self.soft else saved + self.budget
            full = min(saved / plenty, 1.0) if plenty > 0 else 1.0
            view = self._view(now, age, epoch=self.epoch, pace=self.budget, full=full)
            rows = self._chosen(view, purse)
            step = self._crawl(now, rows, age)
            purse -= step.spent
            age = self._pass(age, rows, self.epoch)
            yield step

    def flowing(self, epochs: int) -> Iterator[Step]:
        """Budget accrues all the time, and a crawl may start whenever there is any.

        The last crawl at an instant may overdraw what has accrued, and later instants make up for
        it: if only what fits could be crawled, the cheap would always come before the dear.
        """
        cost, pace = self.fleet.cost, self.budget / self.epoch
        dearest = float(cost.max(initial=0.0))
        instants = self._instants()
        between = self.epoch / instants
        age, purse, plenty = self.age, 0.0, self._plenty(4.0)
        for number in range(epochs):
            steps = []
            for instant in range(instants):
                now = number * self.epoch + instant * between
                # What an instant brings is never lost: a large fleet may earn more than the burst.
                purse = np.inf if self.soft else min(purse, self.burst) + pace * between
                rows: Rows = np.empty(0, dtype=np.int64)
                if purse > 0:
                    full = min(purse / plenty, 1.0) if plenty > 0 else 1.0
                    view = self._view(now, age, epoch=None, pace=pace, full=full)
                    rows = self._chosen(view, purse + dearest)
                    rows = rows[np.cumsum(cost[rows]) - cost[rows] < purse]
                    steps.append(self._crawl(now, rows, age))
                    purse -= steps[-1].spent
                age = self._pass(age, rows, between)
            yield _together(now, steps)

    def _plenty(self, crawls: float) -> float:
        """Savings that count as a full purse; the usual size, where they may grow without end."""
        if np.isfinite(self.burst):
            return self.burst
        return crawls * float(self.fleet.cost.max(initial=0.0))

    def _instants(self) -> int:
        """Looks per epoch: as often as the cheapest crawl is paid for, but no finer than matters.

        It must not matter how long the epoch is: that is only how the budget was written.
        """
        if not len(self.fleet) or self.budget == 0:
            return 1
        paid = float(self.fleet.cost.min()) * self.epoch / self.budget
        soonest = float(relax(self.fleet, self.budget / self.epoch).age.min())
        return max(int(np.ceil(self.epoch / max(paid, soonest / _FINEST))), 1)

    def _view(
        self, now: float, age: Array, *, epoch: float | None, pace: float, full: float
    ) -> View:
        state = np.where(self.seen, self.world.seen(), np.nan) if self.seen.any() else None
        return View(
            fleet=self.believed, now=now, age=age, epoch=epoch, pace=pace, full=full, state=state
        )

    def _chosen(self, view: View, budget: float) -> Rows:
        """What the policy wants, if it keeps the rules; a score won by breaking them is none."""
        rows = np.asarray(self.policy.choose(view, budget, self.rng), dtype=np.int64)
        name, n = type(self.policy).__name__, len(self.fleet)
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < n:
            raise BadInput(f"policy {name} chose a row outside 0 to {n - 1}")
        if len(np.unique(rows)) < len(rows):
            raise BadInput(f"policy {name} chose a row twice")
        cost = float(self.fleet.cost[rows].sum())
        if cost > budget * (1 + 1e-9) + 1e-9:
            raise BadInput(f"policy {name} spent {cost:g} where {budget:g} was left")
        return rows

    def _crawl(self, now: float, rows: Rows, age: Array) -> Step:
        rewards = self.world.harvest(rows, age[rows])
        return Step(time=now, rows=rows, rewards=rewards, spent=float(self.fleet.cost[rows].sum()))

    def _pass(self, age: Array, crawled: Rows, elapsed: float) -> Array:
        """Time goes by; a new array, because the policy may have kept the old one."""
        self.world.advance(elapsed)
        later = age + elapsed
        later[crawled] = elapsed
        return later


def _together(now: float, steps: list[Step]) -> Step:
    """Several instants as one step."""
    return Step(
        time=now,
        rows=np.concatenate([step.rows for step in steps]) if steps else np.empty(0, np.int64),
        rewards=np.concatenate([step.rewards for step in steps]) if steps else np.empty(0),
        spent=sum(step.spent for step in steps),
    )
