"""Cases F16 and F17: whoever is slow is left, at the step that is slow; others do not notice.

How long something took is counted in beats of the same event loop that keeps the deadlines: on a
machine that is slow or busy both are late together, and only what is not kept is noticed.
"""

import asyncio
import socket
import struct
import time
from contextlib import asynccontextmanager

import pytest
from tests.origin import ORIGIN, Origin, Place, Told, reply, reset, silence, then_close, trickle

from dayfly.fetch import Deadlines, FetchError, Guard, HttpFetcher, Web
from dayfly.model import Status

#: The proportions of the real ones, a hundred times as quick.
QUICK = Deadlines(dns=0.1, connect=0.1, tls=0.1, first_byte=0.2, idle=0.2, total=0.6)
#: One of them alone, where the others could be met first on a busy machine.
TOTAL = Deadlines(total=0.6)
HEAD = b"HTTP/1.1 200 OK\r\n"
BEAT = 0.01


def test_the_deadlines_are_those_we_promise():
    assert Deadlines() == Deadlines(
        dns=5.0, connect=5.0, tls=5.0, first_byte=10.0, idle=10.0, total=30.0
    )


@asynccontextmanager
async def kept(deadlines: Deadlines):
    """The deadline that ends what happens within, if one does, is kept: neither early nor late."""
    loop = asyncio.get_running_loop()
    beats, began = 0, loop.time()

    async def beat():
        nonlocal beats
        while True:
            await asyncio.sleep(BEAT)
            beats += 1

    beating = asyncio.create_task(beat())
    try:
        yield
    except FetchError as error:
        if error.kind == "timeout":
            seconds = getattr(deadlines, error.detail.replace(" ", "_"))
            assert loop.time() - began > 0.95 * seconds
            assert beats * BEAT < 2.0 * seconds
        raise
    finally:
        beating.cancel()


@pytest.mark.parametrize(("takes", "noticed"), [(0.1, False), (0.0, True), (0.5, True)])
def test_a_deadline_that_is_not_kept_is_noticed(takes, noticed):
    async def run():
        async with kept(Deadlines(total=0.1)):
            await asyncio.sleep(takes)
            raise FetchError("timeout", "total")

    with pytest.raises(AssertionError if noticed else FetchError):
        asyncio.run(run())


def get(script, *, path="/", deadlines=QUICK, **settings):
    """The error; a deadline was kept, nobody is held on to, and the origin saw us hang up."""

    async def run():
        async with Origin() as origin:
            origin.on(path, script)
            async with Web(origin.guard, agent="t", deadlines=deadlines) as web:
                with pytest.raises(FetchError) as caught:
                    async with kept(deadlines):
                        await web.get(origin.url(path), **settings)
                connector = web._session.connector
                assert not connector._acquired
                assert not connector._conns
                # Nobody holds on to the connection.
                for _ in range(50):
                    if not origin._talks:
                        break
                    await asyncio.sleep(0.01)
                assert not origin._talks
        return str(caught.value)

    return asyncio.run(run())


def test_F16_a_head_that_trickles_meets_the_total_deadline():
    slow = trickle(*(bytes([byte]) for byte in HEAD), b"X-More: header\r\n", every=0.05)
    assert get(slow, deadlines=TOTAL) == "timeout: total"


def test_F16_a_body_that_trickles_meets_the_total_deadline():
    slow = trickle(HEAD + b"Content-Length: 1000\r\n\r\n", b"x", every=0.15)
    assert get(slow, deadlines=TOTAL) == "timeout: total"


def test_F16_a_head_that_trickles_meets_the_total_deadline_where_it_is_sent_as_well():
    """A webhook that never answers holds nobody up either."""

    async def run():
        async with Origin() as origin:
            origin.on("/hook", trickle(HEAD, b"X: y\r\n", every=0.05))
            async with Web(origin.guard, agent="t", deadlines=TOTAL) as web:
                with pytest.raises(FetchError) as caught:
                    async with kept(TOTAL):
                        await web.post(origin.url("/hook"), b"{}", {})
        return str(caught.value)

    assert asyncio.run(run()) == "timeout: total"


def test_F16_redirects_that_trickle_share_one_deadline():
    async def slow(request, reader, writer):
        await asyncio.sleep(0.15)
        writer.write(reply(b"", 302, Location=request.path + "x"))

    async def run():
        async with Origin() as origin:
            for n in range(12):
                origin.on("/" + "x" * n, slow)
            async with Web(origin.guard, agent="t", deadlines=TOTAL) as web:
                with pytest.raises(FetchError, match="timeout: total"):
                    await web.get(origin.url())
        return len(origin.requests)

    assert asyncio.run(run()) < 6


def test_F16_announcements_without_end_are_cut_off():
    said = trickle(b"HTTP/1.1 100 Continue\r\n\r\n", every=0.01)
    assert get(said, deadlines=TOTAL) == "timeout: total"
    before = time.process_time()
    flood = trickle(b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 2000, every=0.0)
    assert get(flood, deadlines=Deadlines()) == "too large: header"
    assert time.process_time() - before < 2.0


