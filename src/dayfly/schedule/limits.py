"""What hosts and groups allow: spacing, visits at once, budgets, and cool-downs.

Guard rails around the index, never inside it. Each answers two questions: may a source of this host
be chosen now, and if not, from when on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dayfly.errors import BadInput
from dayfly.model import Array, Mask, Rows
from dayfly.schedule.lanes import Codes
from dayfly.schedule.purse import ROUNDING, SAVED_S, Purse, slot

PerName = float | Mapping[str, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an operator allows per host and per group of sources.

    A number counts for each host (or group), a mapping for those it names. The host without a name
    is nobody in particular and never limited.
    """

    #: Seconds between two choices of one host.
    spacing: PerName = None
    #: Most sources of one host under way at once.
    parallel: PerName = None
    #: Cost units per second, per epoch in slotted time.
    host_budget: PerName = None
    group_budget: PerName = None

    def __post_init__(self) -> None:
        for name in ("spacing", "parallel", "host_budget", "group_budget"):
            given = getattr(self, name)
            for value in given.values() if isinstance(given, Mapping) else [given]:
                if value is not None and not value >= 0:
                    raise BadInput(f"{name} must not be negative, got {value}")
            if name == "parallel":
                for value in given.values() if isinstance(given, Mapping) else [given]:
                    if value is not None and value < 1:
                        raise BadInput(f"parallel must be at least 1, got {value}")

    @property
    def any(self) -> bool:
        """Whether anything is limited at all."""
        given = (self.spacing, self.parallel, self.host_budget, self.group_budget)
        return any(value is not None for value in given)


class Purses:
    """One purse per host or group, as columns; as `Purse`, and infinite where none is limited."""

    def __init__(self, limit: PerName, epoch: float | None) -> None:
        self._limit, self._epoch = limit, epoch
        self.active = limit is not None
        self._dearest = 0.0
        self.rate: Array = np.empty(0)
        self.burst: Array = np.empty(0)
        self.left: Array = np.empty(0)
        self.at: Array = np.empty(0)

    def grow(self, names: Sequence[str], dearest: float, now: float) -> None:
        """A purse for each new name; all of them hold the dearest crawl."""
        if not self.active or (len(names) == len(self.rate) and dearest == self._dearest):
            return
        if dearest != self._dearest:
            # What came in before did so into the purses as they were.
            self.left = self.amount(np.arange(len(self.left)), now)
            self.at = np.maximum(self.at, now)
            self._dearest = dearest
        new = [_per_name(self._limit, name) for name in names[len(self.rate) :]]
        self.rate = np.concatenate([self.rate, np.array(new, dtype=float)])
        saved = self.rate * (SAVED_S if self._epoch is None else 1.0)
        self.burst = saved + (dearest if self._epoch is not None else 0.0)
        self.burst = np.maximum(self.burst, dearest)
        first = saved if self._epoch is not None else self.burst
        self.left = np.concatenate([self.left, np.minimum(first, self.burst)[len(self.left) :]])
        self.at = np.concatenate([self.at, np.full(len(new), now)])

    def amount(self, codes: Codes, now: float) -> Array:
        """What is in these purses now; asking changes nothing."""
        at = self.at[codes]
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
        self.at[names] = np.maximum(self.at[names], now)

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


