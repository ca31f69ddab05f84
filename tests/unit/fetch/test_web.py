"""What an answer tells, and where redirects lead."""

import asyncio
import socket
import struct

import pytest
from tests.origin import Origin, redirect, reply, reset

from dayfly.fetch import Answer, FetchError, Forbidden, Web


def ask(script, path="/", **settings):
    async def run():
        async with Origin() as origin:
            script(origin)
            async with Web(origin.guard, agent="dayfly-test") as web:
                return await web.get(origin.url(path), **settings), origin

    return asyncio.run(run())


def test_an_answer_tells_everything_once():
    said = reply(b"hello", 200, ETag='"x"')
    answer, origin = ask(lambda origin: origin.on("/", said))
    assert isinstance(answer, Answer)
    assert (answer.status, answer.body, answer.moved) == (200, b"hello", "")
    assert answer.url == origin.url("/")
    assert answer.headers["etag"] == '"x"'
    assert answer.wire_bytes == len(said)
    assert answer.took_s > 0.0


def test_only_the_bodies_that_are_asked_for_are_read():
    script = lambda origin: origin.on("/", reply(b"sorry", 404))  # noqa: E731
    assert ask(script)[0].body == b""
    assert ask(script, body_of=(200, 404))[0].body == b"sorry"


@pytest.mark.parametrize(
    ("place", "ends"),
    [
        ("/b", "/b"), ("b", "/a/b"), ("../b", "/b"), ("?q=1", "/a/?q=1"), ("/b c", "/b%20c"),
        ("/b#part", "/b"), ("/ü", "/%C3%BC"), ("  /b  ", "/b"), ("./b", "/a/b"), ("b:c", None),
        ("/b%zz", "/b%25zz"), ("", None),
    ],
)  # fmt: skip
def test_relative_redirects_are_resolved(place, ends):
    def script(origin):
        origin.on("/a/", redirect(place))
        if ends:
            origin.on(ends, reply(b"there"))

    if ends is None:
        with pytest.raises((Forbidden, FetchError)):
            ask(script, "/a/")
        return
    answer, origin = ask(script, "/a/")
    assert (answer.body, origin.requests[-1].path) == (b"there", ends)


def test_a_redirect_without_a_place_is_an_answer():
    assert ask(lambda origin: origin.on("/", reply(b"", 302)))[0].status == 302
    assert ask(lambda origin: origin.on("/", reply(b"", 300, Location="/b")))[0].status == 300


@pytest.mark.parametrize(
    ("codes", "moved"),
    [
        ([301], "/1"), ([308], "/1"), ([301, 308], "/2"), ([302], ""), ([303], ""), ([307], ""),
        ([302, 301], ""), ([301, 302], "/1"), ([301, 302, 301], "/1"),
    ],
)  # fmt: skip
def test_moved_is_how_far_permanent_redirects_alone_lead(codes, moved):
    def script(origin):
        for n, code in enumerate(codes):
            origin.on(f"/{n}", redirect(f"/{n + 1}", code))
        origin.on(f"/{len(codes)}", reply(b"there"))

    answer, origin = ask(script, "/0")
    assert answer.body == b"there"
    assert answer.moved == (origin.url(moved) if moved else "")


def test_each_redirect_can_be_objected_to_before_it_is_followed():
    heard = []

    async def before(url):
        heard.append(url)
        if len(heard) == 2:
            raise Forbidden("no further")

    async def run():
        async with Origin() as origin:
            for n in range(5):
                origin.on(f"/{n}", redirect(f"/{n + 1}"))
            async with Web(origin.guard, agent="t") as web:
                with pytest.raises(Forbidden, match="no further"):
                    await web.get(origin.url("/0"), before=before)
        return origin

    origin = asyncio.run(run())
    assert heard == [origin.url("/1"), origin.url("/2")]
    assert [request.path for request in origin.requests] == ["/0", "/1"]


