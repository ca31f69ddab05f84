"""What every harvest curve promises, as one function that a user's own kind must pass, too."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dayfly.model.arrays import Array, Mask
from dayfly.model.harvest import Harvest

#: Rounding that a curve of its own may show, relative to the numbers that are subtracted.
_ROUNDING = 1e-9
#: Ages to look at, in units of the one given.
_FACTORS = (0.25, 0.5, 1.0, 1.0 + 1e-4, 2.0, 4.0)


def check_harvest(harvest: Harvest, age: npt.ArrayLike) -> None:
    """Raise an AssertionError that says which promise of `Harvest` these curves break.

    Parameters
    ----------
    harvest
        The curves of some sources.
    age
        A positive age for each source, shape (n_sources,), around which the curve is looked at.

    Examples
    --------
    >>> from dayfly.model import Fleet
    >>> check_harvest(Fleet(arrival=2.0, decay=[0.1, 0.0]).harvest, [5.0, 5.0])
    """
    age = np.array(age, dtype=float)
    ages = [age * factor for factor in _FACTORS]
    zero = harvest.value(np.zeros(len(age)))
    _demand(zero == 0, "f(0) must be 0: nothing waits right after a crawl", zero)
    for t in ages:
        _check_number(harvest, "value", t)
        _check_number(harvest, "slope", t)
    for earlier, later in pairwise(ages):
        _check_growth(harvest, earlier, later)
    for t in ages:
        _check_number(harvest, "index", t)
        _check_index(harvest, t)
        _check_bend(harvest, t)
        _check_age_at(harvest, t)


def _check_number(harvest: Harvest, name: str, age: Array) -> None:
    found = getattr(harvest, name)(age)
    assert np.shape(found) == age.shape, f"{name} must have shape {age.shape}"
    _demand(found >= 0, f"{name} must be a number and not negative", found, age)


def _check_growth(harvest: Harvest, earlier: Array, later: Array) -> None:
    low, high = harvest.value(earlier), harvest.value(later)
    room, gap = _ROUNDING * high, later - earlier
    _demand(high >= low - room, "the harvest must not fall with age", high - low, later)
    steep, flat = harvest.slope(earlier), harvest.slope(later)
    _demand(
        flat <= steep * (1 + _ROUNDING), "the harvest must be concave: its slope rises", flat, later
    )
    # Concavity puts the gain between what the two slopes promise; a wrong slope breaks this.
    _demand(high - low <= steep * gap + room, "slope(age) is less than the growth after it", steep)
    _demand(high - low >= flat * gap - room, "slope(age) is more than the growth before it", flat)
    least, most = harvest.index(earlier), harvest.index(later)
    _demand(most >= least - room, "the index must not fall with age", most - least, later)


def _check_index(harvest: Harvest, age: Array) -> None:
    value, slope, index = harvest.value(age), harvest.slope(age), harvest.index(age)
    miss = index - (value - age * slope)
    _demand(np.abs(miss) <= _ROUNDING * value, "index must be f − τ f′; it is off by", miss, age)


def _check_bend(harvest: Harvest, age: Array) -> None:
    for epoch in (float(age.min(initial=1.0)), float(age.max(initial=1.0)) / 3.0):
        bend, next_value = harvest.bend(age, epoch), harvest.value(age + epoch)
        _demand(bend >= 0, "bend must be a number and not negative", bend, age)
        promise = epoch * harvest.slope(age)
        miss = bend - (promise - (next_value - harvest.value(age)))
        room = _ROUNDING * (next_value + promise)
        _demand(np.abs(miss) <= room, "bend must be T f′ − (f(τ+T) − f(τ)); off by", miss, age)


def _check_age_at(harvest: Harvest, age: Array) -> None:
    price = harvest.index(age)
    due = harvest.age_at(price)
    room = _ROUNDING * (price + harvest.value(age))
    reached = harvest.index(due)
    _demand(
        reached >= price - room, "the index at age_at(price) must reach the price", reached, age
    )
    younger = harvest.index(due * (1 - 1e-6))
    _demand(younger <= price + room, "age_at(price) must be the youngest such age", due, age)
    with np.errstate(invalid="ignore", over="ignore"):
        ceiling = harvest.value(np.full(len(age), np.inf))
        never = harvest.age_at(2.0 * np.where(np.isfinite(ceiling), ceiling, 0.0) + 1.0)
    _demand(
        np.isinf(never) | np.isinf(ceiling), "a price above all harvests is never reached", never
    )
    below = harvest.age_below(price)
    _demand(below <= due, "age_below(price) must not be above age_at(price)", below, age)
    free = harvest.age_at(np.zeros(len(age)))
    _demand(free == 0, "a price of 0 is reached at once", free)


def _demand(held: Mask, sentence: str, found: Array, age: Array | None = None) -> None:
    if not np.all(held):
        row = int(np.argmin(held))
        at = "" if age is None else f" at age {age[row]:g}"
        raise AssertionError(f"{sentence}: row {row}{at} has {found[row]:.9g}")
