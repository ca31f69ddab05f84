"""A recorded world: when each source published each of its items, and what they were worth."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.model import Array, Counts, Rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """The items of all sources, one flat column each; those of a row lie together, oldest first.

    The items of row i are `time[start[i] : start[i + 1]]`.

    Examples
    --------
    >>> trace = Trace.from_columns(["bbc", "blog", "bbc"], [30.0, 20.0, 10.0])
    >>> row = trace.sources.index("bbc")
    >>> trace.time[trace.start[row] : trace.start[row + 1]]
    array([10., 30.])
    """

    #: Name of each source, by row.
    sources: tuple[str, ...]
    #: Where the items of each source begin; one more for the end. Shape (n_sources + 1,).
    start: Counts
    #: Of each item: when it was published, POSIX seconds, and its worth when new.
    time: Array
    worth: Array
    #: What the trace was drawn from, a column of shape (n_sources,) each; None if nobody knows.
    truth: dict[str, npt.NDArray[Any]] | None = None

    def __post_init__(self) -> None:
        n, items = len(self.sources), len(self.time)
        fits = self.start.shape == (n + 1,) and len(self.worth) == items
        if (
            not fits
            or self.start[0] != 0
            or self.start[-1] != items
            or (np.diff(self.start) < 0).any()
        ):
            raise BadInput("a trace needs n + 1 rising offsets and as many worths as times")
        _check("time", self.time, least=-np.inf)
        _check("worth", self.worth, least=0.0)
        falls = np.diff(self.time) < 0
        falls[self.start[1:-1][(self.start[1:-1] > 0) & (self.start[1:-1] < items)] - 1] = False
        if falls.any():
            row = int(self.source[int(np.argmax(falls))])
            raise BadInput(f"source {self.sources[row]!r}: its items must be in order of time")

    @classmethod
    def from_columns(
        cls, source: Iterable[Any], time: npt.ArrayLike, worth: npt.ArrayLike | None = None
    ) -> Trace:
        """A trace from one line per item, in any order; equal lines are items of their own.

        Files often list the busiest source first. A rule that breaks ties by row would profit from
        that, so rows are in the order of a checksum of the names, which says nothing.
        """
        names = dict[str, int]()
        code = np.fromiter((names.setdefault(str(one), len(names)) for one in source), np.int64)
        return cls.from_codes(list(names), code, time, worth)

    @classmethod
    def from_codes(
        cls,
        names: Sequence[str],
        code: Rows,
        time: npt.ArrayLike,
        worth: npt.ArrayLike | None = None,
    ) -> Trace:
        """The same, where the lines say which of the names they mean by its position."""
        when = np.asarray(time, dtype=np.float64)
        what = np.ones(len(when)) if worth is None else np.asarray(worth, dtype=np.float64)
        if not len(code) == len(when) == len(what):
            raise BadInput(f"{len(code)} sources, {len(when)} times and {len(what)} worths")
        order = sorted(range(len(names)), key=lambda place: _checksum(names[place]))
        row = np.empty(len(names), dtype=np.int64)
        row[order] = np.arange(len(names))
        rows = row[code]
        # By worth last: lines of one instant come out the same in whatever order they came in.
        line = np.lexsort((what, when, rows))
        start = np.zeros(len(names) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=len(names)), out=start[1:])
        return cls(
            sources=tuple(names[place] for place in order),
            start=start,
            time=when[line],
            worth=what[line],
        )

    def __len__(self) -> int:
        return len(self.sources)

    def __repr__(self) -> str:
        return f"<Trace of {len(self.time)} items of {len(self)} sources>"

    @functools.cached_property
    def source(self) -> Rows:
        """The row of each item."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @property
    def first(self) -> float:
        """When the first item was published."""
        return float(self.time.min()) if len(self.time) else np.nan

    @property
    def last(self) -> float:
        """When the last item was published."""
        return float(self.time.max()) if len(self.time) else np.nan


def _checksum(name: str) -> tuple[bytes, str]:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), name


def _check(name: str, column: Array, least: float) -> None:
    wrong = ~(np.isfinite(column) & (column >= least))
    if wrong.any():
        item = int(np.argmax(wrong))
        rule = "must be a finite number" + (" and not negative" if least == 0 else "")
        raise BadInput(f"{name} of item {item} {rule}, got {column[item]:g}")
