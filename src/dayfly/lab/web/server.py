"""The simulated web on loopback: one small HTTP/1.1 server, an address per host, one port.

It is a bare protocol, because what it serves is measured: a full web server would be the slowest
part of every benchmark.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from dayfly.lab.web.answers import Answers, Manner, Said
from dayfly.lab.web.log import Log
from dayfly.lab.web.plan import FIRST, Plan
from dayfly.schedule.clock import Clock

#: Nobody's request is longer; an endless body ends there all the same.
_REQUEST, _ENDLESS = 16 << 10, 64 << 20
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_RSS = b"<?xml version='1.0'?><rss version='2.0'><channel><title>On and on"


class SimulatedWeb:
    """A plan being served."""

    def __init__(self, plan: Plan, clock: Clock, *, port: int, first: str, log: Log) -> None:
        self.plan, self.clock, self.port, self.first, self.log = plan, clock, port, first, log
        homes = [f"http://{plan.address(host, first)}:{port}" for host in range(plan.hosts)]
        self.answers = Answers(plan, homes)
        self._host_of = {plan.address(host, first): host for host in range(plan.hosts)}

    def answer(self, address: str, path: str, headers: dict[str, str]) -> Said:
        """What is said at this address, noted in the log."""
        host, now = self._host_of[address], self.clock.now()
        said = self.answers.answer(host, path, headers, now)
        self.log.note(now, host, path, said)
        return said


@asynccontextmanager
async def serve(
    plan: Plan, clock: Clock, *, port: int = 0, first: str = FIRST, log: Log | None = None
) -> AsyncIterator[SimulatedWeb]:
    """Serve a plan until left; a free port is found where none is given."""
    loop = asyncio.get_running_loop()
    open_: set[_Connection] = set()
    web: SimulatedWeb | None = None

    def connect() -> asyncio.Protocol:
        assert web is not None
        return _Connection(web, open_)

    servers = [await loop.create_server(connect, plan.address(0, first), port)]
    try:
        port = servers[0].sockets[0].getsockname()[1]
        web = SimulatedWeb(plan, clock, port=port, first=first, log=log or Log())
        others = [plan.address(host, first) for host in range(1, plan.hosts)]
        if others:
            servers.append(await loop.create_server(connect, others, port))
        yield web
    finally:
        for server in servers:
            server.close()
        for connection in list(open_):
            connection.end()
        for server in servers:
            await server.wait_closed()
        # Transports close at the next turn of the loop.
        await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    """One visitor's connection: request after request."""

    def __init__(self, web: SimulatedWeb, open_: set[_Connection]) -> None:
        self._web, self._open = web, open_
        self._data, self._address = b"", ""
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address = transport.get_extra_info("sockname")[0]
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def end(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, rest = self._data.partition(b"\r\n\r\n")
        if not end:
            if len(self._data) > _REQUEST:
                self.end()
            return
        # Visitors wait for an answer before they ask again; what comes early is dropped.
        self._data = b""
        lines = head.decode("latin-1").split("\r\n")
        method, _, target = lines[0].partition(" ")
        path = target.partition(" ")[0]
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if method != "GET" or rest:
            self._send(Said(status=405))
            return
        self._send(self._web.answer(self._address, path, headers))

    def _send(self, said: Said) -> None:
        transport = self._transport
        assert transport is not None
        if said.manner == Manner.WHOLE and not said.delay:
            transport.write(_written(said))
        elif said.manner == Manner.RESET:
            transport.abort()
        elif said.manner == Manner.CUT:
            transport.write(_head(said, 100_000) + _RSS)
            transport.close()
        elif said.manner != Manner.SILENT:
            self._task = asyncio.get_running_loop().create_task(self._slowly(said, transport))

    async def _slowly(self, said: Said, transport: asyncio.Transport) -> None:
        if said.manner == Manner.WHOLE:
            await self._web.clock.sleep(said.delay)
            transport.write(_written(said))
            return
        transport.write(_head(said, None))
        drip = said.manner == Manner.DRIP
        some = b" " if drip else b"<item/>" * 8192
        piece = b"%x\r\n%s\r\n" % (len(some), some)
        for _ in range(0, _ENDLESS, len(piece)):
            await self._may_write.wait()
            transport.write(piece)
            # A drip is slow by the clock on the wall: it is there to outlast deadlines.
            await asyncio.sleep(1.0 if drip else 0.0)
        transport.abort()


def _written(said: Said) -> bytes:
    return _head(said, len(said.body)) + said.body


def _head(said: Said, length: int | None) -> bytes:
    """The head of an answer; without a length its end is not foretold."""
    lines = [f"HTTP/1.1 {said.status} {_PHRASES[said.status]}"]
    lines += [f"{name}: {value}" for name, value in said.headers.items()]
    if length is None:
        lines.append("Transfer-Encoding: chunked")
    elif said.status != 304:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join([*lines, "\r\n"]).encode("latin-1")
