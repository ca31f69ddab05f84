"""What one unit of budget is worth: solved for the fleet as it is believed to be, then learnt.

The relaxed problem gives the first price, on a sample where the fleet is large. From then on it is
learnt from what is spent (`pricing.py`). When beliefs, sources or the budget have changed much, the
problem is solved again and the price moves by the ratio of the two solutions: what was learnt
stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dayfly.index import relax
from dayfly.model import Array
from dayfly.schedule import worth
from dayfly.schedule.pricing import Pricing
from dayfly.schedule.purse import Purse
from dayfly.schedule.roster import COST, REMOVED, Roster

#: The price is solved again when the beliefs have moved by this share on average, or so many
#: sources, as a share of all, came or went.
_MOVED = 0.05
#: The first price is solved on a sample of so many sources, later changes of it on fewer.
_FIRST_SAMPLE, SAMPLE = 1 << 17, 1 << 14
#: A smaller change of the budget is left to what is learnt.
_SAME_BUDGET = 0.02


class Market:
    """The price, and when it has to be found anew."""

    def __init__(self, roster: Roster, purse: Purse, kept: Sequence[float] | None = None) -> None:
        self._roster, self._purse = roster, purse
        if kept is not None:
            self._solved, self._moved, self._new, self._pace, saves, *memory = kept
            self.saves, self.pricing = bool(saves), Pricing(*memory)
            return
        self._moved = self._new = 0.0
        self._solved = self._solve(SAMPLE)
        large = roster.n > SAMPLE
        self.pricing = Pricing(self._solve(_FIRST_SAMPLE) if large else self._solved)

    @property
    def kept(self) -> list[float]:
        """All there is to remember: `Market(roster, purse, kept)` carries on from here."""
        saves = float(self.saves)
        found = [self._solved, self._moved, self._new, self._pace, saves, *self.pricing.memory]
        return [float(number) for number in found]

    @property
    def price(self) -> float:
        """Worth of one unit of budget; in continuous time nobody is crawled below it."""
        if self._purse.epoch is None:
            return self.pricing.threshold(self._purse.full)
        return self.pricing.base

    @property
    def markup(self) -> float:
        """The price as learnt, over the one that the relaxed problem has."""
        return self.pricing.base / self._solved if self._solved > 0 else 1.0

    def go_on(self, markup: float) -> None:
        """Carry on with what an earlier run learnt; the sources may be others by now."""
        self.pricing.steer(markup)

    def asked(self, left: float) -> float:
        """The price for who is next, with so much in the purse; none where the budget is filled."""
        purse = self._purse
        if purse.epoch is None:
            return self.pricing.threshold(left / purse.burst if purse.burst > 0 else 1.0)
        if not self.saves:
            return -np.inf
        # Slotted, the purse has just received its income: what counts is what was saved.
        saved = (purse.left - purse.budget) / max(self._roster.dearest, 1e-300)
        return self.pricing.threshold(min(max(saved, 0.0), 1.0))

    def worth_it(self, index: Array, left: Array) -> int:
        """How many of these, best first, reach the price, with so much left before each."""
        return self.pricing.worth_it(index, left / self._purse.burst)

    def learn(self, elapsed: float, marginal: float, ended: bool) -> None:
        """A decision was made; the index of the last one chosen, and whether money or k ran out."""
        purse = self._purse
        if purse.epoch is not None:
            return
        pace = purse.budget * purse.share
        self.pricing.learn(
            elapsed=elapsed, fill=purse.burst / pace if pace > 0 else np.inf, full=purse.full,
            marginal=marginal, short=ended,
        )  # fmt: skip

    def drift(self, moved: float = 0.0, *, new: int = 0) -> None:
        """Count changes, and solve for the price again when they have added up."""
        self._moved += moved
        self._new += new
        if abs(self._moved) + self._new > _MOVED * max(self._roster.n, 1):
            self._solve_again()

    def budget_changed(self) -> None:
        """Solve for the price again if the budget is quite different now."""
        if abs(self._purse.budget - self._pace) > _SAME_BUDGET * self._pace:
            self._solve_again()

    def _solve_again(self) -> None:
        before, self._solved = self._solved, self._solve(SAMPLE)
        self._moved = self._new = 0.0
        if before > 0 and self._solved > 0:
            self.pricing.steer(self._solved / before)
        else:
            self.pricing = Pricing(self._solved)

    def _solve(self, sources: int) -> float:
        """The price of the relaxed problem, on a sample where there are more sources."""
        roster, pace = self._roster, self._purse.budget
        self._pace, self.saves = pace, False
        rows, stride = roster.sample(sources)
        rows = rows[(roster.flags[rows] & REMOVED) == 0]
        if not len(rows):
            return 0.0
        sample = roster.part(rows)
        found = relax(sample, pace / stride, roster.epoch)
        if roster.epoch is not None and sample.cost.min() < sample.cost.max():
            # An epoch's budget does not pay for everybody who is worth it: save up for them.
            self.saves = bool((found.rate[sample.cost > pace] > 0).any())
        return found.price

    def first_level(self, now: float) -> float:
        """A level that only a few more sources reach than the first decision takes."""
        roster, purse = self._roster, self._purse
        rows, stride = roster.sample(SAMPLE)
        if not len(rows):
            return 0.0
        record = roster.look_up(rows)
        index = worth.index(roster, rows, record, now)
        many = 4 * max(purse.left, purse.budget, 0.0) / float(record[COST].mean()) + 256
        keep = min(int(many / stride) + 1, len(rows))
        return max(float(np.partition(index, len(rows) - keep)[len(rows) - keep]), self.price)
