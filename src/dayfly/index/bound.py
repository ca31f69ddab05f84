"""What no policy can beat where states are seen: the relaxed problem of the stochastic model.

At price p a source that is seen earns max_k (R_k − pC·A_k), R_k and A_k the reward and activity of
threshold k; one that is not earns its β(p) by age. min over p of pM + Σ of these bounds every
policy. Fleets of many different sources read the profits from a table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from dayfly.errors import BadInput
from dayfly.index.law import AnyLaw, EpochLaw, WorthLaw, worth_law
from dayfly.index.nodes import FADED, MANY, Table
from dayfly.index.response import Response
from dayfly.index.stochastic import Thresholds, scalar_state, thresholds
from dayfly.index.whittle import check_epoch
from dayfly.model import Array, Fleet, Mask, Rows

#: Up to so many different sources each is solved for itself.
SOLVED = 300
#: Rows from which a long fleet's price is found; any price gives a bound.
SAMPLE = 4096


def stochastic_bound(
    fleet: Fleet,
    budget: float,
    epoch: float,
    law: AnyLaw = "constant",
    *,
    observed: Mask | None = None,
    states: int = 400,
) -> float:
    """Value per epoch that no policy can exceed, whether or not it sees what waits.

    Parameters
    ----------
    fleet
        The sources.
    budget
        Cost units per epoch.
    epoch
        Time between decision instants.
    law
        Worth of items, as for `stochastic_index`.
    observed
        The sources whose waiting value is seen; None for all. It must be a Markov state there.
    states
        Grid of thresholds; its linear interpolation can only raise the bound.

    Examples
    --------
    Seeing the states of Table I is worth little with many small items, much if one draw decides:

    >>> fleet = Fleet(arrival=250, decay=[.7, .35, .7, .21], worth=[1, .7, .2, .08])
    >>> round(stochastic_bound(fleet, 1, 1.0), 1)
    261.0
    >>> round(stochastic_bound(fleet, 1, 1.0, "epoch_exponential"), 1)
    309.6
    """
    if check_epoch(epoch) is None:
        raise BadInput("the stochastic bound needs an epoch")
    if not (np.isfinite(budget) and budget >= 0):
        raise BadInput(f"budget must be finite and not negative, got {budget}")
    seen = (
        np.ones(len(fleet), dtype=np.bool_)
        if observed is None
        else np.broadcast_to(np.asarray(observed, dtype=np.bool_), (len(fleet),))
    )
    blind = seen & ~scalar_state(fleet, epoch)
    if blind.any():
        row = int(np.flatnonzero(blind)[0])
        raise BadInput(f"row {row}: what waits at this source is not a Markov state; not observed?")
    drawn = worth_law(law)

    def profit(rows: Rows) -> Profit:
        visible, hidden = (fleet.take(rows[mask]) for mask in (seen[rows], ~seen[rows]))
        first, second = _seen(visible, epoch, drawn, states), _unseen(hidden, epoch)
        return lambda price: first(price) + second(price)

    rows = np.arange(len(fleet))
    few = rows[:: len(rows) // SAMPLE + 1]
    whole = profit(rows)
    part = whole if len(few) == len(rows) else profit(few)
    share = len(few) / max(len(rows), 1)
    ceiling = fleet.harvest.value(np.full(len(fleet), np.inf))
    ceiling = np.where(
        np.isfinite(ceiling), ceiling, fleet.harvest.value(np.full(len(fleet), epoch))
    )
    top = float(np.max(ceiling / fleet.cost, initial=0.0))
    price = _minimum(lambda price: price * budget * share + part(price), top)
    return price * budget + whole(price)


#: What a part of the fleet earns per epoch after paying a price.
Profit = Callable[[float], float]


def _unseen(fleet: Fleet, epoch: float) -> Profit:
    response = Response(fleet, epoch)

    def profit(price: float) -> float:
        prices = np.full(len(fleet), price)
        return float(response.profit(prices, response.age(prices)).sum())

    return profit


def _seen(fleet: Fleet, epoch: float, law: WorthLaw, states: int) -> Profit:
    life = np.where(fleet.lifetime <= epoch, fleet.lifetime, np.inf)
    shape = np.column_stack((fleet.arrival, fleet.decay, life))
    kinds, kind = np.unique(shape, axis=0, return_inverse=True)
    if len(kinds) > SOLVED and not np.isfinite(life).any() and (fleet.decay > 0).all():
        return _tabled(fleet, epoch, law)
    groups = []  # sources that differ in worth and cost alone share their thresholds
    for k, (arrival, decay, lifetime) in enumerate(kinds):
        source = EpochLaw(arrival=arrival, decay=decay, lifetime=lifetime, epoch=epoch, law=law)
        groups.append((np.flatnonzero(kind.reshape(-1) == k), *_policies(source, states)))

    def profit(price: float) -> float:
        total = 0.0
        for rows, reward, activity in groups:
            worth = fleet.worth[rows][:, None]
            net = worth * reward - price * fleet.cost[rows][:, None] * activity
            total += float(np.maximum(net.max(axis=1), 0.0).sum())
        return total

    return profit


def _policies(source: EpochLaw, states: int) -> tuple[Array, Array]:
    """Reward and activity of every threshold."""
    if source.mean == 0:
        return np.zeros(states), np.zeros(states)
    if source.retention >= 1.0:  # nothing fades: all is caught by crawls as rare as can be
        return np.full(states, source.mean), np.zeros(states)
    solved = thresholds(source, states)
    return solved.reward, solved.activity


class ProfitTable(Table):
    """max_k (R_k − p·A_k) in units of u*, by fading, items alive and price."""

    def kept(self, solved: Thresholds) -> Array:
        """The profit at prices equal to the grid's states."""
        net = solved.reward[None, :] - solved.state[:, None] * solved.activity[None, :]
        best: Array = np.maximum(net.max(axis=1), 0.0)
        return best


@functools.lru_cache(maxsize=8)
def _profits_of(law: WorthLaw) -> ProfitTable:
    return ProfitTable(law)


def _tabled(fleet: Fleet, epoch: float, law: WorthLaw) -> Profit:
    table = _profits_of(law)
    fading = np.minimum(fleet.decay * epoch, FADED)
    alive = np.minimum(fleet.arrival / fleet.decay, MANY)
    unit = fleet.arrival / fleet.decay * fleet.worth
    rows = np.flatnonzero(unit > 0)

    def profit(price: float) -> float:
        total = 0.0
        for start in range(0, len(rows), SAMPLE):
            part = rows[start : start + SAMPLE]
            fee = price * fleet.cost[part] / unit[part]
            net = table.blend(table.mesh, fading[part], alive[part], fee)
            total += float(np.maximum(net, 0.0) @ unit[part])
        return total

    return profit


def _minimum(dual: Callable[[float], float], top: float) -> float:
    """The price at which a convex function is least; grows its bracket as long as it falls."""
    from scipy.optimize import minimize_scalar

    if top <= 0:
        return 0.0
    high = top
    while dual(high * 2) < dual(high):
        high *= 2
    found = float(minimize_scalar(dual, bounds=(0.0, high * 2), method="bounded").x)
    return min((0.0, found), key=dual)
