"""The items that a reader has stored: rules that count "the last 30 days" look there."""

from __future__ import annotations

import numpy as np

from dayfly.model import Array, Counts, Rows
from dayfly.policies.field.polls import Polls


class Archive:
    """The newest publication times of every source, as far as its polls have shown them.

    A feed shows 20 items, a reader has stored all that it ever saw. Only the newest `size` of each
    source are kept: a mean gap over more of them would hardly differ.

    Examples
    --------
    >>> archive = Archive(sources=1, size=3)
    >>> for new in ([10.0, 20.0], [30.0, 70.0]):
    ...     archive.add(Polls(row=np.array([0]), time=np.array([80.0]), gap=np.array([np.inf]),
    ...                       start=np.array([0, 2]), published=np.array(new), new=np.array([2])))
    >>> count, span = archive.within(np.array([0]), np.array([75.0]), 50.0)
    >>> count.tolist(), span.tolist()
    ([2], [40.0])
    """

    def __init__(self, sources: int, size: int = 128) -> None:
        self.size = size
        # Oldest first, filled from the end.
        self.published = np.full((sources, size), -np.inf)

    def add(self, polls: Polls) -> None:
        """Store what the polls saw for the first time."""
        fresh = np.flatnonzero(polls.new > 0)
        if not len(fresh):
            return
        row = polls.row[fresh]
        count = np.minimum(polls.new[fresh], self.size)[:, None]
        column = np.arange(self.size)
        from_the_end = self.size - column
        kept = self.published[row[:, None], np.minimum(column + count, self.size - 1)]
        item = np.maximum(polls.start[1:][fresh][:, None] - from_the_end, 0)
        self.published[row] = np.where(from_the_end <= count, polls.published[item], kept)

    def within(self, row: Rows, time: Array, minutes: float) -> tuple[Counts, Array]:
        """Items of the last so many minutes: how many, and from the first to the last of them."""
        stored = self.published[row]
        count: Counts = (stored > (time - minutes)[:, None]).sum(axis=1)
        oldest = stored[np.arange(len(row)), self.size - np.maximum(count, 1)]
        span = np.where(count > 0, stored[:, -1] - np.where(count > 0, oldest, 0.0), 0.0)
        return count, span

    def silent(self, row: Rows, time: Array) -> Array:
        """Minutes since the newest stored item; infinite if there is none."""
        since: Array = time - self.published[row, -1]
        return since
