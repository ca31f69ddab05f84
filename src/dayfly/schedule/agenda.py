"""Who is to be looked at when: one instant per source, and a page of those that come soon.

The column of instants is the truth. From time to time it is read through once, and whoever is due
before the end of the new page is noted on it, in order; an eighth of all sources fits on a page,
so that the reading costs each of them next to nothing. Who is given an instant before the end of
the page later on is noted on slips, sorted when there are many. Notes are never crossed out: who
was given another instant, and is not due after all, is passed over.
"""

from __future__ import annotations

import numpy as np

from dayfly.model import Array, Mask, Rows

#: A page holds this share of the sources, but at least so many, in the order of so many slots.
_PAGE, _LEAST_PAGE, _SLOTS = 1 / 8, 1024, 1 << 16
#: Slips are sorted into a run when there are so many, and runs joined when there are so many.
_SLIPS, _RUNS = 4096, 12
_SAMPLE = 1 << 14
#: The column is read in blocks: what is computed on the way stays in the cache.
_BLOCK = 1 << 16

#: Instants, and whose they are.
Notes = tuple[Array, Rows]


class Agenda:
    """Instants by row; infinite for who is not on it."""

    def __init__(self) -> None:
        self.instant: Array = np.empty(0)
        self.n = 0
        #: The page: from when to when, slots in order and whose they are.
        self._begin, self._end = -np.inf, -np.inf
        self._slot = np.empty(0, dtype=np.uint16)
        self._page = np.empty(0, dtype=np.uint32)
        self._runs: list[Notes] = []
        self._slip_instant: Array = np.empty(_SLIPS)
        self._slip_row = np.empty(_SLIPS, dtype=np.int64)
        self._slips = 0
        #: Notes made since the page was turned.
        self._noted = 0
        #: Whether anybody may be noted twice.
        self._twice = False
        #: How often the whole column was read.
        self.pages = 0

    def rows_are(self, instant: Array, n: int) -> None:
        """Where the instants are kept, and for how many sources."""
        self.instant, self.n = instant, n

    def note(self, rows: Rows, instants: Array) -> None:
        """These sources are to be looked at then; what was noted before no longer counts."""
        self._had(rows)
        soon = np.flatnonzero(instants < self._end)
        if len(soon):
            self._slip(rows[soon], instants[soon])
        self.instant[rows] = instants

    def strike(self, rows: Rows) -> None:
        """These sources need not be looked at."""
        self._had(rows)
        self.instant[rows] = np.inf

    def _had(self, rows: Rows) -> None:
        """Who has a note already, and gets another while that is still there, has two."""
        self._twice = self._twice or bool((self.instant[rows] < self._end).any())

    def pop(self, now: float) -> Notes:
        """Whose instant has come, and when; they are off the agenda."""
        if now >= self._end or self._noted > max(2 * _PAGE * self.n, 2 * _LEAST_PAGE + _SLIPS):
            self._turn(now)
        found = [self._from_page(now)]
        for at, (instants, rows) in enumerate(self._runs):
            stop = int(np.searchsorted(instants, now, side="right"))
            if stop:
                found.append(rows[:stop])
                self._runs[at] = instants[stop:], rows[stop:]
        late = np.flatnonzero(self._slip_instant[: self._slips] <= now)
        if len(late):
            found.append(self._slip_row[late])
            self._slip_instant[late] = np.inf
        rows = np.concatenate(found)
        instants = self.instant[rows]
        # A slot early is harmless; who is not due even then has another note.
        instants, rows = _only(instants <= now + self._width * (1 + 1e-5), instants, rows)
        if self._twice:
            # Of two notes the last one counts.
            place = np.arange(float(len(rows)))
            self.instant[rows] = place
            instants, rows = _only(self.instant[rows] == place, instants, rows)
        self.instant[rows] = np.inf
        return instants, rows

    @property
    def _width(self) -> float:
        """Length of a slot."""
        return (self._end - self._begin) / _SLOTS if np.isfinite(self._end) else 0.0

    def _from_page(self, now: float) -> Rows:
        """Take those from the page whose slot has begun."""
        width = self._width
        slot = (now - self._begin) / width if width > 0 else np.inf
        stop = len(self._slot)
        if slot < _SLOTS - 1:
            stop = int(np.searchsorted(self._slot, np.uint16(slot), side="right"))
        rows = self._page[:stop].astype(np.int64)
        self._slot, self._page = self._slot[stop:], self._page[stop:]
        return rows

    def _turn(self, now: float) -> None:
        """A new page, from the column."""
        column = self.instant[: self.n]
        self._begin, self._end = now, self._new_end(column, now)
        width = self._width or 1.0
        blocks = [column[first : first + _BLOCK] for first in range(0, self.n, _BLOCK)]
        # Counted first: pieces that are put together later would leave holes in the memory.
        many = sum(int(np.count_nonzero(block < self._end)) for block in blocks)
        slot, page, done = np.empty(many, np.uint16), np.empty(many, np.uint32), 0
        for number, block in enumerate(blocks):
            rows = np.flatnonzero(block < self._end)
            here = slice(done, done + len(rows))
            # Rounded down by a hair more than the division may be off: nobody comes too late.
            at = (block[rows] - now) / width - 1e-6
            slot[here] = np.clip(at, 0, _SLOTS - 1)
            page[here] = rows + number * _BLOCK
            done = here.stop
        order = np.argsort(slot, kind="stable")
        self._slot, self._page = slot[order], page[order]
        self._runs = []
        self._slips, self._noted, self._twice = 0, 0, False
        self.pages += 1

    def _new_end(self, column: Array, now: float) -> float:
        """An instant after now before which about a page of sources is to be looked at."""
        sample = column[:: max(self.n // _SAMPLE, 1)]
        share = max(_PAGE, _LEAST_PAGE / max(self.n, 1))
        # Who is due already is on the page too, but must not make it end now.
        keep = int(len(sample) * share) + int(np.count_nonzero(sample <= now))
        end = float(np.partition(sample, keep)[keep]) if keep < len(sample) else np.inf
        if end == np.inf:
            # Everybody is on it; if that is nobody the page stays empty, whatever comes.
            last = float(np.max(column, initial=-np.inf, where=column < np.inf))
            end = float(np.nextafter(last, np.inf)) if last > -np.inf else np.inf
        return max(end, float(np.nextafter(now, np.inf)))

    def _slip(self, rows: Rows, instants: Array) -> None:
        at, many = self._slips, len(rows)
        self._noted += many
        if at + many <= _SLIPS:
            self._slip_instant[at : at + many] = instants
            self._slip_row[at : at + many] = rows
            self._slips = at + many
            return
        notes = [(self._slip_instant[:at], self._slip_row[:at]), (instants, rows)]
        self._runs.append(_in_order(notes))
        self._slips = 0
        if len(self._runs) > _RUNS:
            self._runs = [_in_order(self._runs)]


def _only(mask: Mask, instants: Array, rows: Rows) -> Notes:
    return (instants, rows) if mask.all() else (instants[mask], rows[mask])


def _in_order(notes: list[Notes]) -> Notes:
    instants = np.concatenate([part[0] for part in notes])
    rows = np.concatenate([part[1] for part in notes])
    order = np.argsort(instants)
    return instants[order], rows[order]
