"""What callers hand over, checked: told as what is wrong and what would be right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.model import Array, Rows


def instant(name: str, given: float) -> float:
    """One instant in POSIX seconds."""
    if not math.isfinite(given):
        raise BadInput(f"{name} must be an instant in POSIX seconds, got {given}")
    return float(given)


def not_nan(name: str, given: float) -> float:
    """An instant that may be infinite, but must be one."""
    if math.isnan(given):
        raise BadInput(f"{name} must be an instant in POSIX seconds, or infinite, got {given}")
    return float(given)


def count(name: str, given: int) -> int:
    """A whole number that is not negative."""
    if not isinstance(given, int | np.integer) or given < 0:
        raise BadInput(f"{name} must be a whole number that is not negative, got {given!r}")
    return int(given)


def each_once(rows: Rows) -> Rows:
    """Rows, if none of them is there twice."""
    in_order = np.sort(rows)
    twice = in_order[1:][in_order[1:] == in_order[:-1]]
    if len(twice):
        raise BadInput(f"row {int(twice[0])} is there twice; each visit is told once")
    return rows


def groups(given: Sequence[str] | None, n: int) -> Sequence[str] | None:
    """One name per source."""
    if given is None:
        return None
    if isinstance(given, str) or len(given) != n:
        raise BadInput(f"group must be one name per source, {n} of them, got {given!r}")
    return [str(name) for name in given]


def share(name: str, given: float) -> float:
    """A number between 0 and 1."""
    if not 0 <= given <= 1:
        raise BadInput(f"{name} must lie between 0 and 1, got {given}")
    return float(given)


def intervals(
    least: npt.ArrayLike, most: npt.ArrayLike, n: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Minimum and maximum interval, checked."""
    low, high = np.asarray(least, dtype=float), np.asarray(most, dtype=float)
    for name, given in (("min_interval", low), ("max_interval", high)):
        if given.shape not in ((), (n,)):
            raise BadInput(f"{name} must be a number or have shape ({n},), got {given.shape}")
    bad = ~((low >= 0) & (low < high))
    if bad.any():
        at = int(np.argmax(bad))
        one = [float(np.broadcast_to(given, bad.shape).flat[at]) for given in (low, high)]
        raise BadInput(
            f"min_interval {one[0]:g} must not be negative"
            f" and must lie below max_interval {one[1]:g}"
        )
    return low, high


def per_row(name: str, given: npt.ArrayLike, rows: Rows) -> Array:
    """One number per row, or one for all; finite and not negative."""
    try:
        found = np.asarray(given, dtype=np.float64)
        found = np.broadcast_to(found, rows.shape)
    except (TypeError, ValueError):
        raise BadInput(f"{name} must be one value per row, {len(rows)} of them") from None
    if not (np.isfinite(found) & (found >= 0)).all():
        raise BadInput(f"{name} must be finite and not negative")
    return found


def instants(given: Sequence[float | None] | npt.ArrayLike | None, n: int) -> Array:
    """POSIX seconds per source; -inf for what never was."""
    if given is None:
        return np.full(n, -np.inf)
    array = np.array(given, dtype=np.float64)
    if array.shape != (n,):
        raise BadInput(f"{n} instants are needed, one per source, got shape {array.shape}")
    return np.where(np.isnan(array), -np.inf, array)
