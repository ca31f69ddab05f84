"""Hosts and groups that are asked for more than they allow have levels of their own.

A host that allows one visit a second may have a million sources that are worth the price. Looking
at all of them every second to take the best would be slow; so they get a lane: a level so high that
only a few of them reach it. What that level adds to the price is the price of the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dayfly.model import Array, Mask, Rows
from dayfly.schedule.columns import Codes, longer
from dayfly.schedule.roster import Roster

#: The rows of each host are sorted anew when so many, as a share of all, have come or moved.
_STALE = 1 / 16


class Lanes:
    """Levels by lane; a lane is a host or a group, made when first needed."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._n = 0
        #: With room for more; seen from outside they are as long as there are lanes.
        self._columns: dict[str, npt.NDArray[Any]] = {
            "level": np.empty(0), "noted": np.empty((0, 4)), "step": np.empty(0),
            "host": np.empty(0, dtype=np.int64), "group": np.empty(0, dtype=np.int64),
        }  # fmt: skip
        #: Members that are worth exactly the same, by lane: their value and rows in order; the
        #: highest value last.
        self.shelves: dict[int, list[tuple[float, Rows]]] = {}
        self._of: dict[str, Codes] = {
            kind: np.empty(0, dtype=np.int64) for kind in ("host", "group")
        }
        self._sorted: dict[str, tuple[Rows, Codes]] = {}
        #: Rows that came or moved since they were sorted, and how many.
        self._moved: list[Rows] = []
        self._moves = 0

    def __len__(self) -> int:
        return self._n

    @property
    def level(self) -> Array:
        """0 where a lane has no level of its own."""
        return self._columns["level"][: self._n]

    @level.setter
    def level(self, level: Array) -> None:
        self._columns["level"][: self._n] = level

    @property
    def noted(self) -> Array:
        """Highest mark for which any source of the lane is noted, by stage: four columns."""
        return self._columns["noted"][: self._n]

    @property
    def step(self) -> Array:
        """Next step down, as a share of the level: larger each time, until a crowd gathers."""
        return self._columns["step"][: self._n]

    @property
    def host(self) -> Codes:
        """The host whose lane it is; -1 where it is a group's."""
        return self._columns["host"][: self._n]

    @property
    def group(self) -> Codes:
        """The group whose lane it is; -1 where it is a host's."""
        return self._columns["group"][: self._n]

    def of(self, rows: Rows) -> Codes:
        """The lane of each row, -1 for none; a host comes before a group."""
        lane = self._lane("host", self._roster.host[rows])
        if len(self._of["group"]):
            lane = np.where(lane >= 0, lane, self.of_group(rows))
        return lane

    def level_of(self, row: int) -> float:
        """The level that the lane of this row has of its own; 0 if none."""
        lane = int(self.of(np.array([row]))[0])
        return float(self.level[lane]) if lane >= 0 else 0.0

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

    def open(self, kind: str, code: int, noted: Sequence[float]) -> int:
        """The lane of a host or group, a new one if it has none."""
        known = self._of[kind]
        if code < len(known) and known[code] >= 0:
            return int(known[code])
        if code >= len(known):
            known = self._of[kind] = longer(known, code + 1, -1)
        lane, self._n = self._n, self._n + 1
        known[code] = lane
        for name, column in self._columns.items():
            self._columns[name] = longer(column, self._n, -1 if name in ("host", "group") else 0.0)
        self._columns[kind][lane] = code
        if kind == "host" and len(self._of["group"]):
            # Its sources may have been noted for the level of their group's lane until now.
            noted = np.vstack([self.noted[self.group >= 0], noted]).max(axis=0)
        self.noted[lane] = noted
        return lane

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
        if self._sorted:
            self._moved.append(rows)
            self._moves += len(rows)
            if self._moves > _STALE * self._roster.n:
                self._sorted, self._moved, self._moves = {}, [], 0

    def rows(self, lanes: Mask) -> Rows:
        """All sources in some lanes."""
        found = [self._rows_of(kind, getattr(self, kind)[lanes]) for kind in ("host", "group")]
        rows = np.concatenate([*found, *self._moved])
        lane = self.of(rows)
        rows = rows[(lane >= 0) & lanes[np.maximum(lane, 0)]]
        if self._moved or all(map(len, found)):
            # New, or there by its host and by its group.
            self._moved = [np.concatenate(self._moved)] if self._moved else []
            rows = np.unique(rows)
        return rows

    def at_host(self, code: int) -> Rows:
        """All sources of one host: from the sorted ones where they are at hand, or by looking."""
        host = self._roster.host[: self._roster.n]
        if "host" not in self._sorted:
            return np.flatnonzero(host == code)
        rows = np.concatenate([self._rows_of("host", np.array([code])), *self._moved])
        return np.unique(rows[host[rows] == code])

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
