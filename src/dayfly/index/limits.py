"""Per-host limits: each saturated host asks a price of its own on top of the common one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput, UnknownName
from dayfly.index.response import Response
from dayfly.model import Array, Fleet

_STEPS = 200  # bisections until a price is known to the last bit; the loop stops when it is
#: Asking for this close to what a host allows (relative) is asking for it.
_CLOSE = 1e-11


class Limits:
    """What each host allows, in cost units per epoch (per unit of time)."""

    def __init__(self, fleet: Fleet, host_limit: float | Mapping[str, float] | None) -> None:
        self.fleet = fleet
        self.allowed = np.full(len(fleet.hosts), np.inf)
        if isinstance(host_limit, Mapping):
            code = {host: n for n, host in enumerate(fleet.hosts)}
            for host, limit in host_limit.items():
                if host not in code:
                    raise UnknownName("host", host, fleet.hosts)
                self.allowed[code[host]] = limit
        elif host_limit is not None:
            self.allowed[:] = host_limit
        if np.isnan(self.allowed).any() or (self.allowed < 0).any():
            raise BadInput("host_limit must not be negative")
        self.any = bool(np.isfinite(self.allowed).any())

    def spent(self, rate: Array) -> float:
        """Cost of these rates once each host is held to its limit."""
        if not self.any:
            # No `dot`: it wakes a thread per core for this, which takes longer than the sum.
            return float((self.fleet.cost * rate).sum())
        return float(np.minimum(self.by_host(rate), self.allowed).sum())

    def by_host(self, rate: Array) -> Array:
        """Cost of these rates, host by host."""
        return self._sum(self.fleet.host_code, self.fleet.cost * rate)

    def hold(self, response: Response, price: float, rate: Array) -> tuple[Array, Array]:
        """The rates at a price with every host held to its limit, and what each host then asks.

        A host that would be asked too much asks more than the common price, just so much that its
        sources ask for what it allows; at a step they mix the two answers on either side of it.
        """
        asks = np.full(len(self.allowed), price)
        over = self.by_host(rate) > self.allowed * (1 + 1e-12)
        rows = np.flatnonzero(over[self.fleet.host_code])
        if not len(rows):
            return rate, asks
        host = self.fleet.host_code[rows]
        part = Response(self.fleet.take(rows), response.epoch)

        def asked(rates: Array) -> Array:
            return self._sum(host, part.cost * rates)

        met_by = np.where(over, _CLOSE * self.allowed, 0.0)
        low, high = asks, np.where(over, 0.0, price)
        np.maximum.at(high, host, part.top)
        for _ in range(_STEPS):
            middle = _between(low, high)
            wanted = asked(part.rate(middle[host]))
            too_much, met = wanted > self.allowed, np.abs(wanted - self.allowed) <= met_by
            low = np.where(too_much | met, middle, low)
            high = np.where(too_much & ~met, high, middle)
            if np.all(high - low <= 2 * np.spacing(high)):
                break
        dear, cheap = part.rate(high[host]), part.rate(low[host])
        asked_dear, asked_cheap = asked(dear), asked(cheap)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (self.allowed - asked_dear) / (asked_cheap - asked_dear)
        share = np.where(over & (asked_cheap > asked_dear), np.clip(share, 0.0, 1.0), 0.0)[host]
        held = rate.copy()
        held[rows] = dear + np.where(share > 0, share * (cheap - dear), 0.0)
        return held, high

    def rent(self, extra: Array) -> float:
        """What the saturated hosts' limits are worth: Σ p_h R_h."""
        binding = extra > 0
        return float(np.dot(extra[binding], self.allowed[binding]))

    def _sum(self, host: npt.NDArray[np.int32], cost: Array) -> Array:
        """Cost by host."""
        sums = np.bincount(host, weights=cost, minlength=len(self.allowed))
        return sums.astype(np.float64, copy=False)


def _between(low: Array, high: Array) -> Array:
    """A middle that halves exponents while the ends are far apart, and digits when they are not."""
    geometric = np.sqrt(np.maximum(low, 1e-300) * high)
    return np.where(high > 4 * low, geometric, 0.5 * (low + high))
