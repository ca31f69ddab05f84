"""The way to the pool, stage by stage, so that nobody reaches the level unnoticed.

Whoever is not in the pool has a note, on the agenda or in the front: the instant at which it
reaches the mark of its stage (`marks`). When that has come it passes to the next stage; when the
level has fallen below a mark, those who wait for it are noted again. Early is harmless, late would
be wrong: instants are rounded down.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dayfly.model import Array, Mask, Rows
from dayfly.schedule import rests, worth
from dayfly.schedule.agenda import Agenda
from dayfly.schedule.columns import Codes
from dayfly.schedule.front import FREE, Front
from dayfly.schedule.lanes import Lanes
from dayfly.schedule.marks import (
    CLOSE,
    FAR,
    FIRST_EDITION,
    FRONT,
    HELD,
    LAG,
    NEAR,
    OUT,
    POOL,
    READY,
    Marks,
)
from dayfly.schedule.roster import NEEDED, Roster

#: Sources are placed so many at a time: what is computed on the way stays in the cache.
_BLOCK = 1 << 16
_FEW = 64
#: The agenda is looked at for as long ahead as it takes so many to come.
_BATCH, _LARGE_BATCH = 1 << 12, 1 << 14
#: When all are placed, this share of them comes soon.
_SOON = 1 / 4

#: Rows, and their records as columns.
Members = tuple[Rows, Array]


class Approach:
    """Everybody who is not in the pool, and who has just come there."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._agenda = Agenda()
        self.lanes = Lanes(roster)
        self.marks = Marks(roster, self.lanes)
        self._front = Front(roster, self._reach, lambda: self.marks.level, (FRONT, HELD))
        self._n, self._now = 0, 0.0
        #: Whoever is noted on the agenda before then has been looked at, so far ahead of its time.
        self._until, self._lead = -np.inf, 0.125
        #: Who is ready for the pool.
        self._ready: list[Members] = []
        #: How many sources were noted, and of these again because the level fell.
        self.moved, self.rekeyed = 0, 0

    def start(self, level: float, now: float) -> None:
        """Place all sources of the roster."""
        self.marks.level, self._now = level, now
        self.marks.set_entry()
        self.welcome(now)

    def welcome(self, now: float) -> None:
        """Place the sources that are new in the roster."""
        n = self._roster.n
        self._where, self._ahead = self._roster.where, self._roster.ahead
        self._agenda.rows_are(self._roster.instant, n)
        first, self._n = self._n, n
        # Of many only those are worth looking ahead for that come soon, and of a few nobody.
        ahead = np.inf if n - first > _FEW else -np.inf
        for at in range(first, n, _BLOCK):
            rows = np.arange(at, min(at + _BLOCK, n))
            self.place(rows[~self._roster.out(rows)], now, ahead=ahead)
            if at == first and n - first > _BLOCK:
                ahead = float(np.quantile(self._roster.instant[rows], _SOON, method="lower"))

    def place(self, rows: Rows, now: float, stage: int = FAR, *, ahead: float = -np.inf) -> None:
        """Put sources that are nowhere, and may be chosen some day, where they belong.

        The first stage that fits, from `stage` on. For the far ones to be looked at before `ahead`
        work out at once when they will be near: their records are at hand.
        """
        if len(rows) > _BLOCK:
            for at in range(0, len(rows), _BLOCK):
                self.place(rows[at : at + _BLOCK], now, stage, ahead=ahead)
        elif len(rows):
            self._settle(rows, self._roster.look_up(rows), None, now, stage, ahead=ahead)

    def _settle(
        self,
        rows: Rows,
        record: Array,
        free: Array | None,
        now: float,
        stage: int,
        *,
        ahead: float = -np.inf,
    ) -> None:
        """The same, with their records at hand, and from when on they are free, if that is."""
        lane = self.lanes.of(rows) if len(self.lanes) else None
        while stage <= CLOSE:
            mark = self.marks.of(stage, lane)
            due = worth.reaches(self._roster, rows, record, mark, now)
            if stage == CLOSE:
                free = rests.free_at(self._roster, rows, record) if free is None else free
                np.maximum(due, free, out=due)
            later = due > (max(self._until, now) if stage <= NEAR else now)
            part = slice(None) if later.all() else np.flatnonzero(later)
            own = None if lane is None else lane[part]
            if stage <= NEAR:
                self._note(rows[part], due[part], stage, own)
                if stage == FAR and lane is None and ahead > -np.inf:
                    self._look_ahead(rows[part], record[:, part], due[part], ahead, now)
            elif isinstance(part, slice) or len(part):
                if free is None:
                    free = rests.free_at(self._roster, rows, record)
                self._count(len(due[part]), stage, own)
                self._front.enter(
                    rows[part], record[:, part], free[part], due[part], inner=stage == CLOSE
                )
            if isinstance(part, slice):
                return
            rest = np.flatnonzero(~later)
            rows, record = rows[rest], record[:, rest]
            free = None if free is None else free[rest]
            lane = None if lane is None else lane[rest]
            # Who was never visited is worth what it ever will be: often more than the level.
            above = stage < FRONT and self._all_above(rows, record, lane, now)
            stage = READY if above else stage + 1
        if stage == READY and free is None:
            free = rests.free_at(self._roster, rows, record)
            held = np.flatnonzero(free > now)
            if len(held):
                self.hold(rows[held], record[:, held], free[held])
                some = np.flatnonzero(free <= now)
                rows, record = rows[some], record.take(some, axis=1)
        self._where[rows] = POOL
        self._ready.append((rows, record[:NEEDED]))

    def _all_above(self, rows: Rows, record: Array, lane: Codes | None, now: float) -> bool:
        """Whether all of these few have reached the level: asked once, not stage by stage."""
        if lane is not None or len(rows) > _FEW:
            return False
        return bool((worth.index(self._roster, rows, record, now) >= self.marks.level).all())

    def _look_ahead(self, rows: Rows, record: Array, far: Array, until: float, now: float) -> None:
        """Work out when those will be near who are far before then, and remember it."""
        if until < np.inf:
            some = np.flatnonzero(far < until)
            rows, record, far = rows[some], record[:, some], far[some]
        with np.errstate(invalid="ignore", over="ignore"):
            near = worth.reaches(self._roster, rows, record, self.marks.entry, now)
            gap = (near - far) * (1 - 1e-6)
            gap[gap != gap] = 0.0  # who is never far will not be asked
            self._ahead[rows] = gap
        self._where[rows] = self.marks.edition

    def _note(self, rows: Rows, instants: Array, stage: int, lane: Codes | None) -> None:
        self._agenda.note(rows, instants)
        self._where[rows] = stage
        self._count(len(rows), stage, lane)

    def _count(self, many: int, stage: int, lane: Codes | None) -> None:
        """So many, in these lanes, were noted for the mark of this stage."""
        self.moved += many
        self.marks.note(stage, lane)

    # Time goes by.

    def look(self, now: float) -> None:
        """Let those come closer whose instant has come."""
        self._now = now
        if now >= self._until:
            self._until = now + self._lead
            instants, come = self._agenda.pop(self._until)
            if len(come) > _LARGE_BATCH:
                self._lead /= 2
            elif len(come) < _BATCH and self._lead < 1e9:
                self._lead *= 2
            self._arrive(instants, come, now)
        self._advance(*self._front.pop(now), now)

    def ready(self) -> list[Members]:
        """Who has become ready for the pool since this was last asked."""
        found, self._ready = self._ready, []
        return found

    def unready(self) -> int:
        """Some that were ready may have left: forget them; the answer is how many that were."""
        many = 0
        for at, (rows, record) in enumerate(self._ready):
            stay = np.flatnonzero(self._where[rows] == POOL)
            self._ready[at] = rows[stay], record[:, stay]
            many += len(rows) - len(stay)
        return many

    def leave(self, rows: Rows) -> None:
        """Take sources, each there once, from wherever they are."""
        where = self._where[rows]
        if not where.any():
            return  # all are out already: in flight, as a rule
        self._front.lose(rows[(where == FRONT) | (where == HELD)])
        self._agenda.strike(rows)
        self._where[rows] = OUT

    def hold(self, rows: Rows, record: Array, until: Array) -> None:
        """These are ready, but cannot be chosen before then."""
        if len(rows):
            self._count(len(rows), CLOSE, None)
            self._front.enter(rows, record, until, until, inner=True, held=True)

    def _arrive(self, instants: Array, rows: Rows, now: float) -> None:
        """Their instant on the agenda has come."""
        where = self._where[rows]
        if len(self.lanes):
            lifted = self._lifted(rows)
            self.place(rows[lifted], now)
            rows, where = rows[~lifted], where[~lifted]
        else:
            rows, where = self._come_near(instants, rows, where)
        where[where >= FIRST_EDITION] = FAR
        for stage, after in ((FAR, NEAR), (NEAR, FRONT)):
            self.place(rows[where == stage], now, after)

    def _come_near(
        self, instants: Array, rows: Rows, where: npt.NDArray[np.uint8]
    ) -> tuple[Rows, npt.NDArray[np.uint8]]:
        """Note those as near for whom it was worked out when; the others are the answer."""
        entry = self.marks.entry_of[where]
        known = (where >= FIRST_EDITION) & (entry <= self.marks.level)
        known &= entry * (1 + LAG) >= self.marks.entry
        near = instants + self._ahead[rows]
        known &= near > self._until
        if not known.any():
            return rows, where
        self.marks.noted[NEAR] = max(self.marks.noted[NEAR], float(entry[known].max()))
        self._agenda.note(rows[known], near[known])
        self._where[rows[known]] = NEAR
        self.moved += int(np.count_nonzero(known))
        return rows[~known], where[~known]

    def _advance(self, rows: Rows, record: Array, early: Mask, now: float) -> None:
        """Their instant in the front has come; for some too early, as the level has risen."""
        if len(self.lanes):
            # Who is held was among the best of its lane when it came here.
            lifted = self._lifted(rows) & (self._where[rows] != HELD)
            self.place(rows[lifted], now)
            some = np.flatnonzero(~lifted)
            rows, record, early = rows[some], record[:, some], early[some]
        if early.any():
            some = np.flatnonzero(early)
            self._settle(rows[some], record[:, some], record[FREE, some], now, CLOSE)
            some = np.flatnonzero(~early)
            rows, record = rows[some], record[:, some]
        if len(rows):
            self._settle(rows, record, record[FREE], now, POOL)

    def _lifted(self, rows: Rows) -> Mask:
        """Whose lane has a level above that of all."""
        own = self.lanes.of(rows)
        lifted: Mask = (own >= 0) & (self.lanes.level[own] > self.marks.level)
        return lifted

    # The level moves.

    def fall(self, now: float) -> None:
        """Levels have fallen: note those again whose marks have become too high."""
        marks = self.marks
        if marks.noted[NEAR] > marks.level or marks.entry > marks.level:
            marks.set_entry()
        for stage in (CLOSE, FRONT):
            if marks.noted[stage] > marks.level:
                marks.noted[stage] = 0.0
                self.rekeyed += self._front.renew(inner=stage == CLOSE)
        for stage in (NEAR, FAR):
            if marks.noted[stage] > marks.level:
                where = self._where[: self._n]
                members = where == stage
                if stage == FAR:
                    members |= where >= FIRST_EDITION
                rows: Rows = np.flatnonzero(members)
                if len(self.lanes):
                    rows = rows[self.lanes.of(rows) < 0]
                marks.noted[stage] = 0.0
                self._again(rows, stage, now)
        if not len(self.lanes):
            return
        for stage, numbers in ((FRONT, (FRONT, CLOSE)), (NEAR, (NEAR,)), (FAR, (FAR,))):
            noted = self.lanes.noted[:, [number - FAR for number in numbers]]
            high = noted.max(axis=1) > np.maximum(self.lanes.level, marks.level)
            if high.any():
                rows = self.lanes.rows(high)
                where = self._where[rows]
                for number in numbers:
                    self.lanes.noted[high, number - FAR] = 0.0
                far = (where >= FIRST_EDITION) & (stage == FAR)
                self._again(rows[(where == stage) | far], stage, now)

    def _reach(self, rows: Rows, record: Array, inner: bool) -> Array:
        """When those in the front reach its inner or outer mark."""
        stage = CLOSE if inner else FRONT
        lane = self.lanes.of(rows) if len(self.lanes) else None
        self._count(len(rows), stage, lane)
        due = worth.reaches(self._roster, rows, record, self.marks.of(stage, lane), self._now)
        if inner:
            # Who is held waits for its host alone: its lane may have risen above it meanwhile.
            due[self._where[rows] == HELD] = -np.inf
            np.maximum(due, record[FREE], out=due)
        return due

    def _again(self, rows: Rows, stage: int, now: float) -> None:
        self.leave(rows)
        self.rekeyed += len(rows)
        self.place(rows, now, stage)
