"""The index under a discounted criterion [J 8], which tends to the average one as δ → 1.

For the lattice arm it has a closed form. Crawling at age k and at age k + 1 are equally good at the
price p with  x_k + δW = p + δ(x_{k+1} + δW),  W the value of a source just crawled; eliminating W
leaves  p = x_k − δ(1 − δ^k)/(1 − δ) · (x_{k+1} − x_k).  The stochastic arm [J 24] is solved by
`dayfly.index.stochastic.thresholds` with its `discount`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.index.whittle import check_epoch, column
from dayfly.model import Array, Fleet


def discounted_index(fleet: Fleet, age: npt.ArrayLike, epoch: float, discount: float) -> Array:
    """Worth of crawling each source now, per unit of cost, if later value counts for less.

    Parameters
    ----------
    fleet
        The sources.
    age
        Time since each source was last crawled, a scalar or shape (n_sources,); infinite if never.
    epoch
        Time between decision instants.
    discount
        Worth of a unit one epoch later (δ), in (0, 1]; 1 gives `whittle_index`.

    Returns
    -------
    array of shape (n_sources,), non-increasing in the discount.

    Examples
    --------
    The less the future counts, the closer the index comes to what waits now:

    >>> fleet = Fleet(arrival=250, decay=.7)
    >>> [float(discounted_index(fleet, 2.0, 1.0, d)[0].round(1)) for d in (.01, .5, .9, 1.0)]
    [268.6, 235.8, 193.3, 180.4]
    """
    if check_epoch(epoch) is None:
        raise BadInput("the discounted index needs an epoch")
    if not 0 < discount <= 1:
        raise BadInput(f"discount must lie in (0, 1], got {discount:g}")
    ages, harvest = column(fleet, "age", age), fleet.harvest
    found = harvest.slotted(ages, epoch)
    if discount < 1:
        k = np.where(np.isfinite(ages), ages / epoch, 0.0)
        lost = -discount * np.expm1(k * np.log(discount)) / (1.0 - discount)
        # The average index holds k where this one holds `lost`, which is less.
        with np.errstate(invalid="ignore"):
            growth = harvest.value(ages + epoch) - harvest.value(ages)
        found = found + np.maximum(k - lost, 0.0) * np.where(np.isfinite(ages), growth, 0.0)
    return found / fleet.cost