@pytest.mark.parametrize(
    "head",
    [
        HEAD + b"X: y\r\n" * 10_000 + b"\r\n",
        HEAD + b"X: " + b"y" * (1 << 20) + b"\r\n\r\n",
        HEAD + b"X" * (1 << 20) + b": y\r\n\r\n",
        b"HTTP/1.1 200 " + b"K" * (1 << 20) + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X%d: %s\r\n" % (n, b"y" * 900) for n in range(200)),
    ],
    ids=["10,000 fields", "long value", "long name", "long reason", "many long ones"],
)
def test_F16_a_head_that_is_too_large_is_an_error(head):
    assert get(trickle(head, b"", every=0.01)).split(":")[0] in ("protocol", "too large")


def test_F16_a_large_but_honest_head_is_read():
    async def run():
        async with Origin() as origin:
            origin.on("/", reply(b"fine", 200, Content_Security_Policy="x" * 20_000))
            async with Web(origin.guard, agent="t") as web:
                return await web.get(origin.url())

    assert asyncio.run(run()).body == b"fine"


def test_F16_a_slow_host_does_not_hold_up_the_others():
    async def run():
        async with Origin() as slow, Origin() as quick:
            slow.on("/", trickle(HEAD, b"X: y\r\n", every=0.02))
            quick.on("/", reply(b"fine"))
            guard = Guard([slow.allowance, quick.allowance])
            async with Web(guard, agent="t", deadlines=Deadlines(total=1.5)) as web:
                stuck = [asyncio.create_task(web.get(slow.url())) for _ in range(50)]
                await asyncio.sleep(0.05)
                answers = [await web.get(quick.url()) for _ in range(20)]
                waiting = sum(not task.done() for task in stuck)
                ended = await asyncio.gather(*stuck, return_exceptions=True)
        return answers, waiting, ended

    answers, waiting, ended = asyncio.run(run())
    assert [answer.body for answer in answers] == [b"fine"] * 20
    assert waiting > 0  # the quick ones did not wait for the slow ones
    assert {str(error) for error in ended} == {"timeout: total"}


def test_F17_silence_before_the_first_byte_and_within_the_body_are_told_apart():
    """Each has a deadline of its own."""
    assert get(silence, deadlines=Deadlines(first_byte=0.1)) == "timeout: first byte"
    stalls = trickle(HEAD + b"Content-Length: 100\r\n\r\nhello", b"", every=0.05)
    assert get(stalls, deadlines=Deadlines(idle=0.1)) == "timeout: idle"


def test_F17_the_time_between_pieces_counts_anew_with_each_of_them():
    patient = Deadlines(idle=0.5, total=20.0)
    pieces = [HEAD + b"Content-Length: 100\r\n\r\n", *[b"x"] * 11]

    async def then_silence(request, reader, writer):
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.05)
        await silence(request, reader, writer)

    async def run():
        loop = asyncio.get_running_loop()
        async with Origin() as origin:
            origin.on("/", then_silence)
            async with Web(origin.guard, agent="t", deadlines=patient) as web:
                began = loop.time()
                with pytest.raises(FetchError, match="timeout: idle"):
                    await web.get(origin.url())
                return loop.time() - began

    assert asyncio.run(run()) > 12 * 0.05 + 0.4


def test_F17_a_door_behind_which_nobody_answers():
    """A listener that accepts nobody, and whose queue is full: connecting takes for ever."""

    async def run():
        with socket.socket() as deaf:
            deaf.bind((ORIGIN, 0))
            deaf.listen(0)
            port = deaf.getsockname()[1]
            others = []
            for _ in range(4):
                other = socket.socket()
                other.setblocking(False)
                other.connect_ex((ORIGIN, port))
                others.append(other)
            try:
                guard = Guard([f"{ORIGIN}/32:{port}"])
                patient = Deadlines(connect=0.1, total=20.0)
                async with Web(guard, agent="t", deadlines=patient) as web:
                    with pytest.raises(FetchError) as caught:
                        async with kept(patient):
                            await web.get(f"http://{ORIGIN}:{port}/")
            finally:
                for other in others:
                    other.close()
        return str(caught.value)

    assert asyncio.run(run()) == "timeout: connect"


def test_F17_a_closed_door():
    async def run():
        async with Origin() as origin:
            pass
        async with HttpFetcher(origin.guard, deadlines=QUICK) as fetcher:
            return await fetcher.fetch(Place(url=origin.url(), obey_robots=False))

    crawl = asyncio.run(run())
    assert (crawl.status, crawl.reason) == (Status.FAILED, "connect: connection refused")


def test_F17_a_greeting_that_never_comes():
    """TLS is spoken to somebody who only listens."""

    async def run():
        async def mute(reader, writer):
            await reader.read()
            writer.close()

        async with await asyncio.start_server(mute, ORIGIN, 0) as server:
            port = server.sockets[0].getsockname()[1]
            patient = Deadlines(tls=0.1, total=20.0)
            async with Web(Guard([f"{ORIGIN}/32:{port}"]), agent="t", deadlines=patient) as web:
                with pytest.raises(FetchError) as caught:
                    async with kept(patient):
                        await web.get(f"https://{ORIGIN}:{port}/")
            await asyncio.sleep(0.01)
        return str(caught.value)

    assert asyncio.run(run()) == "timeout: tls"


