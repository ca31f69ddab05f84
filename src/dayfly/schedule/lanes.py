"""Hosts and groups that are asked for more than they allow have levels of their own.

A host that allows one visit a second may have a million sources that are worth the price. Looking
at all of them every second to take the best would be slow; so they get a lane: a level so high that
only a few of them reach it. What that level adds to the price is the price of the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dayfly.model import Array, Mask, Rows
from dayfly.schedule.roster import Roster

Codes = npt.NDArray[np.integer[Any]]
#: The rows of each host are sorted anew when so many, as a share of all, have come or moved.
_STALE = 1 / 16


class Lanes:
    """Levels by lane; a lane is a host or a group, made when first needed."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        #: 0 where a lane has no level of its own.
        self.level: Array = np.empty(0)
        #: Highest level for which any far or near source of the lane is noted: two columns.
        self.noted: Array = np.empty((0, 2))
        #: Next step down, as a share of the level: larger each time, until a crowd gathers.
        self.step: Array = np.empty(0)
        #: Whose lane it is: a host, or a group (the other is -1).
        self.host = np.empty(0, dtype=np.int64)
        self.group = np.empty(0, dtype=np.int64)
        #: Members that are worth exactly the same, by lane: their value and rows in order; the
        #: highest value last.
        self.shelves: dict[int, list[tuple[float, Rows]]] = {}
        self._of: dict[str, Codes] = {
            kind: np.empty(0, dtype=np.int64) for kind in ("host", "group")
        }
        self._sorted: dict[str, tuple[Rows, Codes]] = {}
        self._moved: list[Rows] = []

    def __len__(self) -> int:
        return len(self.level)

    def of(self, rows: Rows) -> Codes:
        """The lane of each row, -1 for none; a host comes before a group."""
        lane = self._lane("host", self._roster.host[rows])
        if len(self._of["group"]):
            lane = np.where(lane >= 0, lane, self.of_group(rows))
        return lane

    def of_group(self, rows: Rows) -> Codes:
        """The lane of each row's group, -1 for none."""
        return self._lane("group", self._roster.group_of(rows))

    def _lane(self, kind: str, codes: Codes) -> Codes:
        known = self._of[kind]
        if not len(known):
            return np.full(len(codes), -1)
        # Names that came later have no lane yet.
        found: Codes = np.where(codes < len(known), known[np.minimum(codes, len(known) - 1)], -1)
        return found

    def open(self, kind: str, code: int, noted: tuple[float, float]) -> int:
        """The lane of a host or group, a new one if it has none."""
        known = self._of[kind]
        if code < len(known) and known[code] >= 0:
            return int(known[code])
        if code >= len(known):
            more = np.full(max(code + 1, 2 * len(known)) - len(known), -1)
            known = self._of[kind] = np.concatenate([known, more])
        lane = known[code] = len(self)
        self.level = np.append(self.level, 0.0)
        self.step = np.append(self.step, 0.0)
        # Its sources may have been noted for the level of another lane until now.
        self.noted = np.vstack([self.noted, np.vstack([self.noted, noted]).max(axis=0)])
        self.host = np.append(self.host, code if kind == "host" else -1)
        self.group = np.append(self.group, code if kind == "group" else -1)
        return int(lane)

    def put_on_shelf(self, lane: int, rows: Rows) -> None:
        """These are worth just the level of the lane."""
        shelves, value = self.shelves.setdefault(lane, []), float(self.level[lane])
        if shelves and shelves[-1][0] == value:
            rows = np.union1d(rows, shelves.pop()[1])
        shelves.append((value, np.sort(rows)))

    def take_from_shelf(self, lane: int, few: int) -> None:
        """The first few are not on the shelf any more."""
        value, rows = self.shelves[lane].pop()
        if len(rows) > few:
            self.shelves[lane].append((value, rows[few:]))
        if not self.shelves[lane]:
            del self.shelves[lane]

    def moved(self, rows: Rows) -> None:
        """These rows are new, or on another host."""
        if len(self):
            self._moved.append(rows)
            if sum(map(len, self._moved)) > _STALE * self._roster.n:
                self._sorted, self._moved = {}, []

    def rows(self, lanes: Mask) -> Rows:
        """All sources in some lanes."""
        found = [self._rows_of(kind, getattr(self, kind)[lanes]) for kind in ("host", "group")]
        rows = np.concatenate(found)
        if self._moved or all(map(len, found)):
            # New, or there by its host and by its group.
            rows = np.unique(np.concatenate([rows, *self._moved]))
        lane = self.of(rows)
        keep: Rows = rows[(lane >= 0) & lanes[np.maximum(lane, 0)]]
        return keep

    def _rows_of(self, kind: str, codes: Codes) -> Rows:
        codes = codes[codes >= 0]
        if not len(codes):
            return np.empty(0, dtype=np.int64)
        if kind not in self._sorted:
            n = self._roster.n
            column = self._roster.host[:n] if kind == "host" else self._roster.optional["group"][:n]
            by_name = np.argsort(column, kind="stable").astype(np.int32)
            self._sorted[kind] = by_name, column[by_name]
        order, column = self._sorted[kind]
        first, last = (
            np.searchsorted(column, codes, "left"),
            np.searchsorted(column, codes, "right"),
        )
        parts = [order[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        return np.concatenate(parts).astype(np.int64)
