"""A test origin that says what it is told to, byte for byte, and a canary that counts callers.

The origin listens on 127.0.0.2, where a test's guard allows it; the canary on 127.0.0.3 and [::1],
where nobody is allowed. "Refused" always means: an error came back, and the canary heard nobody.

    async with Origin() as origin, Canary() as canary:
        origin.on("/feed", reply(b"<rss/>", ETag='"x"'))
        async with HttpFetcher(origin.guard) as fetcher:
            crawl = await fetcher.fetch(Place(url=origin.url("/feed")))
    assert canary.accepts == 0

What a path answers is bytes, or a coroutine function that is given the request and both streams;
a list of these is used up one by one, and its last stays. Unknown paths answer 404, so that there
is no robots.txt unless a test writes one.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from dayfly.fetch import Guard

ORIGIN, CANARY = "127.0.0.2", "127.0.0.3"


@dataclass(frozen=True)
class Request:
    """A request as it came in: names of header fields in lower case, and all bytes of its head."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    body: bytes
    #: Counts up over the connections of the origin.
    connection: int


Talk = Callable[[Request, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Script = bytes | Talk


@dataclass(frozen=True, kw_only=True)
class Place:
    """A source to be visited, as the fetcher wants it."""

    url: str
    row: int = 3
    cost: float = 2.0
    etag: str = ""
    last_modified: str = ""
    digest: str = ""
    kind: str = "auto"
    headers: tuple[tuple[str, str], ...] = ()
    obey_robots: bool = True
    verify_tls: bool = True
    select: tuple[tuple[str, str], ...] = ()


def reply(body: bytes = b"", status: int = 200, /, **headers: str) -> bytes:
    """A whole answer with its length; underscores in the names of header fields are hyphens."""
    lines = [f"HTTP/1.1 {status} Whatever"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if "Content_Length" not in headers and status != 304:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + body


def redirect(to: str, status: int = 302) -> bytes:
    return reply(b"", status, Location=to)


class Origin:
    """A web server that follows a script; one asynchronous context."""

    def __init__(self, host: str = ORIGIN, tls: ssl.SSLContext | None = None) -> None:
        self.host, self._tls = host, tls
        self.port = 0
        self.accepts = 0
        self.requests: list[Request] = []
        self._scripts: dict[str, list[Script]] = {}
        self._talks: set[asyncio.Task] = set()

    def on(self, path: str, *answers: Script) -> None:
        self._scripts[path] = list(answers)

    def url(self, path: str = "/", host: str = "") -> str:
        return f"http{'s' if self._tls else ''}://{host or self.host}:{self.port}{path}"

    @property
    def allowance(self) -> str:
        return f"{self.host}/32:{self.port}"

    @property
    def guard(self) -> Guard:
        return Guard([self.allowance])

    def asked(self, path: str) -> list[Request]:
        return [request for request in self.requests if request.path == path]

    async def __aenter__(self):
        self._server = await asyncio.start_server(
            self._talk, self.host, 0, ssl=self._tls, limit=1 << 20
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_) -> None:
        self._server.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)
        await self._server.wait_closed()
        # Connections that were broken off are let go in the next round.
        await asyncio.sleep(0.0)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepts += 1
        number = self.accepts
        task = asyncio.current_task()
        self._talks.add(task)
        try:
            while await self._answer(reader, writer, number):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._talks.discard(task)
            writer.transport.abort()

    async def _answer(self, reader, writer, number: int) -> bool:
        raw = await reader.readuntil(b"\r\n\r\n")
        first, *lines = raw.decode("latin-1").split("\r\n")[:-2]
        method, path, _ = first.split(" ")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        request = Request(method, path, headers, raw, body, number)
        self.requests.append(request)
        scripts = self._scripts.get(path, [reply(b"", 404)])
        script = scripts.pop(0) if len(scripts) > 1 else scripts[0]
        if isinstance(script, bytes):
            writer.write(script)
            await writer.drain()
            return True
        await script(request, reader, writer)
        return not writer.is_closing()


def then_close(answer: bytes) -> Talk:
    """Say this and hang up."""

    async def talk(request: Request, reader, writer) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    return talk


def trickle(*pieces: bytes, every: float) -> Talk:
    """Say these pieces with pauses before each, the last one for ever."""

    async def talk(request: Request, reader, writer) -> None:
        for piece in pieces[:-1]:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(every)
        while not (writer.is_closing() or reader.at_eof() or reader.exception()):
            writer.write(pieces[-1])
            await writer.drain()
            await asyncio.sleep(every)

    return talk


async def silence(request: Request, reader, writer) -> None:
    """Say nothing until the other side hangs up."""
    await reader.read()
    writer.close()


async def reset(request: Request, reader, writer) -> None:
    """Break the connection off."""
    writer.transport.abort()


@dataclass
class Canary:
    """Listens where nobody may come, and counts who comes; one asynchronous context."""

    accepts: int = 0
    port: int = 0
    _servers: list = field(default_factory=list)

    async def __aenter__(self):
        async def heard(reader, writer) -> None:
            self.accepts += 1
            writer.close()

        first = await asyncio.start_server(heard, CANARY, 0)
        self._servers.append(first)
        self.port = first.sockets[0].getsockname()[1]
        # A machine without version 6 has no such door to guard.
        with suppress(OSError):
            self._servers.append(await asyncio.start_server(heard, "::1", self.port))
        return self

    async def __aexit__(self, *_) -> None:
        # Whoever is on the way is still let in, and counted.
        await asyncio.sleep(0.01)
        for server in self._servers:
            server.close()
            await server.wait_closed()

    def url(self, path: str = "/") -> str:
        return f"http://{CANARY}:{self.port}{path}"


class Told:
    """A resolver that answers as it is told, one answer after another; the last one stays."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self._answers = {name.replace("_", "."): list(all_) for name, all_ in answers.items()}
        self.asked: list[str] = []

    async def resolve(self, host: str) -> list[str]:
        self.asked.append(host)
        if host not in self._answers:
            raise OSError("no such name")
        answers = self._answers[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]
