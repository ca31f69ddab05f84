"""The stochastic index of a fleet of any size, from a table that is solved once [J §VIII].

After scaling by u* the index depends on the fading per epoch, on the items alive and on the shape
of the worth law alone. Nodes of the table are solved when a source first needs them and kept for
the life of the process.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.index.law import AnyLaw, WorthLaw, worth_law
from dayfly.index.nodes import ENDLESS, FADED, Table
from dayfly.index.stochastic import scalar_state
from dayfly.index.whittle import check_epoch, column, whittle_index_at
from dayfly.model import Array, Fleet, Rows

#: Rows handled at once, so that the work stays in the cache.
BLOCK = 16_384
#: In a fleet of so few sources each one is solved for itself.
OWN = 64


def stochastic_index(
    fleet: Fleet, state: npt.ArrayLike, epoch: float, law: AnyLaw = "constant"
) -> Array:
    """Worth of crawling each source now, per unit of cost, where the waiting value is seen.

    Unlike `whittle_index_at` it knows that arrivals are random: what waits now may be more than
    will wait at the next visits, and is worth taking.

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
    array of shape (n_sources,), within 1e-3 u*/C of a direct solution for 1 to 1000 items per epoch
    and retention (e^(−decay·epoch)) from .3 to .95, within 4e-3 u*/C elsewhere; a fleet of few is
    solved directly. Where the waiting value alone does not tell the future (see `scalar_state`),
    `whittle_index_at` answers instead.

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
    known = _known(fleet, float(epoch), worth_law(law))
    found = np.maximum(x, 0.0) / fleet.cost  # right where nothing is left of it in the next epoch
    if len(known.plain_rows):
        found[known.plain_rows] = whittle_index_at(known.plain, x[known.plain_rows], epoch)
    for start in range(0, len(known.rows), BLOCK):
        part = slice(start, start + BLOCK)
        rows = known.rows[part]
        y = x[rows] / known.unit[part]
        if known.node is None:
            gamma = known.table.index(known.fading[part], known.alive[part], y)
        else:
            y = np.maximum(y, 0.0)
            gamma = np.maximum(y + known.table.at(known.node, y), 0.0)
        found[rows] = gamma * known.unit[part] / fleet.cost[rows]
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Known:
    """All that the index needs of a fleet apart from its states."""

    #: Sources without a scalar state, or without noise.
    plain_rows: Rows
    plain: Fleet
    #: The others, except those whose items are gone after an epoch.
    rows: Rows
    fading: Array
    alive: Array
    #: u*
    unit: Array
    table: Table
    #: A node of its own for each source, in a fleet of few.
    node: Rows | None


#: Policies ask for the same fleet in every epoch.
_KNOWN: WeakKeyDictionary[Fleet, dict[tuple[float, WorthLaw], _Known]] = WeakKeyDictionary()


def _known(fleet: Fleet, epoch: float, law: WorthLaw) -> _Known:
    kept = _KNOWN.setdefault(fleet, {})
    if (epoch, law) not in kept:
        if len(kept) >= 8:
            kept.clear()
        kept[epoch, law] = _learn(fleet, epoch, law)
    return kept[epoch, law]


def _learn(fleet: Fleet, epoch: float, law: WorthLaw) -> _Known:
    fading = fleet.decay * epoch
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        alive = fleet.arrival / fleet.decay
        unit = alive * fleet.worth
    scalar = scalar_state(fleet, epoch)
    gone = scalar & ((fleet.lifetime <= epoch) | (fading > FADED))
    noisy = scalar & ~gone & (unit > 0) & np.isfinite(unit) & ((alive < ENDLESS) | law.shared)
    plain, rows = np.flatnonzero(~gone & ~noisy), np.flatnonzero(noisy)
    own = len(rows) <= OWN
    table = Table(law) if own else table_of(law)
    return _Known(
        plain_rows=plain, plain=fleet.take(plain), rows=rows, table=table,
        fading=fading[rows], alive=alive[rows], unit=unit[rows],
        node=table.add(fading[rows], alive[rows], least=400) if own else None,
    )  # fmt: skip


@functools.lru_cache(maxsize=8)
def table_of(law: WorthLaw) -> Table:
    """The table of a law, one per process."""
    return Table(law)
