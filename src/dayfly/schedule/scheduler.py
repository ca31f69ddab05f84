"""Which sources now: the best index within the budget, and constraints around it.

Thin: every decision scores every source. The price is solved for the fleet as it is believed to be
and again when the beliefs have moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.estimate import Estimate
from dayfly.index import relax, whittle_index
from dayfly.model import KINDS, NUMBERS, Array, Fleet, Mask, Rows, Source
from dayfly.schedule.forecast import Explanation, due_age
from dayfly.schedule.purse import Purse, slot

_DAY = 86400.0
#: The price is solved again when the beliefs have moved by this share on average.
_MOVED = 0.05


class Scheduler:
    """Chooses the next sources of a fleet, by row.

    Parameters
    ----------
    fleet
        The sources as they are believed to be; later beliefs come with `crawled` and `update`.
    budget
        Cost units per second, or per epoch if there is one.
    now
        Time to start from, POSIX seconds.
    epoch
        Seconds between decision instants, counted from POSIX 0; None for continuous time.
    min_interval, max_interval
        No source is visited again sooner than the first; one that was not visited for the second,
        or never, comes before all others.
    burst
        Most cost units that may be saved up; by default a minute's budget and ten crawls, in
        slotted time an epoch's budget and one crawl.
    last, not_before
        When each source was last visited and when it may be again (None or NaN: never, at once):
        what a store remembers.
    """

    def __init__(
        self,
        fleet: Fleet,
        budget: float,
        now: float,
        *,
        epoch: float | None = None,
        min_interval: float = 300.0,
        max_interval: float = 14 * _DAY,
        burst: float | None = None,
        last: Sequence[float | None] | npt.ArrayLike | None = None,
        not_before: Sequence[float | None] | npt.ArrayLike | None = None,
    ) -> None:
        if not 0 <= min_interval < max_interval:
            raise BadInput(
                f"min_interval {min_interval:g} must not be negative"
                f" and must lie below max_interval {max_interval:g}"
            )
        self._fleet, self._dirty = fleet, False
        self._epoch = epoch
        self._min, self._max = min_interval, max_interval
        n = len(fleet)
        self._belief = {name: getattr(fleet, name).copy() for name in ("arrival", "decay", "worth")}
        self._last = _instants(last, n)
        self._not_before = _instants(not_before, n)
        self._paused = np.full(n, -np.inf)
        self._in_flight, self._removed = np.zeros(n, bool), np.zeros(n, bool)
        dearest = float(fleet.cost.max(initial=0.0))
        self._purse = Purse(budget, now, epoch=epoch, burst=burst, dearest=dearest)
        # What an earlier run has just spent is spent: restarts do not bring money.
        spent = float(fleet.cost[self._last >= self._purse.since(now)].sum())
        self._purse.spend(min(spent, self._purse.left(now)))
        self._price: float | None = None
        self._moved = 0.0  # how many sources became quite different since the price was solved

    def __len__(self) -> int:
        return len(self._last)

    @property
    def fleet(self) -> Fleet:
        """The sources as they are believed to be now."""
        if self._dirty:
            copies = {name: column.copy() for name, column in self._belief.items()}
            self._fleet, self._dirty = self._fleet.replace(**copies), False
        return self._fleet

    @property
    def price(self) -> float:
        """Worth of one unit of budget; in continuous time nobody is crawled below it."""
        if self._price is None or self._moved > _MOVED * len(self):
            active, budget = self.fleet, self._purse.budget
            if self._removed.any():
                active = active.take(np.flatnonzero(~self._removed))
            self._price = relax(active, budget, self._epoch).price if len(active) else 0.0
            self._moved = 0.0
        return self._price

    def source(self, row: int) -> Source:
        """One source as it is believed to be now."""
        # Straight from the columns: asked at every crawl, so it must not touch the whole fleet.
        numbers = {name: float(getattr(self._fleet, name)[row]) for name in NUMBERS}
        numbers |= {name: float(column[row]) for name, column in self._belief.items()}
        host = self._fleet.hosts[self._fleet.host_code[row]]
        return Source(**numbers, kind=KINDS[self._fleet.kind_code[row]], id="", host=host)

    def due(self, now: float, k: int) -> Rows:
        """At most k rows to crawl now, best first; they are in flight until `crawled` or `release`.

        First sources that were not visited for `max_interval` (the longest unseen first), then by
        index, ties to the lower row. Whoever breaks a constraint or does not fit the remaining
        budget is passed over. In continuous time only sources whose index reaches the price; in
        slotted time the budget is filled.
        """
        age = self._age(now)
        index = whittle_index(self.fleet, age, self._epoch)
        overdue = age >= self._max
        wanted = np.ones(len(self), bool) if self._epoch is not None else self._worth_it(index)
        rows = np.flatnonzero((wanted | overdue) & ~self._held(now, age))
        order = np.lexsort((-index[rows], -np.where(overdue, age, 0.0)[rows]))
        chosen = self._afford(rows[order], now, k)
        self._in_flight[chosen] = True
        return chosen

    def crawled(
        self,
        rows: Sequence[int] | Rows,
        now: float,
        estimates: Sequence[Estimate],
        *,
        not_before: Sequence[float | None] | None = None,
    ) -> None:
        """These sources were visited, whatever came of it: they start again at age 0."""
        # A failed visit counts: asking again at once would harvest nothing again.
        self._last[rows] = now
        self._in_flight[rows] = False
        if not_before is not None:
            for row, until in zip(rows, not_before, strict=True):
                if until is not None:
                    self._not_before[row] = until
        self.update(estimates)

    def release(self, rows: Sequence[int] | Rows) -> None:
        """These sources were not visited after all; what they cost stays spent."""
        self._in_flight[rows] = False

    def update(self, estimates: Iterable[Estimate]) -> None:
        """Believe something new about some sources."""
        for estimate in estimates:
            moved = 0.0
            for name, column in self._belief.items():
                old, new = float(column[estimate.row]), float(getattr(estimate, name))
                moved = max(moved, abs(new - old) / max(new, old) if new != old else 0.0)
                column[estimate.row] = new
            self._moved += moved
            self._dirty |= moved > 0

    def add(self, fleet: Fleet) -> Rows:
        """New sources, never visited; the answer is their rows."""
        first, n = len(self), len(fleet)
        self._purse.fit(float(max(self.fleet.cost.max(initial=0), fleet.cost.max(initial=0))))
        self._fleet, self._price = self.fleet.concat(fleet), None
        for name, column in self._belief.items():
            self._belief[name] = np.concatenate([column, getattr(fleet, name)])
        never, no = np.full(n, -np.inf), np.zeros(n, bool)
        self._last = np.concatenate([self._last, never])
        self._not_before = np.concatenate([self._not_before, never])
        self._paused = np.concatenate([self._paused, never])
        self._in_flight = np.concatenate([self._in_flight, no])
        self._removed = np.concatenate([self._removed, no])
        return np.arange(first, first + n)

    def remove(self, row: int) -> None:
        """Never choose this source again; its row number stays taken."""
        self._removed[row] = True
        self._price = None

    def pause(self, row: int, until: float = np.inf) -> None:
        """Do not choose this source before then; an instant in the past lets it go on."""
        self._paused[row] = until

    def explain(self, row: int, now: float) -> Explanation:
        """What this source is worth now, when it is due, and what holds it back until then."""
        one = self.fleet.take([row])
        age = self._age(now)[[row]]
        index = float(whittle_index(one, age, self._epoch)[0])
        longest = min(due_age(one, self.price, self._epoch), self._max)
        ripe = now if np.isinf(age[0]) else max(float(self._last[row]) + longest, now)
        held_by, until = self._hold(row, now, float(age[0]))
        if not held_by and ripe > now:
            held_by, until = "price", ripe
        if not held_by and not self._ready(row, now) <= now:
            held_by, until = "budget", self._ready(row, now)
        return Explanation(
            row=row,
            age=float(age[0]),
            waiting=float(one.harvest.value(age)[0]),
            index=index,
            price=self.price,
            due=max(ripe, now if until is None else until),
            held_by=held_by,
            until=until,
        )

    def _worth_it(self, index: Array) -> Mask:
        worth_it: Mask = (index >= self.price) & (index > 0)
        return worth_it

    def _age(self, now: float) -> Array:
        """Time since the last visit; in slotted time whole epochs, whenever in one it ended."""
        if self._epoch is None:
            return np.maximum(now - self._last, 0.0)
        seen = np.floor(self._last / self._epoch + 1e-9)
        return np.maximum((slot(now, self._epoch) - seen) * self._epoch, 0.0)

    def _held(self, now: float, age: Array) -> Mask:
        """Whom a constraint holds back; one per line, as in `_hold`."""
        held: Mask = (
            self._removed
            | (self._paused > now)
            | self._in_flight
            | (self._not_before > now)
            | (age < self._min)
            | (age <= 0)
        )
        return held

    def _hold(self, row: int, now: float, age: float) -> tuple[str, float | None]:
        """The constraint that holds this source back the longest, by name, and until when."""
        if self._removed[row]:
            return "removed", np.inf
        if self._in_flight[row]:
            return "in flight", None
        rested = float(self._last[row]) + self._min
        holds = [
            (float(self._paused[row]), "paused", self._paused[row] > now),
            (float(self._not_before[row]), "not_before", self._not_before[row] > now),
            (rested, "min_interval", age < self._min),
        ]
        until, name = max(((u, n) for u, n, on in holds if on), default=(None, ""))
        return name, until

    def _ready(self, row: int, now: float) -> float:
        return self._purse.ready(float(self._fleet.cost[row]), now)

    def _afford(self, rows: Rows, now: float, k: int) -> Rows:
        """The first k of these that the budget allows."""
        self._purse.left(now)
        cost = self._fleet.cost[rows]
        cheapest = float(cost.min(initial=np.inf))
        chosen: list[int] = []
        for row, price in zip(rows.tolist(), cost.tolist(), strict=True):
            if len(chosen) >= k or not self._purse.affords(cheapest):
                break
            if self._purse.affords(price):
                self._purse.spend(price)
                chosen.append(row)
        return np.array(chosen, dtype=np.int64)


def _instants(given: Sequence[float | None] | npt.ArrayLike | None, n: int) -> Array:
    """POSIX seconds per source; -inf for what never was."""
    if given is None:
        return np.full(n, -np.inf)
    array = np.array(given, dtype=np.float64)
    if array.shape != (n,):
        raise BadInput(f"{n} instants are needed, one per source, got shape {array.shape}")
    return np.where(np.isnan(array), -np.inf, array)
