"""A share of the budget for whoever was not visited for too long, whatever is believed of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.model import Rows
from dayfly.schedule.limits import Houses
from dayfly.schedule.overdue import Door, Overdue
from dayfly.schedule.purse import Purse
from dayfly.schedule.roster import COST, IN_FLIGHT, Roster


@dataclass(slots=True)
class Floor:
    """Chooses the longest unseen, as long as its own purse and that of all allow it."""

    roster: Roster
    houses: Houses
    #: The whole budget, the part of it that may be spent here, and which share that is.
    purse: Purse
    own: Purse
    share: float
    overdue: Overdue

    def choose(self, now: float, k: int, *, passes_over: bool) -> Rows:
        """At most k that were not visited for too long; they are in flight and paid for.

        `passes_over` says that who comes later may be taken where somebody did not fit.
        """
        taken: list[int] = []
        if not (self.share > 0 and k > 0):
            return np.empty(0, dtype=np.int64)

        shut: dict[Door, float] = {}

        def decide(row: int, free: float) -> tuple[float | None, Door | None]:
            if len(taken) >= k or not self.own.open:
                return None, None
            if free > now:
                return free, None
            cost = float(self.roster.record[row, COST])
            if self.houses.active:
                until, door = self._door(row, cost, now, shut, passes_over=passes_over)
                if until > now:
                    return until, door
            if not self.purse.affords(cost):
                return (np.inf if passes_over else None), None
            taken.append(row)
            shut.clear()
            self.own.spend(cost)
            self.purse.spend(cost)
            self.roster.flags[row] |= IN_FLIGHT
            if self.houses.active:
                rows = np.array([row])
                host, group = self.roster.host[rows], self.roster.group_of(rows)
                self.houses.take(host, group, np.array([cost]), now)
            return -np.inf, None

        self.overdue.visit(now, decide)
        return np.array(taken, dtype=np.int64)

    def _door(
        self, row: int, cost: float, now: float, shut: dict[Door, float], *, passes_over: bool
    ) -> tuple[float, Door | None]:
        """Until when its host or group does not let this source in, and which of them.

        None where that is so only for its cost: somebody cheaper may be let in.
        """
        rows = np.array([row])
        host: Door = ("host", int(self.roster.host[row]))
        group: Door = ("group", int(self.roster.group_of(rows)[0]))
        for door in (host, group):
            if door in shut:
                return shut[door], door
        codes = np.array([host[1]]), np.array([group[1]])
        ready = self.houses.ready(*codes, np.array([cost]), now)
        for door, until in ((host, float(ready[0][0])), (group, float(ready[1][0]))):
            if until > now and passes_over:
                return until, None
            if until > now:
                shut[door] = until
                return until, door
        return now, None
