"""One way out to the web: every request of Dayfly, whatever it is for, is made here.

Redirects are followed by hand, so that each hop passes the guard and so that secrets stay with the
origin they are meant for. There are no cookies, no proxies and nothing from the environment.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from dayfly.fetch.body import OFFERED, Unpacker
from dayfly.fetch.errors import FetchError
from dayfly.fetch.guard import Guard
from dayfly.fetch.hints import retry_after, values_of
from dayfly.fetch.names import Names, SystemNames
from dayfly.fetch.urls import Forbidden, has_odd, origin

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientSession
    from yarl import URL

    from dayfly.fetch.dial import Response

_MIB = 1 << 20
_MOVED = frozenset({301, 302, 303, 307, 308})
_FOR_GOOD = frozenset({301, 308})
#: Chunks of a few bytes each cost us far more than their sender. A body may have so many bytes of
#: that, and one more for so many of its own.
_WRAPPING, _PER_WRAPPING = 512 * 1024, 8
#: A redirect may be followed at once although it asks to wait for so many seconds: some always say
#: "0" or "5".
_SOON = 60.0
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds that each step of a request may take, and all of them together."""

    dns: float = 5.0
    connect: float = 5.0
    tls: float = 5.0
    first_byte: float = 10.0
    #: Between two pieces of an answer.
    idle: float = 10.0
    total: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server answered in the end."""

    status: int
    #: The address that answered, after redirects.
    url: str
    #: How far permanent redirects alone led, from the first address on; else empty.
    moved: str
    #: Header fields; upper and lower case are the same.
    headers: Mapping[str, str]
    #: Unpacked; empty unless the status is one whose body was asked for.
    body: bytes
    #: Bytes received, and seconds it took, redirects included.
    wire_bytes: int
    took_s: float


class Web:
    """Asks servers; an asynchronous context manager.

    Parameters
    ----------
    guard
        Which addresses may be dialled; only public ones by default.
    agent
        How we introduce ourselves.
    deadlines, resolver
        How long to wait for what, and who looks names up.
    trust
        Which certificates to believe; those that the system believes by default.
    now
        Where the time comes from that dates in an answer are compared with.
    """

    def __init__(
        self,
        guard: Guard | None = None,
        *,
        agent: str,
        deadlines: Deadlines = Deadlines(),  # noqa: B008  (frozen)
        resolver: Names | None = None,
        trust: ssl.SSLContext | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.guard = guard or Guard()
        self._agent, self._deadlines, self._names = agent, deadlines, resolver
        self._now = now
        self._verified = trust
        self._unverified: ssl.SSLContext | None = None
        self._session: ClientSession | None = None

    async def __aenter__(self) -> Self:
        import aiohttp

        from dayfly.fetch.dial import Connector, Response

        if self._verified is None:
            self._verified = _context(verified=True)
        self._session = aiohttp.ClientSession(
            connector=Connector(self.guard, self._names or SystemNames(), self._deadlines),
            response_class=Response,
            timeout=aiohttp.ClientTimeout(total=None, sock_read=self._deadlines.first_byte),
            headers={"User-Agent": self._agent, "Accept-Encoding": OFFERED},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            # Honest answers have long fields; all of the head together is limited elsewhere.
            max_field_size=32768,
            max_headers=256,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] = {},
        secrets: Mapping[str, str] = {},
        max_redirects: int = 10,
        wire_cap: int = 10 * _MIB,
        decoded_cap: int = 20 * _MIB,
        verify_tls: bool = True,
        body_of: Container[int] = (200,),
        cut: bool = False,
        before: Callable[[str], Awaitable[object]] | None = None,
    ) -> Answer:
        """Ask for an address, and follow redirects; raises `Forbidden` or `FetchError`.

        Secrets are header fields that go to the first origin alone. A body above `wire_cap` is an
        error, or cut off there where its beginning is of use as well. `before` is awaited with the
        address of every redirect before it is followed, and may raise.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        asked = self.guard.check_url(url)
        sent = {**headers, **secrets} if secrets else headers
        seen = {asked}
        moved, for_good, wire = "", True, 0
        try:
            async with asyncio.timeout(self._deadlines.total):
                while True:
                    response = await self._ask("GET", asked, sent, verify_tls)
                    status = response.status
                    place = response.headers.get("Location") if status in _MOVED else None
                    if place is None or _wants_peace(response.headers, self._now()):
                        break
                    response.release()
                    wire += response.meter.wire
                    target = self.guard.check_url(_target(asked, place))
                    if target in seen:
                        raise FetchError("redirects", "in a circle")
                    if len(seen) > max_redirects:
                        raise FetchError("redirects", f"more than {max_redirects}")
                    if before is not None:
                        await before(str(target))
                    if origin(target) != origin(asked):
                        sent = headers
                    for_good = for_good and status in _FOR_GOOD
                    if for_good:
                        moved = str(target)
                    asked = target
                    seen.add(asked)
                if status in body_of:
                    body = await self._read(response, wire_cap, decoded_cap, cut)
                else:
                    response.release()
                    body = b""
        except TimeoutError:
            raise FetchError("timeout", "total") from None
        return Answer(
            status=status,
            url=str(asked),
            moved=moved,
            headers=response.headers,
            body=body,
            wire_bytes=wire + response.meter.wire,
            took_s=loop.time() - began,
        )

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Send something; the answer is the status. Redirects are not followed."""
        asked = self.guard.check_url(url)
        try:
            async with asyncio.timeout(self._deadlines.total):
                response = await self._ask("POST", asked, headers, True, body)
        except TimeoutError:
            raise FetchError("timeout", "total") from None
        response.release()
        return response.status

    async def _ask(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        verify_tls: bool,
        body: bytes | None = None,
    ) -> Response:
        """One request, up to the head of its answer."""
        import aiohttp

        if self._session is None:
            raise RuntimeError("open it with `async with` before asking")
        try:
            return await self._session.request(  # type: ignore[return-value]
                method, url, headers=headers, data=body, allow_redirects=False,
                ssl=self._context(verify_tls),
            )  # fmt: skip
        except TimeoutError:
            raise FetchError("timeout", "first byte") from None
        except aiohttp.ClientResponseError as error:
            # What follows the colon is quoted from the answer.
            raise FetchError("protocol", error.message.partition(":")[0].strip().lower()) from None
        except aiohttp.ServerDisconnectedError:
            raise FetchError("cut short", "closed without an answer") from None
        except ValueError:
            raise FetchError("protocol", "a header field that cannot be sent") from None
        except (aiohttp.ClientError, OSError) as error:
            raise FetchError("cut short", type(error).__name__) from None

    async def _read(self, response: Response, wire_cap: int, decoded_cap: int, cut: bool) -> bytes:
        """The body, within its limits; what is left over is not waited for."""
        import aiohttp

        # Whoever cuts wants to read up to there before the connection is closed.
        response.meter.cap = 2 * wire_cap if cut else wire_cap
        if (connection := response.connection) and connection.protocol is not None:
            connection.protocol.read_timeout = self._deadlines.idle
            connection.protocol.start_timeout()  # from here on; the other one is still running
        try:
            # Packed twice may be said in one line or in two.
            packed = ", ".join(values_of(response.headers, "Content-Encoding"))
            unpacker = Unpacker(packed, decoded_cap)
            declared = response.headers.get("Content-Length", "")
            if declared.isdigit() and int(declared[:20]) > wire_cap and not cut:
                raise FetchError("too large")
            received = 0
            while piece := await response.content.readany():
                received += len(piece)
                if received > wire_cap:
                    raise FetchError("too large")
                wrapping = response.meter.wire - received
                if wrapping > _WRAPPING + received // _PER_WRAPPING:
                    raise FetchError("protocol", "more wrapping than content")
                unpacker.feed(piece)
            return unpacker.finish()
        except FetchError as error:
            if not cut or error.kind != "too large":
                raise
            return unpacker.so_far()
        except TimeoutError:
            raise FetchError("timeout", "idle") from None
        except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError):
            raise FetchError("cut short", "body") from None
        finally:
            response.release()
            if (failure := response.content.exception()) is not None:
                # The answer keeps it, and it would keep all that was read: a circle around a body.
                failure.__traceback__ = None

    def _context(self, verified: bool) -> ssl.SSLContext:
        assert self._verified is not None
        if verified:
            return self._verified
        if self._unverified is None:
            self._unverified = _context(verified=False)
        return self._unverified


def _wants_peace(headers: Mapping[str, str], now: float) -> bool:
    """Whether a redirect asks to be followed minutes later."""
    later = retry_after(values_of(headers, "Retry-After"), now)
    return later is not None and later > now + _SOON


def _target(url: URL, place: str) -> str:
    """Where a redirect leads, as an absolute address that is yet to be checked."""
    from yarl import URL

    # Servers forget to escape spaces; anything odder is refused by the check.
    text = place.strip().replace(" ", "%20")
    if _SCHEME.match(text):
        return text
    if text.startswith("//"):
        return f"{url.scheme}:{text}"
    if has_odd(text):
        raise Forbidden("a redirect to something that is not an address")
    try:
        return str(url.join(URL(text)))
    except ValueError:
        raise Forbidden("a redirect to something that is not an address") from None


def _context(*, verified: bool) -> ssl.SSLContext:
    import ssl

    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if not verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
