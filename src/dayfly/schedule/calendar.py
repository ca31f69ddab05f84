"""The best few of millions, exactly, by looking only at those that can be among them.

Sources whose index has reached the *level* are in the pool and scored at every decision; all others
are on the way there (`approach`). As long as enough sources are in the pool the best of it are the
best of all; otherwise the level is lowered. Where the pool has grown too large, it is raised.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dayfly.model import Array, Mask, Rows
from dayfly.schedule import worth
from dayfly.schedule.approach import Approach
from dayfly.schedule.marks import CLOSE, OUT, POOL, READY, SHELF
from dayfly.schedule.roster import COST, NEEDED, SINCE, Roster

#: First step down, as a share of the level; steps grow fourfold while too few are found.
_STEP, _SHORTEST_STEP, _LONGEST_STEP = 1 / 256, 1 / 65536, 1 / 8
#: The pool keeps so many times what was chosen lately, and so many more; where the price trembles
#: up to `_PLENTY` times. It may hold `_ROOM` times that before it is cut.
_KEEP, _MORE, _PLENTY, _ROOM = 0.5, 128, 2, 3
#: How fast it forgets, per decision, that the price trembled.
_CALM = 0.998
#: A crowd: so many sources that one host or group cannot serve now; so many of them are kept.
CROWD, _KEPT = 16, 4
#: Steps and what is taken from a shelf grow no further than this.
_MOST_DOUBLINGS = 16


#: Members of the pool that wait for the same host or group: "host" or "group", and its number.
Crowd = tuple[str, int, Rows]


class Calendar:
    """The pool, and the level that one has to reach to be in it."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self.approach = Approach(roster)
        self.lanes, self._marks = self.approach.lanes, self.approach.marks
        #: Members of the pool.
        self.rows: Rows = np.empty(0, dtype=np.int64)
        self._record = np.empty((NEEDED, 0))
        #: Very many that are worth exactly the same, in order of rows; the highest value last.
        self._shelves: list[tuple[float, Rows]] = []
        #: How many the pool keeps, the next step down, and whether there was one just now.
        self._kept, self._step, self._fell = 0.0, _STEP, False

    @property
    def level(self) -> float:
        """Who has reached it is in the pool."""
        return self._marks.level

    @property
    def _where(self) -> npt.NDArray[np.uint8]:
        return self._roster.where

    def leave(self, rows: Rows) -> None:
        """Take sources from wherever they are."""
        members = np.count_nonzero(self._where[rows] == POOL)
        self.approach.leave(rows)
        if members and self.approach.unready() < members:
            self._keep(self._where[self.rows] == POOL)

    def choose(self, positions: Rows) -> tuple[Rows, Rows]:
        """Take these members out of the pool; who they are, and the positions of all others."""
        rows = self.rows[positions]
        kept = self._keep(_all_but(positions, len(self.rows)))
        self._where[rows] = OUT
        return rows, kept

    def cost(self, positions: Rows | slice) -> Array:
        """Cost of some members of the pool."""
        return self._record[COST, positions]

    def _keep(self, mask: Mask) -> Rows:
        """Only these stay in the pool; the answer is their positions."""
        kept = np.flatnonzero(mask)
        self.rows, self._record = self.rows[kept], self._record.take(kept, axis=1)
        return kept

    def _join(self) -> None:
        """Let those into the pool who have become ready."""
        ready = self.approach.ready()
        if ready:
            rows, records = zip(*ready, strict=True)
            self.rows = np.concatenate([self.rows, *rows])
            self._record = np.concatenate([self._record, *records], axis=1)

    # The decision.

    def look(self, now: float) -> Array:
        """The index of every member of the pool, after those have joined whose instant has come."""
        self.approach.look(now)
        return self.score(now)

    def score(self, now: float) -> Array:
        """The index of every member of the pool."""
        self._join()
        return worth.index(self._roster, self.rows, self._record, now)

    def lower(self, bar: float, attempt: int, now: float) -> None:
        """Lower the level towards the bar: by a small step, at each attempt four times as large."""
        share = min(self._step * 4.0 ** min(attempt, 16), 1.0)
        # A little below the bar: it may fall a little again at the next decision.
        level = max(bar * (1 - self._step), self.level * (1 - share)) if share < 1 else 0.0
        if self._shelves and level <= self._shelves[-1][0]:
            # Those on the shelf come before whoever is worth less.
            level = self._shelves[-1][0]
            self._unshelve(attempt, now)
        self._marks.level, self._fell = level, True
        self.approach.fall(now)

    def lower_lanes(self, lanes: Mask, bar: float, attempt: int, now: float) -> None:
        """The same for some lanes."""
        doubled = 1 << min(attempt, _MOST_DOUBLINGS)
        step = np.maximum(self.lanes.step, _STEP * doubled)
        level = np.maximum(bar * (1 - _STEP), self.lanes.level * (1 - step))
        self.lanes.level = np.where(lanes, np.where(step < 1, level, 0.0), self.lanes.level)
        self.lanes.step[lanes] = np.minimum(2 * step[lanes], _LONGEST_STEP)
        for lane in [lane for lane in self.lanes.shelves if lanes[lane]]:
            value, rows = self.lanes.shelves[lane][-1]
            if self.lanes.level[lane] <= value:
                # Those on the shelf come before whoever is worth less.
                self.lanes.level[lane] = value
                self.lanes.take_from_shelf(lane, CROWD * doubled)
                rows = rows[: CROWD * doubled]
                self.approach.place(rows[self._where[rows] == SHELF], now, READY)
        self.approach.fall(now)

    def park(
        self, positions: Rows, until: Array, index: Array, crowds: list[Crowd], now: float
    ) -> None:
        """These members cannot be chosen before then: their host or group does not allow it.

        Of a crowd only the best few are held until then; the others wait for a higher level.
        """
        later = np.zeros(len(self.rows), bool)
        for kind, code, members in crowds:
            lane = self.lanes.open(kind, code, [*self._marks.noted.values()])
            members = members[np.lexsort((self.rows[members], -index[members]))]
            level = float(index[members[_KEPT]])
            if level >= max(self.lanes.level[lane], self.level):
                self.lanes.level[lane] = level
                self.lanes.step[lane] /= 4
                later[members[index[members] < level]] = True
                self._shelve_lane(lane, members[index[members] == level][_KEPT:])
        shelved = self._where[self.rows] == SHELF
        held = ~(later | shelved)[positions]
        parked = positions[held]
        rows, record, gone = self.rows[parked], self._record[:, parked], self.rows[later]
        self._keep(_all_but(positions, len(self.rows)))
        self.approach.hold(rows, record, until[held])
        self.approach.place(gone, now)

    def _shelve_lane(self, lane: int, members: Rows) -> None:
        """Put those on the lane's shelf that are worth just its level, for ever."""
        rows = self.rows[members[np.isneginf(self._record[SINCE, members])]]
        surging = worth.surging(self._roster, rows)
        if surging is not None:
            rows = rows[~surging]
        if len(rows) > CROWD:
            self._where[rows] = SHELF
            self.lanes.put_on_shelf(lane, rows)

    def trim(self, index: Array, wanted: int, now: float) -> None:
        """Raise the level if the pool has grown too large to be scored at every decision."""
        self._kept = max(_KEEP * wanted + _MORE, _CALM * self._kept)
        if self._fell:
            # The price trembles: keep more, and step so far down that about as many come.
            self._fell = False
            self._kept = min(2 * self._kept, _PLENTY * (wanted + _MORE))
            if len(self.rows) > _ROOM * self._kept:
                self._step = max(self._step / 2, _SHORTEST_STEP)
            elif len(self.rows) < self._kept:
                self._step = min(self._step * 2, _LONGEST_STEP)
        if len(self.rows) <= _ROOM * self._kept:
            return
        keep = int(self._kept)
        # Members may lie below the level; it is not for this to lower it.
        level = float(np.partition(index, len(index) - keep)[len(index) - keep])
        self._marks.rise(max(self.level, level))
        kept = index >= self.level
        if np.count_nonzero(kept) > _ROOM * self._kept:
            kept &= ~self._shelve(index, keep)
        gone = ~kept & (self._where[self.rows] == POOL)
        # The front is for those who come next; all others have a longer way back.
        next_ones = index >= self._marks.entry
        ahead, behind = self.rows[gone & next_ones], self.rows[gone & ~next_ones]
        self._keep(kept)
        self.approach.place(ahead, now, CLOSE)
        self.approach.place(behind, now)

    # Ties: sources that were never visited and look alike are worth the same for ever.

    @property
    def first_on_shelf(self) -> int | None:
        """The first row of those on the shelf that are worth just the level."""
        if self._shelves and self._shelves[-1][0] >= self.level:
            return int(self._shelves[-1][1][0])
        return None

    def _shelve(self, index: Array, keep: int) -> Mask:
        """Put all but the first of those on a shelf that are worth just the level."""
        alike = (index == self.level) & np.isneginf(self._record[SINCE])
        surging = worth.surging(self._roster, self.rows)
        if surging is not None:
            alike &= ~surging
        rows = np.sort(self.rows[alike])[keep:]
        if len(rows):
            self._where[rows] = SHELF
            if self._shelves and self._shelves[-1][0] == self.level:
                rows = np.union1d(rows, self._shelves.pop()[1])
            self._shelves.append((self.level, rows))
        shelved: Mask = self._where[self.rows] == SHELF
        return shelved

    def _unshelve(self, attempt: int, now: float) -> None:
        """Bring the next few from the shelf into the pool."""
        value, rows = self._shelves.pop()
        few = max(2 * _MORE, int(self._kept)) << min(attempt, _MOST_DOUBLINGS)
        if len(rows) > few:
            self._shelves.append((value, rows[few:]))
        rows = rows[:few]
        self.approach.place(rows[self._where[rows] == SHELF], now, READY)


def _all_but(positions: Rows, n: int) -> Mask:
    mask = np.ones(n, bool)
    mask[positions] = False
    return mask
