"""Per-host limits: each saturated host asks a price of its own on top of the common one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dayfly.errors import BadInput, UnknownName
from dayfly.index.response import Response
from dayfly.model import Array, Fleet

_STEPS = 200  # bisections until a price is known to the last bit; the loop stops when it is


class Limits:
    """What each host allows, in cost units per epoch (per unit of time)."""

    def __init__(self, fleet: Fleet, host_limit: float | Mapping[str, float] | None) -> None:
        self.fleet = fleet
        self.allowed = np.full(len(fleet.hosts), np.inf)
        if isinstance(host_limit, Mapping):
            for host, limit in host_limit.items():
                if host not in fleet.hosts:
                    raise UnknownName("host", host, fleet.hosts)
                self.allowed[fleet.hosts.index(host)] = limit
        elif host_limit is not None:
            self.allowed[:] = host_limit
        if np.isnan(self.allowed).any() or (self.allowed < 0).any():
            raise BadInput("host_limit must not be negative")
        self.any = bool(np.isfinite(self.allowed).any())

    def spent(self, rate: Array) -> float:
        """Cost of these rates once each host is held to its limit."""
        if not self.any:
            return float(np.dot(self.fleet.cost, rate))
        return float(np.minimum(self.by_host(rate), self.allowed).sum())

    def by_host(self, rate: Array) -> Array:
        """Cost of these rates, host by host."""
        n = len(self.allowed)
        return np.bincount(self.fleet.host_code, weights=self.fleet.cost * rate, minlength=n)

    def prices(self, response: Response, price: float, rate: Array) -> dict[int, float]:
        """The extra price of each host that would be asked too much at the common price."""
        if not self.any:
            return {}
        over = np.flatnonzero(self.by_host(rate) > self.allowed * (1 + 1e-12))
        if not len(over):
            return {}
        low = np.full(len(over), price)
        high = np.array([self._top(response, host) for host in over])
        for _ in range(_STEPS):
            middle = _between(low, high)
            asked = self._asked(response, over, middle)
            too_much = asked > self.allowed[over]
            low, high = np.where(too_much, middle, low), np.where(too_much, high, middle)
            if np.all(high - low <= 2 * np.spacing(high)):
                break
        return {int(host): float(top - price) for host, top in zip(over, high, strict=True)}

    def hold(self, response: Response, price: float, extra: dict[int, float], rate: Array) -> Array:
        """The rates with every saturated host held to exactly what it allows."""
        held = rate.copy()
        total = price + self.per_row(extra)
        dear = response.rate(total)
        cheap = response.rate(np.nextafter(total, 0) - 2 * np.spacing(total))
        asked_dear, asked_cheap = self.by_host(dear), self.by_host(cheap)
        for host in extra:
            rows = self.fleet.host_code == host
            gap = asked_cheap[host] - asked_dear[host]
            share = (self.allowed[host] - asked_dear[host]) / gap if gap > 0 else 0.0
            held[rows] = dear[rows] + np.clip(share, 0.0, 1.0) * (cheap[rows] - dear[rows])
        return held

    def per_row(self, extra: dict[int, float]) -> Array:
        """The extra price of each source's host."""
        table = np.zeros(len(self.allowed))
        for host, own in extra.items():
            table[host] = own
        return np.broadcast_to(0.0, (len(self.fleet),)) if not extra else table[self.fleet.host_code]

    def rent(self, extra: dict[int, float]) -> float:
        """What the saturated hosts' limits are worth: Σ p_h R_h."""
        return sum(own * float(self.allowed[host]) for host, own in extra.items())

    def _top(self, response: Response, host: int) -> float:
        return float(response.top[self.fleet.host_code == host].max())

    def _asked(self, response: Response, hosts: Array, price: Array) -> Array:
        table = np.full(len(self.allowed), np.inf)
        table[hosts] = price
        return self.by_host(response.rate(table[self.fleet.host_code]))[hosts]


def _between(low: Array, high: Array) -> Array:
    """A middle that halves exponents while the ends are far apart, and digits when they are not."""
    geometric = np.sqrt(np.maximum(low, 1e-300) * high)
    return np.where(high > 4 * low, geometric, 0.5 * (low + high))
