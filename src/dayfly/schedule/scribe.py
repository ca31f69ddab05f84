"""Visits that ended, written down in batches; patiently, where the store cannot be written.

A batch is what ended within a moment, in the order of choice: at most a hundred visits, so that one
commit serves many and none waits long. While the store fails (a full disk, a lost mount) nothing is
dropped: the batch is tried again after longer and longer waits, and nobody new is visited.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from dayfly.errors import SchemaMismatch, StaleFence, StoreError
from dayfly.model import Crawl, RobotsCopy
from dayfly.schedule.clock import Clock, nap
from dayfly.schedule.news import Notice
from dayfly.schedule.writer import Writer, named
from dayfly.store.base import Record
from dayfly.units import show_duration

#: Most crawls in one transaction.
_BATCH = 100
#: A store that cannot be written is tried again after so long, then twice as long, up to …
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 60.0
#: When the crawl is being stopped, so often in so many real seconds each.
_LAST_TRIES, _HURRIED_S = 5, 0.3

_T = TypeVar("_T")
#: A visit that ended, after the number of its choice.
Ended = tuple[int, Crawl]


class Scribe:
    """Takes visits as they end, and tells of them when they are stored.

    Parameters
    ----------
    idle
        Whether no visit is under way: then there is nobody to wait for.
    copies
        Copies of robots.txt that are new since this was asked last.
    stored
        Told of every batch after it was committed.
    notice
        Told when the store cannot be written, and when it can be again.
    between
        Done after each batch, before the next.
    """

    def __init__(
        self,
        writer: Writer,
        clock: Clock,
        *,
        idle: Callable[[], bool],
        copies: Callable[[], Sequence[RobotsCopy]],
        stored: Callable[[Sequence[Record]], None],
        notice: Callable[[Notice], None],
        between: Callable[[], Awaitable[None]],
    ) -> None:
        self._writer, self._clock = writer, clock
        self._idle, self._copies, self._stored, self._notice = idle, copies, stored, notice
        self._between = between
        self._ended: list[Ended] = []
        self._some, self._enough = asyncio.Event(), asyncio.Event()
        self._closed, self._hurry = asyncio.Event(), asyncio.Event()
        #: Whether the store cannot be written at the moment.
        self.trouble = False
        #: How many visits have ended.
        self.noted = 0

    @property
    def backlog(self) -> int:
        """How many visits ended and are not stored yet."""
        return len(self._ended)

    def note(self, number: int, crawl: Crawl) -> None:
        """This visit, chosen as so many-th, has ended."""
        self._ended.append((number, crawl))
        self.noted += 1
        self._some.set()
        if len(self._ended) >= _BATCH or self._idle():
            self._enough.set()

    def hurry(self) -> None:
        """The end is near: a store that fails is tried a few times more, and soon."""
        self._hurry.set()

    def close(self) -> None:
        """Write what there is, and come to an end."""
        self._hurry.set()
        self._closed.set()
        self._some.set()
        self._enough.set()

    async def run(self) -> None:
        """Write until closed; an error that waiting cannot cure ends it."""
        while True:
            await self._some.wait()
            if self._ended:
                await self._gather()
            batch = self._take()
            if batch:
                self._stored(await self._write(batch))
                await self._between()
            elif self._closed.is_set():
                return

    async def _gather(self) -> None:
        """Wait a moment for others to end as well."""
        if math.isinf(self._clock.company_s):
            # Time moved by hand goes on when all have ended that end at this instant.
            await self._clock.sleep(0.0)
            return
        self._enough.clear()
        if len(self._ended) < _BATCH and not self._idle() and not self._closed.is_set():
            try:
                async with asyncio.timeout(self._clock.company_s):
                    await self._enough.wait()
            except TimeoutError:
                pass

    def _take(self) -> list[Crawl]:
        self._ended.sort(key=_number)
        batch, self._ended = self._ended[:_BATCH], self._ended[_BATCH:]
        if not self._ended and not self._closed.is_set():
            self._some.clear()
        return [crawl for _, crawl in batch]

    async def _write(self, batch: list[Crawl]) -> list[Record]:
        copies = self._copies()
        try:
            return await self.patiently(lambda: self._writer.write(batch, copies))
        except StoreError:
            raise
        except Exception as error:
            # Something in one of them that cannot be stored: the others must not suffer.
            self._notice(
                Notice(
                    time=self._clock.now(),
                    kind="record",
                    text=f"a batch of {len(batch)} could not be recorded ({named(error)});"
                    " its visits are recorded one by one",
                )
            )
            return await self.patiently(lambda: self._writer.write_singly(batch, copies))

    async def patiently(self, job: Callable[[], Awaitable[_T]]) -> _T:
        """Do it, and again where the store cannot be written, until it works or all is closed."""
        wait, last = _FIRST_RETRY_S, _LAST_TRIES
        while True:
            try:
                with self._clock.working():
                    done = await job()
            except (StaleFence, SchemaMismatch):
                raise
            except StoreError as error:
                if self._hurry.is_set():
                    if not last:
                        raise
                    last -= 1
                    await asyncio.sleep(_HURRIED_S)
                    continue
                again = f"no visits until it works, tried again in {show_duration(wait)}"
                self._tell(f"{error}; {again}", trouble=True)
                await nap(self._clock, wait, self._hurry)
                wait = min(2.0 * wait, _LAST_RETRY_S)
                continue
            if self.trouble:
                self._tell("the store can be written again; nothing was lost", trouble=False)
            return done

    def _tell(self, text: str, *, trouble: bool) -> None:
        self.trouble = trouble
        kind = "store" if trouble else "stored"
        self._notice(Notice(time=self._clock.now(), kind=kind, text=text))


def _number(ended: Ended) -> int:
    return ended[0]
