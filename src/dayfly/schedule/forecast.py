"""When a source will be crawled, and why not sooner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.index import whittle_index
from dayfly.model import Array, Fleet, Rows
from dayfly.schedule import rests, worth
from dayfly.schedule.limits import Houses
from dayfly.schedule.purse import Purse
from dayfly.schedule.roster import COST, IN_FLIGHT, REMOVED, SINCE, Roster


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a source waits, or that it does not."""

    row: int
    #: Seconds since its last visit; infinite before the first.
    age: float
    #: Value expected to wait there now.
    waiting: float
    #: Worth of a crawl now, per unit of cost, and the price of one unit.
    index: float
    price: float
    #: What its host or group adds to the price, because it is asked for more than it allows.
    host_price: float
    #: When it will probably be crawled, POSIX seconds: a forecast that moves with price and belief.
    due: float
    #: What holds it back: removed, paused, in flight, not_before, min_interval, back-off, blocked
    #: host, host spacing, host parallel, host budget, group budget, price, budget; empty if
    #: nothing does.
    held_by: str
    #: Until when, POSIX seconds; None where nobody knows.
    until: float | None


def explain(
    roster: Roster,
    houses: Houses,
    purse: Purse,
    rows: Rows,
    now: float,
    *,
    price: float,
    host_price: float,
) -> Explanation:
    """What this source is worth now, when it is due, and what holds it back until then."""
    record = roster.look_up(rows)
    one = roster.part(rows, record)
    since, visited = float(record[SINCE, 0]), float(roster.visited[rows[0]])
    longest = due_age(one, price + host_price, roster.epoch)
    begin = since if roster.epoch is None else since * roster.epoch
    ripe = now if np.isneginf(since) else max(begin + longest, now)
    ripe = max(min(ripe, float(rests.overdue_at(roster, rows)[0])), now)
    held_by, until = _hold(roster, houses, rows, record, now)
    if not held_by and ripe > now:
        held_by, until = "price", ripe
    if not held_by:
        ready = purse.peek(float(one.cost[0]), now)
        if ready > now:
            held_by, until = "budget", ready
    return Explanation(
        row=int(rows[0]),
        age=max(now - visited, 0.0),
        waiting=float(worth.waiting(roster, rows, record, now)[0]),
        index=float(worth.index(roster, rows, record, now)[0]),
        price=price,
        host_price=host_price,
        due=max(ripe, now if until is None else until),
        held_by=held_by,
        until=until,
    )


def _hold(
    roster: Roster, houses: Houses, rows: Rows, record: Array, now: float
) -> tuple[str, float | None]:
    """The constraint that holds this source back the longest, by name, and until when."""
    row = int(rows[0])
    if roster.flags[row] & REMOVED:
        return "removed", np.inf
    if roster.flags[row] & IN_FLIGHT:
        return "in flight", None
    paused = roster.optional.get("paused")
    holds = [
        (-np.inf if paused is None else float(paused[row]), "paused"),
        (float(roster.not_before[row]), "not_before"),
        (float(rests.back_off(roster, rows)[0]), "back-off"),
        (float(rests.rested_at(roster, rows, roster.visited[rows])[0]), "min_interval"),
    ]
    group = int(roster.group_of(rows)[0])
    holds += houses.holds(int(roster.host[row]), group, float(record[COST, 0]), now)
    until, name = max((hold for hold in holds if hold[0] > now), default=(None, ""))
    return name, None if name == "host parallel" else until


def due_age(one: Fleet, price: float, epoch: float | None) -> float:
    """Age at which the index of this single source reaches the price; infinite if never.

    Examples
    --------
    >>> source = Fleet(arrival=250, decay=.7)
    >>> due_age(source, 100.0, epoch=1.0), round(due_age(source, 100.0, None), 3)
    (2.0, 1.49)
    """
    age = float(one.harvest.age_at(price * one.cost)[0])
    if epoch is None or not np.isfinite(age):
        return age
    # The slotted index lies above the continuous one: not later than this, perhaps sooner.
    low, high = 0, max(int(np.ceil(age / epoch)), 1)
    while high - low > 1:
        middle = (low + high) // 2
        reached = whittle_index(one, middle * epoch, epoch)[0] >= price
        low, high = (low, middle) if reached else (middle, high)
    return high * epoch
