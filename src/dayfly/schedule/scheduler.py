"""Which sources now: the best index within the budget, exactly, whatever the number of sources."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.estimate import Estimate, Estimates
from dayfly.model import Fleet, Rows, Source
from dayfly.schedule import arguments
from dayfly.schedule.arguments import count, each_once, groups, instant, instants, per_row
from dayfly.schedule.desk import Desk
from dayfly.schedule.forecast import Explanation
from dayfly.schedule.limits import Houses, Limits
from dayfly.schedule.promise import Promise
from dayfly.schedule.purse import Purse
from dayfly.schedule.roster import Roster
from dayfly.schedule.state import desk_state, read_desk
from dayfly.schedule.tally import Tally
from dayfly.store.base import Funds

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
    funds
        What an earlier run had left, and what it had learnt of the price: this one goes on with
        both.
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
        funds: Funds | None = None,
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
        houses = Houses(arguments.of_kind(Limits, limits or Limits()), epoch)
        own = Purse(budget * floor_share, now, epoch=epoch, burst=None, dearest=dearest, crawls=1.0)
        own.left = dearest if budget * floor_share > 0 else 0.0
        group = groups(group, n)
        visited, free = instants("last", last, n), instants("not_before", not_before, n)
        roster = Roster(epoch, (shared[0], shared[1]), named=fleet.named)
        roster.add(fleet, group=group, last=visited, not_before=free)
        for name, given in (("least", least), ("most", most)):
            if given.ndim:
                roster.column(name, np.float64, getattr(roster, name))[:n] = given
        # What an earlier run has just spent is spent: restarts do not bring money.
        if funds is not None:
            purse.go_on(funds.left, funds.time, now)
        else:
            spent = float(fleet.cost[visited >= purse.since(now)].sum())
            purse.spend(min(spent, max(purse.left, 0.0)))
        houses.grow(roster.hosts.known, roster.groups.known, roster.dearest, now)
        self._lock = threading.RLock()
        self._desk = Desk(roster, houses, purse, own, floor_share, now)
        if funds is not None:
            self._desk.market.go_on(funds.markup)

    @_locked
    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """All that decisions depend on: settings, and columns that are not copies."""
        return desk_state(self._desk)

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], columns: Mapping[str, npt.NDArray[Any]]
    ) -> Scheduler:
        """The scheduler whose `state` this is: it decides the same, bit for bit."""
        self = object.__new__(cls)
        self._lock = threading.RLock()
        self._desk = read_desk(settings, columns)
        return self

    def __len__(self) -> int:
        return self._desk.roster.n

    # What it knows.

    @property
    def budget(self) -> float:
        """Cost units per second, or per epoch if there is one."""
        return self._desk.purse.budget

    @property
    @_locked
    def pace(self) -> float:
        """Cost units per second."""
        return self._desk.purse.budget / (self._desk.purse.epoch or 1.0)

    @property
    @_locked
    def fleet(self) -> Fleet:
        """The sources as they are believed to be now."""
        return self._desk.roster.fleet()

    @property
    @_locked
    def price(self) -> float:
        """Worth of one unit of budget; in continuous time nobody is crawled below it."""
        return self._desk.market.price

    @property
    @_locked
    def funds(self) -> Funds:
        """What is left of the budget, and what was learnt of the price: for the next run."""
        purse = self._desk.purse
        return Funds(time=purse.filled_at, left=purse.left, markup=self._desk.market.markup)

    @_locked
    def source(self, row: int) -> Source:
        """One source as it is believed to be now."""
        return self._desk.roster.part(arguments.one(self._rows(row)))[0]

    @property
    @_locked
    def tally(self) -> Tally:
        """What the decisions took."""
        return self._desk.tally()

    @_locked
    def explain(self, row: int, now: float) -> Explanation:
        """What this source is worth now, when it is due, and what holds it back until then."""
        rows = arguments.one(self._rows(row))
        return self._desk.explain(rows, instant("now", now))

    @property
    @_locked
    def promise(self) -> Promise:
        """Whether everybody is visited once per `max_interval`, and if not, how often."""
        return self._desk.promise()

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
        self._tick(now)
        return self._desk.decide(k)

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
        which = each_once(self._rows(rows))
        now, before = instant("now", now), self._desk.now
        if now > before + AHEAD_S:
            raise BadInput(
                f"a visit ended {now - before:g} s after the last decision, more than"
                f" {AHEAD_S:g} s: instants are POSIX seconds; if it is true, call due first"
            )
        until = None if not_before is None else instants("not_before", not_before, len(which))
        missed = None if failed is None else per_row("failed", failed, which).astype(bool)
        real = None if spent is None else per_row("spent", spent, which)
        given = arguments.estimates(estimates)
        self._desk.crawled(which, now, given, until=until, missed=missed, spent=real)

    @_locked
    def release(self, rows: Sequence[int] | Rows) -> None:
        """These sources were not visited after all; what they cost stays spent."""
        self._desk.release(np.unique(self._rows(rows)))

    @_locked
    def update(self, estimates: Estimates | Iterable[Estimate]) -> None:
        """Believe something new about some sources."""
        self._desk.update(arguments.estimates(estimates))

    @_locked
    def observe(self, rows: Sequence[int] | Rows, state: npt.ArrayLike, now: float) -> None:
        """So much value waits there now, seen or predicted: the index follows it from now on."""
        which = self._rows(rows)
        seen = per_row("state", state, which)
        self._tick(now)
        self._desk.observe(which, seen)

    # Who there is, and what is allowed.

    @_locked
    def add(
        self,
        fleet: Fleet,
        *,
        group: Sequence[str] | None = None,
        max_interval: npt.ArrayLike | None = None,
    ) -> Rows:
        """New sources, never visited; the answer is their rows.

        Their longest interval is that of all unless they bring their own.
        """
        n = len(arguments.of_kind(Fleet, fleet))
        group = groups(group, n)
        most = None
        if max_interval is not None:
            _, most = arguments.intervals(self._desk.roster.least, max_interval, n)
        self._desk.purse.check(float(fleet.cost.max(initial=0.0)))
        return self._desk.add(fleet, group, most)

    @_locked
    def remove(self, rows: int | Sequence[int] | Rows) -> None:
        """Never choose these sources again; their row numbers stay taken.

        Whoever is in flight makes room at its host at once: perhaps nobody will tell of it.
        """
        self._desk.remove(np.unique(self._rows(rows)))

    @_locked
    def pause(self, rows: int | Sequence[int] | Rows, until: float = np.inf) -> None:
        """Do not choose these sources before then; an instant in the past lets them go on."""
        self._desk.pause(self._rows(rows), arguments.until("until", until))

    @_locked
    def block_host(self, host: str, until: float) -> None:
        """Leave a host alone until then: it said so (Retry-After).

        That no source has this host now is no mistake: it is remembered for those to come.
        """
        until = arguments.until("until", until)
        self._desk.block_host(arguments.name("host", host), until)

    @_locked
    def set_budget(self, budget: float, now: float) -> None:
        """Spend this much from now on."""
        self._tick(now)
        self._desk.set_budget(budget)

    @_locked
    def throttle(self, share: float, now: float) -> None:
        """Use the budget only to this share: whoever reads what is crawled cannot keep up."""
        portion = arguments.share("share", share)
        self._tick(now)
        self._desk.throttle(portion)

    # Inside.

    def _rows(self, given: int | Sequence[int] | Rows) -> Rows:
        """Rows that there are."""
        return self._desk.roster.check(given)

    def _tick(self, now: float) -> None:
        """It is so late now; time does not go back."""
        now, before = instant("now", now), self._desk.now
        if now < before - SLACK_S:
            raise BadInput(
                f"time went back by {before - now:g} s, more than {SLACK_S:g} s:"
                " set the clock right, or build the scheduler anew from the store"
            )
        self._desk.now = max(now, before)
