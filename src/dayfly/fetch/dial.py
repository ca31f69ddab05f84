"""Connections: looked up once, checked, dialled, encrypted, each step within its deadline.

This is the client's connector. The usual one looks names up, tries addresses and speaks TLS under
one deadline; here each step has its own, and says so where it took too long. It is also where the
bytes of an answer are counted, as they come in and before anything is made of them.

It hooks into the inside of the client library. Cases F04, F05, F16, F17 and F20 among the tests
notice if another version of that library works differently.
"""

from __future__ import annotations

import asyncio
import functools
import os
import re
import select
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import (
    BaseConnector,
    ClientOSError,
    ClientRequest,
    ClientResponse,
    ServerDisconnectedError,
    hdrs,
)
from aiohttp.client_proto import ResponseHandler

from dayfly.fetch.errors import FetchError
from dayfly.fetch.names import Names, addresses

if TYPE_CHECKING:
    from aiohttp.connector import Connection

    from dayfly.fetch.guard import Guard
    from dayfly.fetch.web import Deadlines

#: Most bytes before the body: status line, header fields, and answers that announce the real one.
HEAD = 65536
#: Connections that are kept open in case the same host is asked again soon, and for how long.
_IDLE, _KEEP = 256, 15.0
_NOT_MODIFIED = re.compile(rb"HTTP/1\.[01] 304 ")


@dataclass(slots=True)
class Meter:
    """How much of one answer has come in, and how much may."""

    wire: int = 0
    #: Bytes of the body that may come.
    cap: int = 10 << 20
    begun: bool = False


class Handler(ResponseHandler):
    """Counts what comes in, and hangs up where it is more than an answer may have."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.meter = Meter()
        self._requests = 0
        self._head = bytearray()
        self.resting = False

    def set_response_params(self, **params: Any) -> None:
        """A new request on this connection."""
        self.meter = Meter()
        self._requests += 1
        self._head = bytearray()
        self.resting = False
        super().set_response_params(**params)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """A head has been read."""
        if data[0].code < 200:
            # Only an announcement; whoever sends these is not asked again on this connection.
            self.force_close()
        else:
            self.meter.begun = True
            codings = data[0].headers.getall(hdrs.TRANSFER_ENCODING, ())
            if codings and ", ".join(codings).lower() != "chunked":
                self._refuse(FetchError("protocol", "a transfer encoding we did not ask for"))
                return
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        """More bytes, of the head or of the body."""
        if self.resting and data:
            # Nobody asked; it must not be taken for the answer to what is asked next.
            self._hang_up()
            return
        meter = self.meter
        meter.wire += len(data)
        if meter.begun:
            super().data_received(data)
            if meter.wire > meter.cap + HEAD:
                self._refuse(FetchError("too large"))
            return
        head: bytes | bytearray = data
        if self._head:
            self._head += data
            head = self._head
        end = head.find(b"\r\n\r\n")
        if _NOT_MODIFIED.match(head) and 0 < end < len(head) - 4:
            # There is no body after this head, but some servers send one all the same.
            self.force_close()
            data = data[: len(data) - (len(head) - end - 4)]
        super().data_received(data)
        if not meter.begun:
            if meter.wire > HEAD:
                self._refuse(FetchError("too large", "header"))
            elif not self._head:
                self._head = bytearray(data)
            return
        self._head = bytearray()
        # Lines that end in half a line end are read in two ways, by one program and the next.
        if end < 0 or head.count(b"\n", 0, end) != head.count(b"\r\n", 0, end):
            self._refuse(FetchError("protocol", "line ends that are not CR LF"))

    def set_exception(self, exc: Any, *cause: Any) -> None:
        """The connection failed."""
        # A connection that was kept open may have been closed just before we asked again; the
        # client then asks once more. One that is new has no such excuse.
        if self._requests < 2 and isinstance(exc, ServerDisconnectedError | ClientOSError):
            reset = isinstance(exc, ClientOSError)
            exc = FetchError("cut short", "reset" if reset else "closed without an answer")
        super().set_exception(exc, *cause)

    def stale(self) -> bool:
        """Whether something has come in while nothing was asked: an end, or worse."""
        if self.transport is None:
            return True
        waiting = select.poll()
        waiting.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(waiting.poll(0))

    def _refuse(self, error: FetchError) -> None:
        self.set_exception(error)
        if self._payload is not None:
            self._payload.set_exception(error)
        self._hang_up()

    def _hang_up(self) -> None:
        if self.transport is not None:
            self.transport.abort()


class Response(ClientResponse):
    """An answer that knows its meter."""

    meter: Meter

    async def start(self, connection: Connection) -> ClientResponse:
        """Wait for the head."""
        handler = connection.protocol
        assert isinstance(handler, Handler)
        self.meter = handler.meter
        return await super().start(connection)


class Connector(BaseConnector):
    """Dials what the guard permits."""

    def __init__(self, guard: Guard, names: Names, deadlines: Deadlines) -> None:
        super().__init__(limit=0, keepalive_timeout=_KEEP)
        self._guard, self._names, self._deadlines = guard, names, deadlines
        self._handler = functools.partial(Handler, loop=self._loop)

    def _release(self, key: Any, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        assert isinstance(protocol, Handler)
        protocol.resting = True
        full = len(self._conns) >= _IDLE
        super()._release(key, protocol, should_close=should_close or full)

    async def _get(self, key: Any, traces: Any) -> Connection | None:
        """A connection that was kept open, if it is as we left it."""
        while (kept := await super()._get(key, traces)) is not None:
            assert isinstance(kept.protocol, Handler)
            if not kept.protocol.stale():
                return kept
            kept.close()
        return None

    async def _create_connection(
        self, req: ClientRequest, traces: Any, timeout: Any
    ) -> ResponseHandler:
        host, port = str(req.url.raw_host), int(req.url.port or 0)
        dialled = await self._dial(host, port)
        context = req.ssl if isinstance(req.ssl, ssl.SSLContext) and req.is_ssl() else None
        try:
            async with asyncio.timeout(self._deadlines.tls):
                _, handler = await self._loop.create_connection(
                    self._handler,
                    sock=dialled,
                    ssl=context,
                    server_hostname=host if context else None,
                )
        except TimeoutError:
            raise FetchError("timeout", "tls") from None
        except ssl.SSLCertVerificationError as error:
            raise FetchError("tls", error.verify_message) from None
        except ssl.SSLError as error:
            raise FetchError(
                "tls", (error.reason or "handshake").lower().replace("_", " ")
            ) from None
        except OSError:
            raise FetchError("tls", "closed during the handshake") from None
        return handler

    async def _dial(self, host: str, port: int) -> socket.socket:
        """A connected socket, to the first of the addresses that answers."""
        found = await addresses(
            host, port, names=self._names, guard=self._guard, deadline=self._deadlines.dns
        )
        failure = FetchError("connect")
        for address in found:
            dialled = self._guard.open_socket(address, port)
            try:
                async with asyncio.timeout(self._deadlines.connect):
                    await self._loop.sock_connect(dialled, (address, port))
            except TimeoutError:
                dialled.close()
                failure = FetchError("timeout", "connect")
            except OSError as error:
                dialled.close()
                failure = FetchError("connect", os.strerror(error.errno or 0).lower())
            except BaseException:
                dialled.close()
                raise
            else:
                return dialled
        raise failure
