"""A policy around a policy: never more than a host can bear."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dayfly.model import Mask, Rows
from dayfly.policies.base import Policy, View


@dataclass(frozen=True)
class Polite:
    """Asks the inner policy, holds back what a host should not bear, and asks again.

    A host in cool-down never blocks the others: its sources are passed over, and the budget goes
    to the next best elsewhere.
    """

    #: Who chooses.
    policy: Policy
    #: At most this many visits to one host at one instant.
    per_host: int = 1
    #: Least time between instants at which a host is visited.
    spacing: float = 0.0

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """Rows of the inner policy, none that its host could not bear."""
        fleet, hosts = view.fleet, view.fleet.host_code
        visits = np.zeros(len(fleet.hosts), dtype=np.int64)
        allowed = np.ones(len(fleet), dtype=bool) if view.allowed is None else view.allowed.copy()
        allowed &= _rested(view, self.spacing)[hosts]
        chosen: list[int] = []
        left = budget
        while left > 0:
            asked = self.policy.choose(replace(view, allowed=allowed), left, rng)
            # A policy that asks for what it may not have gets nothing; else this would not end.
            asked = asked[allowed[asked]]
            if not len(asked):
                break
            for row in asked:
                if visits[hosts[row]] < self.per_host:
                    visits[hosts[row]] += 1
                    chosen.append(int(row))
                    left -= float(fleet.cost[row])
            allowed[np.asarray(chosen, dtype=np.int64)] = False
            allowed &= (visits < self.per_host)[hosts]
        return np.asarray(chosen, dtype=np.int64)


def _rested(view: View, spacing: float) -> Mask:
    """Whether each host was left alone for long enough: its youngest age tells."""
    youngest = np.full(len(view.fleet.hosts), np.inf)
    np.minimum.at(youngest, view.fleet.host_code, view.age)
    return youngest >= spacing * (1 - 1e-12)
