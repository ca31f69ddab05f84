"""What a field rule looks at after a poll, in minutes as these rules are written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.model import Array, Counts, Mask, Rows, Visits

MINUTE = 60.0
DAY = 1440.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Polls:
    """Polls of different sources, each at its own time; all times and gaps in minutes.

    The items of poll j are `published[start[j] : start[j + 1]]`, oldest first; the last `new[j]`
    of them had never been seen before.

    Examples
    --------
    >>> polls = Polls(row=np.array([4, 2]), time=np.array([100.0, 100.0]),
    ...               gap=np.array([50.0, np.inf]), start=np.array([0, 3, 3]),
    ...               published=np.array([10.0, 20.0, 90.0]), new=np.array([1, 0]))
    >>> polls.mean_gap.tolist(), polls.median_gap.tolist(), polls.silent.tolist()
    ([40.0, nan], [40.0, nan], [10.0, nan])
    >>> polls.changed.tolist(), polls.first.tolist()
    ([True, False], [False, True])
    """

    row: Rows
    #: When each source was polled.
    time: Array
    #: Since its poll before; infinite at the first.
    gap: Array
    start: Counts
    published: Array
    new: Counts

    @classmethod
    def of(cls, visits: Visits) -> Polls:
        """The same in minutes."""
        return cls(
            row=visits.row,
            time=np.full(len(visits.row), visits.time / MINUTE),
            gap=visits.gap / MINUTE,
            start=visits.start,
            published=visits.published / MINUTE,
            new=visits.new,
        )

    @property
    def shown(self) -> Counts:
        """Items in the fetched document."""
        return np.diff(self.start)

    @property
    def first(self) -> Mask:
        """Whether nothing was known to compare with."""
        return np.isinf(self.gap)

    @property
    def changed(self) -> Mask:
        """Whether there was anything new."""
        found: Mask = self.new > 0
        return found

    @property
    def silent(self) -> Array:
        """Age of the newest item; NaN in an empty document."""
        age = np.full(len(self.row), np.nan)
        some = self.shown > 0
        age[some] = self.time[some] - self.published[self.start[1:][some] - 1]
        return age

    @property
    def mean_gap(self) -> Array:
        """Mean time between neighbours in the document; NaN below two items."""
        mean = np.full(len(self.row), np.nan)
        several = self.shown > 1
        first, last = self.start[:-1][several], self.start[1:][several] - 1
        mean[several] = (self.published[last] - self.published[first]) / (last - first)
        return mean

    @property
    def median_gap(self) -> Array:
        """Median time between neighbours in the document; NaN below two items."""
        median = np.full(len(self.row), np.nan)
        several = self.shown > 1
        if not several.any():
            return median
        poll = np.repeat(np.arange(len(self.row)), self.shown)
        inside = poll[1:] == poll[:-1]
        poll, gap = poll[1:][inside], np.diff(self.published)[inside]
        gap = gap[np.lexsort((gap, poll))]
        size = self.shown[several] - 1
        begin = np.cumsum(size) - size
        median[several] = (gap[begin + (size - 1) // 2] + gap[begin + size // 2]) / 2
        return median
