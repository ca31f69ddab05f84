"""The best few of millions, exactly, by looking only at those that can be among them.

The index of a source grows with time, so at any level there is one instant at which it reaches it.
Sources that have reached the *level* are in the pool and scored at every decision; all others are
on the agenda for the instant at which they will. As long as enough sources are in the pool the
best of it are the best of all; otherwise the level is lowered.

Lowering it makes instants wrong that were noted for a higher one. So a source is noted first for a
level an eighth below (it is *far*), then for the level itself (it is *near*): a small step down
concerns the near alone, a few per cent of all, and each of them once. Early is harmless, late would
be wrong: instants are rounded down.
"""

from __future__ import annotations

import numpy as np

from dayfly.model import Array, Mask, Rows
from dayfly.schedule.agenda import Agenda
from dayfly.schedule.lanes import Codes, Lanes
from dayfly.schedule.roster import COST, NEEDED, SINCE, Roster

#: Where a source is. Out: in flight, removed. Held: it has reached the level, but something of its
#: own or of its host holds it back. Shelf: one of very many that are worth exactly the same.
OUT, FAR, NEAR, HELD, POOL, SHELF = range(6)
#: From here on the number is the age of a far source: how often the level had fallen by then.
_FIRST_AGE, _LAST_AGE = 16, 255
#: How far below the level the far ones are noted.
_GAP = 1 / 8
#: Smallest step down, as a share of the level; steps double while too few are found.
_STEP, _LONGEST_STEP = 1 / 256, 1 / 8
#: The pool may hold so many times what was chosen lately, and so many more; it is cut to `_KEEP`.
_ROOM, _MORE, _KEEP = 2, 256, 0.5
#: A crowd: so many sources that one host or group cannot serve now; so many of them are kept.
CROWD, _KEPT = 16, 4
#: Sources are placed so many at a time: what is computed on the way stays in the cache.
_BLOCK = 1 << 16
#: Rounding errors of instants, as a share of the clock.
_CLOCK_ERROR = 8 * np.finfo(float).eps


#: Members of the pool that wait for the same host or group: "host" or "group", and its number.
Crowd = tuple[str, int, Rows]


