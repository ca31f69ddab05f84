"""The relaxed problem: what a budget is worth at best, and what one more unit of it would bring.

Where the budget need hold only on average, sources part company: at price p each one earns

    β_i(p) = max_k (f_k − pC_i)/k  (slotted)   or   max_τ (f(τ) − pC_i)/τ  (continuous)

and min over p of pM + Σ β_i(p) is a bound that no policy beats which does not see the state
(theory: [J §III, §VII]). The minimum lies where the budget is spent: Σ C_i·rate_i(p) = M. Per-host
limits add a price per saturated host. Any price gives a valid bound, so rounding cannot spoil it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dayfly.errors import BadInput
from dayfly.index.limits import Limits
from dayfly.index.response import Response
from dayfly.index.search import find_price
from dayfly.index.whittle import check_epoch
from dayfly.model import Array, Fleet


@dataclass(frozen=True, kw_only=True, eq=False)
class Relaxed:
    """The best that a budget can buy on average, and how."""

    #: Value per epoch (per unit of time if continuous) that no state-blind policy can exceed.
    bound: float
    #: Worth of one more unit of budget; crawl where the index reaches it.
    price: float
    #: All optimal prices; wider than a point where the fleet has a gap there.
    price_range: tuple[float, float]
    #: Crawls per epoch (per unit of time), shape (n_sources,); 0 = never.
    rate: Array
    #: Age at which each source is crawled (infinite = never) …
    age: Array
    #: … and the next one, for the share 1 − weight of the visits: two ages where a source is
    #: marginal in slotted time, else the same one.
    longer_age: Array
    weight: Array
    #: Budget left over; positive only where the price is 0.
    slack: float
    #: What each host's own limit adds to the price, for the hosts where it binds.
    host_price: Mapping[str, float]
    #: Value that each source contributes, per epoch or unit of time.
    value: Array


def relax(
    fleet: Fleet,
    budget: float,
    epoch: float | None = None,
    *,
    host_limit: float | Mapping[str, float] | None = None,
    threads: int | None = None,
) -> Relaxed:
    """Solve the relaxed problem exactly: price, bound, and a rate for every source.

    Parameters
    ----------
    fleet
        The sources; any concave harvest.
    budget
        Cost units per epoch (per unit of time if continuous).
    epoch
        Time between decision instants; None for continuous time.
    host_limit
        Cost units per epoch that each host allows, one for all or by name; None for no limit.
    threads
        Cores to use on long fleets; all of them if None.

    Examples
    --------
    >>> fleet = Fleet(arrival=250, decay=[.7, .35, .7, .21], worth=[1, .7, .2, .08])
    >>> best = relax(fleet, budget=2, epoch=1.0)
    >>> round(best.bound, 4), round(best.price, 4), best.rate.round(3)
    (338.0539, 43.6046, array([1.   , 0.524, 0.333, 0.143]))
    """
    epoch = check_epoch(epoch)
    if not (np.isfinite(budget) and budget >= 0):
        raise BadInput(f"budget must be finite and not negative, got {budget}")
    response = Response(fleet, epoch, threads)
    limits = Limits(fleet, host_limit)
    found = find_price(response, float(budget), limits)
    rate, price = found.rate, found.price
    asks = np.full(len(fleet.hosts), price) if found.asks is None else found.asks
    total = asks[fleet.host_code]
    age, longer, weight = response.ages(rate)
    profit = response.profit(total, age)
    if not found.plain:
        # Certified: each source at its very best age for this price, not only where it is mixed.
        profit = np.maximum(profit, response.profit(total, response.age(total)))
    bound = price * budget + limits.rent(asks - price) + float(profit.sum())
    # At its price every age that a source mixes earns the same: the harvest is profit plus fees.
    value = np.where(rate > 0, profit + total * fleet.cost * rate, 0.0)
    spent = float(np.dot(fleet.cost, rate))
    return Relaxed(
        bound=bound,
        price=price,
        price_range=found.price_range,
        rate=rate,
        age=age,
        longer_age=longer,
        weight=weight,
        slack=max(budget - spent, 0.0) if price == 0 else 0.0,
        host_price={
            fleet.hosts[code]: float(asks[code] - price) for code in np.flatnonzero(asks > price)
        },
        value=value,
    )
