"""The contract of the scheduler in its plainest form: every source is looked at, one by one.

No calendar, no bounds, no columns. `due` takes the price as an argument, because the property under
test is the choice for the same numbers, not how the price is found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dayfly.errors import BadInput
from dayfly.index import whittle_index, whittle_index_at
from dayfly.model import NUMBERS, Fleet

DAY = 86400.0
#: Seconds by which time may go backwards.
SLACK = 5.0
NEVER = -math.inf


def slot(instant: float, epoch: float) -> float:
    """Which epoch an instant belongs to; a rounding error early is on time."""
    return instant if math.isinf(instant) else float(math.floor(instant / epoch + 1e-9))


class Purse:
    """Money that comes in steadily, or at the beginning of each epoch, up to a most.

    All that differs between the purses is what they hold; these rules stand here and nowhere else.
    """

    def __init__(self, rate: float, now: float, epoch: float | None) -> None:
        self.rate, self.at, self.epoch = rate, now, epoch
        self.left, self.most, self.share = 0.0, 0.0, 1.0

    def fill(self, now: float) -> None:
        if self.epoch is None:
            passed = now - self.at
        else:
            passed = slot(now, self.epoch) - slot(self.at, self.epoch)
        if passed >= 0:
            self.left = min(self.left + self.rate * self.share * passed, self.most)
            self.at = now

    def allows(self, cost: float) -> bool:
        """Continuous: a crawl may start above 0 and overdraw. Slotted: it must fit.

        What is a rounding error of the most that fits is nothing.
        """
        if self.epoch is None:
            return self.left > 1e-9 * self.most
        return cost <= self.left + 1e-9 * self.most

    def hold(self, kind: str, dearest: float, burst: float | None = None) -> None:
        """How much fits: what a minute or an epoch brings, and room for crawls of the dearest."""
        saved = self.rate * (60.0 if self.epoch is None else 1.0)
        if kind == "all" and burst is not None:
            self.most = burst
        elif kind == "all" and self.epoch is None:
            self.most = saved + 10.0 * dearest
        elif kind == "limit" and self.epoch is None:
            self.most = max(saved, dearest)
        else:
            self.most = saved + dearest


@dataclass
class Kept:
    """All that is known about one source."""

    numbers: dict[str, float]
    kind: str
    host: str
    group: str
    min_interval: float
    max_interval: float
    weight: float = 1.0
    #: From when on value has been gathering; last attempt.
    since: float = NEVER
    visited: float = NEVER
    #: Slotted time: since when, in epochs and not whole ones, where the state was seen below the
    #: ceiling. What was seen waiting at or above the ceiling, and when.
    since_epoch: float | None = None
    surge: tuple[float, float] | None = None
    not_before: float = NEVER
    paused: float = NEVER
    back_off: float = NEVER
    failures: int = 0
    in_flight: bool = False
    #: The host that is being asked: its own when it was chosen.
    asked: str = ""
    removed: bool = False

    @property
    def cost(self) -> float:
        return self.numbers["cost"]


class NaiveScheduler:
    """The same public methods as `Scheduler`; `due` is given the price."""

    def __init__(
        self,
        fleet: Fleet,
        budget: float,
        now: float,
        *,
        epoch: float | None = None,
        min_interval: Any = 300.0,
        max_interval: Any = 14 * DAY,
        burst: float | None = None,
        limits: Any = None,
        group: Sequence[str] | None = None,
        last: Sequence[float | None] | None = None,
        not_before: Sequence[float | None] | None = None,
        floor_share: float = 0.05,
    ) -> None:
        self.epoch, self.now, self.limits = epoch, now, limits
        self.budget, self.share, self.burst, self.floor_share = budget, 1.0, burst, floor_share
        self.min_interval, self.max_interval = min_interval, max_interval
        self.sources: list[Kept] = []
        #: The dearest crawl that there ever was.
        self.dearest = 0.0
        self.blocked: dict[str, float] = {}
        self.last_choice: dict[str, float] = {}
        self.purses: dict[tuple[str, str], Purse] = {}
        self._fleet: Fleet | None = None
        self._append(fleet, group)
        for kept, instant in zip(self.sources, _instants(last, len(fleet)), strict=True):
            kept.since = kept.visited = instant
        for kept, instant in zip(self.sources, _instants(not_before, len(fleet)), strict=True):
            kept.not_before = instant
        self._open_purses(now)

    # What is there.

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def fleet(self) -> Fleet:
        """The sources as they are believed to be now."""
        if self._fleet is None:
            numbers = {n: np.array([kept.numbers[n] for kept in self.sources]) for n in NUMBERS}
            numbers["worth"] *= np.array([kept.weight for kept in self.sources])
            kind = [kept.kind for kept in self.sources]
            self._fleet = Fleet(**numbers, kind=kind, host=[kept.host for kept in self.sources])
        return self._fleet

    def _append(self, fleet: Fleet, group: Sequence[str] | None) -> None:
        first = len(self.sources)
        for row, source in enumerate(fleet):
            self.sources.append(
                Kept(
                    numbers={name: getattr(source, name) for name in NUMBERS},
                    kind=source.kind,
                    host=source.host,
                    group="" if group is None else group[row],
                    min_interval=_one(self.min_interval, first + row, 300.0),
                    max_interval=_one(self.max_interval, first + row, 14 * DAY),
                )
            )
        self._fleet = None

    # Money.

    def _open_purses(self, now: float) -> None:
        self.purse = Purse(self.budget, now, self.epoch)
        self.floor = Purse(self.floor_share * self.budget, now, self.epoch)
        self._fit_purses()
        if self.floor.rate > 0:
            self.floor.left = self.dearest
        if self.budget > 0:
            balance = 0.1 * self.purse.most
            self.purse.left = balance if self.epoch is None else min(self.budget, self.purse.most)
        # What an earlier run has just spent is spent.
        if self.epoch is not None:
            felt = slot(now, self.epoch) * self.epoch
        else:
            felt = now - self.purse.most / self.budget if self.budget > 0 else NEVER
        spent = sum(kept.cost for kept in self.sources if kept.visited >= felt)
        self.purse.left -= min(spent, self.purse.left)

    def _fit_purses(self) -> None:
        """The budget, the dearest crawl or who is there has changed."""
        self.dearest = max([self.dearest, *(kept.cost for kept in self.sources)])
        self.purse.rate, self.floor.rate = self.budget, self.floor_share * self.budget
        self.purse.share = self.floor.share = self.share
        self.purse.hold("all", self.dearest, self.burst)
        self.floor.hold("floor", self.dearest)
        for kept in self.sources:
            self._meet("host_budget", kept.host)
            self._meet("group_budget", kept.group)
        for purse in self.purses.values():
            purse.fill(self.now)  # what came in so far found the old room
            purse.hold("limit", self.dearest)

    def _meet(self, kind: str, name: str) -> None:
        """Whoever is limited gets a purse when first heard of."""
        rate = self._limit(kind, name)
        if rate is not None and (kind, name) not in self.purses:
            purse = self.purses[kind, name] = Purse(rate, self.now, self.epoch)
            purse.hold("limit", self.dearest)
            purse.left = purse.most if self.epoch is None else rate

    def _purses_of(self, kept: Kept) -> list[Purse]:
        """The purses of its host and group, where those are limited."""
        keys = (("host_budget", kept.host), ("group_budget", kept.group))
        found = [self.purses[key] for key in keys if key in self.purses]
        for purse in found:
            purse.fill(self.now)
        return found

    def _limit(self, kind: str, name: str) -> Any:
        given = None if self.limits is None else getattr(self.limits, kind)
        if name == "":
            return None
        return given.get(name) if isinstance(given, Mapping) else given

    # The decision.

    def due(self, now: float, k: int, price: Callable[[float], float] | float = 0.0) -> list[int]:
        """At most k rows, of which those by index reach the price.

        The price may depend on what is in the purse: in continuous time when the turn of a source
        comes, in slotted time when the first is chosen by its index.
        """
        asked = price if callable(price) else lambda _: price
        now = self._tick(now)
        self._fill()
        if self.share == 0:
            k = 0
        index = self._indices(now)
        chosen: list[int] = []
        overdue = [row for row in range(len(self)) if self._overdue(row, now)]
        for row in sorted(overdue, key=lambda row: (self.sources[row].visited, row)):
            open_ = self.floor_share > 0 and self.floor.left > 1e-9 * self.floor.most
            if len(chosen) < k and open_ and self._may(row, now):
                self._take(row, now)
                self.floor.left -= self.sources[row].cost
                chosen.append(row)
        at_first = self.purse.left
        for row in sorted(range(len(self)), key=lambda row: (-index[row], row)):
            if self.epoch is None:
                worth_it = index[row] > 0 and index[row] >= asked(self.purse.left)
            else:
                worth_it = index[row] >= asked(at_first)
            if len(chosen) < k and worth_it and self._may(row, now):
                self._take(row, now)
                chosen.append(row)
        return chosen

    def _tick(self, now: float) -> float:
        if now < self.now - SLACK:
            raise BadInput("time goes backwards")
        self.now = max(self.now, now)
        return self.now

    def _fill(self) -> None:
        """What has come in since somebody last looked."""
        self.purse.fill(self.now)
        self.floor.fill(self.now)

    def _indices(self, now: float) -> list[float]:
        if not self.sources:
            return []
        ages = np.array([self._age(kept, now) for kept in self.sources])
        index = whittle_index(self.fleet, ages, self.epoch).tolist()
        by_state = self._by_state(ages)
        for row, kept in enumerate(self.sources):
            if kept.since_epoch is not None:
                index[row] = by_state[row]
            if kept.surge is not None:
                index[row] = self._surging(row, kept, now)
        return index

    def _surging(self, row: int, kept: Kept, now: float) -> float:
        """More waits than ever on average: x/C, while x fades towards the ceiling."""
        assert kept.surge is not None
        state, seen = kept.surge
        ceiling = self._ceiling(row)
        if math.isinf(ceiling):
            return state / kept.cost
        left = math.exp(-kept.numbers["decay"] * max(now - seen, 0.0))
        return (ceiling + (state - ceiling) * left) / kept.cost

    def _ceiling(self, row: int) -> float:
        return float(self.fleet.take([row]).harvest.value(np.array([np.inf]))[0])

    def _by_state(self, ages: Any) -> list[float]:
        """A state that was seen lies between those that whole epochs lead to [J, Theorem 1]."""
        if all(kept.since_epoch is None for kept in self.sources):
            return []
        waiting = self.fleet.harvest.value(ages)
        seen = np.array([kept.since_epoch is not None for kept in self.sources])
        return whittle_index_at(self.fleet, np.where(seen, waiting, 0.0), self.epoch).tolist()

    def _age(self, kept: Kept, now: float) -> float:
        if self.epoch is None:
            return max(now - kept.since, 0.0)
        since = slot(kept.since, self.epoch) if kept.since_epoch is None else kept.since_epoch
        return max(slot(now, self.epoch) - since, 0.0) * self.epoch

    def _overdue(self, row: int, now: float) -> bool:
        kept = self.sources[row]
        return kept.visited == NEVER or kept.visited + kept.max_interval <= now

    def _may(self, row: int, now: float) -> bool:
        """Nothing holds it back now, and there is money for it."""
        return not self._held(row, now) and self.purse.allows(self.sources[row].cost)

    def _held(self, row: int, now: float) -> bool:
        kept = self.sources[row]
        if kept.removed or kept.in_flight or max(kept.paused, kept.not_before, kept.back_off) > now:
            return True
        if self.epoch is None:
            rested = kept.visited + kept.min_interval <= now
        else:
            rest = max(math.ceil(kept.min_interval / self.epoch - 1e-9), 1)
            rested = slot(now, self.epoch) - slot(kept.visited, self.epoch) >= rest
        return not rested or self._held_by_host(kept, now)

    def _held_by_host(self, kept: Kept, now: float) -> bool:
        if self.blocked.get(kept.host, NEVER) > now:
            return True
        spacing = self._limit("spacing", kept.host) or 0.0
        if spacing > 0 and self.last_choice.get(kept.host, NEVER) + spacing > now:
            return True
        parallel = self._limit("parallel", kept.host)
        if parallel is not None:
            flying = [other for other in self.sources if other.in_flight and not other.removed]
            if sum(other.asked == kept.host for other in flying) >= parallel:
                return True
        return not all(purse.allows(kept.cost) for purse in self._purses_of(kept))

    def _take(self, row: int, now: float) -> None:
        kept = self.sources[row]
        kept.in_flight, kept.asked = True, kept.host
        self.last_choice[kept.host] = now
        for purse in (self.purse, *self._purses_of(kept)):
            purse.left -= kept.cost

    # What came of it.

    def crawled(
        self,
        rows: Sequence[int],
        now: float,
        estimates: Any = (),
        *,
        not_before: Sequence[float | None] | None = None,
        failed: Sequence[bool] | None = None,
        spent: Sequence[float] | None = None,
    ) -> None:
        self._check(rows)
        for place, row in enumerate(rows):
            kept = self.sources[row]
            paid = kept.cost if kept.in_flight else 0.0
            kept.in_flight, kept.visited = False, now
            if failed is not None and failed[place]:
                kept.failures += 1
                wait = min(kept.min_interval * 2.0 ** (kept.failures - 1), DAY)
                kept.back_off = now + wait
            else:
                kept.since, kept.since_epoch, kept.surge = now, None, None
                kept.failures, kept.back_off = 0, NEVER
            if not_before is not None and not _missing(not_before[place]):
                kept.not_before = float(not_before[place])  # type: ignore[arg-type]
            if spent is not None:
                self.purse.left += paid - spent[place]
        self.update(estimates)

    def release(self, rows: Sequence[int]) -> None:
        self._check(rows)
        for row in rows:
            self.sources[row].in_flight = False

    def update(self, estimates: Any) -> None:
        """An iterable of `Estimate`, or `Estimates` with columns."""
        for row, changes in _changes(estimates):
            kept = self.sources[row]
            for name, value in changes.items():
                if name in NUMBERS:
                    kept.numbers[name] = float(value)
                else:
                    setattr(kept, name, value)
        self._fleet = None
        self._fit_purses()

    def observe(self, rows: Sequence[int], state: Sequence[float], now: float) -> None:
        self._check(rows)
        self._tick(now)
        for row, waiting in zip(rows, state, strict=True):
            kept = self.sources[row]
            kept.surge = kept.since_epoch = None
            if waiting >= self._ceiling(row):
                kept.surge = (float(waiting), now)
                continue
            one = self.fleet.take([row])
            age = float(one.harvest.age_of(np.array([float(waiting)]))[0])
            kept.since = now - age
            if self.epoch is not None:
                kept.since_epoch = slot(now, self.epoch) - age / self.epoch

    # Who is there, and what may be spent.

    def add(self, fleet: Fleet, *, group: Sequence[str] | None = None) -> list[int]:
        first = len(self)
        self._append(fleet, group)
        self._fit_purses()
        return list(range(first, len(self)))

    def remove(self, rows: int | Sequence[int]) -> None:
        for row in self._check(rows):
            self.sources[row].removed = True

    def pause(self, rows: int | Sequence[int], until: float = math.inf) -> None:
        for row in self._check(rows):
            self.sources[row].paused = until

    def block_host(self, host: str, until: float) -> None:
        self.blocked[host] = until
        self._meet("host_budget", host)

    def set_budget(self, budget: float, now: float) -> None:
        self._tick(now)
        self._fill()
        self.budget = budget
        self._fit_purses()

    def throttle(self, share: float, now: float) -> None:
        self._tick(now)
        self._fill()
        self.share = share
        self._fit_purses()

    def _check(self, rows: int | Sequence[int]) -> list[int]:
        many = [int(row) for row in np.atleast_1d(np.asarray(rows, dtype=int))]
        for row in many:
            if not 0 <= row < len(self):
                raise BadInput(f"row {row} is not one of {len(self)}")
        return many


def _one(given: Any, row: int, default: float) -> float:
    """One number for all, or one each; later sources get the default."""
    if np.ndim(given) == 0:
        return float(given)
    return float(given[row]) if row < len(given) else default


def _missing(instant: float | None) -> bool:
    return instant is None or math.isnan(instant)


def _instants(given: Sequence[float | None] | None, n: int) -> list[float]:
    if given is None:
        return [NEVER] * n
    return [NEVER if _missing(instant) else float(instant) for instant in given]  # type: ignore[arg-type]


def _changes(estimates: Any) -> Iterable[tuple[int, dict[str, Any]]]:
    """Row by row what is said about it."""
    columns = ("arrival", "decay", "worth", "cost", "weight", "host", "group")
    if hasattr(estimates, "weight"):
        given = {name: getattr(estimates, name) for name in columns}
        for place, row in enumerate(estimates.row):
            yield int(row), {n: c[place] for n, c in given.items() if c is not None}
    else:
        for estimate in estimates:
            yield estimate.row, {name: getattr(estimate, name) for name in columns[:3]}
