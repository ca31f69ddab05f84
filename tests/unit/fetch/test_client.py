"""Visits over real sockets, with the guard on.

The origin listens on 127.0.0.2 and is allowed there; a canary on 127.0.0.3 is not, and counts who
comes all the same.
"""

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver

from dayfly.fetch import Guard, HttpFetcher
from dayfly.model import Crawl, Status

NOW = 1_800_000_000.0
FEED = (
    b'<rss version="2.0"><channel><title>t</title>'
    b"<item><guid>1</guid><pubDate>Fri, 15 Jan 2027 07:00:00 GMT</pubDate></item>"
    b"<item><guid>2</guid><pubDate>Fri, 15 Jan 2027 06:00:00 GMT</pubDate></item></channel></rss>"
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, kw_only=True)
class Where:
    url: str
    row: int = 3
    cost: float = 2.0
    etag: str = ""
    last_modified: str = ""


@asynccontextmanager
async def listening(handler: Handler, host: str):
    runner = web.ServerRunner(web.Server(handler, access_log=None))
    await runner.setup()
    site = web.TCPSite(runner, host, 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def visit(handler: Handler, *, path: str = "/feed", settings: dict | None = None, **where) -> Crawl:
    async def run() -> Crawl:
        async with listening(handler, "127.0.0.2") as port:
            guard = Guard([f"127.0.0.2/32:{port}"])
            async with HttpFetcher(guard, now=lambda: NOW, **(settings or {})) as fetcher:
                return await fetcher.fetch(Where(url=f"http://127.0.0.2:{port}{path}", **where))

    return asyncio.run(run())


def answer(body: bytes = FEED, status: int = 200, **headers: str) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=body, status=status, headers=named)

    return handler


def test_a_feed_becomes_a_crawl_with_all_that_is_visible():
    crawl = visit(answer(ETag='W/"x"', Last_Modified="Fri, 15 Jan 2027 07:00:00 GMT"))
    assert (crawl.row, crawl.time, crawl.cost) == (3, NOW, 2.0)
    assert (crawl.status, crawl.reason) == (Status.CHANGED, "")
    assert [item.key for item in crawl.items] == ["1", "2"]
    assert (crawl.visible, crawl.oldest_s) == (2, 7200.0)
    assert (crawl.etag, crawl.last_modified) == ('W/"x"', "Fri, 15 Jan 2027 07:00:00 GMT")


def test_validators_are_echoed_byte_for_byte_and_kept_on_304():
    heard = {}

    async def handler(request: web.Request) -> web.Response:
        heard.update(request.headers)
        return web.Response(status=304)

    odd = 'W/"a b,c"-unquoted'
    crawl = visit(handler, etag=odd, last_modified="Yesterday, more or less")
    assert heard["If-None-Match"] == odd
    assert heard["If-Modified-Since"] == "Yesterday, more or less"
    assert "Cookie" not in heard
    assert (crawl.status, crawl.items, crawl.visible) == (Status.UNCHANGED, (), 0)
    assert (crawl.etag, crawl.last_modified) == (odd, "Yesterday, more or less")


def test_a_304_may_bring_a_new_validator():
    crawl = visit(answer(b"", 304, ETag='"new"'), etag='"old"')
    assert (crawl.status, crawl.etag) == (Status.UNCHANGED, '"new"')


def test_a_304_that_nobody_asked_for_is_a_failure():
    crawl = visit(answer(b"", 304))
    assert (crawl.status, crawl.reason) == (Status.FAILED, "http 304")


