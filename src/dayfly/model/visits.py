"""What many visits at one instant saw, as columns: the crawl of a whole batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dayfly.model.arrays import Array, Mask, Rows

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Visits:
    """What visits to several sources at one instant saw; no source twice.

    The items of visit j are `published[start[j] : start[j + 1]]`, oldest first: all that the
    source showed. Of these the last `new[j]` had never been seen before; items that came and were
    pushed out of the window between two visits are not here, and nobody is told of them.

    Examples
    --------
    >>> visits = Visits(time=100.0, row=np.array([7, 2]), gap=np.array([60.0, np.inf]),
    ...                 start=np.array([0, 3, 4]), published=np.array([10.0, 50.0, 90.0, 99.0]),
    ...                 worth=np.ones(4), new=np.array([2, 1]), value=np.array([1.7, 1.0]))
    >>> visits.shown.tolist()
    [3, 1]
    >>> visits.is_new.tolist()
    [False, True, True, True]
    >>> visits.oldest.tolist()
    [90.0, 1.0]
    """

    #: When the visits were made, POSIX seconds.
    time: float
    #: The sources, by row.
    row: Rows
    #: Seconds since the last visit to each; infinite at the first.
    gap: Array
    #: Where the items of each visit begin; one more for the end. Shape (n_visits + 1,).
    start: Counts
    #: Of each item shown: when it was published, POSIX seconds, and its worth when new.
    published: Array
    worth: Array
    #: How many items of each visit were never seen before.
    new: Counts
    #: What the new items are worth at the time of the visit: the reward.
    value: Array

    def part(self, first: int, last: int) -> Visits:
        """The visits from the first up to, but not including, the last."""
        some = slice(first, last)
        start = self.start[first : last + 1]
        items = slice(int(start[0]), int(start[-1]))
        return Visits(
            time=self.time, row=self.row[some], gap=self.gap[some], start=start - start[0],
            published=self.published[items], worth=self.worth[items],
            new=self.new[some], value=self.value[some],
        )  # fmt: skip

    @property
    def shown(self) -> Counts:
        """How many items each visit showed."""
        return np.diff(self.start)

    @property
    def is_new(self) -> Mask:
        """Whether each item was never seen before."""
        shown = self.shown
        from_the_end = np.repeat(self.start[1:], shown) - np.arange(self.start[-1])
        fresh: Mask = from_the_end <= np.repeat(self.new, shown)
        return fresh

    @property
    def opening(self) -> Array:
        """When the oldest item shown was published, POSIX seconds; NaN where nothing was shown."""
        date = np.full(len(self.row), np.nan)
        some = self.shown > 0
        date[some] = self.published[self.start[:-1][some]]
        return date

    @property
    def oldest(self) -> Array:
        """Age of the oldest item shown, in seconds; NaN where nothing was shown."""
        return self.time - self.opening

    @property
    def newest(self) -> Array:
        """Age of the newest item shown, in seconds; NaN where nothing was shown."""
        age = np.full(len(self.row), np.nan)
        some = self.shown > 0
        age[some] = self.time - self.published[self.start[1:][some] - 1]
        return age
