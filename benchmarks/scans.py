"""Rivals of the scheduler: scans of everybody, and queues of due times.

The scans look at no constraint at all. The queues take the latest first, not the best, and never
hear of a new price.
"""

import gc
import heapq
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sortedcontainers import SortedList

from benchmarks.steady import NOW, M, Steady


class Scan:
    """The best thousand by looking at everybody: blocks, two threads, a threshold from a sample.

    With `rule_out` a bound that needs no exponential spares most of them the formula.
    """

    SIZE = 1 << 17

    def __init__(self, start: Steady, *, rule_out: bool) -> None:
        self.rule_out = rule_out
        fleet = start.fleet
        self.ceiling, self.decay, self.last = fleet.harvest.ceiling, fleet.decay, start.last
        self.n, self.pool = len(fleet), ThreadPoolExecutor(2)
        self.room = [np.empty((2, self.SIZE)) for _ in range(2)]

    def score(self, rows: slice | np.ndarray, now: float) -> np.ndarray:
        x = self.decay[rows] * (now - self.last[rows])
        return self.ceiling[rows] * (1 - np.exp(-x) * (1 + x))

    def best(self, now: float) -> np.ndarray:
        sample = self.score(slice(None, None, max(self.n // 16384, 1)), now)
        expected = len(sample) * M / self.n
        keep = len(sample) - int(expected + 4 * np.sqrt(expected) + 4)
        least = np.partition(sample, keep)[keep]
        middle = self.n // 2
        halves = [(0, middle), (middle, self.n)]
        found = self.pool.map(self.above, halves, self.room, [now] * 2, [least] * 2)
        rows, score = (np.concatenate(columns) for columns in zip(*found, strict=True))
        assert len(rows) >= M, "the sample misled"
        return rows[np.argpartition(score, len(score) - M)[len(score) - M :]]

    def above(self, part, room, now, least):
        """Rows of this part with an index above `least`, and their indices."""
        found, scores = [], []
        for at in range(*part, self.SIZE):
            rows = slice(at, min(at + self.SIZE, part[1]))
            if not self.rule_out:
                score = self.score(rows, now)
                left = np.flatnonzero(score >= least)
                found.append(left + at)
                scores.append(score[left])
                continue
            x, bound = room[:, : rows.stop - rows.start]
            # P(2, x) ≤ x²/(2 + 4x/3) and ≤ 1: no exponential for those whom that rules out.
            np.subtract(now, self.last[rows], out=x)
            x *= self.decay[rows]
            np.multiply(x, x, out=bound)
            bound *= self.ceiling[rows]
            x *= least * 4 / 3
            x += least * 2
            left = np.flatnonzero((bound >= x) & (self.ceiling[rows] >= least)) + at
            score = self.score(left, now)
            found.append(left[score >= least])
            scores.append(score[score >= least])
        return np.concatenate(found), np.concatenate(scores)


class Heap:
    """One entry per source; each step takes the thousand latest and puts them back."""

    def __init__(self, start: Steady, interval: np.ndarray) -> None:
        self.now, self.interval = NOW, interval
        due = (start.last + interval).tolist()
        gc.disable()
        self.queue = list(zip(due, range(len(due)), strict=True))
        self.arrange()
        gc.enable()
        gc.freeze()

    def arrange(self) -> None:
        heapq.heapify(self.queue)

    def step(self) -> None:
        self.now += 1.0
        rows = [heapq.heappop(self.queue)[1] for _ in range(M)]
        for entry in self.back(rows):
            heapq.heappush(self.queue, entry)

    def back(self, rows: list[int]) -> Iterator[tuple[float, int]]:
        return zip((self.now + self.interval[rows]).tolist(), rows, strict=True)


class Sorted(Heap):
    def arrange(self) -> None:
        self.queue = SortedList(self.queue)

    def step(self) -> None:
        self.now += 1.0
        rows = [row for _, row in self.queue[:M]]
        del self.queue[:M]
        self.queue.update(self.back(rows))