def test_connections_are_kept_and_used_again():
    async def run():
        async with Origin() as origin:
            origin.on("/", reply(b"x" * 100_000))
            origin.on("/moved", redirect("/"))
            origin.on("/kept", reply(b"", 304))
            origin.on("/gone", reply(b"sorry", 410))
            async with Web(origin.guard, agent="t") as web:
                for path in ("/", "/moved", "/kept", "/gone", "/"):
                    await web.get(origin.url(path))
        return [request.connection for request in origin.requests]

    assert asyncio.run(run()) == [1] * 6


def test_parallel_requests_have_connections_of_their_own():
    async def run():
        async with Origin() as origin:
            origin.on("/", reply(b"x"))
            async with Web(origin.guard, agent="t") as web:
                answers = await asyncio.gather(*(web.get(origin.url()) for _ in range(20)))
        return [answer.body for answer in answers], origin.accepts

    bodies, accepts = asyncio.run(run())
    assert bodies == [b"x"] * 20
    assert accepts == 20


def test_only_so_many_connections_are_kept(monkeypatch):
    monkeypatch.setattr("dayfly.fetch.dial._IDLE", 3)

    async def run():
        origins = [Origin() for _ in range(6)]
        for origin in origins:
            await origin.__aenter__()
        from dayfly.fetch import Guard

        guard = Guard([origin.allowance for origin in origins])
        async with Web(guard, agent="t") as web:
            for origin in origins:
                await web.get(origin.url())
            kept = len(web._session.connector._conns)
        for origin in origins:
            await origin.__aexit__()
        return kept

    assert asyncio.run(run()) == 3


def test_nothing_comes_from_the_environment(monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.2 login me password very-secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.3:9/")
    answer, origin = ask(lambda origin: origin.on("/", reply(b"x")))
    assert answer.body == b"x"
    assert b"very-secret" not in origin.requests[0].raw


def test_asking_before_opening_is_a_mistake_of_the_caller():
    with pytest.raises(RuntimeError, match="async with"):
        asyncio.run(Web(agent="t").get("http://example.org/"))


def test_a_body_can_be_sent():
    async def run():
        async with Origin() as origin:
            origin.on("/hook", reply(b"thanks", 201))
            async with Web(origin.guard, agent="t") as web:
                status = await web.post(
                    origin.url("/hook"), b'{"a": 1}', {"Content-Type": "application/json"}
                )
        return status, origin.requests[0]

    status, request = asyncio.run(run())
    assert status == 201
    assert (request.method, request.body) == ("POST", b'{"a": 1}')
    assert request.headers["content-type"] == "application/json"


def test_closing_what_was_never_opened_or_is_closed_already_is_no_mistake():
    async def run():
        web = Web(agent="t")
        await web.__aexit__()
        async with web:
            pass
        await web.__aexit__()

    asyncio.run(run())


async def hard_reset(request, reader, writer):
    """A real RST, which is what a linger of no time makes of a close."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


@pytest.mark.parametrize("how", [reset, hard_reset])
def test_what_is_sent_is_not_sent_twice_where_a_kept_connection_breaks(how):
    """The other side may have heard it: a GET is asked again, and something sent is not."""

    async def run():
        async with Origin() as origin:
            origin.on("/hook", reply(b"thanks"), how)
            async with Web(origin.guard, agent="t") as web:
                await web.post(origin.url("/hook"), b"1", {})
                with pytest.raises(FetchError, match="cut short: "):
                    await web.post(origin.url("/hook"), b"2", {})
        return [(request.body, request.connection) for request in origin.requests]

    assert asyncio.run(run()) == [(b"1", 1), (b"2", 1)]


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b"])
def test_F11_a_header_that_would_be_two_is_not_sent(value):
    async def run():
        async with Origin() as origin, Web(origin.guard, agent="t") as web:
            with pytest.raises(FetchError, match="protocol: a header field that cannot be sent"):
                await web.post(origin.url(), b"", {"X-A": value})
            with pytest.raises(FetchError, match="protocol: a header field that cannot be sent"):
                await web.get(origin.url(), headers={"X-A": value})
        return origin.requests

    assert asyncio.run(run()) == []
