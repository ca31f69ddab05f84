"""The parts of a scheduler, joined: each decision, and each event, told to all that must know.

Nothing is locked or checked here: that is for `scheduler.py`, the face. Only beliefs and budgets
are checked where they are written.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dayfly.estimate import Estimates
from dayfly.model import Array, Fleet, Mask, Rows
from dayfly.schedule import worth
from dayfly.schedule.beliefs import believe
from dayfly.schedule.calendar import Calendar
from dayfly.schedule.chooser import Chooser
from dayfly.schedule.floor import Floor
from dayfly.schedule.forecast import Explanation, explain
from dayfly.schedule.limits import Houses
from dayfly.schedule.market import SAMPLE, Market
from dayfly.schedule.overdue import Overdue
from dayfly.schedule.promise import Promise, promise
from dayfly.schedule.purse import Purse
from dayfly.schedule.roster import COST, IN_FLIGHT, REMOVED, SINCE, Roster
from dayfly.schedule.tally import Tally
from dayfly.schedule.thrift import Thrift


class Desk:
    """Where it is decided who is next, and where everything that happens is written down.

    Rows are arrays of rows that there are.
    """

    def __init__(
        self,
        roster: Roster,
        houses: Houses,
        purse: Purse,
        own: Purse,
        share: float,
        now: float,
        *,
        looked: float | None = None,
        kept: Sequence[float] | None = None,
    ) -> None:
        """The floor has a purse of its own and a share; `kept` is what a market remembers."""
        self.roster, self.houses, self.purse = roster, houses, purse
        #: The time, and that of the last decision.
        self.now, self.looked = now, now if looked is None else looked
        self.market = Market(roster, purse, kept)
        self.floor = Floor(roster, houses, purse, own, share, Overdue(roster))
        self.calendar = Calendar(roster)
        self.calendar.approach.start(self.market.first_level(now), now)
        self.chooser = Chooser(
            roster, houses, purse, self.calendar, self.market.asked, self.market.worth_it,
            Thrift(roster),
        )  # fmt: skip
        self._calls = self._chosen = 0

    # The decision.

    def decide(self, k: int) -> Rows:
        """At most k rows to crawl now: the long unseen first, then the best by index."""
        now = self.now
        self._fill()
        if self.purse.share <= 0:
            k = 0  # whoever reads what is crawled stands still: savings would only queue up
        first = self.floor.choose(now, k, passes_over=self.chooser.passes_over)
        if len(first):
            self.calendar.leave(first)
        chosen = self.chooser.best(now, k - len(first))
        self._send(chosen.rows, chosen.cost, now)
        self.chooser.tidy(now)
        self.market.learn(now - self.looked, chosen.marginal, chosen.ended)
        self.looked = now
        self._calls += 1
        self._chosen += len(first) + len(chosen.rows)
        return np.concatenate([first, chosen.rows]) if len(first) else chosen.rows

    def _send(self, rows: Rows, cost: Array, now: float) -> None:
        """These are chosen: in flight and paid for."""
        self.purse.spend(float(cost.sum()))
        self.roster.flags[rows] |= IN_FLIGHT
        if self.houses.active:
            self.houses.take(self.roster.host[rows], self.roster.group_of(rows), cost, now)

    # What came of it.

    def crawled(
        self,
        rows: Rows,
        now: float,
        given: Estimates,
        *,
        until: Array | None,
        missed: Mask | None,
        spent: Array | None,
    ) -> None:
        """These were visited, each once: until when they want peace, who failed, what it cost."""
        roster = self.roster
        paid = roster.record[rows, COST] * ((roster.flags[rows] & IN_FLIGHT) != 0)
        known, moved = self._believe(given)
        # Beliefs are written; from here on nothing can fail.
        back = rows[(paid > 0) & ((roster.flags[rows] & REMOVED) == 0)]
        if spent is not None:
            self.purse.spend(float((spent - paid).sum()))
        roster.flags[rows] &= ~np.uint8(IN_FLIGHT)
        roster.visited[rows] = now
        answered = rows
        if missed is not None:
            answered, silent = rows[~missed], rows[missed]
            roster.any_failed = roster.any_failed or len(silent) > 0
            roster.failures[silent] = np.minimum(roster.failures[silent], 254) + 1
        roster.failures[answered] = 0
        roster.record[answered, SINCE] = roster.gathering_from(np.array([now]))
        if roster.any_observed:
            worth.forget_state(roster, answered)
        if until is not None:
            told = until > -np.inf
            roster.not_before[rows[told]] = until[told]
        freed = self._come_back(back)
        if len(known) and not np.array_equal(known, rows):
            rows = np.union1d(rows, known)
        self._replace(rows, ahead=np.inf)
        if len(freed):
            self._replace(freed)
        self.market.drift(moved)

    def release(self, rows: Rows) -> None:
        """These, each once, were not visited after all."""
        flags = self.roster.flags
        back = rows[(flags[rows] & (IN_FLIGHT | REMOVED)) == IN_FLIGHT]
        flags[rows] &= ~np.uint8(IN_FLIGHT)
        self._replace(np.union1d(back, self._come_back(back)))

    def update(self, given: Estimates) -> None:
        """Believe something new."""
        rows, moved = self._believe(given)
        self._replace(rows)
        self.market.drift(moved)

    def _believe(self, given: Estimates) -> tuple[Rows, float]:
        """Write it down; whose it is, and how much it moved."""
        roster = self.roster
        before = None if given.host is None else roster.host[roster.check(given.row)]
        rows, moved = believe(roster, given, self.purse.check)
        if given.cost is not None:
            self._fit()
            self.chooser.thrift.note(rows)
        if given.cost is not None or given.host is not None or given.group is not None:
            self._grow()
        if given.host is not None or given.group is not None:
            self.calendar.lanes.moved(rows)
        if before is not None:
            flying = np.flatnonzero((roster.flags[rows] & (IN_FLIGHT | REMOVED)) == IN_FLIGHT)
            self.houses.changed(rows[flying], before[flying])
        return rows, moved

    def observe(self, rows: Rows, state: Array) -> None:
        """So much value waits there now."""
        worth.see(self.roster, rows, state, self.now)
        self._replace(np.unique(rows))

    # Who there is, and what is allowed.

    def add(self, fleet: Fleet, group: Sequence[str] | None, most: Array | None = None) -> Rows:
        """New sources, never visited; the answer is their rows."""
        never = np.full(len(fleet), -np.inf)
        rows = self.roster.add(fleet, group=group, last=never, not_before=never)
        if most is not None:
            self.roster.column("most", np.float64, self.roster.most)[rows] = most
        self._fit()
        self._grow()
        self.calendar.lanes.moved(rows)
        self.chooser.thrift.note(rows)
        self.calendar.approach.welcome(self.now)
        self.floor.overdue.insert(rows)
        self.market.drift(new=len(rows))
        return rows

    def remove(self, rows: Rows) -> None:
        """Never choose these, each there once, again."""
        flags = self.roster.flags
        rows = rows[(flags[rows] & REMOVED) == 0]
        flags[rows] |= REMOVED
        self.calendar.leave(rows)
        self._replace(self._come_back(rows[(flags[rows] & IN_FLIGHT) != 0]))
        self.chooser.thrift.note(rows)
        self.market.drift(new=len(rows))

    def pause(self, rows: Rows, until: float) -> None:
        """Do not choose these before then."""
        self.roster.column("paused", np.float64, -np.inf)[rows] = until
        self._replace(np.unique(rows))

    def block_host(self, host: str, until: float) -> None:
        """Leave a host alone until then."""
        roster, houses = self.roster, self.houses
        code = int(roster.hosts.codes([host])[0])
        self._grow()
        sooner = until < houses.blocked[code]
        houses.blocked[code] = until
        houses.any_blocked = True
        if sooner:
            # Who was told to wait longer has to be told.
            self.floor.overdue.wake([("host", code)])
            houses.waiting.pop(code, None)
            own = self.calendar.lanes.at_host(code)
            self._replace(own[~roster.out(own)])

    def set_budget(self, budget: float) -> None:
        """Spend this much from now on."""
        self._fill()
        self.purse.set_budget(budget, self.roster.dearest)
        self.floor.own.set_budget(budget * self.floor.share, self.roster.dearest)
        self.market.budget_changed()

    def throttle(self, share: float) -> None:
        """Use the budget only to this share."""
        self._fill()
        # The price is not solved anew: the share trembles, and an empty purse takes the best.
        self.purse.share = self.floor.own.share = share

    # What it knows.

    def explain(self, rows: Rows, now: float) -> Explanation:
        """Why this one row waits, or that it does not."""
        price, level = self.market.price, self.calendar.lanes.level_of(int(rows[0]))
        return explain(
            self.roster, self.houses, self.purse, rows, now,
            price=price, host_price=max(level - price, 0.0),
        )  # fmt: skip

    def promise(self) -> Promise:
        """What the floor can afford."""
        pace = self.purse.budget * self.purse.share * self.floor.share
        epoch = self.roster.epoch
        return promise(self.roster, self.market.pricing.base, pace / (epoch or 1.0), SAMPLE)

    def tally(self) -> Tally:
        """What the decisions took."""
        return Tally(
            calls=self._calls, chosen=self._chosen, scored=self.chooser.scored,
            moved=self.calendar.approach.moved, rekeyed=self.calendar.approach.rekeyed,
            scans=self.chooser.scans + self.floor.overdue.scans,
        )  # fmt: skip

    # Inside.

    def _fill(self) -> None:
        """The purses take in what has come until now."""
        self.purse.fill(self.now)
        self.floor.own.fill(self.now)

    def _fit(self) -> None:
        """The purses hold the dearest crawl."""
        self.purse.fit(self.roster.dearest)
        self.floor.own.fit(self.roster.dearest)

    def _grow(self) -> None:
        """Hosts and groups have room for new names, and for the dearest crawl."""
        roster = self.roster
        self.houses.grow(roster.hosts.known, roster.groups.known, roster.dearest, self.now)

    def _come_back(self, rows: Rows) -> Rows:
        """These are not at their hosts any more; the answer is who waited for that."""
        hosts = self.houses.sent_to(rows, self.roster.host[rows])
        self.floor.overdue.wake(("host", host) for host in hosts.tolist())
        return self.houses.back(hosts)

    def _replace(self, rows: Rows, *, ahead: float = -np.inf) -> None:
        """Something about these sources, each there once, changed: find them their place anew."""
        if not len(rows):
            return
        self.calendar.leave(rows)
        rows = rows[~self.roster.out(rows)]
        self.calendar.approach.place(rows, self.now, ahead=ahead)
        self.floor.overdue.insert(rows)