def test_F17_names_that_are_never_answered():
    class Silent(Told):
        async def resolve(self, host):
            await asyncio.sleep(60)

    async def run():
        patient = Deadlines(dns=0.1, total=20.0)
        async with Web(agent="t", deadlines=patient, resolver=Silent()) as web:
            with pytest.raises(FetchError) as caught:
                async with kept(patient):
                    await web.get("http://silent.example/")
        return str(caught.value)

    assert asyncio.run(run()) == "timeout: dns"


def test_F17_a_look_up_that_hangs_holds_up_neither_others_nor_the_end(monkeypatch):
    hang = time.monotonic() + 3.0

    def look_up(host, *rest, **more):
        if host.startswith("hang"):
            time.sleep(max(hang - time.monotonic(), 0.0))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ORIGIN, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    async def run():
        async with (
            Origin() as origin,
            Web(origin.guard, agent="t", deadlines=Deadlines(dns=0.5)) as web,
        ):
            stuck = [
                asyncio.create_task(web.get(f"http://hang{n}.example:{origin.port}/"))
                for n in range(30)
            ]
            await asyncio.sleep(0)
            answer = await web.get(f"http://quick.example:{origin.port}/")
            ended = await asyncio.gather(*stuck, return_exceptions=True)
        return answer.status, {str(error) for error in ended}

    assert asyncio.run(run()) == (404, {"timeout: dns"})
    assert time.monotonic() < hang


def test_F17_connections_that_break_off():
    assert get(reset) == "cut short: closed without an answer"
    assert get(then_close(b"")) == "cut short: closed without an answer"
    assert get(then_close(HEAD)).startswith("cut short")
    half = then_close(HEAD + b"Content-Length: 100\r\n\r\nhello")
    assert get(half) == "cut short: body"


RESET = struct.pack("ii", 1, 0)
#: What is said before the reset (None: it comes before anything is heard), and what may come of it.
#: One that comes at once may be heard before we know that we are connected.
STEPS = {
    "accepted": ("http", None, {"connect: connection reset by peer", "cut short: reset"}),
    "asked": ("http", b"", {"cut short: reset"}),
    "head": ("http", HEAD, {"cut short: reset"}),
    "body": ("http", HEAD + b"Content-Length: 100\r\n\r\nhello", {"cut short: body"}),
    "greeted": ("https", b"", {"tls: closed during the handshake"}),
}


@pytest.mark.parametrize("step", STEPS)
def test_F17_a_server_that_resets_the_connection_at_any_step(step):
    """A real RST, which is what a linger of no time makes of a close."""
    scheme, said, expected = STEPS[step]

    async def run():
        loop = asyncio.get_running_loop()
        with socket.create_server((ORIGIN, 0)) as listening:
            listening.setblocking(False)
            port = listening.getsockname()[1]

            async def serve():
                talk, _ = await loop.sock_accept(listening)
                with talk:
                    if said is not None:
                        await loop.sock_recv(talk, 65536)
                        await loop.sock_sendall(talk, said)
                        await asyncio.sleep(0.05 if said else 0.0)  # let it be heard
                    talk.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

            serving = asyncio.create_task(serve())
            async with Web(Guard([f"{ORIGIN}/32:{port}"]), agent="t") as web:
                with pytest.raises(FetchError) as caught:
                    await web.get(f"{scheme}://{ORIGIN}:{port}/")
                left = len(web._session.connector._acquired) + len(web._session.connector._conns)
            await serving
        return str(caught.value), left

    told, left = asyncio.run(run())
    assert told in expected
    assert left == 0


def test_F17_a_connection_that_is_closed_by_half_is_closed():
    """The other side says no more, and goes on listening."""

    async def half(request, reader, writer):
        writer.write_eof()
        await reader.read()

    assert get(half) == "cut short: closed without an answer"


def test_F17_a_new_connection_that_breaks_is_not_tried_twice():
    async def run():
        async with Origin() as origin:
            origin.on("/", reset)
            async with Web(origin.guard, agent="t") as web:
                with pytest.raises(FetchError):
                    await web.get(origin.url())
        return origin.accepts

    assert asyncio.run(run()) == 1


def test_F17_a_kept_connection_that_was_closed_meanwhile_is_replaced():
    async def run():
        async with Origin() as origin:
            origin.on("/", reply(b"one"), reset, reply(b"two"))
            async with Web(origin.guard, agent="t") as web:
                bodies = [(await web.get(origin.url())).body for _ in range(2)]
        return bodies, origin.accepts

    assert asyncio.run(run()) == ([b"one", b"two"], 2)


def test_F17_a_request_that_is_called_off_leaves_nothing_behind():
    async def run():
        async with Origin() as origin:
            origin.on("/", silence)
            async with Web(origin.guard, agent="t") as web:
                asking = asyncio.create_task(web.get(origin.url()))
                await asyncio.sleep(0.05)
                asking.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asking
                return len(web._session.connector._acquired)

    assert asyncio.run(run()) == 0
