"""Which of the due sources: the order that a rule's project uses, and the rule scaled to a budget.

A field rule gives every source an interval and knows no budget. Two contenders come out of it:

* `Native`: sources that are due, in the project's own order, as many as the budget allows. If few
  are due, budget is left over; if many are, the order decides.
* `Scaled`: all intervals times one factor s, so that the rule spends the budget. A source is then
  due at last + s·interval, so at any factor the sources come in the order of (now − last)/interval.
  To take the k largest is the scaled rule at whatever s spends the budget, at every moment anew:
  nothing is left over, nothing queues, and no controller has to be tuned. We know of no fairer
  version, nor of a stronger one that leaves the rule's own proportions alone.

A source that was never polled is due at once.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dayfly.model import Array, Rows, Visits
from dayfly.policies.contender import Contest
from dayfly.policies.field.polls import MINUTE, Polls
from dayfly.policies.field.rule import Jitter, Rule
from dayfly.policies.select import top

Order = Literal["earliest due", "least recently polled", "random"]
#: Due times are sums of floats: what misses an instant by less than this, in seconds, is due.
_ROUNDING = 1e-3


class Polling:
    """What both share: when each source was polled last, and its interval since then."""

    def __init__(self, contest: Contest, rule: Rule, jitter: Jitter | None = None) -> None:
        self.rule, self.jitter = rule, jitter
        self.last: Array = np.full(contest.sources, -np.inf)
        self.interval: Array = np.full(contest.sources, MINUTE)
        self.unsettled: list[Rows] = []

    def observe(self, visits: Visits) -> None:
        """Asks the rule for new intervals."""
        if not len(visits.row):
            return
        self.interval[visits.row] = MINUTE * self.rule.after(Polls.of(visits))
        self.last[visits.row] = visits.time
        if self.jitter is not None:
            self.unsettled.append(visits.row)

    def settle(self, rng: np.random.Generator) -> None:
        """Draws what the rule adds at random to the intervals of the last polls."""
        if self.jitter is not None and self.unsettled:
            rows = np.concatenate(self.unsettled)
            self.interval[rows] = MINUTE * self.jitter(self.interval[rows] / MINUTE, rng)
            self.unsettled.clear()


class Native(Polling):
    """Due sources in the project's own order, as many as the budget allows."""

    def __init__(
        self, contest: Contest, rule: Rule, order: Order, jitter: Jitter | None = None
    ) -> None:
        super().__init__(contest, rule, jitter)
        self.order = order

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The first k of those that are due."""
        self.settle(rng)
        due = self.last + self.interval
        ready = np.flatnonzero(due <= now + _ROUNDING)
        if self.order == "random":
            key = rng.random(len(ready))
        else:
            key = (due if self.order == "earliest due" else self.last)[ready]
        rows: Rows = ready[top(-key, k)]
        return rows


class Ticking(Native):
    """Acts on ticks alone: each picks a batch of due sources, which is then worked off.

    What the budget has not allowed by the next tick competes again there.
    """

    def __init__(self, contest: Contest, rule: Rule, order: Order, tick: float, batch: int) -> None:
        super().__init__(contest, rule, order)
        self.tick, self.batch = tick * MINUTE, batch
        self.next = contest.start
        self.queue: Rows = np.empty(0, dtype=np.int64)

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The next k of the batch."""
        if now >= self.next - _ROUNDING:
            self.queue = super().choose(now, self.batch, rng)
            self.next += self.tick * (1 + np.floor((now + _ROUNDING - self.next) / self.tick))
        rows, self.queue = self.queue[:k], self.queue[k:]
        return rows


class Scaled(Polling):
    """The rule with all intervals stretched or shrunk alike, so that it spends the budget."""

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """Those that waited the largest multiple of their interval."""
        self.settle(rng)
        return top((now - self.last) / self.interval, k)


class Cycle:
    """B0: all sources in turn, in row order."""

    def __init__(self, contest: Contest) -> None:
        self.sources, self.next = contest.sources, 0

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The next k of the cycle."""
        rows: Rows = (self.next + np.arange(min(k, self.sources))) % max(self.sources, 1)
        self.next = (self.next + len(rows)) % max(self.sources, 1)
        return rows

    def observe(self, visits: Visits) -> None:
        """Learns nothing."""
