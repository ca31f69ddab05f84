"""What callers hand over, checked: told as what is wrong and what would be right."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.estimate import Estimate, Estimates
from dayfly.model import Array, Rows

_Kind = TypeVar("_Kind")
_INSTANT = "an instant in POSIX seconds"


def number(name: str, given: object, what: str = "a number") -> float:
    """One number; text that looks like one is a mistake somewhere else."""
    try:
        if isinstance(given, str | bytes):
            raise TypeError
        return float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} must be {what}, got {given!r}") from None


def numbers(name: str, given: object) -> Array:
    """Many numbers; NaN where there is None."""
    try:
        raw = np.asarray(given)
        if raw.dtype.kind not in "biufO":
            raise TypeError
        return raw.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} must hold numbers, got {reprlib.repr(given)}") from None


def instant(name: str, given: object) -> float:
    """One instant in POSIX seconds."""
    found = number(name, given, _INSTANT)
    if not math.isfinite(found):
        raise BadInput(f"{name} must be {_INSTANT}, got {given}")
    return found


def until(name: str, given: object) -> float:
    """An instant that may be infinite, but must be one."""
    found = number(name, given, f"{_INSTANT}, or infinite")
    if math.isnan(found):
        raise BadInput(f"{name} must be {_INSTANT}, or infinite, got {given}")
    return found


def count(name: str, given: object) -> int:
    """A whole number that is not negative."""
    if not isinstance(given, int | np.integer) or given < 0:
        raise BadInput(f"{name} must be a whole number that is not negative, got {given!r}")
    return int(given)


def of_kind(kind: type[_Kind], given: object) -> _Kind:
    """One of ours."""
    if not isinstance(given, kind):
        raise BadInput(f"a {kind.__name__} is needed, got {type(given).__name__}")
    return given


def estimates(given: Estimates | Iterable[Estimate]) -> Estimates:
    """Beliefs as columns."""
    try:
        return Estimates.of(given)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadInput(f"estimates must be Estimates, or some of Estimate: {error}") from None


def one(rows: Rows) -> Rows:
    """Rows, if it is a single one."""
    if len(rows) != 1:
        raise BadInput(f"one row is needed, got {len(rows)} of them: ask for one after the other")
    return rows


def each_once(rows: Rows) -> Rows:
    """Rows, if none of them is there twice."""
    in_order = np.sort(rows)
    twice = in_order[1:][in_order[1:] == in_order[:-1]]
    if len(twice):
        raise BadInput(f"row {int(twice[0])} is there twice; each visit is told once")
    return rows


def name(what: str, given: object) -> str:
    """The name of somebody in particular."""
    if not isinstance(given, str) or not given:
        raise BadInput(f"{what} must be a name, got {given!r}")
    return given


def groups(given: Sequence[str] | None, n: int) -> Sequence[str] | None:
    """One name per source."""
    if given is None:
        return None
    found = [] if isinstance(given, str) or not np.iterable(given) else list(given)
    if len(found) != n or not all(isinstance(name, str) for name in found):
        raise BadInput(f"group must be one name per source, {n} of them, got {reprlib.repr(given)}")
    return found


def share(name: str, given: object) -> float:
    """A number between 0 and 1."""
    found = number(name, given)
    if not 0 <= found <= 1:
        raise BadInput(f"{name} must lie between 0 and 1, got {given}")
    return found


def intervals(
    least: npt.ArrayLike, most: npt.ArrayLike, n: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Minimum and maximum interval, checked."""
    low, high = numbers("min_interval", least), numbers("max_interval", most)
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
        found = np.broadcast_to(numbers(name, given), rows.shape)
    except ValueError:
        raise BadInput(f"{name} must be one number per row, {len(rows)} of them") from None
    if not (np.isfinite(found) & (found >= 0)).all():
        raise BadInput(f"{name} must be finite and not negative")
    return found


def instants(name: str, given: Sequence[float | None] | npt.ArrayLike | None, n: int) -> Array:
    """POSIX seconds per source; -inf for what never was."""
    if given is None:
        return np.full(n, -np.inf)
    array = numbers(name, given)
    if array.shape != (n,):
        raise BadInput(f"{name} must hold {n} instants, one per source, got shape {array.shape}")
    return np.where(np.isnan(array), -np.inf, array)
