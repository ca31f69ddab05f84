"""Connections that are kept open, and what may happen to them meanwhile.

Requests here are POSTs: the client library asks a second time by itself where a GET meets a dead
connection, and would hide it.
"""

import asyncio
import gc
import socket
import ssl
import struct
import threading
import types

import pytest
import trustme
from tests.origin import ORIGIN, Origin, reply, then_close

from dayfly.fetch import FetchError, Guard, Web

RESET = struct.pack("ii", 1, 0)


class Host(threading.Thread):
    """Answers one POST on each of two connections; the first is ended in some way when told to.

    A thread, because it must go on while the event loop of the client is busy.
    """

    def __init__(self, how, context=None):
        super().__init__(daemon=True)
        self._how, self._context = how, context
        self._listening = socket.create_server((ORIGIN, 0))
        self._listening.settimeout(10)
        self.port = self._listening.getsockname()[1]
        self.leave, self.left = threading.Event(), threading.Event()

    def run(self):
        with self._listening, self._answered() as talk:
            self.leave.wait(10)
            if self._how == "late bytes":
                talk.sendall(reply(b"nobody asked"))
                self._end()
                return
            with socket.socket(fileno=talk.detach()) as bare:  # without a word of TLS
                if self._how == "reset":
                    bare.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                if self._how == "half closed":
                    bare.shutdown(socket.SHUT_WR)
                    self._end()
                    return
            self._end()

    def _end(self):
        self.left.set()
        self._answered().close()

    def _answered(self):
        talk, _ = self._listening.accept()
        talk.settimeout(10)
        if self._context is not None:
            talk = self._context.wrap_socket(talk, server_side=True)
        heard = b""
        while not heard.endswith(b"\r\n\r\nx"):
            heard += talk.recv(4096)
        talk.sendall(reply(b""))
        return talk


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("how", ["closed", "reset", "half closed", "late bytes"])
def test_F17_a_connection_that_ended_while_we_were_busy_is_not_used_again(how, tls):
    authority = trustme.CA()
    context, trust = None, None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(ORIGIN).configure_cert(context)
        trust = ssl.create_default_context()
        authority.configure_trust(trust)
    host = Host(how, context)
    host.start()

    async def run():
        url = f"http{'s' if tls else ''}://{ORIGIN}:{host.port}/"
        async with Web(Guard([f"{ORIGIN}/32:{host.port}"]), agent="t", trust=trust) as web:
            first = await web.post(url, b"x", {})
            host.leave.set()
            host.left.wait(10)  # the event loop stands still, and learns nothing of it
            return first, await web.post(url, b"x", {})

    assert asyncio.run(run()) == (200, 200)
    host.join(10)


def test_F17_a_body_that_breaks_off_is_forgotten_at_once():
    # Not only when somebody looks for circles, which a crawl does rarely.
    body = b"HTTP/1.1 200 OK\r\nContent-Length: 500009\r\n\r\n" + b"x" * 500_000

    async def run():
        async with Origin() as origin:
            origin.on("/", then_close(body))
            async with Web(origin.guard, agent="t") as web:
                gc.collect()
                gc.disable()
                try:
                    with pytest.raises(FetchError, match="cut short"):
                        await web.get(origin.url())
                    await asyncio.sleep(0.05)
                    return [
                        name
                        for frame in gc.get_objects()
                        if isinstance(frame, types.FrameType)
                        for name in frame.f_locals
                        if name == "unpacker"
                    ]
                finally:
                    gc.enable()

    assert asyncio.run(run()) == []
