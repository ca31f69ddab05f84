"""Ask a source for its feed: one conditional GET, one deadline, one `Crawl` in the end."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, Self

from dayfly.fetch.body import BadBody, read_body
from dayfly.fetch.feeds import read_feed
from dayfly.fetch.gate import Unreadable
from dayfly.fetch.guard import Forbidden, Guard
from dayfly.model import Crawl, Status

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_DAY = 86400.0
_MIB = 1 << 20
#: Answers that ask us to stay away.
_KEEP_OUT = frozenset({401, 403, 410, 451})


class Target(Protocol):
    """What a fetcher must know about a source; a stored source is one."""

    @property
    def row(self) -> int: ...  # noqa: D102
    @property
    def url(self) -> str: ...  # noqa: D102
    @property
    def cost(self) -> float: ...  # noqa: D102
    @property
    def etag(self) -> str: ...  # noqa: D102
    @property
    def last_modified(self) -> str: ...  # noqa: D102


class Fetcher(Protocol):
    """Goes out and comes back with what it saw."""

    async def fetch(self, source: Target) -> Crawl:
        """One visit; whatever goes wrong is a status and a reason, not an exception."""
        ...


class HttpFetcher:
    """Fetches feeds over HTTP; an asynchronous context manager.

    Parameters
    ----------
    guard
        Which addresses may be dialled; only public ones by default.
    now
        Where the time of a visit comes from.
    timeout
        Seconds that a visit may take, from the first look-up to the last byte.
    wire_cap, decoded_cap
        Most bytes of a body, as received and as unpacked.
    """

    def __init__(
        self,
        guard: Guard | None = None,
        *,
        now: Callable[[], float] = time.time,
        timeout: float = 30.0,
        wire_cap: int = 10 * _MIB,
        decoded_cap: int = 20 * _MIB,
        user_agent: str = "dayfly",
    ) -> None:
        self._guard = guard or Guard()
        self._now, self._timeout = now, timeout
        self._wire_cap, self._decoded_cap = wire_cap, decoded_cap
        self._agent = user_agent
        self._session: ClientSession | None = None

    async def __aenter__(self) -> Self:
        import aiohttp

        connector = aiohttp.TCPConnector(
            socket_factory=self._guard.open_socket,
            # One address after another, so that the first forbidden one ends the visit.
            happy_eyeballs_delay=None,
            # A remembered look-up would be older than the check.
            use_dns_cache=False,
            limit=0,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=5.0, sock_read=10.0),
            headers={"User-Agent": self._agent, "Accept-Encoding": "gzip"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def fetch(self, source: Target) -> Crawl:
        """One visit to one source."""
        import aiohttp

        try:
            return await self._visit(source)
        except Forbidden as error:
            return self._ended(source, Status.REFUSED, f"guard: {error}")
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):
            return self._ended(source, Status.REFUSED, "guard: not a url")
        except (Unreadable, BadBody) as error:
            return self._ended(source, Status.FAILED, str(error))
        except TimeoutError:
            return self._ended(source, Status.FAILED, "timeout")
        except aiohttp.TooManyRedirects:
            return self._ended(source, Status.FAILED, "too many redirects")
        except aiohttp.ClientConnectorDNSError:
            return self._ended(source, Status.FAILED, "unknown host")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return self._ended(source, Status.FAILED, f"connection: {type(error).__name__}")

    async def _visit(self, source: Target) -> Crawl:
        if self._session is None:
            raise RuntimeError("an HttpFetcher is opened with `async with` before it fetches")
        url = self._guard.check_url(source.url)
        asked = {"If-None-Match": source.etag, "If-Modified-Since": source.last_modified}
        headers = {name: value for name, value in asked.items() if value}
        # The connector checks every hop of a redirect as it checks the first address.
        async with self._session.get(url, headers=headers, max_redirects=5) as answer:
            if answer.status == 304 and headers:
                kept = self._ended(source, Status.UNCHANGED, "")
                return replace(
                    kept,
                    etag=_validator(answer, "ETag") or source.etag,
                    last_modified=_validator(answer, "Last-Modified") or source.last_modified,
                )
            if answer.status != 200:
                status = Status.REFUSED if answer.status in _KEEP_OUT else Status.FAILED
                crawl = self._ended(source, status, f"http {answer.status}")
                return replace(crawl, not_before=_retry_after(answer, crawl.time))
            body = await read_body(answer, wire_cap=self._wire_cap, decoded_cap=self._decoded_cap)
            etag, modified = _validator(answer, "ETag"), _validator(answer, "Last-Modified")
        return self._seen(source, body, etag=etag, last_modified=modified)

    def _seen(self, source: Target, body: bytes, *, etag: str, last_modified: str) -> Crawl:
        now = self._now()
        items = read_feed(body, now)
        dates = [item.published for item in items if item.published is not None]
        return Crawl(
            row=source.row,
            time=now,
            status=Status.CHANGED if items else Status.UNCHANGED,
            items=items,
            visible=len(items),
            oldest_s=now - min(dates) if dates else None,
            cost=source.cost,
            etag=etag,
            last_modified=last_modified,
        )

    def _ended(self, source: Target, status: Status, reason: str) -> Crawl:
        # A reason may quote what a server said; what it said need not be text.
        plain = reason.encode("ascii", "backslashreplace").decode()
        return Crawl(
            row=source.row, time=self._now(), status=status, reason=plain, cost=source.cost
        )


def _validator(answer: ClientResponse, name: str) -> str:
    """A header to be echoed byte for byte; one that cannot be is dropped."""
    value = answer.headers.get(name, "")
    return value if len(value) <= 1024 and value.isascii() and value.isprintable() else ""


def _retry_after(answer: ClientResponse, now: float) -> float | None:
    """When we may come again: seconds or a date, at most a day ahead."""
    text = answer.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        # Nobody needs more digits, and int() of very many is slow.
        wait = float(text[:12]) if len(text) <= 12 else _DAY
    else:
        try:
            wait = email.utils.parsedate_to_datetime(text).timestamp() - now
        except (ValueError, TypeError, OverflowError, OSError):
            return None
    return now + min(wait, _DAY) if wait > 0 else None
