"""Nobody is forgotten: sources that were not visited for too long, the longest unseen first.

The index of a source whose rate was underestimated may never reach the price again. A small share
of the budget visits everybody once in a while, whatever is believed.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable

import numpy as np

from dayfly.model import Rows
from dayfly.schedule.roster import IN_FLIGHT, REMOVED, Roster

#: The queue holds the longest unseen: this share of all sources, but at least so many.
_SHARE, _LEAST = 1 / 256, 4096
#: It looks ahead for this share of the shortest maximum interval, and so many decisions.
_AHEAD, _STEPS = 1 / 64, 64
_WINDOW = 128
_ALL = (np.inf, 0)


class Overdue:
    """A queue by last visit, then by row."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        #: (visited, row), in order, and those of them that something holds back: (until, …).
        self._queue: list[tuple[float, int]] = []
        self._aside: list[tuple[float, float, int]] = []
        #: All that come due before this instant are in the queue, up to this one.
        self._horizon, self._last = -np.inf, _ALL
        self._now, self._depth = -np.inf, 1
        self.scans = 0

    def insert(self, rows: Rows) -> None:
        """These sources may be in the queue, or anew."""
        rows = rows[self._roster.overdue_at(rows) <= self._horizon]
        for row, visited in zip(rows.tolist(), self._roster.visited[rows].tolist(), strict=True):
            if (visited, row) <= self._last:
                self._enter((visited, row))

    def _enter(self, entry: tuple[float, int]) -> None:
        at = bisect.bisect_left(self._queue, entry)
        if at == len(self._queue) or self._queue[at] != entry:
            self._queue.insert(at, entry)

    def visit(self, now: float, decide: Callable[[int, float], float | None]) -> None:
        """Offer the longest unseen one after the other, each with when it is free.

        `decide` answers None where no more are wanted, minus infinity for one that it takes, an
        instant for one that is held back until then, infinity where nobody knows until when.
        """
        if now > self._horizon:
            self._refresh(now)
        while self._aside and self._aside[0][0] <= now:
            _, visited, row = heapq.heappop(self._aside)
            self._enter((visited, row))
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
            kept, open_ = self._offer(window, now, decide)
            self._queue[at : at + len(window)] = kept
            at += len(kept)

    def _offer(
        self,
        window: list[tuple[float, int]],
        now: float,
        decide: Callable[[int, float], float | None],
    ) -> tuple[list[tuple[float, int]], bool]:
        """Who of these stays in the queue, and whether more are wanted."""
        rows = np.array([row for _, row in window])
        roster = self._roster
        visited, out = roster.visited[rows].tolist(), roster.out(rows).tolist()
        ripe = (roster.overdue_at(rows) <= now).tolist()
        free = roster.free_at(rows, roster.look_up(rows)).tolist()
        kept: list[tuple[float, int]] = []
        previous = -1
        for at, (seen, row) in enumerate(window):
            # Visited since, gone, or noted twice: not here any more.
            if seen != visited[at] or out[at] or row == previous:
                continue
            previous = row
            if not ripe[at]:
                kept.append((seen, row))
                if "most" not in roster.optional:
                    return kept + window[at + 1 :], False
                continue
            answer = decide(row, free[at])
            if answer is None:
                return kept + window[at:], False
            if answer == np.inf:
                kept.append((seen, row))
            elif answer > now:
                heapq.heappush(self._aside, (answer, seen, row))
        return kept, True

    def _refresh(self, now: float, deeper: int = 1) -> None:
        """Read all last visits for who is or soon will be overdue."""
        self._depth = deeper
        roster, n = self._roster, self._roster.n
        shortest = roster.interval("most", slice(0, n))
        step = now - self._now if np.isfinite(self._now) else 0.0
        shortest = float(np.min(shortest)) if np.size(shortest) else np.inf
        self._horizon = now + max(_AHEAD * shortest, _STEPS * step)
        self._now = now
        rows = np.flatnonzero(roster.overdue_at(slice(0, n)) <= self._horizon)
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
        self._aside = []
        if len(rows) == most:
            self._last = self._queue[-1]
        self.scans += 1
