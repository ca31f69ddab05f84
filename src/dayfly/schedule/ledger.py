"""What is stored, told to the scheduler: who was visited, what is believed, who wants peace."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dayfly.errors import BadInput
from dayfly.estimate import Estimates
from dayfly.model import Array, Fleet, Rows
from dayfly.schedule.abilities import Growing, Refitting
from dayfly.schedule.changes import changed, changes
from dayfly.schedule.clock import Clock
from dayfly.schedule.forecast import Explanation
from dayfly.schedule.news import Counts, News, Notice, Recorded
from dayfly.schedule.scheduler import AHEAD_S, Scheduler
from dayfly.schedule.writer import STOPPED, Writer
from dayfly.store.base import Record, Store
from dayfly.store.sources import Listing, State, StoredSource, fleet_of

#: How long a visit to everybody takes is worked out so often, seconds: it changes slowly.
_ROUND = 60.0
#: So many beliefs are changed at a time, so that visits are not held up.
_BLOCK = 1 << 14
_LISTED = Listing.__struct_fields__


class Ledger:
    """Keeps the scheduler and the counts in step with the store."""

    def __init__(
        self,
        scheduler: Scheduler,
        writer: Writer,
        clock: Clock,
        tell: Callable[[News], None],
        *,
        spacing: float = 0.0,
        max_interval: float | None = None,
    ) -> None:
        self._scheduler, self._writer, self._clock, self._tell = scheduler, writer, clock, tell
        self._spacing, self._max_interval = spacing, max_interval
        self.counts = Counts(since=clock.now())
        self._now = clock.now()
        #: By how much the clock was set ahead; nothing was published in that time.
        self._leapt = 0.0
        #: Rows that an operator changed while all beliefs were found anew; None while they are not.
        self._changed: set[int] | None = None
        #: Until when hosts asked to be left alone, where that is known.
        self._blocked: dict[str, float] = {}
        #: Who is to be visited before all others, because somebody asked for it.
        self._wanted: set[int] = set()
        #: Worth that is published per second by those who are crawled, as far as we know.
        self._published = np.array([source.publishes for source in writer.sources])
        #: What one visit to each of them costs.
        self._cost = np.array([_cost(source) for source in writer.sources])
        #: When it was last worked out how long one visit to everybody takes.
        self._reckoned = -math.inf

    def pass_time(self, now: float) -> None:
        """It is so late: so much was published meanwhile, and has the clock been set?"""
        jumped = getattr(self._clock, "jumped", float)()
        passed = max(now - self._now, 0.0)
        # Who decides may be behind a clock that has leapt, and come to it later.
        self._leapt += max(jumped, 0.0)
        leapt = min(self._leapt, passed)
        self._leapt -= leapt
        self.counts.expected += (passed - leapt) * float(self._published.sum())
        self._now = max(now, self._now)
        if now >= self._reckoned + _ROUND:
            everybody, pace = self._cost.sum(), self._scheduler.pace
            self._writer.round_s = float(everybody / pace) if pace > 0 else 0.0
            self._reckoned = now
        if jumped:
            what = "ahead; so are we" if jumped > 0 else "back; we go on, a little slower"
            said = f"the clock was set {abs(jumped):.0f} s {what}"
            self._tell(Notice(time=now, kind="clock", text=said))

    def stored(self, records: Sequence[Record]) -> None:
        """These visits are committed."""
        scheduler = self._scheduler
        time = max(record.crawl.time for record in records)
        if time > self._now + AHEAD_S / 2:
            # The clock has leapt since the last decision: that is news to the scheduler.
            self.pass_time(time)
            scheduler.due(time, 0)
        believed = [
            record.source.estimate
            for record in records
            if record.source.estimate is not None and record.crawl.reason != STOPPED
        ]
        scheduler.crawled(
            [record.crawl.row for record in records],
            time,
            believed,
            not_before=[record.source.not_before for record in records],
            failed=[not record.crawl.answered for record in records],
            spent=[record.crawl.cost for record in records],
        )
        for record in records:
            self._stand(record)
        self._tell(Recorded(time=time, crawls=tuple(record.crawl for record in records)))

    def _stand(self, record: Record) -> None:
        """What else a visit has changed: counts, hosts, and whether it is crawled at all."""
        crawl, source = record.crawl, record.source
        if crawl.reason == STOPPED:
            self.counts.abandoned += 1
        else:
            self.counts.count(crawl)
        now = self._writer.sources[source.row]
        if now is not source:
            # An operator has changed it after it was stored and before we are told.
            self._follow([now], relisted=[now])
        self._published[source.row], self._cost[source.row] = now.publishes, _cost(now)
        # The scheduler counts from its decision; a host counts from when it was last asked.
        rest = max(self._spacing, crawl.crawl_delay or 0.0)
        until = crawl.time + rest if rest > 0 else 0.0
        self.block(source.host, max(until, crawl.host_not_before or 0.0))
        if crawl.moved and self._scheduler.source(source.row).host != now.host:
            # The move is believed by now: another host has to be spared.
            self._scheduler.update(Estimates(row=[source.row], host=[now.host]))
        if source.row in self._wanted:
            self._wanted.discard(source.row)
            if not crawl.answered:
                # It was asked, as somebody wanted; from now on it waits like others.
                self._scheduler.observe([source.row], [self._waiting(source)], self._now)
        if now.state is not State.ACTIVE:
            self._scheduler.pause([source.row])

    async def refit(self) -> None:
        """Find what all sources share anew when it is time, beside the crawl."""
        estimator = self._writer.estimator
        if not (isinstance(estimator, Refitting) and estimator.refit_due(self._clock.now())):
            return

        def job(_: Store) -> tuple[Rows, tuple[Array, Array, Array]]:
            estimator.refit()
            rows = np.arange(len(self._writer.sources))
            return rows, estimator.curves(rows)

        self._changed = set()
        try:
            with self._clock.working():
                rows, (arrival, decay, worth) = await self._writer.ask(job)
                for begin in range(0, len(rows), _BLOCK):
                    some = rows[begin : begin + _BLOCK]
                    # Who was changed meanwhile is believed to be something newer.
                    some = some[~np.isin(some, list(self._changed))]
                    self._scheduler.update(
                        Estimates(
                            row=some, arrival=arrival[some], decay=decay[some], worth=worth[some]
                        )
                    )
                    await asyncio.sleep(0)  # others have their turn
        finally:
            self._changed = None

    def explain(self, row: int) -> Explanation:
        """Why this source waits, with what waits there as people count it."""
        told = self._scheduler.explain(row, self._clock.now())
        return replace(told, waiting=self._waiting(self._writer.sources[row]))

    def _waiting(self, source: StoredSource) -> float:
        """Worth that is expected to wait at a source."""
        age = math.inf if source.last_crawl is None else self._clock.now() - source.last_crawl
        if source.decay == 0:
            return source.publishes * max(age, 0.0)
        return source.publishes / source.decay * -math.expm1(-source.decay * max(age, 0.0))

    def refresh(self, row: int) -> None:
        """Visit this source before all others, as soon as the rules let us."""
        believed = self._scheduler.source(row)
        ceiling = believed.arrival * believed.worth / believed.decay
        much = 2.0 * ceiling + 10.0 * self._scheduler.price * believed.cost
        self._wanted.add(row)
        self._scheduler.observe([row], [much], self._clock.now())

    def block(self, host: str, until: float) -> None:
        """Leave a host alone until then, or longer if that was said before."""
        if host and until > max(self._blocked.get(host, 0.0), self._now):
            self._blocked[host] = until
            self._scheduler.block_host(host, until)

    def add(self, listings: Iterable[Listing]) -> list[int]:
        """Store new sources and tell everybody; their rows."""
        estimator = self._writer.estimator
        if not isinstance(estimator, Growing):
            raise BadInput(f"{type(estimator).__name__} cannot take new sources; restart the crawl")
        given = list(listings)
        sources = self._writer.sources

        def job(store: Store) -> tuple[list[int], Fleet]:
            rows = store.add(given)
            new = [
                StoredSource(row=row, **_shallow(listing))
                for row, listing in zip(rows, given, strict=True)
            ]
            sources.extend(new)
            return rows, estimator.add(fleet_of(new))

        rows, fleet = self._writer.ask_now(job)
        if rows:
            self._scheduler.add(fleet, max_interval=self._longest([sources[row] for row in rows]))
            self._published = np.append(self._published, [sources[row].publishes for row in rows])
            self._cost = np.append(self._cost, [_cost(sources[row]) for row in rows])
        return rows

    def _longest(self, sources: Sequence[StoredSource]) -> list[float] | None:
        """The longest interval of each; None where neither they nor the run say one."""
        if self._max_interval is None:
            return None
        return [source.max_interval or self._max_interval for source in sources]

    def change(self, given: Sequence[StoredSource]) -> list[StoredSource]:
        """Store what an operator changed, all of it or nothing, and tell everybody."""
        sources = self._writer.sources
        before = [sources[one.row] for one in given]
        asked = [changes(one, known) for one, known in zip(given, before, strict=True)]

        def job(store: Store) -> list[StoredSource]:
            new = [
                changed(sources[known.row], known, change)
                for known, change in zip(before, asked, strict=True)
            ]
            store.change(new)
            for one in new:
                sources[one.row] = one
            return new

        new = self._writer.ask_now(job)
        pairs = zip(new, before, strict=True)
        self._follow(new, relisted=[one for one, known in pairs if one.source != known.source])
        return new

    def _follow(self, new: Sequence[StoredSource], *, relisted: Sequence[StoredSource]) -> None:
        """Tell everybody what sources are now that an operator has changed them."""
        until: dict[float, list[int]] = {}
        for one in new:
            # A removed one rests, too: it may be listed again, and has its row for good. An instant
            # in the past lets it go on.
            rests = (one.not_before or 0.0) if one.state is State.ACTIVE else math.inf
            until.setdefault(rests, []).append(one.row)
            self._published[one.row], self._cost[one.row] = one.publishes, _cost(one)
        for instant, resting in until.items():
            self._scheduler.pause(resting, instant)
        estimator = self._writer.estimator
        if relisted and isinstance(estimator, Growing):
            rows = np.array([one.row for one in relisted])
            if self._changed is not None:
                self._changed.update(rows.tolist())
            said = [one.source for one in relisted]
            beliefs = self._writer.ask_now(lambda _: estimator.relist(rows, said))
            self._scheduler.update(
                Estimates(
                    row=rows, arrival=[belief.arrival for belief in beliefs],
                    decay=[belief.decay for belief in beliefs],
                    worth=[belief.worth for belief in beliefs],
                    cost=[one.cost for one in relisted], host=[one.host for one in relisted],
                )
            )  # fmt: skip


def _cost(source: StoredSource) -> float:
    """What a visit costs; nothing if there is none."""
    return source.cost if source.state is State.ACTIVE else 0.0


def _shallow(listing: Listing) -> dict[str, Any]:
    return {name: getattr(listing, name) for name in _LISTED}
