"""Connections: what is left of them where a request ends early, and who is asked again on them."""

import asyncio
import contextlib
import socket

import pytest
from tests.origin import ORIGIN, Origin, Told, reply

from dayfly.fetch import Deadlines, FetchError, Guard, Web
from dayfly.fetch.dial import HEAD, Handler


class Watching(Guard):
    """Remembers the sockets that it made."""

    def __init__(self, *rest) -> None:
        super().__init__(*rest)
        self.made: list[socket.socket] = []

    def open_socket(self, address, port):
        made = super().open_socket(address, port)
        self.made.append(made)
        return made


@contextlib.contextmanager
def deaf():
    """The port of a listener that accepts nobody, and whose queue is full."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind((ORIGIN, 0))
        listening.listen(0)
        port = listening.getsockname()[1]
        for _ in range(4):
            other = stack.enter_context(socket.socket())
            other.setblocking(False)
            other.connect_ex((ORIGIN, port))
        yield port


def test_F17_a_request_that_is_called_off_while_it_connects_leaves_no_socket_behind():
    async def run():
        with deaf() as port:
            guard = Watching([f"{ORIGIN}/32:{port}"])
            async with Web(guard, agent="t") as web:
                asking = asyncio.create_task(web.get(f"http://{ORIGIN}:{port}/"))
                while not guard.made:
                    await asyncio.sleep(0.001)
                await asyncio.sleep(0.01)
                asking.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asking
                return [made.fileno() for made in guard.made]

    assert asyncio.run(run()) == [-1]


def test_F17_addresses_that_are_closed_or_deaf_leave_no_socket_behind():
    async def run():
        with deaf() as port:
            guard = Watching([f"{ORIGIN}/32:{port}", f"127.0.0.4/32:{port}"])
            names = Told(two_example=[["127.0.0.4", ORIGIN]])
            quick = Deadlines(connect=0.1)
            async with Web(guard, agent="t", resolver=names, deadlines=quick) as web:
                with pytest.raises(FetchError, match="timeout: connect"):
                    await web.get(f"http://two.example:{port}/")
                return [made.fileno() for made in guard.made]

    assert asyncio.run(run()) == [-1, -1]


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"]
)
@pytest.mark.parametrize("apart", [False, True])
def test_F16_who_announces_an_answer_is_not_asked_again_on_this_connection(said, apart):
    """What comes after such an announcement is read in two ways, by one program and the next."""

    async def talk(request, reader, writer):
        writer.write(said)
        if apart:
            await writer.drain()
            await asyncio.sleep(0.02)
        writer.write(reply(b"fine"))
        await writer.drain()

    async def run():
        async with Origin() as origin:
            origin.on("/", talk)
            async with Web(origin.guard, agent="t") as web:
                bodies = [(await web.get(origin.url())).body for _ in range(2)]
        return bodies, [request.connection for request in origin.requests]

    assert asyncio.run(run()) == ([b"fine", b"fine"], [1, 2])


def test_F12_wrapping_without_end_and_without_content_is_cut_off():
    """Nothing of it reaches whoever reads the body: it is the connection that must count."""
    sent, more = 0, b"x" * 8000

    async def talk(request, reader, writer):
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n5;")
        while not (writer.is_closing() or reader.at_eof() or reader.exception()):
            writer.write(more)
            sent += len(more)
            await writer.drain()
            await asyncio.sleep(0)

    async def run():
        async with Origin() as origin:
            origin.on("/", talk)
            async with Web(origin.guard, agent="t") as web:
                with pytest.raises(FetchError) as caught:
                    await web.get(origin.url(), wire_cap=100_000)
                return str(caught.value)

    assert asyncio.run(run()) == "too large"
    # What had been sent before we hung up may be on the way still.
    assert sent < 100_000 + HEAD + (16 << 20)


def test_a_connection_that_is_gone_is_stale_and_is_hung_up_without_a_word():
    async def run():
        handler = Handler(asyncio.get_running_loop())
        assert handler.stale()
        handler.resting = True
        handler.data_received(b"late")
        handler._refuse(FetchError("too large"))
        return handler.exception()

    assert isinstance(asyncio.run(run()), FetchError)
