"""Cases C08 to C14, from the wire to the stored source, and C17: one visit after another.

The origin is a real server on loopback, behind the guard; the clock is ours.
"""

import asyncio
from contextlib import asynccontextmanager
from email.utils import formatdate
from itertools import pairwise

import pytest
from msgspec.structs import replace
from tests.origin import Origin, redirect, reply
from tests.unit.schedule.pretend import START as THEN
from tests.unit.schedule.pretend import Feed, stocked

from dayfly.fetch import Guard, HttpFetcher
from dayfly.model import Crawl, Status
from dayfly.schedule import ManualClock, resume
from dayfly.schedule.manners import Rules, wait
from dayfly.store import StoredSource
from dayfly.store.sources import State
from dayfly.store.standing import after, alarm

START, HOUR, DAY = 1_000_000_000.0, 3600.0, 86400.0


def feed(*extra: str, guid: str = "1") -> bytes:
    return (
        f'<rss version="2.0"><channel><title>t</title>{"".join(extra)}'
        f"<item><guid>{guid}</guid><title>one</title></item></channel></rss>"
    ).encode()


class Visitor:
    """Visits a source again and again, and keeps what a visit leaves behind."""

    def __init__(self, fetcher: HttpFetcher, url: str, row: int = 0) -> None:
        self._fetcher = fetcher
        self.source = StoredSource(id=f"s{row}", url=url, row=row)
        self.crawl: Crawl | None = None

    async def visit(self) -> Crawl:
        self.crawl = crawl = await self._fetcher.fetch(self.source)
        until, why = wait(self.source, crawl, Rules(), 0.0)
        self.source = after(self.source, crawl, None, until, why)
        return crawl


class Clock:
    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> float:
        return self.time


@asynccontextmanager
async def visiting(path: str = "/feed"):
    clock = Clock()
    async with Origin() as origin, HttpFetcher(origin.guard, now=clock) as fetcher:
        yield origin, Visitor(fetcher, origin.url(path)), clock


def one_visit(*answers: bytes) -> StoredSource:
    """The source after one visit for each of these answers, a day apart."""

    async def run():
        async with visiting() as (origin, visitor, clock):
            origin.on("/feed", *answers)
            for n in range(len(answers)):
                clock.time = START + n * DAY
                await visitor.visit()
            return visitor.source

    return asyncio.run(run())


def waits(source: StoredSource) -> float:
    return source.not_before - source.last_crawl


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("said", "wait_s"),
    [
        ("7200", 7200), (formatdate(START + 7200, usegmt=True), 7200),
        ("99999999999", DAY), ("1e99", DAY),
    ],
)  # fmt: skip
def test_C08_retry_after_is_obeyed(status, said, wait_s):
    source = one_visit(reply(b"", status, Retry_After=said))
    assert (waits(source), source.why_not) == (wait_s, "Retry-After")
    assert source.failures == 1


@pytest.mark.parametrize("said", ["120", "-5", "rubbish", formatdate(START - 99, usegmt=True)])
def test_C08_what_asks_for_little_or_nothing_gets_our_own_wait(said):
    source = one_visit(reply(b"", 503, Retry_After=said))
    assert waits(source) == 300


def test_C08_of_two_headers_the_later_counts():
    answer = reply(b"", 503, Retry_After="1000").replace(
        b"Retry-After: 1000", b"Retry-After: 1000\r\nRetry-After: 9000"
    )
    assert waits(one_visit(answer)) == 9000


def test_C08_too_many_requests_concern_the_whole_host():
    async def run():
        async with visiting() as (origin, visitor, _):
            origin.on("/feed", reply(b"", 429, Retry_After="7200"), reply(b"", 503))
            return await visitor.visit(), await visitor.visit()

    many, broken = asyncio.run(run())
    assert many.host_not_before == START + 7200
    assert broken.host_not_before is None


@pytest.mark.parametrize(
    ("etag", "modified"),
    [
        ('W/"x"', "Sun, 06 Nov 1994 08:49:37 GMT"), ("unquoted", "yesterday"), ('"MiXeD"', ""),
        ("", "06/11/94 8 Uhr"), ('"a, b"', ""),
    ],
)  # fmt: skip
def test_C09_validators_are_echoed_byte_for_byte(etag, modified):
    said = {"ETag": etag, "Last_Modified": modified}

    async def run():
        async with visiting() as (origin, visitor, _):
            answer = reply(feed(), **{name: value for name, value in said.items() if value})
            origin.on("/feed", answer, reply(b"", 503), reply(b"", 304), answer)
            for _ in range(4):
                await visitor.visit()
            return origin.asked("/feed")

    requests = asyncio.run(run())
    assert "if-none-match" not in requests[0].headers
    assert "if-modified-since" not in requests[0].headers
    for request in requests[1:]:  # after a failure and after a 304, too
        assert request.headers.get("if-none-match", "") == etag
        assert request.headers.get("if-modified-since", "") == modified


def test_C10_not_modified_and_the_same_bytes_change_nothing():
    async def run():
        async with visiting() as (origin, visitor, clock):
            origin.on(
                "/feed", reply(feed(), ETag='"1"'), reply(b"", 304), reply(feed(), ETag='"2"')
            )
            statuses = []
            for n in range(3):
                clock.time = START + n * HOUR
                statuses.append((await visitor.visit()).status)
            return statuses, visitor.source

    statuses, source = asyncio.run(run())
    assert statuses == [Status.CHANGED, Status.UNCHANGED, Status.UNCHANGED]
    assert (source.etag, source.last_new, source.failures) == ('"2"', START, 0)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"Cache_Control": "max-age=0"}, 300), ({"Cache_Control": "max-age=60"}, 300),
        ({"Cache_Control": "max-age=1800"}, 1800), ({"Cache_Control": "max-age=315360000"}, HOUR),
        ({"Expires": "0"}, 300), ({"Cache_Control": "no-store"}, 300),
        ({"Expires": formatdate(START + 900, usegmt=True)}, 900),
        ({"Cache_Control": "max-age=1800", "Age": "900"}, 900),
    ],
)  # fmt: skip
def test_C11_cache_hints_lengthen_the_interval_up_to_the_cap(headers, wait_s):
    source = one_visit(reply(feed(), **headers))
    assert waits(source) == wait_s
    assert source.why_not == ("cache" if wait_s > 300 else "minimum interval")


