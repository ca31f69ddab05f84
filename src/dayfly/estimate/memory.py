"""What is remembered of a source: nine numbers, and what they say of its regularity.

Evidence fades: what was seen a time t ago counts e^(−t/R), where R is the *reach* of the memory.
"""

from __future__ import annotations

import numpy as np

from dayfly.model import Array, Rows

#: Columns of a memory: items, time and worth seen, and the squares of the gaps between items, as
#: far as they are remembered; when the newest item came; items and time of late, which fade faster;
#: the oldest date that the first visit showed; when the source last answered.
COUNT, TIME, SQUARES, NEWEST, LATELY, LATE_TIME, WORTH, OLDEST, ANSWERED = range(9)

#: Burstiness of a source of which little was seen, and how many items that guess weighs.
_BURST, _BURST_ITEMS = 1.5, 4.0
#: A single silence must not outweigh all that came after it.
_MOST_BURST = 16.0


def blank(n: int) -> Array:
    """Memories of so many sources that were never visited; one row each."""
    memory = np.zeros((n, 9))
    memory[:, [NEWEST, ANSWERED]] = -np.inf
    memory[:, OLDEST] = np.inf
    return memory


def put(memory: Array, rows: Rows, new: Array) -> None:
    """Overwrite the memories of these sources."""
    # Nine numbers as one piece: numpy would copy them one by one, which takes twice as long.
    piece = np.dtype((np.void, memory.itemsize * memory.shape[1]))
    memory.view(piece)[rows] = np.ascontiguousarray(new).view(piece)


def remembered(time: Array, reach: float) -> Array:
    """A stretch of time that ends now, as far as it is remembered."""
    return np.expm1(np.maximum(time, 0.0) / -reach) * -reach


def burstiness(memory: Array, reach: float) -> Array:
    """φ, from the squares of the gaps, the one that is still open among them; at least 1."""
    count, time = memory[:, COUNT] + 1.0, memory[:, TIME]
    with np.errstate(invalid="ignore"):
        still_open = remembered(memory[:, ANSWERED] - memory[:, NEWEST], reach)
    squares = memory[:, SQUARES] + np.where(np.isnan(still_open), 0.0, still_open) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(time > 0, count * squares / time**2 - 1.0, _BURST)
    found = (_BURST_ITEMS * _BURST + count * spread) / (_BURST_ITEMS + count)
    return np.clip(found, 1.0, _MOST_BURST)
