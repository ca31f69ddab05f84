"""One crawl after another: choose, fetch, learn, record, and only then believe."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dayfly.estimate import Estimator
from dayfly.fetch import Fetcher
from dayfly.model import Crawl, Status
from dayfly.schedule.clock import Clock
from dayfly.schedule.gain import keep_new
from dayfly.schedule.scheduler import Scheduler
from dayfly.store import Store, StoredSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen at one instant, and what came of it."""

    time: float
    #: Rows, best first.
    rows: tuple[int, ...]
    #: One crawl per row, in the same order, as recorded: new items only.
    crawls: tuple[Crawl, ...]


class Loop:
    """Drives a scheduler and an estimator with a real fetcher, store and clock.

    Building one takes the store over: the fence of whoever owned it before is stale from then on.

    Parameters
    ----------
    tick
        Seconds between decisions; with a slotted scheduler, its epoch.
    batch
        Most sources chosen at one instant.
    parallel
        Most visits under way at once.
    watch
        Told of every instant at which something was chosen, after it was recorded.
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
        tick: float = 1.0,
        batch: int = 1000,
        parallel: int = 32,
        watch: Callable[[Choice], None] | None = None,
        fence: int | None = None,
    ) -> None:
        self._scheduler, self._estimator = scheduler, estimator
        self._fetcher, self._store, self._clock = fetcher, store, clock
        self._tick, self._batch, self._watch = tick, batch, watch
        self._doors = asyncio.Semaphore(parallel)
        self._fence = store.own() if fence is None else fence
        self._sources = store.sources()

    async def run(self, until: float) -> None:
        """Decide every `tick` seconds until then; of missed instants only the last is made up."""
        start, n = self._clock.now(), 0
        while (now := start + n * self._tick) < until:
            await self.tick(now)
            behind = (self._clock.now() - start) / self._tick
            n = max(n + 1, math.floor(behind))
            await self._clock.sleep(max(min(start + n * self._tick, until) - self._clock.now(), 0))

    async def tick(self, now: float) -> Choice:
        """Choose, visit all that was chosen, record it in the order of choice."""
        rows = self._scheduler.due(now, self._batch).tolist()
        crawls: list[Crawl] = []
        pending = set(rows)
        try:
            for seen in await asyncio.gather(*(self._visit(row) for row in rows)):
                crawls.append(self._record(seen))
                pending.remove(seen.row)
        finally:
            # Where an error ends the tick, what was not recorded may be chosen again.
            self._scheduler.release(sorted(pending))
        choice = Choice(time=now, rows=tuple(rows), crawls=tuple(crawls))
        if rows and self._watch is not None:
            self._watch(choice)
        return choice

    @property
    def sources(self) -> Sequence[StoredSource]:
        """The sources as they are stored now, by row."""
        return self._sources

    async def _visit(self, row: int) -> Crawl:
        """What the fetcher saw; an accident inside it is a failed visit like any other."""
        source = self._sources[row]
        async with self._doors:
            try:
                return await self._fetcher.fetch(source)
            except Exception as error:
                said = f"fetcher: {type(error).__name__}: {error}"[:200]
                return Crawl(
                    row=row,
                    time=self._clock.now(),
                    status=Status.FAILED,
                    reason=said.encode("ascii", "backslashreplace").decode(),
                    cost=source.cost,
                )

    def _record(self, seen: Crawl) -> Crawl:
        unseen = self._store.unseen(seen.row, [item.key for item in seen.items])
        crawl = keep_new(seen, unseen, self._scheduler.source(seen.row))
        estimate = self._estimator.update(crawl)
        self._store.record(crawl, estimate, self._fence)
        # Committed: from here on it is true.
        self._sources[crawl.row] = self._sources[crawl.row].after(crawl, estimate)
        self._estimator.apply(estimate)
        self._scheduler.crawled(
            [crawl.row], crawl.time, [estimate],
            not_before=[crawl.not_before], failed=[not crawl.answered], spent=[crawl.cost],
        )  # fmt: skip
        return crawl
