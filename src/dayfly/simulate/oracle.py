"""Who knows the truth: the Whittle index with each source's true mean rate."""

from __future__ import annotations

import numpy as np

from dayfly.index import whittle_index
from dayfly.model import Array, Counts, Fleet, Rows, Visits
from dayfly.policies import Contest, best, top
from dayfly.simulate.trace import Trace

#: The table has a column for every age below so many epochs, and then at so wide steps.
_EVERY, _STEP = 96, 1.1


class Oracle:
    """Chooses by the index of the mean rates over the contest; it need not learn, so it does not.

    It knows means, not moments: a rule that knows when a source publishes can do better.
    """

    def __init__(self, trace: Trace, contest: Contest) -> None:
        self.contest = contest
        self.fleet = true_fleet(trace, contest)
        # What was published before the start earns nothing, so all ages begin with it.
        self._last = np.zeros(len(trace), dtype=np.int64)
        self._table = None if contest.window is None else _Table(self.fleet, contest)

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The k largest indices."""
        since = round((now - self.contest.start) / self.contest.epoch) - self._last
        if self._table is None:
            age: Array = since.astype(np.float64) * self.contest.epoch
            return best(self.fleet, age, k, self.contest.epoch)
        return top(self._table.at(since), k)

    def observe(self, visits: Visits) -> None:
        """When each source was visited is all that matters."""
        self._last[visits.row] = round((visits.time - self.contest.start) / self.contest.epoch)


def true_fleet(trace: Trace, contest: Contest) -> Fleet:
    """The sources as they were on average over the contest."""
    until = contest.start + contest.span
    inside = (trace.time >= contest.start) & (trace.time < until)
    rows = trace.source[inside]
    items = np.bincount(rows, minlength=len(trace))
    worth = np.bincount(rows, trace.worth[inside], minlength=len(trace))
    return Fleet(
        arrival=items / contest.span,
        decay=contest.decay,
        worth=worth / np.maximum(items, 1),
        window=np.inf if contest.window is None else contest.window,
    )


class _Table:
    """The index of a fleet at ages of whole epochs, for kinds of source whose index is dear.

    Exact at every age up to `_EVERY` epochs and at wider and wider steps beyond, where the curve
    has flattened and is interpolated.
    """

    def __init__(self, fleet: Fleet, contest: Contest) -> None:
        longest = int(np.ceil(contest.span / contest.epoch)) + 1
        steps = list(range(_EVERY))
        while steps[-1] < longest:
            steps.append(int(np.ceil(steps[-1] * _STEP)))
        columns = [whittle_index(fleet, k * contest.epoch, contest.epoch) for k in steps]
        self._index = np.concatenate(columns)
        ages = np.arange(steps[-1] + 1)
        column = np.minimum(np.searchsorted(steps, ages, side="right") - 1, len(steps) - 2)
        low, high = np.take(steps, column), np.take(steps, column + 1)
        #: Where the column at or below each age begins, and how far the age is towards the next.
        self._begins: Counts = column * len(fleet)
        self._part: Array = (ages - low) / (high - low)
        self._rows = np.arange(len(fleet))

    def at(self, since: Counts) -> Array:
        """The index of every source so many epochs after its last visit."""
        place = self._begins[since] + self._rows
        low, high = self._index[place], self._index[place + len(self._rows)]
        found: Array = low + self._part[since] * (high - low)
        return found
