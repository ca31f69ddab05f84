"""Columns that grow at the end, without being copied each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_LEAST = 16


def longer(column: npt.NDArray[Any], n: int, resting: float) -> npt.NDArray[Any]:
    """The column with at least n places: itself if it has them, or a copy with twice as many.

    New places hold the resting value.

    >>> longer(np.array([1.0, 2.0]), 3, 0.0)[:4]
    array([1., 2., 0., 0.])
    """
    have = len(column)
    if n <= have:
        return column
    # A first filling is often the only one: it takes no more than it needs.
    size = max(n, 2 * have, _LEAST)
    found = np.full((size, *column.shape[1:]), resting, dtype=column.dtype)
    found[:have] = column
    return found
