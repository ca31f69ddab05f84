"""Which sources now: the best index within the budget, exactly, whatever the number of sources."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.estimate import Estimate, Estimates
from dayfly.index import relax
from dayfly.model import Array, Fleet, Rows, Source
from dayfly.schedule.beliefs import believe
from dayfly.schedule.calendar import Calendar
from dayfly.schedule.chooser import Chooser
from dayfly.schedule.forecast import Explanation, explain
from dayfly.schedule.limits import Houses, Limits
from dayfly.schedule.overdue import Overdue
from dayfly.schedule.pricing import Pricing
from dayfly.schedule.promise import Promise, promise
from dayfly.schedule.purse import Purse
from dayfly.schedule.roster import COST, IN_FLIGHT, REMOVED, SINCE, Roster
from dayfly.schedule.state import (
    houses_state,
    purse_state,
    read_houses,
    read_purse,
    read_roster,
    roster_state,
)

_DAY = 86400.0
#: The price is solved again when the beliefs have moved by this share on average.
_MOVED = 0.05
#: The first price is solved on a sample of so many sources, later changes of it on fewer; the rest
#: is learnt from what is spent.
_FIRST_SAMPLE, _SAMPLE = 1 << 18, 1 << 14
#: A smaller change of the budget is left to what is learnt.
_SAME_BUDGET = 0.02
#: How far a clock may go back and count as standing still.
SLACK_S = 5.0

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _locked(
    method: Callable[Concatenate[Scheduler, _P], _R],
) -> Callable[Concatenate[Scheduler, _P], _R]:
    """One caller at a time."""

    @functools.wraps(method)
    def alone(self: Scheduler, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What the decisions took, counted since the scheduler was made."""

    #: Decisions, sources chosen, and sources scored to choose them.
    calls: int
    chosen: int
    scored: int
    #: Sources put on the agenda, and of these again because the level fell.
    moved: int
    rekeyed: int
    #: Decisions that had to look at every source.
    scans: int