def test_a_validator_that_cannot_be_echoed_is_dropped():
    assert visit(answer(ETag="é")).etag == ""
    assert visit(answer(ETag="x" * 2000)).etag == ""


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (204, Status.FAILED), (404, Status.FAILED), (500, Status.FAILED), (429, Status.FAILED),
        (401, Status.REFUSED), (403, Status.REFUSED), (410, Status.REFUSED),
    ],
)  # fmt: skip
def test_other_answers_are_failed_or_refused_with_their_number(code, status):
    crawl = visit(answer(b"" if code == 204 else b"sorry", code), etag='"kept by the store"')
    assert (crawl.status, crawl.reason, crawl.items) == (status, f"http {code}", ())
    assert crawl.not_before is None


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("120", 120.0), ("0", None), ("-5", None), ("soon", None), ("1e99", None),
        ("99999999999", 86400.0), ("9" * 5000, 86400.0),
        ("Fri, 15 Jan 2027 09:00:00 GMT", 3600.0), ("Fri, 15 Jan 2026 09:00:00 GMT", None),
        ("Fri, 15 Jan 2038 09:00:00 GMT", 86400.0),
    ],
)  # fmt: skip
def test_retry_after_is_obeyed_for_up_to_a_day(value, wait):
    crawl = visit(answer(b"", 429, Retry_After=value))
    assert crawl.status is Status.FAILED
    assert crawl.not_before == (None if wait is None else NOW + wait)


def test_an_answer_that_never_ends_meets_the_deadline():
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:  # a byte now and then, until the visitor hangs up
            await response.write(b" ")
            await asyncio.sleep(0.01)

    crawl = visit(handler, settings={"timeout": 0.2})
    assert (crawl.status, crawl.reason) == (Status.FAILED, "timeout")


def test_a_body_over_the_cap_is_given_up_while_it_arrives():
    sent = []

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(1000):
            await response.write(b" " * 65536)
            sent.append(1)
        return response

    crawl = visit(handler, settings={"wire_cap": 100_000})
    assert (crawl.status, crawl.reason) == (Status.FAILED, "too large")
    assert len(sent) < 1000


def test_gzip_is_unpacked():
    crawl = visit(answer(gzip.compress(FEED), Content_Encoding="gzip"))
    assert (crawl.status, crawl.visible) == (Status.CHANGED, 2)


def test_several_gzip_members_are_one_body():
    crawl = visit(
        answer(gzip.compress(FEED[:50]) + gzip.compress(FEED[50:]), Content_Encoding="gzip")
    )
    assert crawl.visible == 2


@pytest.mark.parametrize(
    ("body", "encoding", "reason"),
    [
        (gzip.compress(b" " * 5_000_000), "gzip", "too large"),  # 5 kB on the wire
        (gzip.compress(b"") * 1000, "gzip", "too many gzip members"),
        (gzip.compress(FEED)[:-30], "gzip", "cut short"),
        (b"this is not gzip", "gzip", "broken gzip"),
        (gzip.compress(gzip.compress(FEED)), "gzip, gzip", "encoding gzip, gzip"),
        (FEED, "br", "encoding br"),
    ],
)
def test_a_bomb_or_broken_packing_is_a_failure(body, encoding, reason):
    crawl = visit(answer(body, Content_Encoding=encoding), settings={"decoded_cap": 1_000_000})
    assert (crawl.status, crawl.reason, crawl.items) == (Status.FAILED, reason, ())


