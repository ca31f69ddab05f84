"""How each source answers a price: its best age, its rate of crawls, and what it earns."""

from __future__ import annotations

import numpy as np

from dayfly.index.blocks import fill
from dayfly.model import Array, Fleet, Harvest, Rows


class Response:
    """The decoupled problems of all sources, each solved for a price of its own."""

    def __init__(self, fleet: Fleet, epoch: float | None, threads: int | None = None) -> None:
        self.fleet, self.epoch, self.threads = fleet, epoch, threads
        self.cost = fleet.cost
        endless = np.full(len(fleet), np.inf)
        #: Price from which on a source is not worth a crawl at any age.
        self.top: Array = fleet.harvest.index(endless) / fleet.cost

    def age(self, price: Array) -> Array:
        """Best age at this price, in units of time; infinite where crawling does not pay."""
        return fill(
            np.empty(len(self.fleet)),
            self.fleet.harvest,
            lambda curves, rows: self._age(curves, price[rows] * self.cost[rows]),
            self.threads,
        )

    def rate(self, price: Array) -> Array:
        """Crawls per epoch (per unit of time) at this price."""
        unit = 1.0 if self.epoch is None else self.epoch

        def work(curves: Harvest, rows: slice | Rows) -> Array:
            with np.errstate(divide="ignore"):
                found = unit / self._age(curves, price[rows] * self.cost[rows])
            found[price[rows] >= self.top[rows]] = 0.0
            return found

        return fill(np.empty(len(self.fleet)), self.fleet.harvest, work, self.threads)

    def profit(self, price: Array, age: Array) -> Array:
        """β(p): what a source earns per epoch (per unit of time) at its best age, price paid."""
        unit = 1.0 if self.epoch is None else self.epoch

        def work(curves: Harvest, rows: slice | Rows) -> Array:
            ages = age[rows]
            with np.errstate(invalid="ignore", divide="ignore"):
                net = curves.value(ages)
                net -= price[rows] * self.cost[rows]
                net /= ages
            # Items that never fade can wait for ever: their profit is the limit of f(τ)/τ.
            edge = np.flatnonzero(~np.isfinite(net) | np.isinf(ages))
            if len(edge):
                net[edge] = curves[edge].slope(ages[edge])
            return np.maximum(net, 0.0, out=net) * unit

        return fill(np.empty(len(self.fleet)), self.fleet.harvest, work, self.threads)

    def next_price(self, age: Array) -> Array:
        """Slotted: price at which a source due at `age` gives way to the next epoch, γ_k."""
        assert self.epoch is not None
        epoch = self.epoch
        return fill(
            np.empty(len(self.fleet)),
            self.fleet.harvest,
            lambda curves, rows: curves.slotted(age[rows], epoch) / self.cost[rows],
            self.threads,
        )

    def ages(self, rate: Array) -> tuple[Array, Array, Array]:
        """Ages that give these rates: one per source, or two neighbours and the first's share."""
        with np.errstate(divide="ignore"):
            gap = np.where(rate > 0, 1.0 / rate, np.inf)
        if self.epoch is None:
            return gap, gap, np.ones(len(gap))
        near = np.where(np.isfinite(gap), np.rint(gap), gap)
        with np.errstate(invalid="ignore"):
            whole = np.abs(gap - near) <= 1e-9 * near
        k = np.where(whole | np.isinf(gap), near, np.floor(gap))
        with np.errstate(invalid="ignore"):
            share = np.where(whole | np.isinf(gap), 1.0, k + 1.0 - gap)
        longer = np.where(whole, k, k + 1.0)
        return k * self.epoch, longer * self.epoch, share

    def _age(self, curves: Harvest, fee: Array) -> Array:
        age = curves.age_at(fee)
        if self.epoch is None:
            return age
        # γ(kT) ≤ γ_k ≤ γ((k+1)T): the slotted age is the continuous one rounded up, or one less.
        late = np.maximum(np.ceil(age / self.epoch), 1.0) * self.epoch
        early = np.maximum(late - self.epoch, 0.0)
        soon = np.isfinite(late) & (early > 0)
        early = np.where(soon, early, self.epoch)
        return np.where(soon & (curves.slotted(early, self.epoch) >= fee), early, late)
