"""Who can still be paid for with what is left of an epoch's budget.

In slotted time a crawl must fit. When the budget is nearly spent only the cheapest do, which may be
few and worth little; looking for them by lowering the level would be looking at everybody. So the
cheapest sources are on a list, and come into the pool when only they can be next.
"""

from __future__ import annotations

import numpy as np

from dayfly.model import Rows
from dayfly.schedule import rests
from dayfly.schedule.roster import COST, REMOVED, Roster

#: Most sources on the list when it is made; it is made anew when it is twice as long, or when so
#: many sources, as a share of all, came, went or changed their cost.
_MOST, _STALE = 1024, 1 / 16


class Thrift:
    """All sources that cost less than some bound."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._rows: Rows = np.empty(0, dtype=np.int64)
        self._bound = 0.0
        #: How many have come, gone or changed since the list was made; at first nobody is on it.
        self._changed = np.inf

    def note(self, rows: Rows) -> None:
        """These sources are new, gone, or cost something else."""
        self._changed += len(rows)
        if self._bound > 0:
            cheap = rows[self._roster.record[rows, COST] < self._bound]
            self._rows = np.union1d(self._rows, cheap)

    def below(self) -> float:
        """Everybody who costs less than this is on the list."""
        if self._changed > _STALE * self._roster.n or len(self._rows) > 2 * _MOST:
            self._make()
        return self._bound

    def fitting(self, room: float, now: float) -> Rows:
        """Who is on the list, costs no more than this, and could be chosen as far as it goes."""
        roster = self._roster
        rows = self._rows[roster.record[self._rows, COST] <= room]
        rows = rows[~roster.out(rows)]
        found: Rows = rows[rests.free_at(roster, rows, roster.look_up(rows)) <= now]
        return found

    def _make(self) -> None:
        roster, n = self._roster, self._roster.n
        cost = np.where(roster.flags[:n] & REMOVED, np.inf, roster.record[:n, COST])
        self._bound = float(np.partition(cost, _MOST)[_MOST]) if n > _MOST else np.inf
        self._rows = np.flatnonzero(cost < self._bound)
        self._changed = 0