ALL_HOURS = f"<skipHours>{''.join(f'<hour>{hour}</hour>' for hour in range(25))}</skipHours>"


@pytest.mark.parametrize(
    ("extra", "wait_s"),
    [
        ("<ttl>0</ttl>", 300), ("<ttl>5</ttl>", 300), ("<ttl>20</ttl>", 1200),
        ("<ttl>1000000000</ttl>", HOUR), ("<ttl>abc</ttl>", 300), (ALL_HOURS, HOUR),
    ],
)  # fmt: skip
def test_C12_ttl_lengthens_the_interval_up_to_the_cap(extra, wait_s):
    assert waits(one_visit(reply(feed(extra)))) == wait_s


@pytest.mark.parametrize("code", [301, 308])
def test_C13_a_permanent_redirect_is_believed_after_a_week(code):
    async def run():
        async with visiting("/old") as (origin, visitor, clock):
            origin.on("/old", redirect("/new", code))
            origin.on("/new", reply(feed(), ETag='"x"'))
            urls = []
            for day in range(9):
                clock.time = START + day * DAY
                await visitor.visit()
                urls.append(visitor.source.url.rpartition("/")[2])
            return urls, origin.asked("/new")[-1].headers

    urls, headers = asyncio.run(run())
    assert urls == ["old"] * 7 + ["new"] * 2
    assert "if-none-match" not in headers  # validators of the old address are not echoed


def test_C13_a_temporary_redirect_is_never_believed():
    async def run():
        async with visiting("/old") as (origin, visitor, clock):
            origin.on("/old", *[redirect("/new", code) for code in (302, 307, 303)] * 10)
            origin.on("/new", reply(feed()))
            for day in range(30):
                clock.time = START + day * DAY
                await visitor.visit()
            return visitor.source

    source = asyncio.run(run())
    assert source.url.endswith("/old")
    assert (source.moved_to, source.failures) == ("", 0)


def test_C13_a_loop_is_a_failure():
    async def run():
        async with visiting("/old") as (origin, visitor, _):
            origin.on("/old", redirect("/new", 301))
            origin.on("/new", redirect("/old", 301))
            await visitor.visit()
            return visitor.source

    source = asyncio.run(run())
    assert source.url.endswith("/old")
    assert source.last_reason.startswith("redirects")


def test_C13_a_captive_portal_for_everybody_is_told_and_changes_nothing():
    async def run():
        clock = Clock()
        async with Origin() as web, Origin() as portal:
            web.on("/feed", redirect(portal.url("/welcome"), 301))
            portal.on("/welcome", reply(feed()))
            guard = Guard([web.allowance, portal.allowance])
            async with HttpFetcher(guard, now=clock) as fetcher:
                visitors = [Visitor(fetcher, web.url("/feed"), row) for row in range(12)]
                for row, visitor in enumerate(visitors):
                    visitor.source = replace(visitor.source, host=f"host{row}.example")
                    await visitor.visit()
        return [visitor.source for visitor in visitors]

    sources = asyncio.run(run())
    assert all(source.url.endswith("/feed") for source in sources)
    assert "12 of 12 hosts" in alarm(sources)


def test_C14_gone_once_is_kept_and_twice_a_day_apart_is_believed():
    once = one_visit(reply(b"", 410))
    assert (once.state, once.why_not, waits(once)) == (State.ACTIVE, "gone", DAY)
    twice = one_visit(reply(b"", 410), reply(b"", 410))
    assert twice.state is State.GONE


def test_C14_gone_and_back_is_back():
    back = one_visit(reply(b"", 410), reply(feed()), reply(b"", 410))
    assert (back.state, back.gone_since) == (State.ACTIVE, START + 2 * DAY)


def test_C14_not_found_fifty_times_is_asked_once_a_day_for_ever():
    source = one_visit(*[reply(b"", 404)] * 50)
    assert (source.state, source.failures) == (State.ACTIVE, 50)
    assert (waits(source), source.why_not) == (DAY, "back-off")


@pytest.mark.parametrize("tick", [0.5, 0.7])
@pytest.mark.parametrize("spacing", [5.0, 12.0])
def test_C17_it_is_the_spacing_that_keeps_the_gap_and_not_the_tick(spacing, tick):
    """A decision comes several times within the gap, and each could be too early."""
    crowd = dict.fromkeys(range(100), "crowd")
    clock, store = ManualClock(THEN), stocked(110, hosts=crowd)
    feed = Feed(clock)
    rules = Rules(host_spacing=spacing)
    asyncio.run(resume(store, feed, clock, budget=5.0, tick=tick, rules=rules).run(THEN + 300))
    gaps = [later - sooner for sooner, later in pairwise(t for t, row in feed.visits if row < 100)]
    assert len(gaps) >= 300 / (spacing + tick) - 2
    assert min(gaps) >= spacing
    assert max(gaps) <= spacing + 2 * tick, "and nothing else holds them back"
    assert all(feed.of(row) for row in range(100, 110)), "all others were visited"
