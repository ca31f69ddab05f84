"""One purse per host or group: as `Purse`, but as columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dayfly.model import Array
from dayfly.schedule.columns import Codes, longer
from dayfly.schedule.purse import ROUNDING, SAVED_S, slot

#: A limit: one number for each name, or for those that are named, or none at all.
PerName = float | Mapping[str, float] | None


def per_name(limit: PerName, name: str, unlimited: float = math.inf) -> float:
    """What counts for this name; nobody in particular has no limit."""
    if limit is None or name == "":
        return unlimited
    if isinstance(limit, Mapping):
        return float(limit.get(name, unlimited))
    return float(limit)


class Purses:
    """What hosts or groups may still spend; infinite where none is limited."""

    def __init__(self, limit: PerName, epoch: float | None) -> None:
        self._limit, self._epoch = limit, epoch
        self.active = limit is not None
        self._dearest = 0.0
        #: How many purses there are; the columns have room for more.
        self.n = 0
        self.rate: Array = np.empty(0)
        self.burst: Array = np.empty(0)
        self.left: Array = np.empty(0)
        self.filled_at: Array = np.empty(0)

    def grow(self, names: Sequence[str], dearest: float, now: float) -> None:
        """A purse for each new name; all of them hold the dearest crawl."""
        if not self.active:
            return
        known = slice(0, self.n)
        if dearest != self._dearest:
            # What came in before did so into the purses as they were.
            self.left[known] = self.amount(np.arange(self.n), now)
            self.filled_at[known] = np.maximum(self.filled_at[known], now)
            self._dearest = dearest
            self.burst[known] = self._most(self.rate[known])
        new = names[self.n :]
        if not new:
            return
        fresh, self.n = slice(self.n, len(names)), len(names)
        for name in ("rate", "burst", "left", "filled_at"):
            setattr(self, name, longer(getattr(self, name), self.n, 0.0))
        rate = np.array([per_name(self._limit, name) for name in new], dtype=float)
        self.rate[fresh], self.burst[fresh] = rate, self._most(rate)
        self.left[fresh] = self.burst[fresh] if self._epoch is None else rate
        self.filled_at[fresh] = now

    def _most(self, rate: Array) -> Array:
        """What fits into purses that fill at this rate."""
        if self._epoch is None:
            return np.maximum(rate * SAVED_S, self._dearest)
        return rate + self._dearest

    def amount(self, codes: Codes, now: float) -> Array:
        """What is in these purses now; asking changes nothing."""
        at = self.filled_at[codes]
        if self._epoch is None:
            income = np.maximum(now - at, 0.0)
        else:
            income = np.maximum(slot(now, self._epoch) - np.floor(at / self._epoch + 1e-9), 0.0)
        with np.errstate(invalid="ignore"):
            left = self.left[codes] + np.where(income > 0, self.rate[codes] * income, 0.0)
        return np.minimum(left, self.burst[codes])

    def spend(self, codes: Codes, cost: Array, now: float) -> None:
        """Take this much out of each."""
        names, which = np.unique(codes, return_inverse=True)
        left = self.amount(names, now)
        self.left[names] = left - np.bincount(which, cost, len(names))
        self.filled_at[names] = np.maximum(self.filled_at[names], now)

    def ready(self, codes: Codes, cost: Array, now: float) -> Array:
        """When a crawl of this cost may start: at once, or not before this instant."""
        left, rate, slack = self.amount(codes, now), self.rate[codes], self.slack(codes)
        if self._epoch is None:
            lacking = np.where(left > slack, 0.0, slack - left)
        else:
            lacking = np.where(cost <= left + slack, 0.0, cost - left)
        with np.errstate(divide="ignore", invalid="ignore"):
            wait = np.where(lacking > 0, lacking / rate, 0.0)
        if self._epoch is None:
            # A wait too short for the clock is still a wait.
            found = np.maximum(now + wait, np.nextafter(now, np.inf))
        else:
            epochs = np.maximum(np.ceil(wait - 1e-9), 1.0)
            found = (slot(now, self._epoch) + epochs - 1e-9) * self._epoch
        return np.where(lacking > 0, found, now)

    def slack(self, codes: Codes) -> Array:
        """Rounding errors of the amounts in these purses."""
        burst = self.burst[codes]
        return np.where(np.isinf(burst), 0.0, ROUNDING * burst)
