"""Which sources now: the best index within the budget, exactly, whatever the number of sources."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.estimate import Estimate, Estimates
from dayfly.model import Array, Fleet, Rows, Source
from dayfly.schedule import arguments
from dayfly.schedule.arguments import (
    count,
    each_once,
    groups,
    instant,
    instants,
    intervals,
    not_nan,
    per_row,
)
from dayfly.schedule.beliefs import believe
from dayfly.schedule.calendar import Calendar
from dayfly.schedule.chooser import Chooser
from dayfly.schedule.forecast import Explanation, explain
from dayfly.schedule.limits import Houses, Limits
from dayfly.schedule.market import SAMPLE, Market
from dayfly.schedule.overdue import Door, Overdue
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
        arguments.share("floor_share", floor_share)
        instant("now", now)
        dearest = float(fleet.cost.max(initial=0.0))
        purse = Purse(budget, now, epoch=epoch, burst=burst, dearest=dearest)
        least, most = intervals(min_interval, max_interval, n)
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
        group = groups(group, n)
        visited = instants(last, n)
        self._roster.add(fleet, group=group, last=visited, not_before=instants(not_before, n))
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
        self._market = Market(roster, purse)
        self._place_all()

    def _place_all(self) -> None:
        """Find everybody a place in the calendar."""
        self._overdue = Overdue(self._roster)
        self._calendar = Calendar(self._roster)
        self._calendar.start(self._market.first_level(self._now), self._now)
        self._chooser = Chooser(
            self._roster,
            self._houses,
            self._purse,
            self._calendar,
            self._market.asked,
            self._market.worth_it,
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
            "market": self._market.kept,
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
        self._market = Market(self._roster, self._purse, settings["market"])
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
        return self._market.price

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
        return promise(self._roster, self._market.pricing.base, pace / (epoch or 1.0), SAMPLE)

    # The decision.

    @_locked
    def due(self, now: float, k: int) -> Rows:
        """At most k rows to crawl now, best first; they are in flight until `crawled` or `release`.

        First sources that were not visited for `max_interval` (the longest unseen first, within
        their share of the budget), then by index, ties to the lower row. Whoever breaks a
        constraint or does not fit the remaining budget is passed over. In continuous time only
        sources whose index reaches the price; in slotted time the budget is filled.
        """
        count("k", k)
        now = self._tick(now)
        self._purse.fill(now)
        self._floor.fill(now)
        if self._purse.share <= 0:
            k = 0  # whoever reads what is crawled stands still: savings would only queue up
        first = self._unseen(now, k)
        chosen = self._chooser.best(now, k - len(first))
        self._send(chosen.rows, chosen.cost, now)
        self._chooser.tidy(now)
        self._market.learn(now - self._looked, chosen.marginal, chosen.ended)
        self._looked = now
        self._calls += 1
        self._chosen += len(first) + len(chosen.rows)
        return np.concatenate([first, chosen.rows]) if len(first) else chosen.rows

    def _unseen(self, now: float, k: int) -> Rows:
        """Sources that were not visited for too long."""
        taken: list[int] = []
        if not (self._floor_share > 0 and k > 0):
            return np.empty(0, dtype=np.int64)

        shut: dict[Door, float] = {}

        def decide(row: int, free: float) -> tuple[float | None, Door | None]:
            if len(taken) >= k or not self._floor.open:
                return None, None
            if free > now:
                return free, None
            cost = float(self._roster.record[row, COST])
            if self._houses.active:
                until, door = self._door(row, cost, now, shut)
                if until > now:
                    return until, door
            if not self._purse.affords(cost):
                return (None if self._roster.epoch is None else np.inf), None
            taken.append(row)
            shut.clear()
            self._floor.spend(cost)
            self._send(np.array([row]), np.array([cost]), now)
            return -np.inf, None

        self._overdue.visit(now, decide)
        rows = np.array(taken, dtype=np.int64)
        if taken:
            self._calendar.leave(rows)
        return rows

    def _door(
        self, row: int, cost: float, now: float, shut: dict[Door, float]
    ) -> tuple[float, Door | None]:
        """Until when its host or group does not let this source in, and which of them.

        None where that is so only for its cost: somebody cheaper may be let in.
        """
        rows = np.array([row])
        host: Door = ("host", int(self._roster.host[row]))
        group: Door = ("group", int(self._roster.group_of(rows)[0]))
        for door in (host, group):
            if door in shut:
                return shut[door], door
        codes = np.array([host[1]]), np.array([group[1]])
        ready = self._houses.ready(*codes, np.array([cost]), now)
        for door, until in ((host, float(ready[0][0])), (group, float(ready[1][0]))):
            if until > now and self._chooser.passes_over:
                return until, None
            if until > now:
                shut[door] = until
                return until, door
        return now, None

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
        roster, which = self._roster, each_once(self._roster.check(rows))
        instant("now", now)
        until = None if not_before is None else instants(not_before, len(which))
        missed = None if failed is None else per_row("failed", failed, which).astype(bool)
        real = None if spent is None else per_row("spent", spent, which)
        paid = roster.record[which, COST] * ((roster.flags[which] & IN_FLIGHT) != 0)
        known, moved = self._believe(Estimates.of(estimates))
        # Beliefs are written; from here on nothing can fail.
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
        hosts = self._asked_hosts(flying)
        self._overdue.wake(("host", host) for host in hosts.tolist())
        freed = self._houses.back(hosts) if self._houses.active else []
        if len(known) and not np.array_equal(known, which):
            which = np.union1d(which, known)
        self._replace(which, ahead=True)
        if freed:
            self._replace(np.array(freed))
        self._market.drift(moved)

    @_locked
    def release(self, rows: Sequence[int] | Rows) -> None:
        """These sources were not visited after all; what they cost stays spent."""
        roster, which = self._roster, np.unique(self._roster.check(rows))
        which = which[(roster.flags[which] & IN_FLIGHT) != 0]
        roster.flags[which] &= ~np.uint8(IN_FLIGHT)
        hosts = self._asked_hosts(which)
        self._overdue.wake(("host", host) for host in hosts.tolist())
        freed = self._houses.back(hosts) if self._houses.active else []
        self._replace(np.concatenate([which, np.array(freed, dtype=np.int64)]))

    @_locked
    def update(self, estimates: Estimates | Iterable[Estimate]) -> None:
        """Believe something new about some sources."""
        rows, moved = self._believe(Estimates.of(estimates))
        self._replace(rows)
        self._market.drift(moved)

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
        seen = per_row("state", state, which)
        self._roster.see(which, seen, self._tick(now))
        self._replace(which)

    # Who there is, and what is allowed.

    @_locked
    def add(self, fleet: Fleet, *, group: Sequence[str] | None = None) -> Rows:
        """New sources, never visited; the answer is their rows."""
        roster, n = self._roster, len(fleet)
        group = groups(group, n)
        self._purse.check(float(fleet.cost.max(initial=0.0)))
        never = np.full(n, -np.inf)
        rows = roster.add(fleet, group=group, last=never, not_before=never)
        self._fit()
        self._houses.grow(roster.hosts, roster.groups, roster.dearest, self._now)
        self._calendar.lanes.moved(rows)
        self._calendar.welcome(self._now)
        self._overdue.insert(rows)
        self._market.drift(new=n)
        return rows

    @_locked
    def remove(self, rows: int | Sequence[int] | Rows) -> None:
        """Never choose these sources again; their row numbers stay taken."""
        which = self._roster.check(rows)
        self._roster.flags[which] |= REMOVED
        self._calendar.leave(which)
        self._market.drift(new=len(which))

    @_locked
    def pause(self, rows: int | Sequence[int] | Rows, until: float = np.inf) -> None:
        """Do not choose these sources before then; an instant in the past lets them go on."""
        which = self._roster.check(rows)
        not_nan("until", until)
        self._roster.column("paused", np.float64, -np.inf)[which] = until
        self._replace(which)

    @_locked
    def block_host(self, host: str, until: float) -> None:
        """Leave a host alone until then: it said so (Retry-After)."""
        not_nan("until", until)
        code = int(self._roster.host_codes([host])[0])
        roster = self._roster
        self._houses.grow(roster.hosts, roster.groups, roster.dearest, self._now)
        sooner = until < self._houses.blocked[code]
        self._houses.blocked[code] = until
        self._houses.any_blocked = True
        if sooner:
            # Who was told to wait longer has to be told.
            self._overdue.wake([("host", code)])
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
        self._market.budget_changed()

    @_locked
    def throttle(self, share: float, now: float) -> None:
        """Use the budget only to this share: whoever reads what is crawled cannot keep up."""
        portion = arguments.share("share", share)
        self._purse.fill(self._tick(now))
        self._floor.fill(self._now)
        # The price is not solved anew: the share trembles, and an empty purse takes the best.
        self._purse.share = self._floor.share = portion

    # Inside.

    def _tick(self, now: float) -> float:
        """The time, which does not go back."""
        instant("now", now)
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
