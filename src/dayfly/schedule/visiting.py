"""Visits under way: claimed, made, ended or given up; each of them is written down in the end.

A source that was under way when the crawler died may have killed it. Such suspects are visited one
at a time, each stored before the next sets out: whoever is visited last is the first to be blamed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dayfly.fetch import Fetcher
from dayfly.model import Crawl
from dayfly.schedule.clock import Clock
from dayfly.schedule.scheduler import Scheduler
from dayfly.schedule.scribe import Scribe
from dayfly.schedule.writer import STOPPED, Writer, failure, named
from dayfly.store import State

#: A fetcher keeps its own deadlines; one that does not come back at all is given up.
_LONGEST_VISIT_S = 300.0
#: A visit that was told to end has so long to do so.
_LETTING_GO_S = 0.5
#: Of the clock that a fetcher goes by and ours.
_OFF_S = 60.0


class Visiting:
    """Sends visits out and notes how they end.

    Parameters
    ----------
    ended
        Told whenever a visit has ended: there is room for another.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        writer: Writer,
        scribe: Scribe,
        fetcher: Fetcher,
        clock: Clock,
        *,
        ended: Callable[[], None],
    ) -> None:
        self._scheduler, self._writer, self._scribe = scheduler, writer, scribe
        self._fetcher, self._clock, self._ended = fetcher, clock, ended
        #: Visits by row.
        self.under_way: dict[int, asyncio.Task[None]] = {}
        #: Sources that may be dangerous, and the one of them that was sent out last.
        self.suspects: deque[int] = deque()
        self._on_trial: int | None = None
        #: Which choice each visit was: they are written down in that order.
        self._number: dict[int, int] = {}
        self._chosen = 0

    async def begin(self, rows: Sequence[int]) -> None:
        """Visit these, best first; suspects in their turn."""
        for row in rows:
            self._chosen += 1
            self._number[row] = self._chosen
        sources = self._writer.sources
        self.suspects.extend(row for row in rows if sources[row].lost)
        await self._set_out([row for row in rows if not sources[row].lost])
        await self.next_suspect()

    async def next_suspect(self) -> None:
        """Visit one of those that were under way when the crawler died, if none is on trial."""
        sources = self._writer.sources
        if self._on_trial is not None and sources[self._on_trial].lost:
            return
        self._on_trial = None
        while self.suspects:
            row = self.suspects.popleft()
            if not self._still_wanted(row):
                self._give_back([row])
                continue
            await self._set_out([row])
            if row in self.under_way:
                self._on_trial = row
                return

    async def _set_out(self, rows: Sequence[int]) -> None:
        """Claim these, and start."""
        if not rows:
            return
        try:
            # What is left is kept with the claim: all that was ever visited is paid for in it,
            # even if nobody lives to record the visits.
            await self._scribe.patiently(
                lambda: self._writer.claim(rows, self._clock.now(), self._scheduler.funds)
            )
        except asyncio.CancelledError:
            # Perhaps they are claimed by now: somebody has to end that.
            for row in rows:
                self._scribe.note(self._number.pop(row), self._given_up(row))
            raise
        except BaseException:
            self._give_back(rows)
            raise
        unwanted = []
        for row in rows:
            if self._still_wanted(row):
                self.under_way[row] = asyncio.ensure_future(self._visit(row))
            else:
                unwanted.append(row)
        if unwanted:
            self._give_back(unwanted)
            await self._scribe.patiently(lambda: self._writer.release(unwanted))

    def _still_wanted(self, row: int) -> bool:
        """Whether nobody has paused or removed it while its claim waited for the store."""
        source = self._writer.sources[row]
        resting = source.not_before is not None and source.not_before > self._clock.now()
        return source.state is State.ACTIVE and not resting

    async def _visit(self, row: int) -> None:
        """See what is there; an accident in the fetcher is a failed visit like any other."""
        source = self._writer.sources[row]
        with self._clock.working():
            try:
                async with asyncio.timeout(_LONGEST_VISIT_S):
                    seen = self._sound(row, await self._fetcher.fetch(source))
            except Exception as error:
                seen = failure(row, self._clock.now(), f"fetcher: {named(error)}", source.cost)
            self._end(row, seen)

    def _sound(self, row: int, seen: Crawl) -> Crawl:
        """What the fetcher says, if it can be: of this source, and not from another time."""
        if seen.row != row:
            raise ValueError(f"row {row} was asked for, and row {seen.row} answered")
        now = self._clock.now()
        return seen if abs(seen.time - now) <= _OFF_S else replace(seen, time=now)

    def _end(self, row: int, seen: Crawl) -> None:
        if self.under_way.pop(row, None) is None:
            return  # it was given up, and ended after all
        self._scribe.note(self._number.pop(row), seen)
        self._ended()

    async def finish(self, seconds: float) -> None:
        """Wait for the visits under way, but not for ever."""
        if self.under_way:
            await asyncio.wait(self.under_way.values(), timeout=seconds)

    async def abandon(self) -> None:
        """Give up what is still under way; it is recorded, so that nobody is suspected later."""
        tasks = list(self.under_way.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_LETTING_GO_S)
        self._give_back(list(self.suspects))
        self.suspects.clear()
        for row in list(self.under_way):
            self._end(row, self._given_up(row))

    def _given_up(self, row: int) -> Crawl:
        return failure(row, self._clock.now(), STOPPED, self._writer.sources[row].cost)

    def _give_back(self, rows: Sequence[int]) -> None:
        """These were chosen and are not visited after all."""
        self._scheduler.release(list(rows))
        for row in rows:
            self._number.pop(row, None)