def test_a_reason_that_quotes_a_server_is_plain_text():
    async def run() -> Crawl:
        async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: \xff\xfe\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(rude, "127.0.0.2", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with HttpFetcher(Guard([f"127.0.0.2/32:{port}"]), now=lambda: NOW) as fetcher:
                return await fetcher.fetch(Where(url=f"http://127.0.0.2:{port}/"))

    crawl = asyncio.run(run())
    assert crawl.status is Status.FAILED
    assert crawl.reason.isascii()


def test_the_body_of_an_error_is_not_unpacked():
    bomb = gzip.compress(b" " * 5_000_000)
    crawl = visit(answer(bomb, 404, Content_Encoding="gzip"), settings={"decoded_cap": 1000})
    assert crawl.reason == "http 404"


def test_a_malformed_feed_is_a_failure_and_so_are_declared_entities():
    assert visit(answer(FEED[:-10])).reason.startswith("malformed")
    bomb = b'<!DOCTYPE r [<!ENTITY a "b">]><rss><channel><title>&a;</title></channel></rss>'
    assert visit(answer(bomb)).reason == "malformed: declares entities"


def test_a_closed_door_is_a_failure():
    async def run() -> Crawl:
        async with listening(answer(), "127.0.0.2") as port:
            pass
        async with HttpFetcher(Guard([f"127.0.0.2/32:{port}"]), now=lambda: NOW) as fetcher:
            return await fetcher.fetch(Where(url=f"http://127.0.0.2:{port}/"))

    crawl = asyncio.run(run())
    assert crawl.status is Status.FAILED
    assert crawl.reason.startswith("connection")


def with_canary(ask: Callable[[int, int], Awaitable[list[Crawl]]]) -> tuple[list[Crawl], int]:
    """What came of it, and how many connections the canary saw."""
    calls = []

    async def canary(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append(1)
        writer.close()

    async def run() -> list[Crawl]:
        server = await asyncio.start_server(canary, "127.0.0.3", 0)
        async with server:
            target = server.sockets[0].getsockname()[1]

            async def redirect(request: web.Request) -> web.Response:
                place = {"/ip": f"http://127.0.0.3:{target}/", "/file": "file:///etc/passwd"}
                return web.Response(status=302, headers={"Location": place[request.path]})

            async with listening(redirect, "127.0.0.2") as port:
                return await ask(port, target)

    return asyncio.run(run()), len(calls)


def test_an_address_that_is_not_allowed_is_never_dialled():
    async def ask(port: int, canary: int) -> list[Crawl]:
        urls = [
            f"http://127.0.0.3:{canary}/",
            f"http://[::ffff:127.0.0.3]:{canary}/",
            f"http://127.3:{canary}/",
            f"http://2130706435:{canary}/",
            f"http://127.0.0.2:{port}/ip",
            f"http://127.0.0.3:{canary}\\@example.org/",
        ]
        async with HttpFetcher(Guard([f"127.0.0.2/32:{port}"]), now=lambda: NOW) as fetcher:
            return [await fetcher.fetch(Where(url=url)) for url in urls]

    crawls, calls = with_canary(ask)
    assert calls == 0
    for crawl in crawls:
        assert crawl.status is Status.REFUSED, crawl
        assert crawl.reason.startswith("guard")


def test_a_redirect_out_of_http_is_not_followed():
    async def ask(port: int, canary: int) -> list[Crawl]:
        async with HttpFetcher(Guard([f"127.0.0.2/32:{port}"]), now=lambda: NOW) as fetcher:
            return [await fetcher.fetch(Where(url=f"http://127.0.0.2:{port}/file"))]

    ((crawl,), _) = with_canary(ask)
    assert (crawl.status, crawl.reason) == (Status.REFUSED, "guard: not a url")


def test_a_name_that_changes_its_mind_is_caught_when_dialled():
    """The look-up says the allowed address first and the canary's after that."""

    class Turncoat(AbstractResolver):
        def __init__(self) -> None:
            self.answers = ["127.0.0.2", "127.0.0.3", "127.0.0.3"]

        async def resolve(self, host, port=0, family=0):
            return [
                {"hostname": host, "host": self.answers.pop(0), "port": port, "family": 2,
                 "proto": 0, "flags": 0}
            ]  # fmt: skip

        async def close(self) -> None:
            pass

    async def ask(port: int, canary: int) -> list[Crawl]:
        guard = Guard([f"127.0.0.2/32:{port}", f"127.0.0.2/32:{canary}"])
        async with HttpFetcher(guard, now=lambda: NOW) as fetcher:
            fetcher._session.connector._resolver = Turncoat()
            return [
                await fetcher.fetch(Where(url=f"http://two-faced.example:{canary}/"))
                for _ in range(2)
            ]

    crawls, calls = with_canary(ask)
    assert calls == 0
    assert crawls[0].status is Status.FAILED  # nobody listens there on 127.0.0.2
    assert (crawls[1].status, crawls[1].reason) == (Status.REFUSED, "guard: address is not public")


def test_a_redirect_loop_ends():
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": request.path + "x"})

    assert visit(handler).reason == "too many redirects"


def test_fetching_before_opening_is_a_mistake_of_the_caller():
    with pytest.raises(RuntimeError, match="async with"):
        asyncio.run(HttpFetcher().fetch(Where(url="http://example.org/")))
