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
from dayfly.schedule.roster import COST, SINCE, Roster

#: Where a source is. Out: in flight, removed. Held: it has reached the level, but something of its
#: own or of its host holds it back. Shelf: one of very many that are worth exactly the same.
OUT, FAR, NEAR, HELD, POOL, SHELF = range(6)
#: How far below the level the far ones are noted.
_GAP = 1 / 8
#: Smallest step down, as a share of the level; steps double while too few are found.
_STEP = 1 / 256
#: The pool may hold so many times what was chosen lately, and so many more; it is cut to `_KEEP`.
_ROOM, _MORE, _KEEP = 6, 512, 2
#: Sources are placed so many at a time: what is computed on the way stays in the cache.
_BLOCK = 1 << 16
#: Rounding errors of instants, as a share of the clock.
_CLOCK_ERROR = 8 * np.finfo(float).eps


class Calendar:
    """The pool, the agenda, and the level between them."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._agenda = Agenda()
        self._where = np.empty(0, np.uint8)
        self.level = np.inf
        #: Highest level for which any far or near source is noted.
        self._noted = {FAR: 0.0, NEAR: 0.0}
        #: Members of the pool.
        self.rows: Rows = np.empty(0, dtype=np.int64)
        self._record = np.empty((0, 4))
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
        n, size = self._roster.n, len(self._roster.arrival)
        if size > len(self._where):
            longer = np.zeros(size, np.uint8)
            longer[: self._n] = self._where[: self._n]
            self._where = longer
        self._agenda.make_room(n, size)
        first, self._n = self._n, n
        for at in range(first, n, _BLOCK):
            self.place(np.arange(at, min(at + _BLOCK, n)), now)

    # Who is where.

    def place(self, rows: Rows, now: float, stage: int = FAR) -> None:
        """Put sources that are nowhere, and may be chosen some day, where they belong.

        Far, near, held or in the pool: the first of these that fits, from `stage` on.
        """
        if len(rows) > _BLOCK:
            for at in range(0, len(rows), _BLOCK):
                self.place(rows[at : at + _BLOCK], now, stage)
            return
        record = self._roster.record.take(rows, axis=0)
        while len(rows) and stage <= NEAR:
            due = self._reaches(rows, record, stage, now)
            later = due > now
            if self._roster.surge:
                later &= ~np.isin(rows, list(self._roster.surge))
            if later.all():
                self._note(rows, due, stage)
                return
            if later.any():
                self._note(rows[later], due[later], stage)
                rows, record = rows[~later], record[~later]
            stage += 1
        if not len(rows):
            return
        free = self._roster.free_at(rows)
        held = free > now
        if held.any():
            self._note(rows[held], free[held], HELD)
            rows, record = rows[~held], record[~held]
        self._where[rows] = POOL
        self.rows = np.concatenate([self.rows, rows])
        self._record = np.concatenate([self._record, record])

    def _note(self, rows: Rows, instants: Array, stage: int) -> None:
        self._agenda.note(rows, instants)
        self._where[rows] = stage
        self.moved += len(rows)
        if stage != HELD:
            self._noted[stage] = max(self._noted[stage], self.level)

    def _reaches(self, rows: Rows, record: Array, stage: int, now: float) -> Array:
        """An instant not after that at which the index reaches the level, or comes near it."""
        level = self.level * (1 - _GAP) if stage == FAR else self.level
        if level <= 0:
            return np.full(len(rows), -np.inf)
        # A hair lower: who saturates just at the level reaches it in floats, if not on paper.
        fee = record[:, COST] * (level * (1 - 1e-10))
        age = self._roster.curves(rows, record).age_below(fee)
        since, epoch = record[:, SINCE], self._roster.epoch
        never = np.flatnonzero(np.isinf(age))
        age[never] = 0.0  # never visited, and never worth it: not the sum of two infinities
        if epoch is None:
            due = age + since
            due -= _CLOCK_ERROR * abs(now)
        else:
            # The slotted index is that of continuous time an epoch later at most, two where the
            # state was seen in between: γ(kT) ≤ γ_k ≤ γ((k+1)T).
            early = 2.0 if self._roster.any_observed else 1.0
            due = np.ceil(age / epoch) + (since - early - 2e-9)
            due *= epoch
        due[never] = np.inf
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
        return self._record[positions, COST]

    def hold(self, positions: Rows, until: Array) -> None:
        """These members of the pool cannot be chosen before then."""
        self._note(self.choose(positions), until, HELD)

    def _keep(self, mask: Mask) -> None:
        self.rows, self._record = self.rows[mask], self._record[mask]

    # The decision.

    def look(self, now: float) -> Array:
        """The index of every member of the pool, after those have joined whose instant has come."""
        come = self._agenda.pop(now)
        if len(come):
            self._arrive(come, now)
        return self._roster.index(self.rows, self._record, now)

    def _arrive(self, rows: Rows, now: float) -> None:
        where = self._where[rows]
        for stage in (FAR, NEAR, HELD):
            these = rows[where == stage]
            if len(these):
                # Who was noted for this level has reached it; if it has risen, ask again.
                risen = stage != HELD and self._noted[stage] * (1 + _STEP) < self.level
                self.place(these, now, FAR if risen else stage + 1)

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
        for stage, gap in ((NEAR, 0.0), (FAR, _GAP)):
            if self._noted[stage] * (1 - gap) > self.level:
                rows = np.flatnonzero(self._where[: self._n] == stage)
                self._noted[stage] = 0.0
                self._agenda.strike(rows)
                self.rekeyed += len(rows)
                self.place(rows, now, stage)
        self._cap = max(self._cap, 1.1 * len(self.rows))

    def trim(self, index: Array, wanted: int, now: float) -> None:
        """Raise the level if the pool has grown too large to be scored at every decision."""
        self._cap = max(_ROOM * wanted + _MORE, 0.98 * self._cap)
        if len(self.rows) <= self._cap:
            return
        keep = _KEEP * wanted + _MORE // 2
        self.level = float(np.partition(index, len(index) - keep)[len(index) - keep])
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
        alike = (index == self.level) & np.isneginf(self._record[:, SINCE])
        if self._roster.surge:
            alike &= ~np.isin(self.rows, list(self._roster.surge))
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
