"""From when on a source may be visited again as far as it goes, and when it must be."""

from __future__ import annotations

import numpy as np

from dayfly.model import Array, Rows
from dayfly.schedule.roster import NOT_BEFORE, VISITED, Roster

#: A source that does not answer is asked again after min_interval, then twice that, and so on.
_LONGEST_BACK_OFF = 86400.0


def interval(roster: Roster, name: str, rows: Rows | slice) -> float | Array:
    """Minimum or maximum interval of some sources: "least" or "most"."""
    if name in roster.optional:
        return roster.optional[name][rows]
    shared: float = getattr(roster, name)
    return shared


def rested_at(roster: Roster, rows: Rows, visited: Array) -> Array:
    """From when on the minimum interval is over."""
    if roster.epoch is None:
        return visited + interval(roster, "least", rows)
    wait = np.maximum(np.ceil(interval(roster, "least", rows) / roster.epoch - 1e-9), 1.0) - 1e-9
    visited = visited / roster.epoch
    visited += 1e-9
    np.floor(visited, out=visited)
    visited += wait
    visited *= roster.epoch
    return visited


def back_off(roster: Roster, rows: Rows) -> Array:
    """Until when a source that did not answer is left alone; -inf where it did."""
    failures = roster.failures[rows]
    wait = interval(roster, "least", rows) * np.exp2(np.minimum(failures, 64) - 1.0)
    until = roster.visited[rows] + np.minimum(wait, _LONGEST_BACK_OFF)
    return np.where(failures > 0, until, -np.inf)


def free_at(roster: Roster, rows: Rows, record: Array) -> Array:
    """From when on nothing of its own holds a source back that is neither out nor removed."""
    free: Array = np.maximum(rested_at(roster, rows, record[VISITED]), record[NOT_BEFORE])
    if roster.any_failed:
        np.maximum(free, back_off(roster, rows), out=free)
    if "paused" in roster.optional:
        np.maximum(free, roster.optional["paused"][rows], out=free)
    return free


def overdue_at(roster: Roster, rows: Rows | slice) -> Array:
    """From when on a source has not been visited for too long; -inf if it never was."""
    found: Array = roster.visited[rows] + interval(roster, "most", rows)
    return found
