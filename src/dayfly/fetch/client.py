"""Visit a source: robots, one conditional request, hints, reading; one `Crawl` in the end."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from dayfly.fetch.base import Target
from dayfly.fetch.branches import Walk
from dayfly.fetch.documents import Document, Reader, Unreadable
from dayfly.fetch.errors import FetchError, plain
from dayfly.fetch.guard import Guard
from dayfly.fetch.headers import user_agent, validator
from dayfly.fetch.hints import fresh_until, retry_after, ttl_until, values_of
from dayfly.fetch.shown import Shown
from dayfly.fetch.urls import Forbidden, check_url, origin
from dayfly.fetch.web import Answer, Deadlines, Web
from dayfly.model import Crawl, Status

if TYPE_CHECKING:
    import ssl

    from dayfly.fetch.names import Names
    from dayfly.fetch.robots import Robots
    from dayfly.model.robots import RobotsCopy

#: Answers that ask us to stay away.
_KEEP_OUT = frozenset({401, 403, 410, 451})
#: How long a whole host is left alone after a 429 that does not say.
_BREATHE = 60.0
#: Where the next visit must not be told that nothing has changed since.
_NOTHING_KEPT = {"etag": "", "last_modified": "", "digest": ""}


class _Refused(Forbidden):
    """The site does not want us there."""

    def __init__(self, why: str, until: float) -> None:
        super().__init__(why)
        self.until = until
        # A robots.txt that says no goes on saying so; one that could not be had may come.
        self.passing = why != "robots"


class HttpFetcher:
    """Fetches sources over HTTP; an asynchronous context manager.

    Parameters
    ----------
    guard
        Which addresses may be dialled; only public ones by default.
    now
        Where the time of a visit comes from.
    agent
        How we introduce ourselves; see `user_agent`.
    cache_cap
        Most seconds for which cache hints and a feed's ttl hold us back.
    kept_robots
        Copies of robots.txt from earlier runs.
    deadlines, resolver, trust
        As for `Web`.
    spacing
        Seconds between the requests of one visit, where a sitemap index takes several.
    """

    web: Web
    robots: Robots
    reader: Reader

    def __init__(
        self,
        guard: Guard | None = None,
        *,
        now: Callable[[], float] = time.time,
        agent: str = "",
        cache_cap: float = 3600.0,
        kept_robots: Iterable[RobotsCopy] = (),
        deadlines: Deadlines = Deadlines(),  # noqa: B008  (frozen)
        resolver: Names | None = None,
        trust: ssl.SSLContext | None = None,
        spacing: float = 5.0,
    ) -> None:
        self._now, self._cap, self._spacing = now, cache_cap, spacing
        self._agent = agent or user_agent()
        self._kept = tuple(kept_robots)
        self.web = Web(
            guard, agent=self._agent, deadlines=deadlines, resolver=resolver, trust=trust, now=now
        )
        self._shown = Shown()
        self._open = False

    async def __aenter__(self) -> Self:
        from dayfly.fetch.robots import Robots

        await self.web.__aenter__()
        self.robots = Robots(self.web, agent=self._agent, now=self._now, kept=self._kept)
        self.reader = Reader()
        self._open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._open = False
        self.reader.close()
        await self.web.__aexit__()

    async def fetch(self, source: Target) -> Crawl:
        """One visit to one source."""
        if not self._open:
            raise RuntimeError("an HttpFetcher is opened with `async with` before it fetches")
        began = time.monotonic()
        until = None
        try:
            return await self._visit(source)
        except _Refused as error:
            status, reason, until = Status.REFUSED, str(error), error.until
        except Forbidden as error:
            status, reason = Status.REFUSED, f"guard: {error}"
        except (FetchError, Unreadable) as error:
            status, reason = Status.FAILED, str(error)
        return Crawl(
            row=source.row,
            time=self._now(),
            status=status,
            # It may quote what a server said; what that said need not be text.
            reason=plain(reason),
            cost=source.cost,
            not_before=until,
            took_s=time.monotonic() - began,
        )

    async def _visit(self, source: Target) -> Crawl:
        delay = await self._may(source, source.url)
        asked: dict[str, str] = {}
        if source.etag:
            asked["If-None-Match"] = source.etag
        if source.last_modified:
            asked["If-Modified-Since"] = source.last_modified
        answer = await self.web.get(
            source.url,
            headers=asked,
            secrets=dict(source.headers) if source.headers else {},
            verify_tls=source.verify_tls,
            before=partial(self._may, source) if source.obey_robots else None,
        )
        now, headers = self._now(), answer.headers
        seen: dict[str, Any] = {
            "row": source.row,
            "time": now,
            "cost": source.cost,
            "crawl_delay": delay,
            "moved": answer.moved,
            "wire_bytes": answer.wire_bytes,
            "took_s": answer.took_s,
        }
        if answer.status != 200 and not (answer.status == 304 and asked):
            return _turned_away(seen, answer)
        seen["not_before"] = fresh_until(headers, now, cap=self._cap)
        seen["etag"] = validator(headers, "ETag")
        seen["last_modified"] = validator(headers, "Last-Modified")
        if answer.status == 304:
            # What a 304 does not repeat still holds.
            seen["etag"] = seen["etag"] or source.etag
            seen["last_modified"] = seen["last_modified"] or source.last_modified
            return Crawl(status=Status.UNCHANGED, digest=source.digest, **seen)
        seen["digest"] = hashlib.sha256(answer.body).hexdigest()[:32]
        if seen["digest"] == source.digest:
            return Crawl(status=Status.UNCHANGED, **seen)
        try:
            document = await self._read(source, answer)
        except Unreadable as error:
            # It may well be mended before its cache hints say so.
            return _unreadable(seen | {"not_before": None}, str(error))
        if document.children:
            return await self._follow(source, answer, document, seen)
        if document.cut:
            # Validators are those of the whole: with them we would never be given the rest.
            seen |= _NOTHING_KEPT
        self._shown.keep(source.row, seen["digest"], document.showing)
        return self._told(seen, document)

    async def _may(self, source: Target, url: str) -> float | None:
        """The crawl delay, where robots.txt lets us come; else `_Refused`."""
        if not source.obey_robots:
            return None
        verdict = await self.robots.verdict(url, verify_tls=source.verify_tls)
        if not verdict.allowed:
            raise _Refused(verdict.why, verdict.until)
        return verdict.crawl_delay

    async def _read(self, source: Target, answer: Answer) -> Document:
        return await self.reader.read(
            answer.body,
            kind=source.kind,
            content_type=answer.headers.get("Content-Type", ""),
            url=answer.url,
            now=self._now(),
            select=dict(source.select) if source.select else {},
            before=self._shown.of(source.row, source.digest),
        )

    async def _follow(
        self, source: Target, index: Answer, document: Document, seen: dict[str, Any]
    ) -> Crawl:
        """The newest files of a sitemap index."""
        own = check_url(source.url)

        async def ask(url: str, most: int) -> Answer:
            await self._may(source, url)
            return await self.web.get(
                url,
                secrets=dict(source.headers) if origin(check_url(url)) == origin(own) else {},
                decoded_cap=min(most, 20 << 20),
                verify_tls=source.verify_tls,
                before=partial(self._may, source) if source.obey_robots else None,
            )

        walk = Walk(
            ask=ask,
            read=partial(self._read, source),
            pause=max(self._spacing, seen["crawl_delay"] or 0.0),
            hosts=frozenset((str(own.raw_host), str(check_url(index.url).raw_host))),
            seen={source.url, index.url},
            unpacked=len(index.body),
        )
        walk.add(document)
        began = time.monotonic()
        await walk.down(document)
        seen["time"] = self._now()
        seen["took_s"] += time.monotonic() - began
        seen["cost"] *= 1 + walk.files
        seen["wire_bytes"] += walk.wire
        slower = {} if walk.enough is None else _slower(walk.enough, seen["time"])
        if not walk.items and walk.trouble:
            seen |= {"not_before": None} | slower
            return _unreadable(seen, f"sitemap index: {walk.trouble}")
        if not walk.settled:
            # There may be something new although the index stays as it is.
            seen |= _NOTHING_KEPT
        seen |= slower
        whole = replace(
            document,
            items=tuple(walk.items.values()),
            truncated=walk.truncated,
            malformed=walk.malformed,
        )
        return self._told(seen, whole)

    def _told(self, seen: dict[str, Any], document: Document) -> Crawl:
        """What a document had to say."""
        items, now = document.items, seen["time"]
        if document.showing is None:
            visible = len(items)
            dates = [item.published for item in items if item.published is not None]
        else:
            visible = len(document.showing)
            dates = [date for date in document.showing.dates if date == date]  # not a nan
        rest = ttl_until(document.ttl, document.skip_hours, document.skip_days, now, self._cap)
        if rest is not None:
            seen["not_before"] = max(rest, seen["not_before"] or rest)
        return Crawl(
            status=Status.CHANGED if items else Status.UNCHANGED,
            items=items,
            visible=visible,
            oldest_s=now - min(dates) if dates else None,
            title=document.title,
            truncated=document.truncated,
            malformed=document.malformed,
            **seen,
        )


def _turned_away(seen: dict[str, Any], answer: Answer) -> Crawl:
    """An answer that is not what we came for."""
    code = answer.status
    return Crawl(
        status=Status.REFUSED if code in _KEEP_OUT else Status.FAILED,
        reason=f"http {code}",
        **seen,
        **_slower(answer, seen["time"]),
    )


def _slower(answer: Answer, now: float) -> dict[str, Any]:
    """When we may come again, and to any source of this host."""
    later = retry_after(values_of(answer.headers, "Retry-After"), now)
    host = (later or now + _BREATHE) if answer.status == 429 else None
    return {"not_before": later, "host_not_before": host}


def _unreadable(seen: dict[str, Any], reason: str) -> Crawl:
    """Something came, but not what we came for: a bad body changes nothing that we know."""
    kept = {name: value for name, value in seen.items() if name not in _NOTHING_KEPT}
    return Crawl(status=Status.FAILED, reason=plain(reason), **kept)
