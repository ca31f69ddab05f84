"""Who is to be looked at when: one instant per source, and a page of those that come soon.

The column of instants is the truth. From time to time it is read through once, and whoever is due
before the end of the new page is noted on it, in order; a sixteenth of all sources fits on a page,
so that the reading costs each of them next to nothing. Who is given an instant before the end of
the page later on is noted on slips, sorted when there are many. Notes are never crossed out: one
whose instant is no longer the source's own is stale and skipped.
"""

from __future__ import annotations

import numpy as np

from dayfly.model import Array, Mask, Rows

#: A page holds this share of the sources, but at least so many.
_PAGE, _LEAST_PAGE = 1 / 16, 1024
#: Slips are sorted into a run when there are so many, and runs joined when there are so many.
_SLIPS, _RUNS = 4096, 12
_SAMPLE = 1 << 14

#: Instants, and whose they are.
Notes = tuple[Array, Rows]
#: Notes in order: by when they are looked at, which is not after their instants.
Run = tuple[Array, Array, Rows]


class Agenda:
    """Instants by row; infinite for who is not on it."""

    def __init__(self) -> None:
        self.instant: Array = np.empty(0)
        self.n = 0
        self._end = -np.inf
        self._runs: list[Run] = []
        self._slip_instant: Array = np.empty(_SLIPS)
        self._slip_row = np.empty(_SLIPS, dtype=np.int64)
        self._slips = 0
        #: Notes made since the page was turned.
        self._noted = 0
        #: Whether anybody may be noted twice for the same instant.
        self._twice = False
        #: How often the whole column was read.
        self.pages = 0

    def rows_are(self, instant: Array, n: int) -> None:
        """Where the instants are kept, and for how many sources."""
        self.instant, self.n = instant, n

    def note(self, rows: Rows, instants: Array) -> None:
        """These sources are to be looked at then; what was noted before no longer counts."""
        soon = np.flatnonzero(instants < self._end)
        if len(soon):
            self._slip(rows[soon], instants[soon])
        self.instant[rows] = instants

    def strike(self, rows: Rows) -> None:
        """These sources need not be looked at."""
        # Who comes back for the same instant while its old note is still there has two.
        self._twice = self._twice or bool((self.instant[rows] < self._end).any())
        self.instant[rows] = np.inf

    def pop(self, now: float) -> Notes:
        """Whose instant has come, and when; they are off the agenda."""
        if now >= self._end or self._noted > max(2 * _PAGE * self.n, 2 * _LEAST_PAGE + _SLIPS):
            self._turn(now)
        found: list[Notes] = []
        for at, (looked_at, instants, rows) in enumerate(self._runs):
            stop = int(np.searchsorted(looked_at, now, side="right"))
            if stop:
                found.append((instants[:stop], rows[:stop]))
                self._runs[at] = looked_at[stop:], instants[stop:], rows[stop:]
        late = np.flatnonzero(self._slip_instant[: self._slips] <= now)
        if len(late):
            found.append((self._slip_instant[late], self._slip_row[late]))
            self._slip_instant[late] = np.inf
        if not found:
            return np.empty(0), np.empty(0, dtype=np.int64)
        instants, rows = found[0] if len(found) == 1 else _join(found)
        instants, rows = _only(self.instant[rows] == instants, instants, rows)
        if self._twice:
            # Of two notes the last one counts.
            place = np.arange(float(len(rows)))
            self.instant[rows] = place
            instants, rows = _only(self.instant[rows] == place, instants, rows)
        self.instant[rows] = np.inf
        return instants, rows

    def _turn(self, now: float) -> None:
        """A new page, from the column."""
        column = self.instant[: self.n]
        self._end = self._new_end(column, now)
        rows = np.flatnonzero(column < self._end)
        self._runs = [_sorted_roughly(column[rows], rows, now, self._end)]
        self._slips, self._noted, self._twice = 0, 0, False
        self.pages += 1

    def _new_end(self, column: Array, now: float) -> float:
        """An instant after now before which about a page of sources is to be looked at."""
        sample = column[:: max(self.n // _SAMPLE, 1)]
        share = max(_PAGE, _LEAST_PAGE / max(self.n, 1))
        # Who is due already is on the page too, but must not make it end now.
        keep = int(len(sample) * share) + int(np.count_nonzero(sample <= now))
        if keep >= len(sample):
            return np.inf
        return max(float(np.partition(sample, keep)[keep]), float(np.nextafter(now, np.inf)))

    def _slip(self, rows: Rows, instants: Array) -> None:
        at, many = self._slips, len(rows)
        self._noted += many
        if at + many <= _SLIPS:
            self._slip_instant[at : at + many] = instants
            self._slip_row[at : at + many] = rows
            self._slips = at + many
            return
        notes = _join([(self._slip_instant[:at], self._slip_row[:at]), (instants, rows)])
        self._runs.append(_sorted(*notes))
        self._slips = 0
        if len(self._runs) > _RUNS:
            # The page itself stays as it is; it is by far the longest.
            self._runs[1:] = [_sorted(*_join([run[1:] for run in self._runs[1:]]))]


def _only(mask: Mask, instants: Array, rows: Rows) -> Notes:
    return (instants, rows) if mask.all() else (instants[mask], rows[mask])


def _join(notes: list[Notes]) -> Notes:
    return np.concatenate([part[0] for part in notes]), np.concatenate([part[1] for part in notes])


def _sorted(instants: Array, rows: Rows) -> Run:
    order = np.argsort(instants)
    instants = instants[order]
    return instants, instants, rows[order]


def _sorted_roughly(instants: Array, rows: Rows, now: float, end: float) -> Run:
    """In the order of 65,536 slots: several times faster, and nobody is looked at too late."""
    if not np.isfinite(end):
        return _sorted(instants, rows)
    width = (end - now) / 65535
    with np.errstate(invalid="ignore"):
        slot = np.clip((instants - now) / width - 1e-6, 0, 65535).astype(np.uint16)
    order = np.argsort(slot, kind="stable")
    slot = slot[order]
    looked_at = slot.astype(np.float64) * width
    looked_at += now
    return looked_at, instants[order], rows[order]
