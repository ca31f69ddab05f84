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
from dayfly.schedule.arguments import count, each_once, groups, instant, instants, per_row
from dayfly.schedule.beliefs import believe
from dayfly.schedule.calendar import Calendar
from dayfly.schedule.chooser import Chooser
from dayfly.schedule.floor import Floor
from dayfly.schedule.forecast import Explanation, explain
from dayfly.schedule.limits import Houses, Limits
from dayfly.schedule.market import SAMPLE, Market
from dayfly.schedule.overdue import Overdue
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
from dayfly.schedule.thrift import Thrift

_DAY = 86400.0
#: How far a clock may go back and count as standing still.
SLACK_S = 5.0
#: How far ahead of the last decision a visit may have ended: a machine may sleep for weeks.
AHEAD_S = 30 * _DAY

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
    #: Notes made, on the agenda or in the front, and of these again because the level fell.
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
        n = len(arguments.of_kind(Fleet, fleet))
        arguments.share("floor_share", floor_share)
        now = instant("now", now)
        dearest = float(fleet.cost.max(initial=0.0))
        purse = Purse(budget, now, epoch=epoch, burst=burst, dearest=dearest)
        least, most = arguments.intervals(min_interval, max_interval, n)
        shared = tuple(
            float(given) if given.ndim == 0 else usual
            for given, usual in ((least, 300.0), (most, 14 * _DAY))
        )
        self._lock = threading.RLock()
        self._roster = Roster(epoch, (shared[0], shared[1]), named=fleet.named)
        self._houses = Houses(arguments.of_kind(Limits, limits or Limits()), epoch)
        self._purse = purse
        own = Purse(budget * floor_share, now, epoch=epoch, burst=None, dearest=dearest, crawls=1.0)
        own.left = dearest if budget * floor_share > 0 else 0.0
        self._now, self._looked = now, now
        group = groups(group, n)
        visited, free = instants("last", last, n), instants("not_before", not_before, n)
        self._roster.add(fleet, group=group, last=visited, not_before=free)
        for name, given in (("least", least), ("most", most)):
            if given.ndim:
                self._roster.column(name, np.float64, getattr(self._roster, name))[:n] = given
        # What an earlier run has just spent is spent: restarts do not bring money.
        spent = float(fleet.cost[visited >= purse.since(now)].sum())
        purse.spend(min(spent, max(purse.left, 0.0)))
        roster = self._roster
        self._houses.grow(roster.hosts, roster.groups, roster.dearest, now)
        self._market = Market(roster, purse)
        self._place_all(own, floor_share)

    def _place_all(self, own: Purse, share: float) -> None:
        """Find everybody a place in the calendar; the floor has a purse of its own and a share."""
        self._floor = Floor(
            self._roster, self._houses, self._purse, own, share, Overdue(self._roster)
        )
        self._calendar = Calendar(self._roster)
        self._calendar.approach.start(self._market.first_level(self._now), self._now)
        self._chooser = Chooser(
            self._roster,
            self._houses,
            self._purse,
            self._calendar,
            self._market.asked,
            self._market.worth_it,
            Thrift(self._roster),
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
            "floor": purse_state(self._floor.own),
            "floor_share": self._floor.share,
            "market": self._market.kept,
            "clock": [self._now, self._looked],
            "at_host": [list(pair) for pair in self._houses.elsewhere.items()],
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
        self._market = Market(self._roster, self._purse, settings["market"])
        self._now, self._looked = settings["clock"]
        self._houses.elsewhere = dict(settings["at_host"])
        own = read_purse(settings["floor"], self._roster.dearest)
        self._place_all(own, settings["floor_share"])
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
        return self._roster.part(arguments.one(self._roster.check(row)))[0]

    @property
    @_locked
    def tally(self) -> Tally:
        """What the decisions took."""
        return Tally(
            calls=self._calls, chosen=self._chosen, scored=self._chooser.scored,
            moved=self._calendar.approach.moved, rekeyed=self._calendar.approach.rekeyed,
            scans=self._chooser.scans + self._floor.overdue.scans,
        )  # fmt: skip

    @_locked
    def explain(self, row: int, now: float) -> Explanation:
        """What this source is worth now, when it is due, and what holds it back until then."""
        rows, now = arguments.one(self._roster.check(row)), instant("now", now)
        price = self.price
        level = self._calendar.approach.lane_level(rows)
        return explain(
            self._roster, self._houses, self._purse, rows, now,
            price=price, host_price=max(level - price, 0.0),
        )  # fmt: skip

    @property
    @_locked
    def promise(self) -> Promise:
        """Whether everybody is visited once per `max_interval`, and if not, how often."""
        pace = self._purse.budget * self._purse.share * self._floor.share
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
        self._floor.own.fill(now)
        if self._purse.share <= 0:
            k = 0  # whoever reads what is crawled stands still: savings would only queue up
        first = self._floor.choose(now, k, passes_over=self._chooser.passes_over, send=self._send)
        if len(first):
            self._calendar.leave(first)
        chosen = self._chooser.best(now, k - len(first))
        self._send(chosen.rows, chosen.cost, now)
        self._chooser.tidy(now)
        self._market.learn(now - self._looked, chosen.marginal, chosen.ended)
        self._looked = now
        self._calls += 1
        self._chosen += len(first) + len(chosen.rows)
        return np.concatenate([first, chosen.rows]) if len(first) else chosen.rows

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
        while; all others start again at age 0. Visits may end any time after the last decision, but
        not a month later: a source that was visited in a far future would never be due.
        """
        roster, which = self._roster, each_once(self._roster.check(rows))
        now = instant("now", now)
        if now > self._now + AHEAD_S:
            raise BadInput(
                f"a visit ended {now - self._now:g} s after the last decision, more than"
                f" {AHEAD_S:g} s: instants are POSIX seconds; if it is true, call due first"
            )
        until = None if not_before is None else instants("not_before", not_before, len(which))
        missed = None if failed is None else per_row("failed", failed, which).astype(bool)
        real = None if spent is None else per_row("spent", spent, which)
        paid = roster.record[which, COST] * ((roster.flags[which] & IN_FLIGHT) != 0)
        known, moved = self._believe(arguments.estimates(estimates))
        # Beliefs are written; from here on nothing can fail.
        back = which[(paid > 0) & ((roster.flags[which] & REMOVED) == 0)]
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
        freed = self._come_back(back)
        if len(known) and not np.array_equal(known, which):
            which = np.union1d(which, known)
        self._replace(which, ahead=np.inf)
        if len(freed):
            self._replace(freed)
        self._market.drift(moved)

    @_locked
    def release(self, rows: Sequence[int] | Rows) -> None:
        """These sources were not visited after all; what they cost stays spent."""
        roster, which = self._roster, np.unique(self._roster.check(rows))
        flags = roster.flags[which]
        back = which[(flags & (IN_FLIGHT | REMOVED)) == IN_FLIGHT]
        roster.flags[which] &= ~np.uint8(IN_FLIGHT)
        self._replace(np.concatenate([back, self._come_back(back)]))

    @_locked
    def update(self, estimates: Estimates | Iterable[Estimate]) -> None:
        """Believe something new about some sources."""
        rows, moved = self._believe(arguments.estimates(estimates))
        self._replace(rows)
        self._market.drift(moved)

    def _believe(self, given: Estimates) -> tuple[Rows, float]:
        """Write it down; whose it is, and how much it moved."""
        roster = self._roster
        before = None if given.host is None else roster.host[roster.check(given.row)]
        rows, moved = believe(roster, given, self._purse.check)
        if given.cost is not None:
            self._fit()
            self._chooser.thrift.note(rows)
        if given.cost is not None or given.host is not None or given.group is not None:
            self._houses.grow(roster.hosts, roster.groups, roster.dearest, self._now)
        if given.host is not None or given.group is not None:
            self._calendar.lanes.moved(rows)
        if before is not None:
            flying = np.flatnonzero((roster.flags[rows] & (IN_FLIGHT | REMOVED)) == IN_FLIGHT)
            self._houses.changed(rows[flying], before[flying])
        return rows, moved

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
        roster, n = self._roster, len(arguments.of_kind(Fleet, fleet))
        group = groups(group, n)
        self._purse.check(float(fleet.cost.max(initial=0.0)))
        never = np.full(n, -np.inf)
        rows = roster.add(fleet, group=group, last=never, not_before=never)
        self._fit()
        self._houses.grow(roster.hosts, roster.groups, roster.dearest, self._now)
        self._calendar.lanes.moved(rows)
        self._chooser.thrift.note(rows)
        self._calendar.approach.welcome(self._now)
        self._floor.overdue.insert(rows)
        self._market.drift(new=n)
        return rows

    @_locked
    def remove(self, rows: int | Sequence[int] | Rows) -> None:
        """Never choose these sources again; their row numbers stay taken.

        Whoever is in flight makes room at its host at once: perhaps nobody will tell of it.
        """
        flags, which = self._roster.flags, np.unique(self._roster.check(rows))
        which = which[(flags[which] & REMOVED) == 0]
        flags[which] |= REMOVED
        self._calendar.leave(which)
        self._replace(self._come_back(which[(flags[which] & IN_FLIGHT) != 0]))
        self._chooser.thrift.note(which)
        self._market.drift(new=len(which))

    @_locked
    def pause(self, rows: int | Sequence[int] | Rows, until: float = np.inf) -> None:
        """Do not choose these sources before then; an instant in the past lets them go on."""
        which, until = self._roster.check(rows), arguments.until("until", until)
        self._roster.column("paused", np.float64, -np.inf)[which] = until
        self._replace(which)

    @_locked
    def block_host(self, host: str, until: float) -> None:
        """Leave a host alone until then: it said so (Retry-After).

        That no source has this host now is no mistake: it is remembered for those to come.
        """
        until, roster = arguments.until("until", until), self._roster
        code = int(roster.host_codes([arguments.name("host", host)])[0])
        self._houses.grow(roster.hosts, roster.groups, roster.dearest, self._now)
        sooner = until < self._houses.blocked[code]
        self._houses.blocked[code] = until
        self._houses.any_blocked = True
        if sooner:
            # Who was told to wait longer has to be told.
            self._floor.overdue.wake([("host", code)])
            self._houses.waiting.pop(code, None)
            own = self._calendar.lanes.at_host(code)
            self._replace(own[~roster.out(own)])

    @_locked
    def set_budget(self, budget: float, now: float) -> None:
        """Spend this much from now on."""
        self._purse.fill(self._tick(now))
        self._floor.own.fill(self._now)
        self._purse.set_budget(budget, self._roster.dearest)
        self._floor.own.set_budget(budget * self._floor.share, self._roster.dearest)
        self._market.budget_changed()

    @_locked
    def throttle(self, share: float, now: float) -> None:
        """Use the budget only to this share: whoever reads what is crawled cannot keep up."""
        portion = arguments.share("share", share)
        self._purse.fill(self._tick(now))
        self._floor.own.fill(self._now)
        # The price is not solved anew: the share trembles, and an empty purse takes the best.
        self._purse.share = self._floor.own.share = portion

    # Inside.

    def _tick(self, now: float) -> float:
        """The time, which does not go back."""
        now = instant("now", now)
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
        self._floor.own.fit(self._roster.dearest)

    def _come_back(self, rows: Rows) -> Rows:
        """These are not at their hosts any more; the answer is who waited for that."""
        hosts = self._houses.where(rows, self._roster.host[rows])
        self._floor.overdue.wake(("host", host) for host in hosts.tolist())
        return self._houses.back(hosts)

    def _replace(self, rows: Rows, *, ahead: float = -np.inf) -> None:
        """Something about these sources changed: find them their place anew."""
        in_order = np.sort(rows)
        if (in_order[1:] == in_order[:-1]).any():
            rows = np.unique(rows)
        self._calendar.leave(rows)
        rows = rows[~self._roster.out(rows)]
        self._calendar.approach.place(rows, self._now, ahead=ahead)
        self._floor.overdue.insert(rows)
