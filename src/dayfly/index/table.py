"""The stochastic index of a fleet of any size, from a table that is solved once [J §VIII].

After scaling by u* the index depends on the fading per epoch, on the items alive and on the shape
of the worth law alone. Nodes of the table are solved when a source first needs them and kept for
the life of the process.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.index.law import AnyLaw, WorthLaw, worth_law
from dayfly.index.nodes import ENDLESS, FADED, Table
from dayfly.index.stochastic import scalar_state
from dayfly.index.whittle import check_epoch, column, whittle_index_at
from dayfly.model import Array, Fleet

#: Rows handled at once, so that the work stays in the cache.
BLOCK = 16_384


def stochastic_index(
    fleet: Fleet, state: npt.ArrayLike, epoch: float, law: AnyLaw = "constant"
) -> Array:
    """Worth of crawling each source now, per unit of cost, where the waiting value is seen.

    Unlike `whittle_index_at` it knows that arrivals are random: waiting may bring more than its
    mean, and a crawl waits for that.

    Parameters
    ----------
    fleet
        The sources.
    state
        What waits at each source now, a scalar or shape (n_sources,).
    epoch
        Time between decision instants.
    law
        Worth of items: constant, exponential (a draw per item), epoch_exponential (one draw per
        source and epoch), a sampler of relative worths with mean 1 (a draw per item), or
        a `WorthLaw`.

    Returns
    -------
    array of shape (n_sources,), within 1e-3 u*/C of a direct solution. Where the waiting value
    alone does not tell the future (see `scalar_state`), `whittle_index_at` answers instead.

    Examples
    --------
    One draw per epoch, at .45 u*: the deterministic index undervalues the source.

    >>> fleet = Fleet(arrival=250, decay=.7)
    >>> stochastic_index(fleet, .45 * 250 / .7, 1.0, "epoch_exponential").round()
    array([106.])
    >>> whittle_index_at(fleet, .45 * 250 / .7, 1.0).round()
    array([81.])
    """
    if check_epoch(epoch) is None:
        raise BadInput("the stochastic index needs an epoch; with none, use whittle_index_at")
    x = column(fleet, "state", state, negative=True)
    drawn = worth_law(law)
    fading = fleet.decay * epoch
    scalar = scalar_state(fleet, epoch) & (fleet.arrival * fleet.worth > 0)
    expired = scalar & ((fleet.lifetime <= epoch) | (fading > FADED))
    with np.errstate(divide="ignore", over="ignore"):
        alive = np.where(scalar & (fading > 0), fleet.arrival / fleet.decay, np.inf)
    noisy = scalar & ~expired & (fading > 0) & ((alive < ENDLESS) | drawn.shared)
    found = np.empty(len(fleet))
    found[expired] = np.maximum(x[expired], 0.0) / fleet.cost[expired]
    plain = np.flatnonzero(~expired & ~noisy)
    if len(plain):
        found[plain] = whittle_index_at(fleet.take(plain), x[plain], epoch)
    rows = np.flatnonzero(noisy)
    table = table_of(drawn)
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        unit = alive[part] * fleet.worth[part]
        gamma = table.index(fading[part], alive[part], x[part] / unit)
        found[part] = gamma * unit / fleet.cost[part]
    return found


@functools.lru_cache(maxsize=8)
def table_of(law: WorthLaw) -> Table:
    """The table of a law, one per process."""
    return Table(law)
