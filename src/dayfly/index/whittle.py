"""The Whittle index: the highest price at which crawling a source now is still worth it.

Equation numbers: [J] Avrachenkov and Borkar, IEEE Trans. Control of Network Systems 5(1), 2018.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.index.blocks import fill
from dayfly.model import Array, Fleet, Harvest, Rows


def whittle_index(
    fleet: Fleet, age: npt.ArrayLike, epoch: float | None = None, *, threads: int | None = None
) -> Array:
    """Worth of crawling each source now, per unit of cost, by the time since its last crawl, γ(τ).

    Parameters
    ----------
    fleet
        The sources.
    age
        Time since each source was last crawled, a scalar or shape (n_sources,); infinite if never.
    epoch
        Time between decision instants (T); None for continuous time.
    threads
        Cores to use on long fleets; all of them if None.

    Returns
    -------
    array of shape (n_sources,), never negative, non-decreasing in age.

    Examples
    --------
    Table I of the papers, one and two epochs after a crawl:

    >>> fleet = Fleet(arrival=250, decay=[.7, .35, .7, .21], worth=[1, .7, .2, .08])
    >>> whittle_index(fleet, 1.0, epoch=1.0).round(2)
    array([90.51, 43.6 , 18.1 ,  3.42])
    >>> whittle_index(fleet, 2.0, epoch=1.0).round(2)
    array([180.4 , 105.06,  36.08,   8.96])
    """
    ages = column(fleet, "age", age)
    epoch = check_epoch(epoch)
    if threads is not None and threads < 1:
        raise BadInput(f"threads must be at least 1, or None for all cores, got {threads}")

    def index(curves: Harvest, rows: slice | Rows) -> Array:
        found = curves.index(ages[rows]) if epoch is None else curves.slotted(ages[rows], epoch)
        found /= fleet.cost[rows]
        return found

    return fill(np.empty(len(fleet)), fleet.harvest, index, threads)


def whittle_index_at(fleet: Fleet, state: npt.ArrayLike, epoch: float | None = None) -> Array:
    """Index of each source by what waits at it (seen or predicted) instead of by age, γ(x).

    Slotted it is [J, Theorem 1]: linear between the lattice states x_k = f(kT), so a state that
    a noisy world puts off the lattice has its right index. At x ≥ u* it is x/C: read literally,
    log⁺ makes it 0 there, which sends the crawler away from the best sources.

    Examples
    --------
    >>> fleet = Fleet(arrival=250, decay=.7)
    >>> whittle_index_at(fleet, 179.790963, epoch=1.0).round(2)   # one epoch after a crawl
    array([90.51])
    >>> whittle_index_at(fleet, [400.0])                          # more than ever waits on average
    array([400.])
    """
    x, harvest = column(fleet, "state", state, negative=True), fleet.harvest
    epoch = check_epoch(epoch)
    if epoch is None:
        return harvest.index_at(x) / fleet.cost
    ceiling = harvest.value(np.full(len(fleet), np.inf))
    inside = np.clip(x, 0.0, ceiling)
    full = x >= ceiling
    age = np.where(full, 0.0, harvest.age_of(np.where(full, 0.0, inside)))
    above = np.maximum(np.ceil(age / epoch), 1.0) * epoch
    below = above - epoch
    low, high = harvest.value(below), harvest.value(above)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = np.clip(np.where(high > low, (inside - low) / (high - low), 1.0), 0.0, 1.0)
    found = (1 - weight) * harvest.slotted(below, epoch) + weight * harvest.slotted(above, epoch)
    return np.where(full, np.maximum(x, 0.0), np.where(x <= 0, 0.0, found)) / fleet.cost


def column(fleet: Fleet, name: str, given: npt.ArrayLike, *, negative: bool = False) -> Array:
    """An argument with one number per source, checked; a scalar stands for all of them."""
    array = np.asarray(given, dtype=np.float64)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != len(fleet)):
        raise BadInput(f"{name} must be a number or have shape ({len(fleet)},), got {array.shape}")
    if np.isnan(array).any():
        raise BadInput(f"{name} must not be NaN")
    if not negative and (array < 0).any():
        raise BadInput(f"{name} must not be negative, got {array.min():g}")
    return np.broadcast_to(array, (len(fleet),))


def check_epoch(epoch: float | None) -> float | None:
    """The epoch, if it is one."""
    if epoch is not None and not (np.isfinite(epoch) and epoch > 0):
        raise BadInput(f"epoch must be positive and finite, or None for continuous time: {epoch}")
    return epoch
