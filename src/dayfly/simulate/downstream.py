"""A world with a consumer behind it: what is crawled waits to be read, and fades meanwhile.

Each crawl puts its content into a queue, as much work as the crawl cost. The consumer works at a
given rate, which may change and may be 0, on the content that is worth most at present or in the
order of arrival. Content is delivered when its work is done, and is then worth its value at the
crawl times e^(−decay · time since); the slow part of a two-phase decay is left out. Nothing is
random.

What is delivered cannot exceed, in the long run, the bound of the relaxed problem with the smaller
of budget and mean service rate: every delivery was a crawl, paid for, and worth at most its value
at the crawl.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dayfly.errors import BadInput
from dayfly.model import Array, Fleet, Mask, Rows
from dayfly.schedule import Scheduler
from dayfly.schedule.pressure import Pressure


@dataclass(frozen=True, kw_only=True, eq=False)
class Service:
    """Work per second that a consumer does: `rate[i]` from `since[i]` on, 0 before the first.

    >>> stalled = Service(since=np.array([0., 60., 90.]), rate=np.array([2., 0., 2.]))
    >>> stalled.work(50.0, 100.0)
    40.0
    """

    since: Array
    rate: Array

    def __post_init__(self) -> None:
        ordered = len(self.since) == len(self.rate) > 0 and (np.diff(self.since) > 0).all()
        if not ordered or not (np.isfinite(self.rate) & (self.rate >= 0)).all():
            raise BadInput("service needs rising instants and as many rates that are not negative")

    def work(self, start: float, until: float) -> float:
        """What can be done between two instants."""
        edges = np.clip(np.append(self.since, np.inf), start, until)
        return float(np.dot(np.diff(edges), self.rate))


class Queue:
    """What was crawled and waits to be consumed.

    Parameters
    ----------
    best_first
        Consume what is worth most per work at present; else in the order of arrival.
    """

    def __init__(self, *, best_first: bool = True) -> None:
        self._best_first = best_first
        #: Columns: value at the crawl, its decay, work still to do, instant of the crawl.
        self._items = np.empty((4, 0))

    @property
    def work(self) -> float:
        """What is left to do."""
        return float(self._items[2].sum())

    def put(self, value: Array, decay: Array, work: Array, now: float) -> None:
        """Content arrives."""
        fresh = np.stack([value, decay, work, np.full(len(value), now)])
        self._items = np.concatenate([self._items, fresh], axis=1)

    def serve(self, work: float, start: float, until: float) -> float:
        """Do this much work, evenly between two instants; the answer is the value delivered."""
        if work <= 0 or not self._items.shape[1]:
            return 0.0
        value, decay, left, at = self._items
        if self._best_first:
            worth = value * np.exp(-decay * (start - at)) / left
            self._items = self._items[:, np.argsort(-worth, kind="stable")]
            value, decay, left, at = self._items
        done = np.cumsum(left)
        ready = int(np.searchsorted(done, work * (1 + 1e-12), side="right"))
        when = start + done[:ready] / work * (until - start)
        delivered = value[:ready] * np.exp(-decay[:ready] * (when - at[:ready]))
        rest = self._items[:, ready:].copy()
        if rest.shape[1]:
            rest[2, 0] -= work - (done[ready - 1] if ready else 0.0)
        self._items = rest
        return float(delivered.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Delivery:
    """What reached the consumer's readers, tick by tick; burn-in left out."""

    tick: float
    #: Value that was delivered, and that was crawled.
    delivered: Array
    crawled: Array
    #: Cost of the crawls, and what the budget allowed: its share that was in use.
    spent: Array
    allowed: Array
    #: Work that waits, after that of the tick was done.
    queue: Array
    #: Share of the budget in use.
    share: Array

    @property
    def value(self) -> float:
        """Value delivered per second."""
        return float(self.delivered.mean()) / self.tick


def deliver(
    scheduler: Scheduler,
    truth: Fleet,
    *,
    since: Array,
    ticks: int,
    burn_in: int = 0,
    tick: float = 1.0,
    k: int = 1000,
    service: Service | None = None,
    best_first: bool = True,
    pressure: Pressure | None = None,
    fails: Callable[[float, Rows], Mask] | None = None,
    before: Callable[[float], None] | None = None,
) -> Delivery:
    """Crawl from instant 0 on, with a consumer behind.

    Parameters
    ----------
    scheduler
        Built with `now=0` and `last=since`.
    truth
        The sources as they are; a crawl brings the expected harvest of its age.
    since
        When each source was last visited.
    ticks, burn_in, tick, k
        Decisions that count, after those that do not; time between two, and the most rows of one.
    service, best_first
        What the consumer does, and in which order; None for one that never keeps anybody waiting.
    pressure
        Told the queue at every tick, its answer throttles the scheduler; None crawls on regardless.
    fails
        Which of these visits fail, at an instant: they cost what they cost and bring nothing.
    before
        Called with every instant before its decision.

    Examples
    --------
    One source, a crawl every second, and a consumer that takes two seconds for each:

    >>> fleet = Fleet(arrival=1.0, decay=0.1)
    >>> scheduler = Scheduler(fleet, 1.0, 0.0, min_interval=0.0, last=[-1.0], burst=1.0)
    >>> half = Service(since=np.array([0.0]), rate=np.array([0.5]))
    >>> run = deliver(scheduler, fleet, since=np.array([-1.0]), ticks=100, service=half)
    >>> round(run.queue[-1])
    50
    """
    queue, last = Queue(best_first=best_first), since.copy()
    columns = np.zeros((6, burn_in + ticks))
    delivered, crawled, spent, allowed, waiting, used = columns
    done, share = 0.0, 1.0
    for number in range(burn_in + ticks):
        now = number * tick
        if before is not None:
            before(now)
        if pressure is not None and number:
            old, share = share, pressure.share(now, queue.work, done)
            if share != old:
                scheduler.throttle(share, now)
        rows = scheduler.due(now, k)
        failed = np.zeros(len(rows), bool) if fails is None else fails(now, rows)
        scheduler.crawled(rows, now, failed=failed)
        spent[number] = truth.cost[rows].sum()
        good = rows[~failed]
        part = truth.take(good)
        found = part.harvest.value(now - last[good])
        last[good] = now
        crawled[number] = found.sum()
        queue.put(found, part.decay, part.cost, now)
        full = queue.work
        work = full if service is None else service.work(now, now + tick)
        until = now if service is None else now + tick
        delivered[number] = queue.serve(work, now, until)
        waiting[number] = queue.work
        done = full - waiting[number]
        used[number], allowed[number] = share, share * scheduler.budget * tick
    columns = columns[:, burn_in:]
    return Delivery(
        tick=tick, delivered=columns[0], crawled=columns[1], spent=columns[2],
        allowed=columns[3], queue=columns[4], share=columns[5],
    )  # fmt: skip
