"""The budget as a purse: it fills at a pace and holds at most its burst.

In slotted time a crawl must fit. In continuous time it may start as long as there is anything, and
may overdraw the purse: if only what fits could be crawled, the cheap would always come before the
dear.
"""

from __future__ import annotations

import math

import numpy as np

from dayfly.errors import BadInput
from dayfly.model import Array, Rows
from dayfly.schedule.arguments import number

#: What may be saved up in continuous time, unless the caller says otherwise: a minute's budget and
#: some crawls. Sources fall due at random, so a small budget loses much if it cannot wait for them.
SAVED_S = 60.0
#: A purse in balance is so full: it can pay for a crowd and save for a lull.
NEUTRAL = 0.1
#: Budgets are sums of floats: what misses by less than this share of the burst is a rounding error.
ROUNDING = 1e-9


class Purse:
    """What may be spent now, in cost units.

    In continuous time it starts in balance and fills steadily; in slotted time it starts with the
    budget of one epoch and receives as much at each multiple of `epoch`.
    """

    def __init__(
        self,
        budget: float,
        now: float,
        *,
        epoch: float | None,
        burst: float | None,
        dearest: float,
        crawls: float = 10.0,
    ) -> None:
        if epoch is not None and not 0 < number("epoch", epoch) < math.inf:
            raise BadInput(f"epoch must be positive, or None for continuous time, got {epoch}")
        if burst is not None and not 0 <= number("burst", burst) < math.inf:
            raise BadInput(f"burst must be finite and not negative, got {burst}")
        self.epoch, self.given_burst, self.crawls = epoch, burst, crawls
        self.filled_at = now
        #: The share of the budget that is used: less than 1 where something else is the limit.
        self.share = 1.0
        self.set_budget(budget, dearest)
        neutral = NEUTRAL * self.burst if budget > 0 else 0.0
        self.left = neutral if epoch is None else min(budget, self.burst)

    def set_budget(self, budget: float, dearest: float) -> None:
        """Earn this much from now on."""
        if not 0 <= number("budget", budget) < math.inf:
            raise BadInput(f"budget must be finite and not negative, got {budget}")
        self.budget = budget
        self.fit(dearest)

    def fit(self, dearest: float) -> None:
        """Make room for the dearest single crawl, or say why it can never be afforded."""
        if self.given_burst is not None:
            self.check(dearest)
            self.burst = self.given_burst
        else:
            continuous = self.budget * SAVED_S + dearest * self.crawls
            # Slotted, what did not fit is less than one crawl: it waits for the next income.
            self.burst = continuous if self.epoch is None else self.budget + dearest

    def check(self, cost: float) -> None:
        """Complain about a crawl that can never be afforded."""
        if self.given_burst is not None and self.given_burst < cost:
            raise BadInput(f"one crawl costs {cost:g}, more than the burst {self.given_burst:g}")

    @property
    def full(self) -> float:
        """How full it is: 1 where income is lost, negative where it is overdrawn."""
        return self.left / self.burst if self.burst > 0 else 1.0

    def since(self, now: float) -> float:
        """From when on earlier spending could still be felt now."""
        if self.epoch is not None:
            return slot(now, self.epoch) * self.epoch
        return now - self.burst / self.budget if self.budget > 0 else -math.inf

    def go_on(self, left: float, then: float, now: float) -> None:
        """So much was left then, in the purse of an earlier run; what has come since is added.

        A clock that was ahead then brings nothing. Debts beyond what could be saved are let go:
        the budget may have been another one.
        """
        if not (math.isfinite(left) and math.isfinite(then)):
            return
        # Who may spend nothing now does not live on savings either.
        most = math.inf if self.budget > 0 else 0.0
        self.left, self.filled_at = min(max(left, -self.burst), most), min(then, now)
        self.fill(now)

    def fill(self, now: float) -> float:
        """Take in what has come since the last time; the answer is how much that was."""
        # A clock that was set back brings nothing; a leap forward brings at most one burst.
        if self.epoch is None:
            passed = max(now - self.filled_at, 0.0)
        else:
            passed = max(slot(now, self.epoch) - slot(self.filled_at, self.epoch), 0.0)
        income = self.budget * self.share * passed
        self.left = min(self.left + income, self.burst)
        self.filled_at = max(now, self.filled_at)
        return income

    @property
    def slack(self) -> float:
        """What counts as nothing."""
        return ROUNDING * self.burst

    @property
    def open(self) -> bool:
        """Whether there is anything in it."""
        return self.left > self.slack

    def closed(self, left: float, cheapest: float) -> bool:
        """Whether so much does not pay for anybody."""
        return left <= self.slack if self.epoch is None else left + self.slack < cheapest

    def affords(self, cost: float) -> bool:
        """Whether a crawl of this cost may start now."""
        if self.epoch is None:
            return self.open
        return cost <= self.left + self.slack

    def first(self, cost: Array) -> Rows:
        """Positions that may start one after the other; whoever may not is passed over."""
        if self.epoch is not None and len(cost) and cost.min() == cost.max():
            return np.arange(min(int((self.left + self.slack) / cost[0]), len(cost)))
        if self.epoch is None:
            before = np.cumsum(cost) - cost
            stop = np.searchsorted(before, self.left - self.slack, side="left")
            return np.arange(int(stop))
        taken, left, slack = [], self.left, self.slack
        position = np.arange(len(cost))
        while len(position):
            spent = np.cumsum(cost[position])
            fits = int(np.searchsorted(spent, left + slack, side="right"))
            taken.append(position[:fits])
            if fits:
                left -= float(spent[fits - 1])
            rest = position[fits:]
            position = rest[cost[rest] <= left + slack]
        return np.concatenate(taken) if taken else np.empty(0, dtype=np.int64)

    def spend(self, cost: float) -> None:
        """Take it out."""
        self.left -= cost

    def peek(self, cost: float, now: float) -> float:
        """When a crawl of this cost may start if nothing else does; nothing is taken in."""
        pace, left = self.budget * self.share, self.left
        if self.epoch is None:
            left += pace * max(now - self.filled_at, 0.0)
            lacking = self.slack - left
        else:
            left += pace * max(slot(now, self.epoch) - slot(self.filled_at, self.epoch), 0.0)
            lacking = cost - min(left, self.burst) - self.slack
        if lacking < 0 or (lacking == 0 and self.epoch is not None):
            return now
        if pace <= 0:
            return math.inf
        if self.epoch is None:
            return now + lacking / pace
        return (slot(now, self.epoch) + math.ceil(lacking / pace - 1e-9)) * self.epoch


def slot(now: float, epoch: float) -> float:
    """Which epoch an instant belongs to; an instant a rounding error early is on time."""
    return math.floor(now / epoch + 1e-9)
