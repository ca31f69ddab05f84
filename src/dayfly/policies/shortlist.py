"""The best few of millions, without scoring them all.

A sample says what a source must be worth to be among the best; a bound that needs no exponential
rules most of the others out; only the rest are scored. The answer is that of scoring everything.
"""

from __future__ import annotations

import numpy as np

from dayfly.index import whittle_index
from dayfly.index.blocks import in_blocks
from dayfly.model import Array, Fleet, Harvest, Mixed, Rows
from dayfly.policies.select import enough, top

_LARGE = 1 << 17
_SAMPLE = 1 << 14
#: Rounding may carry a bound below what it bounds by this much.
_SAFE = 1 - 1e-9


def best(fleet: Fleet, age: Array, m: int, epoch: float | None = None) -> Rows:
    """Rows of the m largest indices, best first, ties to the lower row: `top(whittle_index(…), m)`.

    >>> fleet = Fleet(arrival=[3., 1., 2.], decay=1.0)
    >>> best(fleet, np.ones(3), 2)
    array([0, 2])
    """
    n = len(fleet)
    if n > _LARGE and m < n // 8 and not isinstance(fleet.harvest, Mixed):
        found = _ruled_out(fleet, age, m, epoch)
        if found is not None:
            rows, index = found
            return rows[top(index, m)]
    return top(whittle_index(fleet, age, epoch), m)


def _ruled_out(fleet: Fleet, age: Array, m: int, epoch: float | None) -> tuple[Rows, Array] | None:
    """All rows that can be among the best m, with their index; None if the sample misled."""
    harvest, cost, n = fleet.harvest, fleet.cost, len(fleet)
    stride = slice(None, None, n // _SAMPLE)
    if harvest[:1].index_limit(age[:1], epoch) is None:
        return None
    sample = _index(harvest[stride], age[stride], epoch) / cost[stride]
    least = enough(sample, m / n)
    if least is None:
        return None
    kept: list[tuple[Rows, Array]] = []

    def work(block: slice) -> None:
        curves, ages, price = harvest[block], age[block], cost[block]
        limit = curves.index_limit(ages, epoch)
        assert limit is not None
        limit /= price
        rows = np.flatnonzero(limit >= least * _SAFE)
        if len(rows):
            index = _index(curves[rows], ages[rows], epoch) / price[rows]
            good = index >= least
            kept.append((rows[good] + block.start, index[good]))

    in_blocks(work, n)
    kept.sort(key=lambda part: int(part[0][0]) if len(part[0]) else -1)
    rows = np.concatenate([part[0] for part in kept]) if kept else np.empty(0, dtype=np.int64)
    if len(rows) < m:
        return None
    return rows, np.concatenate([part[1] for part in kept])


def _index(curves: Harvest, age: Array, epoch: float | None) -> Array:
    return curves.index(age) if epoch is None else curves.slotted(age, epoch)
