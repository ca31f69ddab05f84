"""What the office works on: a store at rest, or a crawler at work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from dayfly.errors import StoreError
from dayfly.fetch import HttpFetcher, Target
from dayfly.model import Crawl
from dayfly.schedule import Loop, ManualClock, Rules, Scheduler, resume
from dayfly.serve.directory import Known
from dayfly.store import Funds, HostState, Listing, MemoryStore, State, Store, StoredSource

T = TypeVar("T")


class House(Protocol):
    """Sources and a store; with a loop where a crawler runs."""

    #: The crawler, if one is at work, and what it goes out with.
    loop: Loop | None
    fetcher: HttpFetcher | None
    rules: Rules

    def now(self) -> float:
        """POSIX seconds."""
        ...

    def sources(self) -> Sequence[StoredSource]:
        """All sources by row, as they are now."""
        ...

    def known(self) -> Known:
        """Which ids and addresses are taken."""
        ...

    def admit(self, listing: Listing) -> None:
        """Refuse a source that this crawler may not visit."""
        ...

    async def with_store(self, work: Callable[[Store], T]) -> T:
        """The answer of this work, done where the store may be touched."""
        ...

    async def aside(self, work: Callable[[], T]) -> T:
        """The answer of this long work, which touches nothing that others use."""
        ...

    async def add(self, listings: Sequence[Listing]) -> list[int]:
        """Take these sources in; their rows."""
        ...

    async def change(self, sources: Sequence[StoredSource]) -> None:
        """Replace these sources: what the operator changed."""
        ...

    async def scheduler(self, budget: float | None) -> Scheduler | None:
        """The one that decides; where none does, one made for this budget."""
        ...


class LiveHouse:
    """A crawler at work; all of this happens on its loop's thread.

    Parameters
    ----------
    fetcher
        What goes out, for those who want to see a page.
    admit
        Raises `BadInput` for a source that may not be visited.
    """

    def __init__(
        self,
        loop: Loop,
        fetcher: HttpFetcher | None = None,
        admit: Callable[[Listing], None] = lambda _: None,
    ) -> None:
        self.loop: Loop | None = loop
        self.fetcher = fetcher
        self._loop, self._admit, self.rules = loop, admit, loop.rules
        self._known: Known | None = None

    def now(self) -> float:
        """The crawler's own time."""
        return self._loop.clock.now()

    def sources(self) -> Sequence[StoredSource]:
        """As they are stored now."""
        return self._loop.sources

    def known(self) -> Known:
        """Kept from one portion of an import to the next, unless somebody's address changes."""
        self._known = Known.of(self._loop.sources, self._known)
        return self._known

    def admit(self, listing: Listing) -> None:
        """As whoever started the crawler says."""
        self._admit(listing)

    async def with_store(self, work: Callable[[Store], T]) -> T:
        """In the store's thread, between two batches."""
        with _while_it_runs():
            return await self._loop.ask(work)

    async def aside(self, work: Callable[[], T]) -> T:
        """In a thread of its own."""
        return await asyncio.to_thread(work)

    async def add(self, listings: Sequence[Listing]) -> list[int]:
        """Crawled from now on."""
        with _while_it_runs():
            return self._loop.add(listings)

    async def change(self, sources: Sequence[StoredSource]) -> None:
        """Believed from now on, all of them before anybody else has his turn.

        Else what another operator does meanwhile would be undone by what was read before it.
        """
        before = [self._loop.sources[source.row] for source in sources]
        with _while_it_runs():
            after = self._loop.change_all(sources)
        if [(one.url, one.state) for one in before] != [(one.url, one.state) for one in after]:
            self._known = None
        await asyncio.sleep(0)

    async def scheduler(self, budget: float | None) -> Scheduler | None:
        """The crawler's own; it has its budget."""
        return self._loop.scheduler


@contextmanager
def _while_it_runs() -> Iterator[None]:
    """Told as ours where the store's thread has ended."""
    try:
        yield
    except RuntimeError as error:
        if "after shutdown" not in str(error):
            raise  # an accident of ours
        raise StoreError("the crawler is about to end; ask again in a moment") from None


class StillHouse:
    """A store that nobody crawls from."""

    loop: Loop | None = None
    fetcher: HttpFetcher | None = None

    def __init__(
        self, store: Store, now: Callable[[], float] = time.time, rules: Rules | None = None
    ) -> None:
        self._store, self.now, self.rules = store, now, rules or Rules()
        self._sources: list[StoredSource] | None = None

    def twin(self, rules: Rules, changed: Sequence[StoredSource] = ()) -> StillHouse:
        """One that knows the same but for these, and may be changed: nothing reaches the store."""
        store = self._copy()
        store.change(changed)
        return StillHouse(store, self.now, rules)

    def sources(self) -> Sequence[StoredSource]:
        """All sources by row, read once."""
        if self._sources is None:
            self._sources = self._store.sources()
        return self._sources

    def known(self) -> Known:
        """Made anew: imports come in one piece here."""
        return Known(self.sources())

    def admit(self, listing: Listing) -> None:
        """Anybody may be listed; whoever crawls will see."""

    async def with_store(self, work: Callable[[Store], T]) -> T:
        """Done at once: nobody else is here."""
        return work(self._store)

    async def aside(self, work: Callable[[], T]) -> T:
        """Done at once."""
        return work()

    async def add(self, listings: Sequence[Listing]) -> list[int]:
        """Into the store."""
        self._sources = None
        return self._store.add(listings)

    async def change(self, sources: Sequence[StoredSource]) -> None:
        """Into the store."""
        self._sources = None
        self._store.change(sources)

    async def scheduler(self, budget: float | None) -> Scheduler | None:
        """What a crawler would begin with: made from a copy, so that nothing is changed by it."""
        if budget is None:
            return None
        clock = ManualClock(self.now())
        loop = resume(self._copy(), _Nowhere(), clock, budget=budget, rules=self.rules)
        return loop.scheduler

    def _copy(self) -> _Copy:
        return _Copy(self.sources(), self._store.hosts(), self._store.funds())


class _Copy(MemoryStore):
    """The sources of a store in memory, with all that is known about them and their hosts."""

    def __init__(
        self, sources: Sequence[StoredSource], hosts: Sequence[HostState], funds: Funds | None
    ) -> None:
        super().__init__()
        self.add(sources)
        self.change(sources)
        self._hosts = {host.host: host for host in hosts}
        if funds is not None:
            self.claim([], funds.time, self.own(), funds)


class _Nowhere:
    """A fetcher for those who only think about it."""

    async def fetch(self, source: Target) -> Crawl:
        raise RuntimeError("nobody goes out here")


def active(sources: Sequence[StoredSource]) -> list[StoredSource]:
    """Those that are crawled."""
    return [source for source in sources if source.state is State.ACTIVE]
