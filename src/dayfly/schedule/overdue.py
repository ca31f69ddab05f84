"""Nobody is forgotten: sources that were not visited for too long, the longest unseen first.

The index of a source whose rate was underestimated may never reach the price again. A small share
of the budget visits everybody once in a while, whatever is believed.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Iterable

import numpy as np

from dayfly.model import Rows
from dayfly.schedule import rests
from dayfly.schedule.roster import IN_FLIGHT, REMOVED, Roster

#: The queue holds the longest unseen: this share of all sources, but at least so many.
_SHARE, _LEAST = 1 / 256, 4096
#: It looks ahead for this share of the shortest maximum interval, and so many decisions.
_AHEAD, _STEPS = 1 / 64, 64
_WINDOW = 32
_ALL = (np.inf, 0)


#: Last visit and row.
Entry = tuple[float, int]
#: A host or a group, by number: what many sources may be waiting for.
Door = tuple[str, int]
#: Asked about a row and when it is free. None: no more are wanted. Minus infinity: it is taken. An
#: instant: it is held back until then, by its host or group if a door is named; infinity if nobody
#: knows until when.
Decide = Callable[[int, float], tuple[float | None, Door | None]]


class Overdue:
    """A queue by last visit, then by row."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        #: (visited, row), in order, and those of them that something holds back: (until, …).
        self._queue: list[Entry] = []
        self._aside: list[tuple[float, float, int]] = []
        #: Those behind a door that is shut, the first of each door where it is in the queue, until
        #: when each is shut, and when to look at it again.
        self._behind: dict[Door, list[Entry]] = {}
        self._first: dict[int, list[Door]] = {}
        self._shut_until: dict[Door, float] = {}
        self._wakes: list[tuple[float, Door]] = []
        #: All that come due before this instant are in the queue, up to this one.
        self._horizon, self._last = -np.inf, _ALL
        self._now, self._depth = -np.inf, 1
        self.scans = 0

    def insert(self, rows: Rows) -> None:
        """These sources may be in the queue, or anew."""
        rows = rows[rests.overdue_at(self._roster, rows) <= self._horizon]
        given = zip(self._roster.visited[rows].tolist(), rows.tolist(), strict=True)
        entries = sorted(entry for entry in given if entry <= self._last)
        if not entries:
            return
        at = bisect.bisect_left(self._queue, entries[0])
        if at == bisect.bisect_right(self._queue, entries[-1]):
            # Side by side, as new sources are: the queue is moved once, not for each of them.
            self._queue[at:at] = entries
            return
        for entry in entries:
            self._enter(entry)

    def _enter(self, entry: Entry) -> None:
        at = bisect.bisect_left(self._queue, entry)
        if at == len(self._queue) or self._queue[at] != entry:
            self._queue.insert(at, entry)

    def visit(self, now: float, decide: Decide) -> None:
        """Offer the longest unseen one after the other, each with when it is free."""
        if now > self._horizon:
            self._refresh(now)
        while self._aside and self._aside[0][0] <= now:
            _, visited, row = heapq.heappop(self._aside)
            self._enter((visited, row))
        while self._wakes and self._wakes[0][0] <= now:
            until, door = heapq.heappop(self._wakes)
            if self._shut_until.get(door) == until:
                del self._shut_until[door]
                self._next_of(door)
        if self._queue and "most" not in self._roster.optional:
            # In order of last visits they fall due in order: often the first is not yet due.
            visited, row = self._queue[0]
            if visited + self._roster.most > now:
                return
        at, open_ = 0, True
        while open_:
            if at >= len(self._queue):
                if self._last == _ALL:
                    return
                # All that were noted are taken or held back: look at more of them.
                self._refresh(now, deeper=2 * self._depth)
                at = 0
                continue
            window = self._queue[at : at + _WINDOW]
            kept, wanted, open_, doors = self._offer(window, now, decide)
            self._queue[at : at + len(window)] = kept
            # Where somebody moves up the rest of the window has not been offered yet.
            at = at if doors else at + len(kept)
            for door in doors:
                # The first of those who wait at this door is gone: the next one has its turn.
                entry = self._next_of(door)
                if entry is not None:
                    at = min(at, bisect.bisect_left(self._queue, entry))
                    open_ = wanted

    def _offer(
        self, window: list[Entry], now: float, decide: Decide
    ) -> tuple[list[Entry], bool, bool, list[Door]]:
        """Who of these stays in the queue, whether more are wanted, whether there may be more, and
        at which doors somebody may move up.
        """
        rows = np.array([row for _, row in window])
        roster = self._roster
        visited, out = roster.visited[rows].tolist(), roster.out(rows).tolist()
        ripe = (rests.overdue_at(roster, rows) <= now).tolist()
        free = rests.free_at(roster, rows, roster.look_up(rows)).tolist()
        kept: list[Entry] = []
        doors: list[Door] = []
        for at, entry in enumerate(window):
            if doors:
                # Somebody moves up, and may come before the others here.
                return kept + window[at:], True, True, doors
            # Visited since, or gone: not here any more.
            if entry[0] != visited[at] or out[at]:
                doors += self._leaves(entry[1])
                continue
            if not ripe[at]:
                kept.append(entry)
                if "most" not in roster.optional:
                    return kept + window[at + 1 :], True, False, doors
                continue
            until, door = decide(entry[1], free[at])
            if until is None:
                return kept + window[at:], False, False, doors
            if door is not None and until > now:
                # It may have been the first at one door and be held back by another.
                doors += [other for other in self._leaves(entry[1]) if other != door]
                self._wait(entry, until, door)
            elif until == np.inf:
                # Nobody knows until when: those behind it do not wait for that.
                kept.append(entry)
                doors += self._leaves(entry[1])
            else:
                if until > now:
                    heapq.heappush(self._aside, (until, *entry))
                doors += self._leaves(entry[1])
        return kept, True, True, doors

    # At a door that is shut only the first waits to be asked; the others stand behind it.

    def wake(self, doors: Iterable[Door]) -> None:
        """These doors may be open again."""
        if not self._shut_until:
            return
        for door in doors:
            if door in self._shut_until:
                self._shut_until[door] = -np.inf
                heapq.heappush(self._wakes, (-np.inf, door))

    def _wait(self, entry: Entry, until: float, door: Door) -> None:
        heapq.heappush(self._behind.setdefault(door, []), entry)
        if self._shut_until.get(door, -np.inf) < until:
            self._shut_until[door] = until
            heapq.heappush(self._wakes, (until, door))

    def _leaves(self, row: int) -> list[Door]:
        """The doors at which this row was the first."""
        return self._first.pop(row, [])

    def _next_of(self, door: Door) -> Entry | None:
        """Let the first of those behind a door into the queue."""
        behind = self._behind.get(door)
        if not behind:
            self._behind.pop(door, None)
            return None
        entry = heapq.heappop(behind)
        doors = self._first.setdefault(entry[1], [])
        if door not in doors:
            doors.append(door)
        self._enter(entry)
        return entry

    def _refresh(self, now: float, deeper: int = 1) -> None:
        """Read all last visits for who is or soon will be overdue."""
        self._depth = deeper
        roster, n = self._roster, self._roster.n
        shortest = rests.interval(roster, "most", slice(0, n))
        step = now - self._now if np.isfinite(self._now) else 0.0
        shortest = float(np.min(shortest)) if np.size(shortest) else np.inf
        self._horizon = now + max(_AHEAD * shortest, _STEPS * step)
        self._now = now
        rows = np.flatnonzero(rests.overdue_at(roster, slice(0, n)) <= self._horizon)
        rows = rows[(roster.flags[rows] & (REMOVED | IN_FLIGHT)) == 0]
        visited = roster.visited[rows]
        most = deeper * max(_LEAST, int(n * _SHARE))
        self._last = _ALL
        if len(rows) > most:
            edge = np.partition(visited, most)[most]
            # All that were seen before the edge, and of those at it the lower rows.
            order = np.flatnonzero(visited < edge)
            order = np.concatenate([order, np.flatnonzero(visited == edge)[: most - len(order)]])
            rows, visited = rows[order], visited[order]
        order = np.lexsort((rows, visited))
        self._queue = list(zip(visited[order].tolist(), rows[order].tolist(), strict=True))
        self._aside, self._wakes = [], []
        self._behind, self._first, self._shut_until = {}, {}, {}
        if len(rows) == most:
            self._last = self._queue[-1]
        self.scans += 1