class Scheduler:
    """Chooses the next sources of a fleet, by row. Threads may share one.

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
        or never, comes before all others. One number for all, or one each.
    burst
        Most cost units that may be saved up; by default a minute's budget and ten crawls, in
        slotted time an epoch's budget and one crawl.
    limits, group
        What hosts and groups allow, and the group of each source.
    last, not_before
        When each source was last visited and when it may be again (None or NaN: never, at once):
        what a store remembers.
    floor_share
        Most of the budget that goes to sources not visited for `max_interval`.

    Examples
    --------
    Two sources and one crawl per minute; the second was never visited:

    >>> fleet = Fleet(arrival=[1 / 60, 1 / 300], decay=1 / 3600)
    >>> scheduler = Scheduler(fleet, 1 / 60, 0.0, min_interval=60.0, last=[0.0, None], burst=1.0)
    >>> scheduler.due(100.0, 10)
    array([1])
    >>> scheduler.crawled([1], 101.0, [])
    """

    def __init__(
        self,
        fleet: Fleet,
        budget: float,
        now: float,
        *,
        epoch: float | None = None,
        min_interval: npt.ArrayLike = 300.0,
        max_interval: npt.ArrayLike = 14 * _DAY,
        burst: float | None = None,
        limits: Limits | None = None,
        group: Sequence[str] | None = None,
        last: Sequence[float | None] | npt.ArrayLike | None = None,
        not_before: Sequence[float | None] | npt.ArrayLike | None = None,
        floor_share: float = 0.05,
    ) -> None:
        n = len(fleet)
        if not 0 <= floor_share <= 1:
            raise BadInput(f"floor_share must lie between 0 and 1, got {floor_share}")
        if not math.isfinite(now):
            raise BadInput(f"now must be an instant in POSIX seconds, got {now}")
        dearest = float(fleet.cost.max(initial=0.0))
        purse = Purse(budget, now, epoch=epoch, burst=burst, dearest=dearest)
        least, most = _intervals(min_interval, max_interval, n)
        shared = tuple(
            float(given) if given.ndim == 0 else usual
            for given, usual in ((least, 300.0), (most, 14 * _DAY))
        )
        self._lock = threading.RLock()
        self._roster = Roster(epoch, (shared[0], shared[1]), named=fleet.named)
        self._houses = Houses(Limits() if limits is None else limits, epoch)
        self._purse, self._floor_share = purse, floor_share
        self._floor = Purse(
            budget * floor_share, now, epoch=epoch, burst=None, dearest=dearest, crawls=1.0
        )
        self._floor.left = dearest if budget * floor_share > 0 else 0.0
        self._now, self._looked = now, now
        visited = _instants(last, n)
        self._roster.add(fleet, group=group, last=visited, not_before=_instants(not_before, n))
        for name, given in (("least", least), ("most", most)):
            if given.ndim:
                self._roster.column(name, np.float64, getattr(self._roster, name))[:n] = given
        # What an earlier run has just spent is spent: restarts do not bring money.
        spent = float(fleet.cost[visited >= purse.since(now)].sum())
        purse.spend(min(spent, max(purse.left, 0.0)))
        roster = self._roster
        self._houses.grow(roster.hosts, roster.groups, roster.dearest, now)
        #: Rows in flight whose host was changed meanwhile, and where they are.
        self._at_host: dict[int, int] = {}
        self._moved, self._new, self._solved = 0.0, 0, self._solve(_SAMPLE)
        large = n > _SAMPLE
        self._pricing = Pricing(self._solve(_FIRST_SAMPLE) if large else self._solved)
        self._place_all()

    def _place_all(self) -> None:
        """Find everybody a place in the calendar."""
        self._overdue = Overdue(self._roster)
        self._calendar = Calendar(self._roster)
        self._calendar.start(self._first_level(), self._now)
        self._chooser = Chooser(
            self._roster, self._houses, self._purse, self._calendar, self._asked, self._worth_it
        )
        self._calls = self._chosen = 0

    @_locked
    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """All that decisions depend on: settings, and columns that are not copies."""
        roster, columns = roster_state(self._roster)
        houses, more = houses_state(self._houses)
        settings = {
            "roster": roster,
            "houses": houses,
            "purse": purse_state(self._purse),
            "floor": purse_state(self._floor),
            "floor_share": self._floor_share,
            "pricing": list(self._pricing.memory),
            "solved": [self._solved, self._moved, self._new, self._saves, self._pace],
            "clock": [self._now, self._looked],
            "at_host": [list(pair) for pair in self._at_host.items()],
        }
        return settings, columns | more

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], columns: Mapping[str, npt.NDArray[Any]]
    ) -> Scheduler:
        """The scheduler whose `state` this is: it decides the same, bit for bit."""
        self = object.__new__(cls)
        self._lock = threading.RLock()
        self._roster = read_roster(settings["roster"], columns)
        self._houses = read_houses(settings["houses"], columns, self._roster)
        self._purse = read_purse(settings["purse"], self._roster.dearest)
        self._floor = read_purse(settings["floor"], self._roster.dearest)
        self._floor_share = settings["floor_share"]
        self._pricing = Pricing(*settings["pricing"])
        self._solved, self._moved, self._new, self._saves, self._pace = settings["solved"]
        self._now, self._looked = settings["clock"]
        self._at_host = dict(settings["at_host"])
        self._place_all()
        return self

    def __len__(self) -> int:
        return self._roster.n

    # What it knows.

    @property
    def budget(self) -> float:
        """Cost units per second, or per epoch if there is one."""
        return self._purse.budget

    @property
    @_locked
    def fleet(self) -> Fleet:
        """The sources as they are believed to be now."""
        return self._roster.fleet()

    @property
    @_locked
    def price(self) -> float:
        """Worth of one unit of budget; in continuous time nobody is crawled below it."""
        if self._roster.epoch is None:
            return self._pricing.threshold(self._purse.full)
        return self._pricing.base

    @_locked
    def source(self, row: int) -> Source:
        """One source as it is believed to be now."""
        return self._roster.part(self._roster.check(row))[0]

    @property
    @_locked
    def tally(self) -> Tally:
        """What the decisions took."""
        return Tally(
            calls=self._calls, chosen=self._chosen, scored=self._chooser.scored,
            moved=self._calendar.moved, rekeyed=self._calendar.rekeyed,
            scans=self._chooser.scans + self._overdue.scans,
        )  # fmt: skip

    @_locked
    def explain(self, row: int, now: float) -> Explanation:
        """What this source is worth now, when it is due, and what holds it back until then."""
        rows = self._roster.check(row)
        price = self.price
        level = self._calendar.lane_level(rows)
        return explain(
            self._roster, self._houses, self._purse, rows, now,
            price=price, host_price=max(level - price, 0.0),
        )  # fmt: skip

    @property
    @_locked
    def promise(self) -> Promise:
        """Whether everybody is visited once per `max_interval`, and if not, how often."""
        pace = self._purse.budget * self._purse.share * self._floor_share
        epoch = self._roster.epoch
        return promise(self._roster, self._pricing.base, pace / (epoch or 1.0), _SAMPLE)

    # The decision.

    @_locked
    def due(self, now: float, k: int) -> Rows:
        """At most k rows to crawl now, best first; they are in flight until `crawled` or `release`.

        First sources that were not visited for `max_interval` (the longest unseen first, within
        their share of the budget), then by index, ties to the lower row. Whoever breaks a
        constraint or does not fit the remaining budget is passed over. In continuous time only
        sources whose index reaches the price; in slotted time the budget is filled.
        """
        if k < 0:
            raise BadInput(f"k must not be negative, got {k}")
        now = self._tick(now)
        self._purse.fill(now)
        self._floor.fill(now)
        if self._purse.share <= 0:
            k = 0  # whoever reads what is crawled stands still: savings would only queue up
        first = self._unseen(now, k)
        chosen = self._chooser.best(now, k - len(first))
        self._send(chosen.rows, chosen.cost, now)
        if self._roster.epoch is None:
            pace = self._purse.budget * self._purse.share
            self._pricing.learn(
                elapsed=now - self._looked, fill=self._purse.burst / pace if pace > 0 else np.inf,
                full=self._purse.full, marginal=chosen.marginal, short=chosen.ended,
            )  # fmt: skip
        self._looked = now
        self._calls += 1
        self._chosen += len(first) + len(chosen.rows)
        return np.concatenate([first, chosen.rows]) if len(first) else chosen.rows

    def _asked(self, left: float) -> float:
        """The price for who is next, with so much in the purse."""
        purse = self._purse
        if purse.epoch is None:
            return self._pricing.threshold(left / purse.burst if purse.burst > 0 else 1.0)
        if not self._saves:
            return -np.inf
        # Slotted, the purse has just received its income: what counts is what was saved.
        saved = (purse.left - purse.budget) / max(self._roster.dearest, 1e-300)
        return self._pricing.threshold(min(max(saved, 0.0), 1.0))

    def _worth_it(self, index: Array, left: Array) -> int:
        """How many of these, best first, reach the price, with so much left before each."""
        return self._pricing.worth_it(index, left / self._purse.burst)

    def _unseen(self, now: float, k: int) -> Rows:
        """Sources that were not visited for too long."""
        taken: list[int] = []
        if not (self._floor_share > 0 and k > 0):
            return np.empty(0, dtype=np.int64)

        def decide(row: int, free: float) -> float | None:
            if len(taken) >= k or not self._floor.open:
                return None
            rows = np.array([row])
            cost = float(self._roster.record[row, COST])
            if self._houses.active:
                host, group = self._roster.host[rows], self._roster.group_of(rows)
                ready = self._houses.ready(host, group, np.array([cost]), now)
                free = max(free, float(ready[0][0]), float(ready[1][0]))
            if free > now:
                return free
            if not self._purse.affords(cost):
                return None if self._roster.epoch is None else np.inf
            taken.append(row)
            self._floor.spend(cost)
            self._send(rows, np.array([cost]), now)
            return -np.inf

        self._overdue.visit(now, decide)
        rows = np.array(taken, dtype=np.int64)
        if taken:
            self._calendar.leave(rows)
        return rows

    def _send(self, rows: Rows, cost: Array, now: float) -> None:
        """These are chosen: in flight and paid for."""
        self._purse.spend(float(cost.sum()))
        self._roster.flags[rows] |= IN_FLIGHT
        if self._houses.active:
            self._houses.take(self._roster.host[rows], self._roster.group_of(rows), cost, now)

    # What came of it.

    @_locked
    def crawled(
        self,
        rows: Sequence[int] | Rows,
        now: float,
        estimates: Estimates | Iterable[Estimate] = (),
        *,
        not_before: Sequence[float | None] | npt.ArrayLike | None = None,
        failed: npt.ArrayLike | None = None,
        spent: npt.ArrayLike | None = None,
    ) -> None:
        """These sources were visited.

        Where a visit failed, what waits there still waits, and the source is left alone for a
        while; all others start again at age 0.
        """
        roster, which = self._roster, self._roster.check(rows)
        if not math.isfinite(now):
            raise BadInput(f"now must be an instant in POSIX seconds, got {now}")
        until = None if not_before is None else _instants(not_before, len(which))
        missed = None if failed is None else _per_row("failed", failed, which).astype(bool)
        real = None if spent is None else _per_row("spent", spent, which)
        paid = roster.record[which, COST] * ((roster.flags[which] & IN_FLIGHT) != 0)
        known, moved = self._believe(Estimates.of(estimates))
        # Nothing was changed so far; from here on nothing can fail.
        flying = which[paid > 0]
        if real is not None:
            self._purse.spend(float((real - paid).sum()))
        roster.flags[which] &= ~np.uint8(IN_FLIGHT)
        roster.visited[which] = now
        answered = which
        if missed is not None:
            answered, silent = which[~missed], which[missed]
            roster.any_failed = roster.any_failed or len(silent) > 0
            roster.failures[silent] = np.minimum(roster.failures[silent], 254) + 1
        roster.failures[answered] = 0
        roster.record[answered, SINCE] = roster.gathering_from(np.array([now]))
        if roster.any_observed:
            roster.forget_state(answered)
        if until is not None:
            given = until > -np.inf
            roster.not_before[which[given]] = until[given]
        freed = self._houses.back(self._asked_hosts(flying)) if self._houses.active else []
        if len(known) and not np.array_equal(known, which):
            which = np.union1d(which, known)
        self._replace(which, ahead=True)
        if freed:
            self._replace(np.array(freed))
        self._drift(moved)

    @_locked
    def release(self, rows: Sequence[int] | Rows) -> None:
        """These sources were not visited after all; what they cost stays spent."""
        roster, which = self._roster, self._roster.check(rows)
        which = which[(roster.flags[which] & IN_FLIGHT) != 0]
        roster.flags[which] &= ~np.uint8(IN_FLIGHT)
        freed = self._houses.back(self._asked_hosts(which)) if self._houses.active else []
        self._replace(np.concatenate([which, np.array(freed, dtype=np.int64)]))

    @_locked
    def update(self, estimates: Estimates | Iterable[Estimate]) -> None:
        """Believe something new about some sources."""
        rows, moved = self._believe(Estimates.of(estimates))
        self._replace(rows)
        self._drift(moved)

    def _believe(self, given: Estimates) -> tuple[Rows, float]:
        """Write it down; whose it is, and how much it moved."""
        roster = self._roster
        before = None if given.host is None else roster.host[roster.check(given.row)]
        rows, moved = believe(roster, given, self._purse.check)
        if given.cost is not None:
            self._fit()
        if given.cost is not None or given.host is not None or given.group is not None:
            self._houses.grow(roster.hosts, roster.groups, roster.dearest, self._now)
        if given.host is not None or given.group is not None:
            self._calendar.lanes.moved(rows)
        if before is not None:
            # Who is in flight is still at the host where it was when it was chosen.
            flying = np.flatnonzero(roster.flags[rows] & IN_FLIGHT)
            for row, host in zip(rows[flying].tolist(), before[flying].tolist(), strict=True):
                self._at_host.setdefault(row, host)
        return rows, moved

    def _asked_hosts(self, rows: Rows) -> npt.NDArray[np.int32]:
        """The hosts that these rows in flight were sent to."""
        hosts = self._roster.host[rows]
        if self._at_host:
            for at, row in enumerate(rows.tolist()):
                hosts[at] = self._at_host.pop(row, hosts[at])
        return hosts

    @_locked
    def observe(self, rows: Sequence[int] | Rows, state: npt.ArrayLike, now: float) -> None:
        """So much value waits there now, seen or predicted: the index follows it from now on."""
        which = self._roster.check(rows)
        seen = np.broadcast_to(np.asarray(state, dtype=float), which.shape)
        if not (np.isfinite(seen) & (seen >= 0)).all():
            raise BadInput("state must be finite and not negative")
        self._roster.see(which, seen, self._tick(now))
        self._replace(which)

    # Who there is, and what is allowed.

    @_locked
    def add(self, fleet: Fleet, *, group: Sequence[str] | None = None) -> Rows:
        """New sources, never visited; the answer is their rows."""
        roster, n = self._roster, len(fleet)
        self._purse.check(float(fleet.cost.max(initial=0.0)))
        never = np.full(n, -np.inf)
        rows = roster.add(fleet, group=group, last=never, not_before=never)
        self._fit()
        self._houses.grow(roster.hosts, roster.groups, roster.dearest, self._now)
        self._calendar.lanes.moved(rows)
        self._calendar.welcome(self._now)
        self._overdue.insert(rows)
        self._drift(0.0, new=n)
        return rows

    @_locked
    def remove(self, rows: int | Sequence[int] | Rows) -> None:
        """Never choose these sources again; their row numbers stay taken."""
        which = self._roster.check(rows)
        self._roster.flags[which] |= REMOVED
        self._calendar.leave(which)
        self._drift(0.0, new=len(which))

    @_locked
    def pause(self, rows: int | Sequence[int] | Rows, until: float = np.inf) -> None:
        """Do not choose these sources before then; an instant in the past lets them go on."""
        which = self._roster.check(rows)
        self._roster.column("paused", np.float64, -np.inf)[which] = until
        self._replace(which)

    @_locked
    def block_host(self, host: str, until: float) -> None:
        """Leave a host alone until then: it said so (Retry-After)."""
        code = int(self._roster.host_codes([host])[0])
        roster = self._roster
        self._houses.grow(roster.hosts, roster.groups, roster.dearest, self._now)
        sooner = until < self._houses.blocked[code]
        self._houses.blocked[code] = until
        self._houses.any_blocked = True
        if sooner:
            # Who was told to wait longer has to be told.
            self._houses.waiting.pop(code, None)
            own = np.flatnonzero(roster.host[: roster.n] == code)
            self._replace(own[~roster.out(own)])

    @_locked
    def set_budget(self, budget: float, now: float) -> None:
        """Spend this much from now on."""
        self._purse.fill(self._tick(now))
        self._floor.fill(self._now)
        self._purse.set_budget(budget, self._roster.dearest)
        self._floor.set_budget(budget * self._floor_share, self._roster.dearest)
        self._steer()

    @_locked
    def throttle(self, share: float, now: float) -> None:
        """Use the budget only to this share: whoever reads what is crawled cannot keep up."""
        if not 0 <= share <= 1:
            raise BadInput(f"share must lie between 0 and 1, got {share}")
        self._purse.fill(self._tick(now))
        self._floor.fill(self._now)
        # The price is not solved anew: the share trembles, and an empty purse takes the best.
        self._purse.share = self._floor.share = share

    # Inside.

    def _tick(self, now: float) -> float:
        """The time, which does not go back."""
        if not math.isfinite(now):
            raise BadInput(f"now must be an instant in POSIX seconds, got {now}")
        if now < self._now - SLACK_S:
            raise BadInput(
                f"time went back by {self._now - now:g} s, more than {SLACK_S:g} s:"
                " set the clock right, or build the scheduler anew from the store"
            )
        self._now = max(now, self._now)
        return self._now

    def _fit(self) -> None:
        """The purses hold the dearest crawl."""
        self._purse.fit(self._roster.dearest)
        self._floor.fit(self._roster.dearest)

    def _replace(self, rows: Rows, *, ahead: bool = False) -> None:
        """Something about these sources changed: find them their place anew."""
        in_order = np.sort(rows)
        if (in_order[1:] == in_order[:-1]).any():
            rows = np.unique(rows)
        self._calendar.leave(rows)
        rows = rows[~self._roster.out(rows)]
        self._calendar.place(rows, self._now, ahead=ahead)
        self._overdue.insert(rows)

    def _drift(self, moved: float, *, new: int = 0) -> None:
        """Count changes, and solve for the price again when they have added up."""
        self._moved += moved
        self._new += new
        if abs(self._moved) + self._new > _MOVED * max(len(self), 1):
            self._solve_again()

    def _steer(self) -> None:
        """Solve for the price again if the budget is quite different now."""
        if abs(self.budget - self._pace) > _SAME_BUDGET * self._pace:
            self._solve_again()

    def _solve_again(self) -> None:
        before, self._solved, self._moved = self._solved, self._solve(_SAMPLE), 0.0
        self._new = 0
        if before > 0 and self._solved > 0:
            self._pricing.steer(self._solved / before)
        else:
            self._pricing = Pricing(self._solved)

    def _solve(self, sources: int) -> float:
        """The price of the relaxed problem, on a sample where there are more sources."""
        roster, pace = self._roster, self._purse.budget
        self._pace = pace
        stride = -(-roster.n // sources) if roster.n else 1
        rows = np.arange(0, roster.n, stride)
        rows = rows[(roster.flags[rows] & REMOVED) == 0]
        if not len(rows):
            self._saves = False
            return 0.0
        sample = roster.part(rows)
        found = relax(sample, pace / stride, roster.epoch)
        dear = sample.cost > pace
        mixed = roster.cheapest < roster.dearest
        self._saves = roster.epoch is not None and mixed and bool((found.rate[dear] > 0).any())
        return found.price

    def _first_level(self) -> float:
        """A level at which the pool begins with a few more than the first decision takes."""
        roster = self._roster
        stride = -(-roster.n // _SAMPLE) if roster.n else 1
        rows = np.arange(0, roster.n, stride)
        if not len(rows):
            return 0.0
        index = roster.index(rows, roster.look_up(rows), self._now)
        many = 4 * max(self._purse.left, self._purse.budget, 0.0) / roster.cheapest + 256
        keep = min(int(many / stride) + 1, len(rows))
        return max(float(np.partition(index, len(rows) - keep)[len(rows) - keep]), self.price)


def _intervals(
    least: npt.ArrayLike, most: npt.ArrayLike, n: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Minimum and maximum interval, checked."""
    low, high = np.asarray(least, dtype=float), np.asarray(most, dtype=float)
    for name, given in (("min_interval", low), ("max_interval", high)):
        if given.shape not in ((), (n,)):
            raise BadInput(f"{name} must be a number or have shape ({n},), got {given.shape}")
    bad = ~((low >= 0) & (low < high))
    if bad.any():
        at = int(np.argmax(bad))
        one = [float(np.broadcast_to(given, bad.shape).flat[at]) for given in (low, high)]
        raise BadInput(
            f"min_interval {one[0]:g} must not be negative"
            f" and must lie below max_interval {one[1]:g}"
        )
    return low, high


def _per_row(name: str, given: npt.ArrayLike, rows: Rows) -> Array:
    """One number per row, or one for all; finite and not negative."""
    try:
        found = np.asarray(given, dtype=np.float64)
        found = np.broadcast_to(found, rows.shape)
    except (TypeError, ValueError):
        raise BadInput(f"{name} must be one value per row, {len(rows)} of them") from None
    if not (np.isfinite(found) & (found >= 0)).all():
        raise BadInput(f"{name} must be finite and not negative")
    return found


def _instants(given: Sequence[float | None] | npt.ArrayLike | None, n: int) -> Array:
    """POSIX seconds per source; -inf for what never was."""
    if given is None:
        return np.full(n, -np.inf)
    array = np.array(given, dtype=np.float64)
    if array.shape != (n,):
        raise BadInput(f"{n} instants are needed, one per source, got shape {array.shape}")
    return np.where(np.isnan(array), -np.inf, array)
