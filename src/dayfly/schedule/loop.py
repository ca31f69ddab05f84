"""The crawl: choose, fetch, learn, record, and only then believe; for as long as it is wanted.

Visits overlap decisions (`visiting.py`): nobody waits for a source that is slow. What ended is
written in batches (`scribe.py`) by the store's own thread (`writer.py`), and told to the scheduler
when it is stored.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from dayfly.errors import ClockSetBack, StoreError
from dayfly.estimate import Estimator
from dayfly.fetch import Fetcher
from dayfly.model import RobotsCopy
from dayfly.schedule.clock import Clock, nap
from dayfly.schedule.forecast import Explanation
from dayfly.schedule.ledger import Ledger
from dayfly.schedule.manners import Rules
from dayfly.schedule.news import Chosen, Counts, News, RobotsRead
from dayfly.schedule.repeats import Repeats
from dayfly.schedule.scheduler import Scheduler
from dayfly.schedule.scribe import Scribe
from dayfly.schedule.visiting import Visiting
from dayfly.schedule.writer import Writer
from dayfly.store import Listing, Record, Store, StoredSource

#: After `stop` visits may take so long to end, and the writing so long after that.
_GRACE_S, _LAST_WORDS_S = 4.0, 3.0
#: So many visits may have ended and not be stored before nobody new is visited.
_BACKLOG = 1000
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
    max_interval
        Longest time between visits to a source that is added later and has none of its own.
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
        max_interval: float | None = None,
    ) -> None:
        self.scheduler, self.clock, self.rules = scheduler, clock, rules or Rules()
        self._fetcher, self._watch = fetcher, watch
        self._tick, self._batch, self._parallel = tick, batch, parallel
        fence = store.own() if fence is None else fence
        self._writer = Writer(store, fence, estimator, self.rules)
        self._ledger = Ledger(
            scheduler, self._writer, clock, self.tell,
            spacing=self.rules.host_spacing, max_interval=max_interval,
        )  # fmt: skip
        self._scribe = Scribe(
            self._writer, clock, idle=self._idle, copies=self._copies,
            stored=self._stored, notice=Repeats(self.tell), between=self._ledger.refit,
        )  # fmt: skip
        self._visiting = Visiting(
            scheduler, self._writer, self._scribe, fetcher, clock, ended=self._ended
        )
        self._wake = asyncio.Event()
        self._stopping = self._hungry = False
        self._blind: Exception | None = None
        #: Copies of robots.txt that are stored with the batch in hand.
        self._read: Sequence[RobotsCopy] = ()

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
        return list(self._visiting.under_way)

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
        return self.change_all([source])[0]

    def change_all(self, sources: Sequence[StoredSource]) -> list[StoredSource]:
        """The same for many, all of them or none: it takes hardly longer than for one."""
        changed = self._ledger.change(sources)
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
                await self._visiting.finish(_GRACE_S)
        finally:
            await self._visiting.abandon()
            self._scribe.close()
            done, _ = await asyncio.wait([scribe], timeout=_LAST_WORDS_S)
            scribe.cancel()
            self._writer.close()
            if done and not scribe.cancelled():
                scribe.exception()  # heard, also where another error ends us
        if done:
            scribe.result()
        elif (unstored := self._scribe.noted - self._writer.written) > 0:
            raise StoreError(
                f"{unstored} visits could not be stored in time; they are made again at the next"
                " start"
            )
        if self._blind is not None:
            raise self._blind

    async def _decide(self, until: float | None) -> None:
        """Decide every tick; of the instants that were missed only the last is made up for."""
        end = math.inf if until is None else until
        start, n = self.clock.now(), 0
        now = start
        while now < end and not self._stopping:
            if getattr(self.clock, "astray", False):
                raise ClockSetBack("the clock was set back by hours; the crawl has to start anew")
            await self._choose(now)
            n = max(n + 1, math.floor((self.clock.now() - start) / self._tick))
            at = min(start + n * self._tick, end)
            while not self._stopping:
                left = at - self.clock.now()
                if left <= 0:
                    break
                self._wake.clear()
                await nap(self.clock, left, self._wake)
                await self._visiting.next_suspect()
                if self._wake.is_set() and self._hungry and self.clock.now() < at:
                    # There were more than there was room for, and now there is some.
                    await self._choose(self.clock.now())
            now = at

    async def _choose(self, now: float) -> None:
        """Choose as many as there is room for, and set out."""
        self._ledger.pass_time(now)
        visiting = self._visiting
        # Suspects wait for each other; those of other hosts do not wait for them.
        room = self._parallel - len(visiting.under_way)
        if room <= 0 or self._scribe.trouble or self._scribe.backlog > _BACKLOG:
            self._hungry = True
            return
        most = min(self._batch, room)
        rows = self.scheduler.due(now, most).tolist()
        self._hungry = len(rows) == most < self._batch
        if not rows:
            return
        self.tell(Chosen(time=now, rows=tuple(rows)))
        await visiting.begin(rows)

    def _ended(self) -> None:
        """A visit has ended: is there room for more, and are there more?"""
        if self._hungry and 2 * len(self._visiting.under_way) <= self._parallel:
            self._wake.set()

    # For the scribe.

    def _stored(self, records: Sequence[Record]) -> None:
        self._ledger.stored(records)
        if self._read:
            self.tell(RobotsRead(time=self.clock.now(), copies=tuple(self._read)))
        if self._visiting.suspects:
            self._wake.set()

    def _idle(self) -> bool:
        return not self._visiting.under_way

    def _copies(self) -> Sequence[RobotsCopy]:
        robots = getattr(self._fetcher, "robots", None)
        self._read = [] if robots is None else robots.news()
        return self._read
