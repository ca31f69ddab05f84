"""Those who will reach the level next, side by side in memory.

A source that comes close to the level is copied here with all that its index needs. So a small move
of the level, which changes the instants of many thousands, costs some ten nanoseconds each and no
look at the roster; and so does a look at who has reached it.

An entry waits for the *outer* mark first. Whoever reaches that before the horizon, which is never
far away, waits for the level itself: the *inner* mark. Who was taken elsewhere is found out when
its turn comes: the roster says at which place a source really is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dayfly.model import Array, Mask, Rows
from dayfly.schedule.columns import longer
from dayfly.schedule.roster import NEEDED, Roster

#: An entry, one cache line: what the index needs, from when on nothing of its own holds the source
#: back, and whose it is.
FREE, _ROW, _WIDTH = NEEDED, NEEDED + 1, 8
#: So many entries are looked through at every decision; all of them only now and then.
_FEW, _MANY = 1 << 14, 1 << 16
_RUNS, _LEAST = 8, 1024
_BLOCK = 1 << 14
#: Who never reaches the level is an entry all the same; an infinite instant is a free place.
_LAST = np.finfo(float).max
_NOBODY: Rows = np.empty(0, dtype=np.int64)

#: Asked when these rows, with these records, reach their mark: the inner one if so.
Reach = Callable[[Rows, Array, bool], Array]


class Front:
    """A table of sources, each with the instant at which to look at it again.

    The roster says that a source is here by one of two numbers, in one case because it is held.
    """

    def __init__(self, roster: Roster, reach: Reach, numbers: tuple[int, int]) -> None:
        self._roster, self._reach, self._numbers = roster, reach, numbers
        #: Places that were ever taken, and those of them that are free again.
        self._n = 0
        self._free = _NOBODY
        self._entry = np.empty((0, _WIDTH))
        self._inner = np.empty(0, dtype=bool)
        self._instant = np.empty(0)
        #: Entries that are elsewhere by now, about.
        self._stale = 0
        #: All entries before the horizon, which lies so far ahead: when, and their places.
        self._soon: list[tuple[Array, Rows]] = []
        self._horizon, self._span = -np.inf, 1.0

    def enter(
        self,
        rows: Rows,
        record: Array,
        free: Array,
        instants: Array,
        *,
        inner: bool,
        held: bool = False,
    ) -> None:
        """New entries; held if they have reached the level and only wait to be free."""
        at = self._places(len(rows))
        instants = np.minimum(instants, _LAST)
        entry = np.empty((len(rows), _WIDTH))
        entry[:, :NEEDED], entry[:, FREE] = record[:NEEDED].T, free
        entry[:, _ROW] = rows
        self._entry[at], self._inner[at], self._instant[at] = entry, inner, instants
        self._roster.where[rows], self._roster.place[rows] = self._numbers[held], at
        soon = np.flatnonzero(instants <= self._horizon)
        if not len(soon):
            return
        if not inner:
            self._renew(at[soon], inner=True)
            soon = soon[self._instant[at[soon]] <= self._horizon]
        self._soon.append((self._instant[at[soon]], at[soon]))

    def _places(self, many: int) -> Rows:
        """Places for so many, free ones first."""
        again = min(many, len(self._free))
        more = many - again
        if self._n + more > len(self._entry):
            for name in ("_entry", "_inner", "_instant"):
                column = getattr(self, name)[: self._n]
                setattr(self, name, longer(column, self._n + more))
        kept = len(self._free) - again
        at = np.concatenate([self._free[kept:], np.arange(self._n, self._n + more)])
        self._free = self._free[:kept]
        self._n += more
        return at

    def lose(self, many: int) -> None:
        """So many entries were taken elsewhere."""
        self._stale += many

    def pop(self, now: float) -> tuple[Rows, Array]:
        """Rows and records of those who reached the inner mark; they are entries no more."""
        if now >= self._horizon:
            self._look_out(now)
        elif len(self._soon) > _RUNS:
            instants, places = zip(*self._soon, strict=True)
            self._soon = [(np.concatenate(instants), np.concatenate(places))]
        found = [_NOBODY]
        for when, at in self._soon:
            ripe = np.flatnonzero(when <= now)
            when[ripe] = np.inf
            found.append(at[ripe])
        come = np.concatenate(found)
        entry = self._entry.take(come, axis=0)
        if len(come):
            self._instant[come] = np.inf
            self._free = np.concatenate([self._free, come])
            here = self._here(entry, come)
            if not here.all():
                self._stale -= len(come) - int(np.count_nonzero(here))
                entry = entry[here]
        return entry[:, _ROW].astype(np.int64), np.ascontiguousarray(entry[:, : FREE + 1].T)

    def renew(self, *, inner: bool) -> int:
        """The mark has moved: work out anew when it is reached; the answer is by how many."""
        self._tidy()
        taken = self._instant[: self._n] < np.inf
        places = np.flatnonzero(taken & (self._inner[: self._n] == inner))
        self._renew(places, inner=inner)
        self._horizon = -np.inf
        return len(places)

    def _renew(self, places: Rows, *, inner: bool) -> None:
        for first in range(0, len(places), _BLOCK):
            at = places[first : first + _BLOCK]
            entry = self._entry.take(at, axis=0)
            record = np.ascontiguousarray(entry[:, : FREE + 1].T)
            instants = self._reach(entry[:, _ROW].astype(np.int64), record, inner)
            self._instant[at] = np.minimum(instants, _LAST)
        self._inner[places] = inner

    def _here(self, entry: Array, places: Rows) -> Mask:
        """Whether the sources of these entries are still here."""
        rows, roster = entry[:, _ROW].astype(np.int64), self._roster
        where = roster.where[rows]
        here: Mask = (where == self._numbers[0]) | (where == self._numbers[1])
        here &= roster.place[rows] == places
        return here

    def _look_out(self, now: float) -> None:
        """Find those whose instant comes before the next horizon."""
        self._tidy()
        self._horizon = now + self._span
        soon = np.flatnonzero(self._instant[: self._n] <= self._horizon)
        many = len(soon)
        outer = soon[~self._inner[soon]]
        if len(outer):
            self._renew(outer, inner=True)
            soon = soon[self._instant[soon] <= self._horizon]
        self._soon = [(self._instant[soon], soon)]
        if many > _MANY:
            self._span /= 2
        elif many < _FEW and self._span < 1e9:
            self._span *= 2

    def _tidy(self) -> None:
        """Free the places of those who are elsewhere, if there are many."""
        if 2 * self._stale <= self._n + _LEAST:
            return
        taken = np.flatnonzero(self._instant[: self._n] < np.inf)
        gone = taken[~self._here(self._entry[taken], taken)]
        self._instant[gone] = np.inf
        self._free = np.concatenate([self._free, gone])
        self._stale = 0
