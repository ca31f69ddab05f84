"""The crawl: choose, fetch, learn, record, and only then believe; for as long as it is wanted.

Visits overlap decisions: nobody waits for a source that is slow. What ended is written in batches
(`scribe.py`) by the store's own thread (`writer.py`), and told to the scheduler when it is stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from dayfly.errors import StoreError
from dayfly.estimate import Estimator
from dayfly.fetch import Fetcher
from dayfly.model import Crawl, RobotsCopy
from dayfly.schedule.clock import Clock, nap
from dayfly.schedule.forecast import Explanation
from dayfly.schedule.ledger import Ledger
from dayfly.schedule.manners import Rules
from dayfly.schedule.news import Chosen, Counts, News
from dayfly.schedule.repeats import Repeats
from dayfly.schedule.scheduler import Scheduler
from dayfly.schedule.scribe import Scribe
from dayfly.schedule.writer import STOPPED, Writer, failure, named
from dayfly.store import Listing, Record, State, Store, StoredSource

#: A fetcher keeps its own deadlines; one that does not come back at all is given up.
_LONGEST_VISIT_S = 300.0
#: After `stop` visits may take so long to end, and the writing so long after that.
_GRACE_S, _LAST_WORDS_S = 6.0, 3.0
#: So many visits may have ended and not be stored before nobody new is visited.
_BACKLOG = 1000
#: A visit that was told to end has so long to do so.
_LETTING_GO_S = 0.5
#: Of the clock that a fetcher goes by and ours.
_OFF_S = 60.0

_T = TypeVar("_T")


class Loop:
    """Drives a scheduler and an estimator with a real fetcher, store and clock.

    Building one takes the store over: the fence of whoever owned it before is stale from then on.
    All methods are for the thread of the event loop. A loop runs once.

    Parameters
    ----------
    rules
        How long sources and hosts are left alone.
    tick
        Seconds between decisions; with a slotted scheduler, its epoch.
    batch
        Most sources chosen at one instant.
    parallel
        Most visits under way at once.
    watch
        Told of everything that happens, after it happened. If that fails the crawl ends in good
        order, and `run` raises what went wrong.
    fence
        From an earlier `store.own()`, if the beliefs were read from the store after it.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        estimator: Estimator,
        fetcher: Fetcher,
        store: Store,
        clock: Clock,
        *,
        rules: Rules | None = None,
        tick: float = 1.0,
        batch: int = 1000,
        parallel: int = 128,
        watch: Callable[[News], None] | None = None,
        fence: int | None = None,
    ) -> None:
        self.scheduler, self.clock, self.rules = scheduler, clock, rules or Rules()
        self._fetcher, self._watch = fetcher, watch
        self._tick, self._batch, self._parallel = tick, batch, parallel
        fence = store.own() if fence is None else fence
        self._writer = Writer(store, fence, estimator, self.rules)
        self._ledger = Ledger(
            scheduler, self._writer, clock, self.tell, spacing=self.rules.host_spacing
        )
        self._scribe = Scribe(
            self._writer, clock, idle=self._idle, copies=self._copies,
            stored=self._stored, notice=Repeats(self.tell), between=self._ledger.refit,
        )  # fmt: skip
        #: Visits under way by row, and sources that may be dangerous, visited one at a time.
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._number: dict[int, int] = {}
        self._suspects: deque[int] = deque()
        self._on_trial: int | None = None
        self._chosen = 0
        self._wake = asyncio.Event()
        self._stopping = self._hungry = False
        self._blind: Exception | None = None

    # What it knows.

    @property
    def sources(self) -> list[StoredSource]:
        """The sources as they are stored now, by row."""
        return self._writer.sources

    @property
    def counters(self) -> Counts:
        """What came of the visits so far."""
        return self._ledger.counts

    @property
    def fence(self) -> int:
        """By which the store knows that we may write."""
        return self._writer.fence

    @property
    def under_way(self) -> list[int]:
        """Rows that are visited at the moment."""
        return list(self._under_way)

    @property
    def store_fails(self) -> bool:
        """Whether the store cannot be written at the moment; then nobody is visited."""
        return self._scribe.trouble

    def explain(self, row: int) -> Explanation:
        """What this source is worth now, when it is due, and what holds it back until then."""
        return self._ledger.explain(row)

    async def ask(self, job: Callable[[Store], _T]) -> _T:
        """Let the store's thread do this, between two batches."""
        return await self._writer.ask(job)

    def ask_now(self, job: Callable[[Store], _T]) -> _T:
        """The same, and wait for it; visits wait as well."""
        return self._writer.ask_now(job)

    # What an operator may do.

    def add(self, listings: Iterable[Listing]) -> list[int]:
        """Take new sources in; the answer is their rows."""
        return self._ledger.add(listings)

    def change(self, source: StoredSource) -> StoredSource:
        """Change what an operator may change: pause, resume, remove, weight, address, …"""
        changed = self._ledger.change(source)
        self._wake.set()
        return changed

    def refresh(self, row: int) -> None:
        """Visit this source before all others, as soon as the rules let us."""
        self._ledger.refresh(row)

    def block_host(self, host: str, until: float) -> None:
        """Leave a host alone until then, or longer if it asked for that."""
        self._ledger.block(host, until)

    def stop(self) -> None:
        """Come to an end within ten seconds: no new visits, and those under way end or are given
        up.
        """
        self._stopping = True
        self._scribe.hurry()
        self._wake.set()

    def tell(self, news: News) -> None:
        """Tell whoever watches; what is under way must not suffer if nobody can hear it."""
        if self._watch is None or self._blind is not None:
            return
        try:
            self._watch(news)
        except Exception as error:
            self._blind = error
            self.stop()

    # The crawl.

    async def run(self, until: float | None = None) -> None:
        """Crawl until then, or until stopped; raise what waiting cannot cure."""
        scribe = asyncio.ensure_future(self._scribe.run())
        # Where the scribe fails there is no point in going on.
        scribe.add_done_callback(lambda _: self.stop())
        try:
            await self._decide(until)
            if not scribe.done():
                await self._finish(_GRACE_S)
        finally:
            await self._abandon()
            self._scribe.close()
            done, _ = await asyncio.wait([scribe], timeout=_LAST_WORDS_S)
            scribe.cancel()
            if done:
                self._keep_funds()
            self._writer.close()
            if done and not scribe.cancelled():
                scribe.exception()  # heard, also where another error ends us
        if not done:
            raise StoreError(
                f"{self._scribe.backlog} visits could not be stored in time; they are made again"
                " at the next start"
            )
        scribe.result()
        if self._blind is not None:
            raise self._blind

    async def _decide(self, until: float | None) -> None:
        """Decide every tick; of the instants that were missed only the last is made up for."""
        end = math.inf if until is None else until
        start, n = self.clock.now(), 0
        now = start
        while now < end and not self._stopping:
            await self._choose(now)
            n = max(n + 1, math.floor((self.clock.now() - start) / self._tick))
            at = min(start + n * self._tick, end)
            while not self._stopping:
                left = at - self.clock.now()
                if left <= 0:
                    break
                self._wake.clear()
                await nap(self.clock, left, self._wake)
                await self._next_suspect()
                if self._wake.is_set() and self._hungry and self.clock.now() < at:
                    # There were more than there was room for, and now there is some.
                    await self._choose(self.clock.now())
            now = at

    async def _choose(self, now: float) -> None:
        """Choose as many as there is room for, and set out."""
        self._ledger.pass_time(now)
        room = self._parallel - len(self._under_way) - len(self._suspects)
        if room <= 0 or self._scribe.trouble or self._scribe.backlog > _BACKLOG:
            self._hungry = True
            return
        most = min(self._batch, room)
        rows = self.scheduler.due(now, most).tolist()
        self._hungry = len(rows) == most < self._batch
        if not rows:
            return
        plain = [row for row in rows if not self.sources[row].lost]
        self._suspects.extend(row for row in rows if self.sources[row].lost)
        for row in rows:
            self._chosen += 1
            self._number[row] = self._chosen
        self.tell(Chosen(time=now, rows=tuple(rows)))
        await self._set_out(plain)
        await self._next_suspect()

    async def _set_out(self, rows: Sequence[int]) -> None:
        """Claim these, and start."""
        if not rows:
            return
        try:
            # What is left is kept with the claim: all that was ever visited is paid for in it,
            # even if nobody lives to record the visits.
            await self._scribe.patiently(
                lambda: self._writer.claim(rows, self.clock.now(), self.scheduler.funds)
            )
        except asyncio.CancelledError:
            # Perhaps they are claimed by now: somebody has to end that.
            for row in rows:
                self._scribe.note(self._number.pop(row), self._given_up(row))
            raise
        except BaseException:
            self._give_back(rows)
            raise
        for row in rows:
            self._under_way[row] = asyncio.ensure_future(self._visit(row))

    async def _next_suspect(self) -> None:
        """Visit one of those that were under way when the crawler died.

        The one before must be stored by then: whoever is visited last is the first to be blamed.
        """
        if self._on_trial is not None and self.sources[self._on_trial].lost:
            return
        self._on_trial = None
        while self._suspects:
            row = self._suspects.popleft()
            if self.sources[row].state is State.ACTIVE:
                self._on_trial = row
                await self._set_out([row])
                return
            self._give_back([row])

    async def _visit(self, row: int) -> None:
        """See what is there; an accident in the fetcher is a failed visit like any other."""
        source = self.sources[row]
        with self.clock.working():
            try:
                async with asyncio.timeout(_LONGEST_VISIT_S):
                    seen = self._sound(row, await self._fetcher.fetch(source))
            except Exception as error:
                seen = failure(row, self.clock.now(), f"fetcher: {named(error)}", source.cost)
            self._end(row, seen)

    def _sound(self, row: int, seen: Crawl) -> Crawl:
        """What the fetcher says, if it can be: of this source, and not from another time."""
        if seen.row != row:
            raise ValueError(f"row {row} was asked for, and row {seen.row} answered")
        now = self.clock.now()
        return seen if abs(seen.time - now) <= _OFF_S else replace(seen, time=now)

    def _end(self, row: int, seen: Crawl) -> None:
        if self._under_way.pop(row, None) is None:
            return  # it was given up, and ended after all
        self._scribe.note(self._number.pop(row), seen)
        if self._hungry and 2 * len(self._under_way) <= self._parallel:
            self._wake.set()

    # The end.

    async def _finish(self, seconds: float) -> None:
        """Wait for the visits under way, but not for ever."""
        if self._under_way:
            await asyncio.wait(self._under_way.values(), timeout=seconds)

    async def _abandon(self) -> None:
        """Give up what is still under way; it is recorded, so that nobody is suspected later."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_LETTING_GO_S)
        self._give_back(list(self._suspects))
        self._suspects.clear()
        for row in list(self._under_way):
            self._end(row, self._given_up(row))

    def _keep_funds(self) -> None:
        """What is left at the end, and the price; where it cannot be stored the last claim says."""
        funds = self.scheduler.funds
        with contextlib.suppress(StoreError):
            self.ask_now(lambda store: store.claim([], funds.time, self.fence, funds))

    def _given_up(self, row: int) -> Crawl:
        return failure(row, self.clock.now(), STOPPED, self.sources[row].cost)

    def _give_back(self, rows: Sequence[int]) -> None:
        """These were chosen and are not visited after all."""
        self.scheduler.release(list(rows))
        for row in rows:
            self._number.pop(row, None)

    # For the scribe.

    def _stored(self, records: Sequence[Record]) -> None:
        self._ledger.stored(records)
        if self._suspects:
            self._wake.set()

    def _idle(self) -> bool:
        return not self._under_way

    def _copies(self) -> Sequence[RobotsCopy]:
        robots = getattr(self._fetcher, "robots", None)
        return [] if robots is None else robots.news()
