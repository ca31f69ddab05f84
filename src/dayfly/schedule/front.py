"""Those who will reach the level next, side by side in memory.

A source that comes close to the level is copied here with all that its index needs. So a small move
of the level, which changes the instants of many thousands, costs some ten nanoseconds each and no
look at the roster; and so does a look at who has reached it.

An entry waits for the *outer* mark first. Whoever reaches that before the horizon, which is never
far away, waits for the level itself: the *inner* mark. Where the level has risen meanwhile, that is
worked out again, once more when the horizon is near.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dayfly.model import Array, Mask, Rows
from dayfly.schedule.columns import longer, turned
from dayfly.schedule.roster import NEEDED, Roster

#: An entry, one cache line: what the index needs, from when on nothing of its own holds the source
#: back, and whose it is.
FREE, _ROW, _WIDTH = NEEDED, NEEDED + 1, 8
#: So many entries are looked through at every decision; all of them only now and then.
_FEW, _MANY = 1 << 14, 1 << 16
_RUNS = 8
#: Of all sources so many are here as a rule, or fewer.
_SHARE = 1 / 16
_BLOCK = 1 << 14
#: Who never reaches the level, or always has, is an entry all the same; an infinite instant is a
#: free place, and no horizon is minus infinity.
_LAST = np.finfo(float).max
#: Who comes because the level has risen by this share since then does not come too early.
_OUTER, _NO_RISE = -1.0, 2.0**-16
_NOBODY: Rows = np.empty(0, dtype=np.int64)
_LINE = np.dtype((np.void, 8 * _WIDTH))

#: Asked when these rows, with these records, reach their mark: the inner one if so.
Reach = Callable[[Rows, Array, bool], Array]
#: Asked for the level.
Level = Callable[[], float]


class Front:
    """A table of sources, each with the instant at which to look at it again.

    The roster says that a source is here by one of two numbers, in one case because it is held.
    """

    def __init__(
        self, roster: Roster, reach: Reach, level: Level, numbers: tuple[int, int]
    ) -> None:
        self._roster, self._reach, self._level, self._numbers = roster, reach, level, numbers
        #: Places that were ever taken, and those of them that are free again.
        self._n = 0
        self._free: list[Rows] = []
        self._entry = np.empty((0, _WIDTH))
        #: The level for which an instant was worked out; `_OUTER` where it is for the outer mark.
        self._noted_at = np.empty(0)
        self._instant = np.empty(0)
        #: All entries before the horizon, which lies so far ahead: when, and their places. Who was
        #: taken elsewhere is on it until its turn comes, and its place is not free before.
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
        instants = np.clip(instants, -_LAST, _LAST)
        entry = np.empty((len(rows), _WIDTH))
        entry[:, :NEEDED], entry[:, FREE] = record[:NEEDED].T, free
        entry[:, _ROW] = rows
        _whole(self._entry)[at] = _whole(entry)
        self._noted_at[at], self._instant[at] = self._level() if inner else _OUTER, instants
        self._roster.where[rows] = self._numbers[held]
        self._roster.place[rows] = at.astype(np.uint32)
        soon = np.flatnonzero(instants <= self._horizon)
        if not len(soon):
            return
        if not inner:
            self._renew(at[soon], inner=True)
            soon = soon[self._instant[at[soon]] <= self._horizon]
        self._soon.append((self._instant[at[soon]], at[soon]))

    def _places(self, many: int) -> Rows:
        """Places for so many, free ones first."""
        found = [_NOBODY]
        while many and self._free:
            some = self._free.pop()
            self._release(some[many:])
            found.append(some[:many])
            many -= len(found[-1])
        if self._n + many > len(self._entry):
            # At once for as many as there usually are: what is outgrown leaves holes in the memory.
            wanted = max(self._n + many, int(_SHARE * self._roster.n))
            for name in ("_entry", "_noted_at", "_instant"):
                column = getattr(self, name)[: self._n]
                setattr(self, name, longer(column, wanted))
        found.append(np.arange(self._n, self._n + many))
        self._n += many
        return np.concatenate(found)

    def _release(self, places: Rows) -> None:
        """These places are free again."""
        if len(places):
            self._free.append(places)

    def lose(self, rows: Rows) -> None:
        """These sources, each here once, were taken elsewhere."""
        places = self._roster.place[rows].astype(np.int64)
        later = places[self._instant[places] > self._horizon]
        self._instant[places] = np.inf
        self._release(later)

    def pop(self, now: float) -> tuple[Rows, Array, Mask]:
        """Rows and records of those who reached the inner mark; they are entries no more.

        And for whom that was worked out when the level was lower: they may have come too early.
        """
        if now >= self._horizon:
            self._look_out(now)
        elif len(self._soon) > _RUNS:
            when, at = (np.concatenate(column) for column in zip(*self._soon, strict=True))
            left = when < np.inf  # the others have come
            self._soon = [(when[left], at[left])]
        found = [_NOBODY]
        for when, at in self._soon:
            ripe = np.flatnonzero(when <= now)
            when[ripe] = np.inf
            found.append(at[ripe])
        come = np.concatenate(found)
        self._release(come)
        come = come[self._instant[come] < np.inf]  # the others were taken elsewhere
        self._instant[come] = np.inf
        return *self._entries(come), self._early(come)

    def _early(self, places: Rows) -> Mask:
        """Whose instant was worked out for a lower level than it is now, or for the outer mark."""
        early: Mask = self._noted_at[places] < self._level() * (1 - _NO_RISE)
        return early

    def _entries(self, places: Rows) -> tuple[Rows, Array]:
        """Rows and records at these places."""
        entry = self._entry.take(places, axis=0)
        return entry[:, _ROW].astype(np.int64), turned(entry, FREE + 1)

    def renew(self, *, inner: bool) -> int:
        """The mark has moved: work out anew when it is reached; the answer is by how many."""
        self._look_away()
        taken = self._instant[: self._n] < np.inf
        places = np.flatnonzero(taken & ((self._noted_at[: self._n] != _OUTER) == inner))
        self._renew(places, inner=inner)
        return len(places)

    def _renew(self, places: Rows, *, inner: bool) -> None:
        for first in range(0, len(places), _BLOCK):
            at = places[first : first + _BLOCK]
            self._instant[at] = np.clip(self._reach(*self._entries(at), inner), -_LAST, _LAST)
        self._noted_at[places] = self._level() if inner else _OUTER

    def _look_out(self, now: float) -> None:
        """Find those whose instant comes before the next horizon."""
        self._look_away()
        self._horizon = now + self._span
        soon = np.flatnonzero(self._instant[: self._n] <= self._horizon)
        many = len(soon)
        early = soon[self._early(soon)]
        if len(early):
            self._renew(early, inner=True)
            soon = soon[self._instant[soon] <= self._horizon]
        self._soon = [(self._instant[soon], soon)]
        if many > _MANY:
            self._span /= 2
        elif many < _FEW and self._span < 1e9:
            self._span *= 2

    def _look_away(self) -> None:
        """There is no horizon: whose place was on the list for nothing makes it free."""
        for when, at in self._soon:
            places = at[when < np.inf]
            self._release(places[self._instant[places] == np.inf])
        self._soon, self._horizon = [], -np.inf


def _whole(table: Array) -> npt.NDArray[np.void]:
    """Each entry as one: so they are written at once, not number by number."""
    return table.view(_LINE)[:, 0]