class Calendar:
    """The pool, the agenda, and the level between them."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._agenda = Agenda()
        self.level = np.inf
        #: Highest level for which any far or near source is noted; lanes keep their own.
        self._noted = {FAR: 0.0, NEAR: 0.0}
        self.lanes = Lanes(roster)
        #: For who was noted as far since the level last fell: how much later it will be near.
        self._age = _FIRST_AGE
        #: Members of the pool.
        self.rows: Rows = np.empty(0, dtype=np.int64)
        self._record = np.empty((NEEDED, 0))
        #: Very many that are worth exactly the same, in order of rows; the highest value last.
        self._shelves: list[tuple[float, Rows]] = []
        self._cap = 0.0
        self._n = 0
        #: How many sources were noted, and of these again because the level fell.
        self.moved, self.rekeyed = 0, 0

    def start(self, level: float, now: float) -> None:
        """Place all sources of the roster."""
        self.level = level
        self.welcome(now)

    def welcome(self, now: float) -> None:
        """Place the sources that are new in the roster."""
        n = self._roster.n
        self._where, self._ahead = self._roster.where, self._roster.ahead
        self._agenda.rows_are(self._roster.instant, n)
        first, self._n = self._n, n
        for at in range(first, n, _BLOCK):
            rows = np.arange(at, min(at + _BLOCK, n))
            self.place(rows[~self._roster.out(rows)], now, ahead=True)

    # Who is where.

    def place(self, rows: Rows, now: float, stage: int = FAR, *, ahead: bool = False) -> None:
        """Put sources that are nowhere, and may be chosen some day, where they belong.

        Far, near, held or in the pool: the first of these that fits, from `stage` on. With `ahead`
        work out at once when the far ones will be near: their records are at hand.
        """
        if not len(rows):
            return
        if len(rows) > _BLOCK:
            for at in range(0, len(rows), _BLOCK):
                self.place(rows[at : at + _BLOCK], now, stage)
            return
        record = self._roster.look_up(rows)
        lane = self.lanes.of(rows) if len(self.lanes) else None
        while stage <= NEAR:
            due = self._reaches(rows, record, self._level(lane), stage, now)
            later = due > now
            surging = self._roster.surging(rows)
            if surging is not None:
                later &= ~surging
            if not later.all():
                some = np.flatnonzero(later)
                part = rows[some], record[:, some], due[some], None if lane is None else lane[some]
            else:
                part = rows, record, due, lane
            self._note(part[0], part[2], stage, part[3])
            if ahead and stage == FAR and lane is None:
                near = self._reaches(part[0], part[1], self.level, NEAR, now)
                self._look_ahead(part[0], part[2], near)
            if part[0] is rows:
                return
            rest = np.flatnonzero(~later)
            rows, record = rows[rest], record[:, rest]
            lane = None if lane is None else lane[rest]
            stage += 1
        free = self._roster.free_at(rows, record)
        held = free > now
        if held.any():
            self._note(rows[held], free[held], HELD, None)
            some = np.flatnonzero(~held)
            rows, record = rows[some], record.take(some, axis=1)
        self._where[rows] = POOL
        self.rows = np.concatenate([self.rows, rows])
        self._record = np.concatenate([self._record, record[:NEEDED]], axis=1)

    def _look_ahead(self, rows: Rows, far: Array, near: Array) -> None:
        """Remember when the far ones will be near, for as long as the level does not fall."""
        with np.errstate(invalid="ignore", over="ignore"):
            gap = (near - far) * (1 - 1e-6)
        gap[gap != gap] = 0.0  # who is never far will not be asked
        self._ahead[rows] = gap
        self._where[rows] = self._age

    def lane_level(self, rows: Rows) -> float:
        """The level that the lane of this row has of its own; 0 if none."""
        lane = self.lanes.of(rows)
        return float(self.lanes.level[lane[0]]) if lane[0] >= 0 else 0.0

    def _level(self, lane: Codes | None) -> Array | float:
        """The level that counts for each of these lanes."""
        if lane is None:
            return self.level
        own: Array = np.append(self.lanes.level, 0.0)[lane]  # the last one for who has none
        return np.maximum(own, self.level)

    def _note(self, rows: Rows, instants: Array, stage: int, lane: Codes | None) -> None:
        self._agenda.note(rows, instants)
        self._where[rows] = stage
        self.moved += len(rows)
        if stage == HELD:
            return
        self._noted[stage] = max(self._noted[stage], self.level)
        if lane is not None and (lane >= 0).any():
            own = lane[lane >= 0]
            np.maximum.at(self.lanes.noted[:, stage - FAR], own, self._level(own))

    def _reaches(
        self, rows: Rows, record: Array, level: Array | float, stage: int, now: float
    ) -> Array:
        """An instant not after that at which the index reaches the level, or comes near it."""
        if stage == FAR:
            level = level * (1 - _GAP)
        if np.max(level) <= 0:
            return np.full(len(rows), -np.inf)
        # A hair lower: who saturates just at the level reaches it in floats, if not on paper.
        fee = record[COST] * (level * (1 - 1e-10))
        due = self._roster.curves(rows, record).age_below(fee)
        epoch = self._roster.epoch
        with np.errstate(invalid="ignore"):
            if epoch is None:
                due += record[SINCE]
                due -= _CLOCK_ERROR * abs(now)
            else:
                # The slotted index is that of continuous time an epoch later at most, two where the
                # state was seen in between: γ(kT) ≤ γ_k ≤ γ((k+1)T).
                due /= epoch
                np.ceil(due, out=due)
                due += record[SINCE]
                due -= 2.0 + 2e-9 if self._roster.any_observed else 1.0 + 2e-9
                due *= epoch
        # Never visited, and never worth it: the sum of two infinities.
        due[due != due] = np.inf
        return due

    def leave(self, rows: Rows) -> None:
        """Take sources from wherever they are."""
        where = self._where[rows]
        if (where == POOL).any():
            self._keep(~np.isin(self.rows, rows))
        self._agenda.strike(rows)
        self._where[rows] = OUT

    def choose(self, positions: Rows) -> Rows:
        """Take these members out of the pool."""
        rows = self.rows[positions]
        mask = np.ones(len(self.rows), bool)
        mask[positions] = False
        self._keep(mask)
        self._where[rows] = OUT
        return rows

    def cost(self, positions: Rows | slice) -> Array:
        """Cost of some members of the pool."""
        return self._record[COST, positions]

    def _keep(self, mask: Mask) -> None:
        kept = np.flatnonzero(mask)
        self.rows, self._record = self.rows[kept], self._record.take(kept, axis=1)

    # The decision.

    def look(self, now: float) -> Array:
        """The index of every member of the pool, after those have joined whose instant has come."""
        instants, come = self._agenda.pop(now)
        if len(come):
            self._arrive(instants, come, now)
        return self.score(now)

    def score(self, now: float) -> Array:
        """The index of every member of the pool."""
        return self._roster.index(self.rows, self._record, now)

    def _arrive(self, instants: Array, rows: Rows, now: float) -> None:
        where = self._where[rows]
        if not len(self.lanes) and self._noted[FAR] * (1 + _STEP) >= self.level:
            known = np.flatnonzero(where == self._age)
            near = instants[known] + self._ahead[rows[known]]
            known, near = known[near > now], near[near > now]
            if len(known):
                self._noted[NEAR] = max(self._noted[NEAR], self.level)
                self._agenda.note(rows[known], near)
                self._where[rows[known]] = NEAR
                self.moved += len(known)
                mask = np.ones(len(rows), bool)
                mask[known] = False
                rows, where = rows[mask], where[mask]
        where[where >= _FIRST_AGE] = FAR
        if len(self.lanes):
            own = self.lanes.of(rows)
            lifted = (where != HELD) & (own >= 0) & (self.lanes.level[own] > self.level)
            self.place(rows[lifted], now)
            rows, where = rows[~lifted], where[~lifted]
        # Who was noted for this level has reached it; if it has risen since, ask again.
        for stage, these in ((FAR, where == FAR), (NEAR, where == NEAR)):
            if self._noted[stage] * (1 + _STEP) < self.level and these.any():
                self.place(rows[these], now)
                rows, where = rows[~these], where[~these]
        far = where == FAR
        self.place(rows[far], now, NEAR)
        self.place(rows[~far], now, HELD)

    def lower(self, bar: float, attempt: int, now: float) -> None:
        """Lower the level towards the bar: by a small step, at each attempt twice as large."""
        share = min(_STEP * 2.0**attempt, 1.0)
        # A little below the bar: it may fall a little again at the next decision.
        level = max(bar * (1 - _STEP), self.level * (1 - share)) if share < 1 else 0.0
        if self._shelves and level <= self._shelves[-1][0]:
            # Those on the shelf come before whoever is worth less.
            level = self._shelves[-1][0]
            self._unshelve(now)
        self.level = level
        self._grow_old()
        self._note_again(now)

    def _grow_old(self) -> None:
        """The level fell: what was worked out ahead is too late now."""
        self._age += 1
        if self._age > _LAST_AGE:
            self._where[self._where >= _FIRST_AGE] = FAR
            self._age = _FIRST_AGE

    def lower_lanes(self, lanes: Mask, bar: float, attempt: int, now: float) -> None:
        """The same for some lanes."""
        step = np.maximum(self.lanes.step, _STEP * 2.0**attempt)
        level = np.maximum(bar * (1 - _STEP), self.lanes.level * (1 - step))
        self.lanes.level = np.where(lanes, np.where(step < 1, level, 0.0), self.lanes.level)
        self.lanes.step[lanes] = np.minimum(2 * step[lanes], _LONGEST_STEP)
        for lane in [lane for lane in self.lanes.shelves if lanes[lane]]:
            value, rows = self.lanes.shelves[lane][-1]
            if self.lanes.level[lane] <= value:
                # Those on the shelf come before whoever is worth less.
                self.lanes.level[lane] = value
                self.lanes.take_from_shelf(lane, CROWD)
                rows = rows[:CROWD]
                self.place(rows[self._where[rows] == SHELF], now, HELD)
        self._note_again(now)

    def _note_again(self, now: float) -> None:
        """Note those for their new level whose old one has become too high."""
        for stage, gap in ((NEAR, 0.0), (FAR, _GAP)):
            found: list[Rows] = []
            if self._noted[stage] * (1 - gap) > self.level:
                where = self._where[: self._n]
                members = where == stage
                if stage == FAR:
                    members |= where >= _FIRST_AGE
                all_of_stage: Rows = np.flatnonzero(members)
                if len(self.lanes):
                    all_of_stage = all_of_stage[self.lanes.of(all_of_stage) < 0]
                found.append(all_of_stage)
                self._noted[stage] = 0.0
            if len(self.lanes):
                noted = self.lanes.noted[:, stage - FAR]
                high = noted * (1 - gap) > np.maximum(self.lanes.level, self.level)
                if high.any():
                    rows = self.lanes.rows(high)
                    where = self._where[rows]
                    found.append(rows[(where == stage) | ((where >= _FIRST_AGE) & (stage == FAR))])
                    noted[high] = 0.0
            for rows in found:
                self._agenda.strike(rows)
                self.rekeyed += len(rows)
                self.place(rows, now, stage)
        self._cap = max(self._cap, 1.1 * len(self.rows))

    def park(
        self, positions: Rows, until: Array, index: Array, crowds: list[Crowd], now: float
    ) -> None:
        """These members cannot be chosen before then: their host or group does not allow it.

        Of a crowd only the best few are held until then; the others wait for a higher level.
        """
        later = np.zeros(len(self.rows), bool)
        for kind, code, members in crowds:
            lane = self.lanes.open(kind, code, (self._noted[FAR], self._noted[NEAR]))
            members = members[np.lexsort((self.rows[members], -index[members]))]
            level = float(index[members[_KEPT]])
            if level >= max(self.lanes.level[lane], self.level):
                self.lanes.level[lane] = level
                self.lanes.step[lane] /= 4
                later[members[index[members] < level]] = True
                self._shelve_lane(lane, members[index[members] == level][_KEPT:])
        shelved = self._where[self.rows] == SHELF
        held = ~(later | shelved)[positions]
        rows, gone = self.rows[positions[held]], self.rows[later]
        mask = np.ones(len(self.rows), bool)
        mask[positions] = False
        self._keep(mask)
        self._note(rows, until[held], HELD, None)
        self.place(gone, now)

    def _shelve_lane(self, lane: int, members: Rows) -> None:
        """Put those on the lane's shelf that are worth just its level, for ever."""
        rows = self.rows[members[np.isneginf(self._record[SINCE, members])]]
        surging = self._roster.surging(rows)
        if surging is not None:
            rows = rows[~surging]
        if len(rows) > CROWD:
            self._where[rows] = SHELF
            self.lanes.put_on_shelf(lane, rows)

    def trim(self, index: Array, wanted: int, now: float) -> None:
        """Raise the level if the pool has grown too large to be scored at every decision."""
        self._cap = max(_ROOM * wanted + _MORE, 0.98 * self._cap)
        if len(self.rows) <= self._cap:
            return
        keep = int(_KEEP * wanted) + _MORE // 2
        # Members may lie below the level; it is not for this to lower it.
        level = float(np.partition(index, len(index) - keep)[len(index) - keep])
        self.level = max(self.level, level)
        kept = index >= self.level
        if np.count_nonzero(kept) > self._cap:
            kept &= ~self._shelve(index, keep)
        rest = self.rows[~kept]
        self._keep(kept)
        self.place(rest[self._where[rest] == POOL], now)

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
        surging = self._roster.surging(self.rows)
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

    def _unshelve(self, now: float) -> None:
        """Bring the next few from the shelf into the pool."""
        value, rows = self._shelves.pop()
        few = max(_MORE, int(self._cap) // 2)
        if len(rows) > few:
            self._shelves.append((value, rows[few:]))
        rows = rows[:few]
        self.place(rows[self._where[rows] == SHELF], now, HELD)
