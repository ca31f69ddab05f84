"""Columns that grow at the end, without being copied each time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

#: Numbers of hosts, groups or lanes, one per source.
Codes = npt.NDArray[np.integer[Any]]

_LEAST = 16
_CACHE_LINE = 64


def longer(column: npt.NDArray[Any], n: int, resting: float | None = None) -> npt.NDArray[Any]:
    """The column with at least n places: itself if it has them, or a longer copy.

    New places hold the resting value; nothing in particular if there is none.

    >>> longer(np.array([1.0, 2.0]), 3, 0.0)[:4]
    array([1., 2., 0., 0.])
    """
    have = len(column)
    if n <= have:
        return column
    # Memory that nobody has written to costs nothing. Where places are filled, the first filling is
    # often the only one: it takes no more than it needs.
    room = max(n // 2, _LEAST) if have or resting is None else 0
    found = aligned((n + room, *column.shape[1:]), column.dtype)
    found[:have] = column
    if resting is not None:
        found[have:] = resting
    return found


def turned(table: npt.NDArray[np.float64], width: int) -> npt.NDArray[np.float64]:
    """The first columns of a table, each in one piece.

    Column by column: of thousands of rows a transposed copy takes several times as long.

    >>> turned(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 2)
    array([[1., 4.],
           [2., 5.]])
    """
    found = np.empty((width, len(table)))
    for at in range(width):
        found[at] = table[:, at]
    return found


def aligned(shape: tuple[int, ...], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """An array that begins with a cache line, so that no record lies in two."""
    size = math.prod(shape) * kind.itemsize
    raw = np.empty(size + _CACHE_LINE, np.uint8)
    start = -raw.ctypes.data % _CACHE_LINE
    return raw[start : start + size].view(kind).reshape(shape)
