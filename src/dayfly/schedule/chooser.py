"""The best that may be chosen now: by index, within budgets, and nobody out of turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dayfly.model import Array, Mask, Rows
from dayfly.schedule.calendar import CROWD, Calendar, Crowd
from dayfly.schedule.columns import Codes
from dayfly.schedule.limits import Houses
from dayfly.schedule.marks import POOL, READY, SHELF
from dayfly.schedule.purse import Purse
from dayfly.schedule.roster import Roster
from dayfly.schedule.thrift import Thrift

#: Looking at everybody is a scan only where there are more than so many.
_FEW = 4096


@dataclass(frozen=True, slots=True)
class Chosen:
    """What one decision by index came to."""

    rows: Rows
    cost: Array
    #: Index of the last one; NaN if nobody was chosen.
    marginal: float
    #: Whether k or the budget ended it, rather than the price.
    ended: bool


@dataclass(slots=True)
class Chooser:
    """Takes the best from the pool, and lowers the level as long as somebody may be missing."""

    roster: Roster
    houses: Houses
    purse: Purse
    calendar: Calendar
    #: The price for who is next, with so much in the purse.
    asked: Callable[[float], float]
    #: How many of these indices, best first, reach it, with so much left before each of them.
    worth_it: Callable[[Array, Array], int]
    thrift: Thrift
    #: How many sources a decision took lately.
    wanted: float = 0.0
    #: Sources scored, and decisions that had to look at every source.
    scored: int = 0
    scans: int = 0
    #: Indices of those that the last decision left in the pool.
    _rest: Array = field(default_factory=lambda: np.empty(0))

    def best(self, now: float, k: int) -> Chosen:
        """The best k that may be chosen now, best first, ties to the lower row."""
        calendar, purse, attempt, before = self.calendar, self.purse, 0, self.scored
        # Everybody who costs no more than this, and may be chosen now, is in the pool.
        all_below = -np.inf
        while True:
            index = calendar.look(now)
            self.scored += len(index)
            if self.houses.active:
                index = self._park(index, now)
            positions = self._in_order(index, k)
            taken = positions[self._admit(positions, index[positions], k, now)]
            cost = calendar.cost(taken)
            left = purse.left - float(cost.sum())
            ended = len(taken) >= k or purse.closed(left, self.roster.cheapest)
            room = left + purse.slack
            if not ended and room > all_below:
                # A little more: sums in another order have other rounding errors.
                cheap = self._cheap(room + purse.slack, left, now)
                if cheap is not None:
                    all_below = room + purse.slack
                    if len(cheap):
                        calendar.leave(cheap)
                        calendar.approach.place(cheap, now, READY)
                        continue
            # With so little left before them the others could not have come before somebody.
            others = len(taken)
            if all_below > -np.inf:
                others = int(np.count_nonzero(room + np.cumsum(cost[::-1]) > all_below))
            last = float(index[taken[others - 1]]) if others else np.nan
            ended = ended or room <= all_below
            # Nobody outside the pool may come before the last one taken, or be worth the price;
            # which may lie above the last one by now, because that one emptied the purse.
            bar = last if ended else float(np.fmin(max(self.asked(left), 0.0), last))
            if np.isnan(bar):
                break
            wanted = np.inf if ended else self.asked(left)
            short = calendar.level > bar or self._out_of_turn(index, taken[:others], wanted)
            lanes = self._short_lanes(index, taken, others, bar, wanted, now)
            if not short and not lanes.any():
                break
            if short:
                calendar.lower(bar, attempt, now)
            if lanes.any():
                calendar.lower_lanes(lanes, bar, attempt, now)
            attempt += 1
        self.scans += 2 * (self.scored - before) > self.roster.n > _FEW
        marginal = float(index[taken[-1]]) if len(taken) else np.nan
        rows, kept = calendar.choose(taken)
        self._rest = index[kept]
        self.wanted = max(0.9 * self.wanted, float(len(rows)))
        return Chosen(rows, cost, marginal, ended)

    def tidy(self, now: float) -> None:
        """After the choice: nobody stays in the pool who cannot be chosen soon."""
        index = self._rest
        if self.houses.active:
            # Hosts that this very choice has used up: a crowd that waits for them gets a lane.
            index = self._park(index, now)
        self.calendar.trim(index, int(self.wanted), now)

    def _in_order(self, index: Array, k: int) -> Rows:
        """Members of the pool that are worth a crawl, best first, ties to the lower row."""
        least = self.asked(self.purse.left)
        good = np.flatnonzero(index >= (max(least, 5e-324) if self.purse.epoch is None else least))
        if not self.houses.active and not self.passes_over:
            # Nobody is passed over: more than can be paid for need not be sorted.
            most = min(k, int(max(self.purse.left, 0.0) / self.roster.cheapest) + 2)
            if 0 < most < 0.8 * len(good):
                worth = index[good]
                last = np.partition(worth, len(good) - most)[len(good) - most]
                good = good[worth >= last]
        worth = -index[good]
        order = np.argsort(worth)
        worth = worth[order]
        if (worth[1:] == worth[:-1]).any():
            order = np.lexsort((self.calendar.rows[good], -index[good]))
        return good[order]

    @property
    def passes_over(self) -> bool:
        """Whether who comes later may be taken where somebody did not fit the budget."""
        return self.purse.epoch is not None and self.roster.cheapest < self.roster.dearest

    def _admit(self, positions: Rows, index: Array, k: int, now: float) -> Rows:
        """Which of these budgets, price and hosts allow one after the other."""
        cost = self.calendar.cost(positions)
        if not self.houses.active:
            return self._pay(cost, index, k)
        rows = self.calendar.rows[positions]
        host = self.roster.host[rows]
        if self.houses.group_purses.active or self.passes_over:
            group = self.roster.group_of(rows)
            admitted = self.houses.admit(host, group, cost, index, k, self.purse, self.asked, now)
            return np.array(admitted, dtype=np.int64)
        # Each host serves the first few of its own; of these the budget pays for the first few.
        served = self.houses.serve(host, cost, now)
        found: Rows = served[self._pay(cost[served], index[served], k)]
        return found

    def _pay(self, cost: Array, index: Array, k: int) -> Rows:
        """Which of these budget and price allow one after the other."""
        taken = self.purse.first(cost)[:k]
        if self.purse.epoch is None and len(taken):
            # The price rises as the purse empties.
            cost = cost[: len(taken)]
            left = self.purse.left - (np.cumsum(cost) - cost)
            taken = taken[: self.worth_it(index[: len(taken)], left)]
        return taken

    def _cheap(self, room: float, left: float, now: float) -> Rows | None:
        """Who outside the pool fits into what is left; None where that is not known.

        In slotted time, with mixed costs, and where the budget is to be filled: elsewhere the price
        or an empty purse ends the choice.
        """
        if not self.passes_over or self.asked(left) > 0 or room >= self.thrift.below():
            return None
        rows = self.thrift.fitting(room, now)
        where = self.roster.where[rows]
        if (where == SHELF).any():
            return None
        found: Rows = rows[where != POOL]
        return found

    def _out_of_turn(self, index: Array, taken: Rows, wanted: float) -> bool:
        """Whether somebody on the shelf comes before one that was taken, or should be taken too.

        `wanted` is what one has to be worth for that; infinite where k or the budget ended it.
        """
        first = self.calendar.first_on_shelf
        if first is None:
            return False
        alike = taken[index[taken] == self.calendar.level]
        return (
            self.calendar.level >= wanted or int(self.calendar.rows[alike].max(initial=-1)) > first
        )

    # Hosts and groups that cannot serve everybody.

    def _park(self, index: Array, now: float) -> Array:
        """Take out of the pool whose host or group does not allow anything now."""
        calendar, houses, rows = self.calendar, self.houses, self.calendar.rows
        host, group = self.roster.host[rows], self.roster.group_of(rows)
        by_host, by_group = houses.ready(host, group, calendar.cost(slice(None)), now)
        until = np.maximum(by_host, by_group)
        shut = np.flatnonzero(until > now)
        if not len(shut):
            return index
        crowds: list[Crowd] = []
        if len(shut) > CROWD:
            crowds += _crowds("host", host, shut[by_host[shut] > now])
            crowds += _crowds("group", group, shut[by_host[shut] <= now])
        for at in shut[np.isinf(until[shut])].tolist():
            houses.waiting.setdefault(int(host[at]), set()).add(int(rows[at]))
        calendar.park(shut, until[shut], index, crowds, now)
        # Of a crowd some may be back in the pool already, a little early: they are held, too.
        return self._park(calendar.score(now), now) if crowds else np.delete(index, shut)

    def _short_lanes(
        self, index: Array, taken: Rows, others: int, bar: float, wanted: float, now: float
    ) -> Mask:
        """Lanes that could give more, or whose best may not all have been in the pool.

        That counts for the first of those taken; nobody could have come before the others.
        """
        lanes = self.calendar.lanes
        short = np.zeros(len(lanes), bool)
        if not len(lanes):
            return short
        rows, cost, worth = self.calendar.rows[taken], self.calendar.cost(taken), index[taken]
        above = lanes.level > bar
        for number, shelves in lanes.shelves.items():
            value, waiting = shelves[-1]
            alike = rows[:others][worth[:others] == value]
            above[number] |= value >= wanted or value > bar or alike.max(initial=-1) > waiting[0]
        tight = np.flatnonzero(above)
        for kind, codes, all_taken in (
            ("host", lanes.host[tight], self.roster.host[rows]),
            ("group", lanes.group[tight], self.roster.group_of(rows)),
        ):
            own = tight[codes >= 0]
            short[own] = self.houses.allow(kind, codes[codes >= 0], all_taken, cost, now)
        rows, worth = rows[:others], worth[:others]
        lane = lanes.of(rows)
        by_group = lanes.of_group(rows)
        for each in (lane, by_group):
            # Who has a lane by its host takes from its group, too, which may have one as well.
            short[each[(each >= 0) & (worth < lanes.level[each])]] = True
        for number, shelves in lanes.shelves.items():
            value, waiting = shelves[-1]
            alike = rows[((lane == number) | (by_group == number)) & (worth == value)]
            short[number] |= int(alike.max(initial=-1)) > int(waiting[0])
        return short


def _crowds(kind: str, codes: Codes, positions: Rows) -> list[Crowd]:
    """Those hosts or groups for which many of these positions wait."""
    if len(positions) <= CROWD:
        return []
    order = positions[np.argsort(codes[positions], kind="stable")]
    names, first, many = np.unique(codes[order], return_index=True, return_counts=True)
    return [
        (kind, int(names[at]), order[first[at] : first[at] + many[at]])
        for at in np.flatnonzero(many > CROWD).tolist()
    ]
