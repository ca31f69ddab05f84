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
from dayfly.schedule.arguments import number
from dayfly.schedule.columns import Codes, longer
from dayfly.schedule.purse import ROUNDING, Purse
from dayfly.schedule.purses import PerName, Purses, per_name

#: What each column of the hosts holds where nothing has happened.
_RESTING = {
    "spacing": 0.0, "parallel": math.inf, "next_at": -math.inf, "blocked": -math.inf,
    "under_way": 0,
}  # fmt: skip


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
            if given is None:
                continue
            least = 1 if name == "parallel" else 0
            for key, value in given.items() if isinstance(given, Mapping) else [("", given)]:
                if not isinstance(key, str):
                    raise BadInput(f"{name} must have names for keys, got {key!r}")
                if not number(name, value, "a number, or one for each of some names") >= least:
                    raise BadInput(f"{name} must be at least {least}, got {value}")

    @property
    def any(self) -> bool:
        """Whether anything is limited at all."""
        given = (self.spacing, self.parallel, self.host_budget, self.group_budget)
        return any(value is not None for value in given)


class Houses:
    """The state of all hosts and groups."""

    def __init__(self, limits: Limits, epoch: float | None) -> None:
        self.limits, self._epoch = limits, epoch
        #: How many hosts there are; the columns have room for more.
        self.n = 0
        self.spacing: Array = np.empty(0)
        self.parallel: Array = np.empty(0)
        #: From when on the next source of a host may be chosen; until when it asked for peace.
        self.next_at: Array = np.empty(0)
        self.blocked: Array = np.empty(0)
        self.under_way = np.empty(0, np.int32)
        self.purses = Purses(limits.host_budget, epoch)
        self.group_purses = Purses(limits.group_budget, epoch)
        self.any_blocked = False
        self._limited = limits.any
        #: Rows that wait for another of their host to come back.
        self.waiting: dict[int, set[int]] = {}
        #: Rows under way whose host was changed meanwhile, and the host where they are.
        self.elsewhere: dict[int, int] = {}

    @property
    def active(self) -> bool:
        """Whether anybody's host or group has to be asked at all."""
        return self._limited or self.any_blocked

    def grow(self, hosts: Sequence[str], groups: Sequence[str], dearest: float, now: float) -> None:
        """Make room for new names."""
        self.purses.grow(hosts, dearest, now)
        self.group_purses.grow(groups, dearest, now)
        new = hosts[self.n :]
        if not new:
            return
        fresh, self.n = slice(self.n, len(hosts)), len(hosts)
        for name, resting in _RESTING.items():
            setattr(self, name, longer(getattr(self, name), self.n, resting))
        if self.limits.spacing is not None:
            self.spacing[fresh] = [per_name(self.limits.spacing, name, 0.0) for name in new]
        if self.limits.parallel is not None:
            self.parallel[fresh] = [per_name(self.limits.parallel, name) for name in new]

    def ready(self, host: Codes, group: Codes, cost: Array, now: float) -> tuple[Array, Array]:
        """From when on the host and the group of each of these sources allow it.

        Infinite while all doors of a host are busy.
        """
        by_host = np.maximum(self.next_at[host], self.blocked[host])
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
            found &= np.maximum(self.next_at[codes], self.blocked[codes]) <= now
            doors = np.where(self.spacing[codes] > 0, 1.0, np.inf)
            doors = np.minimum(doors, self.parallel[codes] - self.under_way[codes])
            found &= last - first < doors
        return found

    def holds(self, host: int, group: int, cost: float, now: float) -> list[tuple[float, str]]:
        """What holds one source back, by name, and until when."""
        one, costs = np.array([host]), np.array([cost])
        found = [
            (float(self.next_at[host]), "host spacing"),
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
        self.next_at[spaced] = now + self.spacing[spaced]
        if self.purses.active:
            self.purses.spend(host, cost, now)
        if self.group_purses.active:
            self.group_purses.spend(group, cost, now)

    def changed(self, rows: Rows, before: Codes) -> None:
        """These rows have another host now; who is under way is still at the one it had before."""
        for row, host in zip(rows.tolist(), before.tolist(), strict=True):
            self.elsewhere.setdefault(row, host)

    def sent_to(self, rows: Rows, host: Codes) -> Codes:
        """The hosts that these rows were sent to, asked as they come back."""
        if not self.elsewhere:
            return host
        own = zip(rows.tolist(), host.tolist(), strict=True)
        return np.array([self.elsewhere.pop(row, code) for row, code in own], dtype=host.dtype)

    def back(self, host: Codes) -> Rows:
        """Sources of these hosts came back; the answer is who waited for that."""
        freed: set[int] = set()
        if self.active:
            np.subtract.at(self.under_way, host, 1)
            for code in set(host.tolist()) & self.waiting.keys():
                freed |= self.waiting.pop(code)
        return np.array(sorted(freed), dtype=np.int64)