class Houses:
    """The state of all hosts and groups."""

    def __init__(self, limits: Limits, epoch: float | None) -> None:
        self.limits, self._epoch = limits, epoch
        self.spacing: Array = np.empty(0)
        self.parallel: Array = np.empty(0)
        #: From when on the next source of a host may be chosen; until when it asked for peace.
        self.next: Array = np.empty(0)
        self.blocked: Array = np.empty(0)
        self.under_way = np.empty(0, np.int32)
        self.purses = Purses(limits.host_budget, epoch)
        self.group_purses = Purses(limits.group_budget, epoch)
        self.any_blocked = False
        self._limited = limits.any
        #: Rows that wait for another of their host to come back.
        self.waiting: dict[int, set[int]] = {}

    @property
    def active(self) -> bool:
        """Whether anybody's host or group has to be asked at all."""
        return self._limited or self.any_blocked

    def grow(self, hosts: Sequence[str], groups: Sequence[str], dearest: float, now: float) -> None:
        """Make room for new names."""
        self.purses.grow(hosts, dearest, now)
        self.group_purses.grow(groups, dearest, now)
        known, new = len(self.next), hosts[len(self.next) :]
        if not new:
            return
        spacing = [_per_name(self.limits.spacing, name, 0.0) for name in new]
        parallel = [_per_name(self.limits.parallel, name) for name in new]
        self.spacing = np.concatenate([self.spacing, np.array(spacing, dtype=float)])
        self.parallel = np.concatenate([self.parallel, np.array(parallel, dtype=float)])
        never = np.full(len(hosts) - known, -np.inf)
        self.next = np.concatenate([self.next, never])
        self.blocked = np.concatenate([self.blocked, never])
        self.under_way = np.concatenate([self.under_way, np.zeros(len(never), np.int32)])

    def ready(self, host: Codes, group: Codes, cost: Array, now: float) -> tuple[Array, Array]:
        """From when on the host and the group of each of these sources allow it.

        Infinite while all doors of a host are busy.
        """
        by_host = np.maximum(self.next[host], self.blocked[host])
        if self.purses.active:
            by_host = np.maximum(by_host, self.purses.ready(host, cost, now))
        if self.limits.parallel is not None:
            by_host = np.where(self.under_way[host] >= self.parallel[host], np.inf, by_host)
        if not self.group_purses.active:
            return by_host, np.full(len(host), -np.inf)
        return by_host, self.group_purses.ready(group, cost, now)

    def allow(self, kind: str, codes: Codes, taken: Codes, cost: Array, now: float) -> Mask:
        """Which of these hosts (or groups) could serve one more, after all that were taken."""
        purses = self.purses if kind == "host" else self.group_purses
        found = np.ones(len(codes), bool)
        order = np.argsort(taken, kind="stable")
        first = np.searchsorted(taken, codes, "left", sorter=order)
        last = np.searchsorted(taken, codes, "right", sorter=order)
        if purses.active:
            spent = np.concatenate([[0.0], np.cumsum(cost[order])])
            left = purses.amount(codes, now) - (spent[last] - spent[first])
            found &= left > purses.slack(codes)
        if kind == "host":
            found &= np.maximum(self.next[codes], self.blocked[codes]) <= now
            doors = np.where(self.spacing[codes] > 0, 1.0, np.inf)
            doors = np.minimum(doors, self.parallel[codes] - self.under_way[codes])
            found &= last - first < doors
        return found

    def holds(self, host: int, group: int, cost: float, now: float) -> list[tuple[float, str]]:
        """What holds one source back, by name, and until when."""
        one, costs = np.array([host]), np.array([cost])
        found = [
            (float(self.next[host]), "host spacing"),
            (float(self.blocked[host]), "blocked host"),
        ]
        if self.under_way[host] >= self.parallel[host]:
            found.append((np.inf, "host parallel"))
        if self.purses.active:
            found.append((float(self.purses.ready(one, costs, now)[0]), "host budget"))
        if self.group_purses.active:
            ready = self.group_purses.ready(np.array([group]), costs, now)
            found.append((float(ready[0]), "group budget"))
        return found

    def admit(
        self,
        host: Codes,
        group: Codes,
        cost: Array,
        index: Array,
        k: int,
        purse: Purse,
        asked: Callable[[float], float],
        now: float,
    ) -> list[int]:
        """Of sources in order of preference, those that may start one after the other.

        `asked` is the price with so much left in the purse.
        """
        slotted = self._epoch is not None
        doors = self._doors(host)
        rooms = [
            (codes.tolist(), *self._room(purses, codes, now))
            for purses, codes in ((self.purses, host), (self.group_purses, group))
            if purses.active
        ]
        left, least = purse.left, ROUNDING * purse.burst
        taken: list[int] = []
        worth = index.tolist()
        for at, (own, price) in enumerate(zip(host.tolist(), cost.tolist(), strict=True)):
            if len(taken) >= k or (left <= least and not slotted) or worth[at] < asked(left):
                break
            if doors[own] < 1 or (slotted and price > left + least):
                continue
            if any(
                not (price <= amounts[codes[at]] + slack[codes[at]] if slotted
                     else amounts[codes[at]] > slack[codes[at]])
                for codes, amounts, slack in rooms
            ):  # fmt: skip
                continue
            taken.append(at)
            left -= price
            doors[own] -= 1
            for codes, amounts, _ in rooms:
                amounts[codes[at]] -= price
        return taken

    def serve(self, host: Codes, cost: Array, now: float) -> Rows:
        """Of sources in order of preference, those that their hosts have room for.

        For crawls that may overdraw a purse, or all cost the same: then a host serves the first few
        of its sources and nobody after them.
        """
        order = np.argsort(host, kind="stable")
        own = host[order]
        first = np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]]))
        begin = np.repeat(first, np.diff(np.append(first, len(own))))
        before = np.arange(len(own)) - begin
        doors = np.where(self.spacing[own] > 0, 1.0, np.inf)
        good = before < np.minimum(doors, self.parallel[own] - self.under_way[own])
        if self.purses.active:
            paid = np.cumsum(cost[order]) - cost[order]
            left = self.purses.amount(own, now) - (paid - paid[begin])
            slack = self.purses.slack(own)
            good &= left > slack if self._epoch is None else cost[order] <= left + slack
        return np.sort(order[good])

    def _doors(self, host: Codes) -> dict[int, float]:
        """How many more sources of these hosts may be chosen at this instant."""
        codes = np.unique(host)
        most = np.where(self.spacing[codes] > 0, 1.0, np.inf)
        most = np.minimum(most, self.parallel[codes] - self.under_way[codes])
        return dict(zip(codes.tolist(), most.tolist(), strict=True))

    def _room(
        self, purses: Purses, codes: Codes, now: float
    ) -> tuple[dict[int, float], dict[int, float]]:
        """What is in the purses, and its rounding error."""
        names = np.unique(codes)
        amounts, slack = purses.amount(names, now).tolist(), purses.slack(names).tolist()
        numbers = names.tolist()
        return dict(zip(numbers, amounts, strict=True)), dict(zip(numbers, slack, strict=True))

    def take(self, host: Codes, group: Codes, cost: Array, now: float) -> None:
        """Sources of these hosts were chosen."""
        np.add.at(self.under_way, host, 1)
        spacing = self.spacing[host]
        spaced = host[spacing > 0]
        self.next[spaced] = now + self.spacing[spaced]
        if self.purses.active:
            self.purses.spend(host, cost, now)
        if self.group_purses.active:
            self.group_purses.spend(group, cost, now)

    def back(self, host: Codes) -> list[int]:
        """Sources of these hosts came back; the answer is who waited for that."""
        np.subtract.at(self.under_way, host, 1)
        freed: list[int] = []
        if self.waiting:
            for code in set(host.tolist()) & self.waiting.keys():
                freed += sorted(self.waiting.pop(code))
        return freed


def _per_name(limit: PerName, name: str, unlimited: float = math.inf) -> float:
    if limit is None or name == "":
        return unlimited
    if isinstance(limit, Mapping):
        return float(limit.get(name, unlimited))
    return float(limit)
