"""A crawl from beginning to end: the database owned, the office open, everything closed again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from dayfly.errors import BadInput, DayflyError
from dayfly.fetch import Forbidden, Guard, HttpFetcher, check_url, user_agent
from dayfly.fetch.urls import is_literal
from dayfly.model import RobotsCopy
from dayfly.schedule import Loop, News, Rules, SystemClock, resume
from dayfly.serve.house import LiveHouse, StillHouse, active
from dayfly.serve.indoors import Indoors, check_contact
from dayfly.serve.office import Office
from dayfly.serve.owner import serving
from dayfly.serve.retention import Retention
from dayfly.serve.vocabulary import shown_url
from dayfly.serve.webhook import Webhook
from dayfly.serve.wire import beside
from dayfly.store import Listing, SqliteStore, StoredSource

_DAY = 86400.0
#: Seconds that the last delivery may take when a run ends.
_LAST_WORDS = 1.5
#: Seconds until what failed beside the crawl is begun again.
_AGAIN = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What the operator asked for; seconds, and cost units per second."""

    db: Path
    budget: float
    rules: Rules = field(default_factory=Rules)
    max_interval: float = 14 * _DAY
    parallel: int = 128
    #: Addresses that may be visited though not public, and whom sites may turn to.
    allow: tuple[str, ...] = ()
    contact: str = ""
    keep_items: float = 30 * _DAY
    keep_visits: float = 90 * _DAY
    #: Where new items are posted to; often a secret in itself.
    webhook: str = field(default="", repr=False)
    #: Whether it ends by itself, so that what is due once a day is done at its end.
    brief: bool = False


class Admission:
    """Where this run may go: without a contact only to addresses that are allowed by name."""

    def __init__(self, asked: Run) -> None:
        self.agent = user_agent(check_contact(asked.contact))
        self.guard = (Guard if asked.contact else Indoors)(asked.allow)
        self._plain, self._indoors = Guard(asked.allow), not asked.contact

    def check(self, listing: Listing) -> None:
        """Refuse a source that needs a contact while there is none."""
        if not self._indoors:
            return
        try:
            url = self._plain.check_url(listing.url)
        except Forbidden:
            return  # nobody goes there in any case, and the visit says so
        if not self.guard.permits(str(url.raw_host), int(url.port or 0)):
            raise BadInput(
                f"{shown_url(listing.url)} is outside of what --allow names, and sites must be able"
                " to reach you: set --contact https://your.page/, or contact in dayfly.toml"
            )

    def closed(self, sources: Sequence[StoredSource]) -> str:
        """Told where sources are at addresses that nobody has allowed; else empty."""
        found = [door for source in sources if (door := _private(source.url, self.guard))]
        if not found:
            return ""
        who = "1 source is" if len(found) == 1 else f"{len(found):,} sources are"
        others = len(set(found)) - 1
        more = f" and {others:,} more such" if others else ""
        return (
            f"{who} at an address that is not public and cannot be visited without"
            f" --allow {found[0]}{more}"
        )

    def let_in(self, sources: Sequence[StoredSource], rest: float) -> list[StoredSource]:
        """Sources that were refused by the guard alone, and that --allow names by now.

        Nobody asked for that wait but ourselves, and they have not failed. The minimum interval
        holds for them all the same.
        """
        return [
            replace(
                source,
                not_before=(source.last_crawl or 0.0) + rest,
                why_not="minimum interval",
                failures=0,
            )
            for source in sources
            if source.why_not == "guard" and self._opened(source.url)
        ]

    def still_true(self, copies: Iterable[RobotsCopy]) -> list[RobotsCopy]:
        """Copies of robots.txt without those that only say that nobody was let out to ask."""
        return [
            copy
            for copy in copies
            if not (copy.reason.startswith("guard") and self._opened(copy.origin))
        ]

    def _opened(self, url: str) -> bool:
        """Whether --allow names this address, which is not public."""
        return bool(_private(url, Guard())) and not _private(url, self.guard)


def _private(address: str, guard: Guard) -> str:
    """CIDR:PORT of an address that this guard refuses as not public; else empty."""
    try:
        url = check_url(address)
    except Forbidden:
        return ""
    host, port = str(url.raw_host), int(url.port or 0)
    if not is_literal(host) or guard.permits(host, port):
        return ""
    return f"[{host}]/128:{port}" if ":" in host else f"{host}/32:{port}"


@contextlib.asynccontextmanager
async def crawling(
    asked: Run, store: SqliteStore, watch: Callable[[News], None], alarm: Callable[[str], None]
) -> AsyncIterator[Loop]:
    """A loop that is ready to run, reachable for other commands; the caller owns the database."""
    admission, clock = Admission(asked), SystemClock()
    crawled = active(store.sources())
    for source in crawled:
        admission.check(source)
    store.change(admission.let_in(crawled, asked.rules.min_interval))
    async with HttpFetcher(
        admission.guard,
        now=clock.now,
        agent=admission.agent,
        cache_cap=asked.rules.cache_cap,
        kept_robots=admission.still_true(store.robots()),
        spacing=asked.rules.host_spacing,
    ) as fetcher:
        loop = resume(
            store,
            fetcher,
            clock,
            budget=asked.budget,
            rules=asked.rules,
            max_interval=asked.max_interval,
            parallel=asked.parallel,
            watch=watch,
        )
        house = LiveHouse(loop, fetcher, admission.check)
        keep = (asked.keep_items, asked.keep_visits, loop.fence)
        chores = [Retention(house, *keep).run]
        hook = Webhook(asked.webhook, fetcher.web, beside(asked.db, ".webhook"), tell=alarm)
        if asked.webhook:
            chores.append(lambda: hook.run(house))
        async with serving(asked.db, Office(house).answer):
            tasks = [asyncio.ensure_future(_chore(chore, alarm)) for chore in chores]
            if said := admission.closed(crawled):
                asyncio.get_running_loop().call_soon(alarm, said)  # when somebody watches
            try:
                yield loop
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        if asked.brief:
            # Short runs are never there when the day is over. Nobody waits for the store now.
            await Retention(StillHouse(store), *keep, sleep=_at_once).once()
        if asked.webhook:
            # What the last visits found goes out now, if that is quick; else at the next start.
            with contextlib.suppress(TimeoutError, DayflyError, OSError):
                async with asyncio.timeout(_LAST_WORDS):
                    await hook.drain(StillHouse(store))


async def _at_once(_: float) -> None:
    """Without a breath."""


async def _chore(
    chore: Callable[[], Awaitable[None]],
    alarm: Callable[[str], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Something beside the crawl, which goes on without it; a full disk is no reason to give up."""
    told = ""
    while True:
        try:
            return await chore()
        except Exception as error:  # whatever it is, a run of months must not lose it silently
            said = (
                str(error) if isinstance(error, DayflyError) else f"{type(error).__name__}: {error}"
            )
        if said != told:
            alarm(f"{said}; tried again every {_AGAIN / 60:g} min")
        told = said
        await sleep(_AGAIN)
