"""One thread that reads and writes the store: visits become records, many in one transaction.

All that touches the store is done here, one job after the other, so that a store needs to know
nothing of threads. What was written is true from then on: beliefs and sources are changed in the
same job, after the commit and never without it.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from msgspec.structs import replace

from dayfly.errors import StoreError
from dayfly.estimate import Estimate, Estimator
from dayfly.model import Crawl, RobotsCopy, Status, told_as
from dayfly.schedule.abilities import Batching
from dayfly.schedule.gain import keep_new
from dayfly.schedule.manners import Rules, wait
from dayfly.store.base import Funds, Record, Store
from dayfly.store.pauses import is_pause, paused_over
from dayfly.store.sources import StoredSource
from dayfly.store.standing import after

#: Why a visit ended that was given up because the crawler was stopped.
STOPPED = "stopped"
_T = TypeVar("_T")


class Writer:
    """Owns the store's thread, the list of sources and what is believed of them."""

    def __init__(self, store: Store, fence: int, estimator: Estimator, rules: Rules) -> None:
        self._store, self.fence = store, fence
        self.estimator, self._rules = estimator, rules
        #: By row, as they are stored.
        self.sources: list[StoredSource] = store.sources()
        #: Seconds in which the budget pays for one visit to everybody.
        self.round_s = 0.0
        #: The address at which each source under way is asked.
        self._asked: dict[int, str] = {}
        #: How many visits are stored.
        self.written = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="dayfly-store")

    def close(self) -> None:
        """Let the last job end; no more are taken."""
        self._thread.shutdown()

    async def ask(self, job: Callable[[Store], _T]) -> _T:
        """Let the store's thread do this while others go on."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, job, self._store)

    def ask_now(self, job: Callable[[Store], _T]) -> _T:
        """The same, and wait for it."""
        return self._thread.submit(job, self._store).result()

    async def claim(self, rows: Sequence[int], time: float, funds: Funds | None = None) -> None:
        """These visits begin, and leave so much to spend."""

        def job(store: Store) -> None:
            store.claim(rows, time, self.fence, funds)
            for row in rows:
                self._asked[row] = self.sources[row].url

        await self.ask(job)

    async def write(self, crawls: Sequence[Crawl], copies: Sequence[RobotsCopy]) -> list[Record]:
        """Store what these visits saw; as it was stored, new items only."""
        return await self.ask(lambda store: self._write(store, crawls, copies))

    async def write_singly(
        self, crawls: Sequence[Crawl], copies: Sequence[RobotsCopy]
    ) -> list[Record]:
        """The same one by one: whose visit cannot be stored is stored as a failed one."""

        def job(store: Store) -> list[Record]:
            if copies:
                store.keep_robots(copies, self.fence)
            return [self._somehow(store, crawl) for crawl in crawls]

        return await self.ask(job)

    async def release(self, rows: Sequence[int]) -> None:
        """These visits do not take place after all."""
        await self.ask(lambda store: store.release(rows, self.fence))

    # In the store's thread.

    def _write(
        self, store: Store, crawls: Sequence[Crawl], copies: Sequence[RobotsCopy] = ()
    ) -> list[Record]:
        kept = [self._kept(store, self._here(crawl)) for crawl in crawls]
        learnt = [crawl for crawl in kept if crawl.reason != STOPPED]
        estimates = iter(self._update(learnt))
        records = [
            Record(crawl=crawl, source=self._abandoned(crawl))
            if crawl.reason == STOPPED
            else Record(crawl=crawl, source=self._after(crawl, next(estimates)))
            for crawl in kept
        ]
        if copies:
            store.keep_robots(copies, self.fence)
        store.record(records, self.fence)
        # Committed: from here on it is true.
        self.written += len(records)
        for record in records:
            self.sources[record.source.row] = record.source
            self._asked.pop(record.source.row, None)
            if record.source.estimate is not None and record.crawl.reason != STOPPED:
                self.estimator.apply(record.source.estimate)
        return records

    def _here(self, crawl: Crawl) -> Crawl:
        """Validators belong to an address: if that was changed meanwhile, they are dropped."""
        url = self.sources[crawl.row].url
        if self._asked.get(crawl.row, url) == url:
            return crawl
        return replace(crawl, etag="", last_modified="", digest="", moved="")

    def _kept(self, store: Store, crawl: Crawl) -> Crawl:
        if not crawl.items and crawl.status is not Status.CHANGED:
            return crawl  # nothing was shown: most visits, and nothing to look up
        unseen = store.unseen(crawl.row, [item.key for item in crawl.items])
        if unseen and len(unseen) >= crawl.visible:
            # Nothing that is shown is known by its id: perhaps they are made up anew each time.
            told = {item.key: told_as(item) for item in crawl.items}
            names = set(filter(None, told.values()))
            again = names - store.unseen(crawl.row, list(names))
            unseen.difference_update(key for key, name in told.items() if name in again)
        return keep_new(crawl, unseen, self.sources[crawl.row].source)

    def _update(self, crawls: Sequence[Crawl]) -> list[Estimate]:
        if isinstance(self.estimator, Batching):
            return self.estimator.update_all(crawls)
        return [self.estimator.update(crawl) for crawl in crawls]

    def _after(self, crawl: Crawl, estimate: Estimate) -> StoredSource:
        source = self.sources[crawl.row]
        chance = 0.0 if crawl.answered else draw(crawl)
        until, why = wait(source, crawl, self._rules, chance, self.round_s)
        return after(source, crawl, estimate, *_longer(source, crawl.time, until, why))

    def _abandoned(self, crawl: Crawl) -> StoredSource:
        """We gave up, not they: nothing is held against the source, and it is asked again later."""
        source = self.sources[crawl.row]
        answered = replace(crawl, status=Status.UNCHANGED)
        until, why = _longer(source, crawl.time, *wait(source, answered, self._rules, 0.0))
        return replace(source, last_crawl=crawl.time, not_before=until, why_not=why, lost=0)

    def _somehow(self, store: Store, crawl: Crawl) -> Record:
        try:
            return self._write(store, [crawl])[0]
        except StoreError:
            raise
        except Exception as error:
            failed = failure(crawl.row, crawl.time, f"record: {named(error)}", crawl.cost)
            return self._write(store, [failed])[0]


def _longer(
    source: StoredSource, time: float, until: float | None, why: str
) -> tuple[float | None, str]:
    """What the visit asks for, or what somebody asked for while it was under way, if longer."""
    asked = source.not_before
    if asked is None or asked <= max(time, until or 0.0):
        return until, why
    return asked, paused_over(until, why) if is_pause(source.why_not) else source.why_not


def draw(crawl: Crawl) -> float:
    """Chance in [0, 1) that is the same whenever this visit is played again."""
    return zlib.crc32(f"{crawl.row} {crawl.time!r}".encode()) / 2**32


def failure(row: int, time: float, reason: str, cost: float) -> Crawl:
    """A visit that failed without the fetcher saying so."""
    said = reason[:200].encode("ascii", "backslashreplace").decode()
    return Crawl(row=row, time=time, status=Status.FAILED, reason=said, cost=cost)


def named(error: BaseException) -> str:
    """An accident, in a word."""
    return f"{type(error).__name__}: {error}"
