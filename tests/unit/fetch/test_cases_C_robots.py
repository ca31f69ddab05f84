"""Cases C02 to C07 against real servers on loopback, with the guard on."""

import asyncio
import ssl
from email.utils import formatdate

import pytest
import trustme
from tests.origin import (
    ORIGIN,
    Canary,
    Origin,
    Place,
    Told,
    redirect,
    reply,
    reset,
    silence,
    then_close,
)

from dayfly.fetch import Deadlines, Guard, HttpFetcher, Web
from dayfly.fetch.robots import Robots
from dayfly.model import Status

QUICK = Deadlines(dns=0.2, connect=0.2, tls=0.2, first_byte=0.3, idle=0.3, total=1.0)
NO = b"User-agent: *\nDisallow: /private\n"
FEED = b"""<rss version="2.0"><channel><title>t</title>
<item><guid>1</guid><title>one</title></item></channel></rss>"""
HOUR, DAY = 3600.0, 86400.0


class Clock:
    time = 1e9

    def __call__(self) -> float:
        return self.time


def visit(*answers, paths=("/feed",)):
    """Crawls of some pages of an origin whose robots.txt answers so, and what it was asked."""

    async def run():
        async with Origin() as origin:
            if answers:
                origin.on("/robots.txt", *answers)
            for path in paths:
                origin.on(path, reply(FEED, Content_Type="application/rss+xml"))
            async with HttpFetcher(origin.guard, now=Clock(), deadlines=QUICK) as fetcher:
                crawls = [await fetcher.fetch(Place(url=origin.url(path))) for path in paths]
                return crawls, [request.path for request in origin.requests]

    return asyncio.run(run())


@pytest.mark.parametrize("status", [404, 410, 403, 401])
def test_C02_without_robots_txt_we_may_come(status):
    (crawl,), asked = visit(reply(NO, status))
    assert crawl.status is Status.CHANGED
    assert asked == ["/robots.txt", "/feed"]


@pytest.mark.parametrize("status", [404, 410, 403, 401])
def test_C02_the_status_is_told_and_goes_into_the_store_with_the_copy(status):
    async def run():
        async with Origin() as origin, Web(origin.guard, agent="dayfly") as web:
            origin.on("/robots.txt", reply(NO, status))
            robots = Robots(web, agent="dayfly", now=Clock())
            return await robots.verdict(origin.url("/private")), robots.news()

    verdict, (copy,) = asyncio.run(run())
    assert verdict.allowed
    assert verdict.why == f"no robots: http {status}"
    assert (copy.outcome, copy.reason, copy.body) == ("absent", f"http {status}", b"")


@pytest.mark.parametrize(
    "answer",
    [reply(b"", 500), reply(b"", 503), reply(b"", 429), reset, silence,
     then_close(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nUser-agent: *\n"),
     then_close(b"SSH-2.0-OpenSSH_9.2\r\n")],
    ids=["500", "503", "429", "reset", "time-out", "cut short", "not http"],
)  # fmt: skip
def test_C03_while_robots_txt_is_unreachable_nobody_comes(answer):
    (crawl, again), asked = visit(answer, paths=("/feed", "/other"))
    for one in (crawl, again):
        assert one.status is Status.REFUSED
        assert one.reason.startswith("robots unreachable: ")
        assert 1e9 + 300 <= one.not_before <= 1e9 + 375
    assert asked == ["/robots.txt"]


def test_C03_an_unknown_name_and_a_bad_certificate_are_unreachable():
    async def run():
        authority = trustme.CA()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("elsewhere.example").configure_cert(context)
        async with Origin() as plain, Origin(tls=context) as secure:
            guard = Guard([plain.allowance, secure.allowance])
            names = Told(a_example=[[ORIGIN]])
            async with HttpFetcher(guard, deadlines=QUICK, resolver=names) as fetcher:
                crawls = [
                    await fetcher.fetch(Place(url=plain.url("/feed", host="nobody.example"))),
                    await fetcher.fetch(Place(url=secure.url("/feed", host="a.example"))),
                ]
            return crawls, plain.requests + secure.requests

    crawls, requests = asyncio.run(run())
    assert [crawl.status for crawl in crawls] == [Status.REFUSED, Status.REFUSED]
    assert crawls[0].reason.startswith("robots unreachable: dns")
    assert crawls[1].reason.startswith("robots unreachable: tls")
    assert requests == []


def test_C03_a_copy_from_earlier_is_still_used_and_obeyed():
    async def run():
        clock = Clock()
        async with Origin() as origin:
            origin.on("/robots.txt", reply(NO), reply(b"", 503))
            origin.on("/feed", reply(FEED))
            async with HttpFetcher(origin.guard, now=clock, deadlines=QUICK) as fetcher:
                statuses = []
                for hours in (0, 23, 25, 48):
                    clock.time = 1e9 + hours * 3600
                    for path in ("/feed", "/private"):
                        crawl = await fetcher.fetch(Place(url=origin.url(path)))
                        statuses.append((path, crawl.status, crawl.reason))
            return statuses, len(origin.asked("/robots.txt")), len(origin.asked("/private"))

    statuses, robots, private = asyncio.run(run())
    assert statuses == [
        ("/feed", Status.CHANGED, ""), ("/private", Status.REFUSED, "robots"),
    ] * 4  # fmt: skip
    assert robots == 3
    assert private == 0


def test_C04_a_large_file_counts_up_to_500_KiB():
    body = b"User-agent: *\nDisallow: /first\n" + b"#" * 600 * 1024 + b"\nDisallow: /last\n"
    crawls, _ = visit(reply(body), paths=("/first", "/last"))
    assert [crawl.status for crawl in crawls] == [Status.REFUSED, Status.CHANGED]


def test_C04_a_binary_file_with_long_lines_is_no_trouble():
    body = bytes(range(256)) * 64 + b"\nUser-agent: *\nDisallow: /" + b"x" * 16_384 + b"\n\xff\xfe"
    crawls, _ = visit(reply(body + b"\nDisallow: /private\n"), paths=("/private", "/last"))
    assert [crawl.status for crawl in crawls] == [Status.REFUSED, Status.CHANGED]


def redirected(hops: int):
    """Verdicts on a page of the first origin and on one of the origin that redirects lead to."""

    async def run():
        async with Origin() as one, Origin() as two:
            for n in range(hops - 1):
                one.on("/robots.txt" if n == 0 else f"/r{n}", redirect(f"/r{n + 1}", 301 + n % 2))
            one.on(f"/r{hops - 1}", redirect(two.url("/rules")))
            two.on("/rules", reply(NO))
            guard = Guard([one.allowance, two.allowance])
            async with Web(guard, agent="dayfly") as web:
                robots = Robots(web, agent="dayfly", now=Clock())
                return [await robots.verdict(origin.url("/private")) for origin in (one, two)]

    return asyncio.run(run())


def test_C05_after_five_redirects_the_rules_are_those_of_the_first_authority():
    first, target = redirected(5)
    assert not first.allowed
    assert first.why == "robots"
    assert target.allowed  # it has no robots.txt of its own


def test_C05_after_six_there_is_none():
    first, _ = redirected(6)
    assert first.allowed
    assert first.why.startswith("no robots: redirects")


def test_C05_a_redirect_into_a_forbidden_place_is_not_followed():
    async def run():
        async with Origin() as origin, Canary() as canary:
            origin.on("/robots.txt", redirect(canary.url("/robots.txt")))
            origin.on("/feed", reply(FEED))
            async with HttpFetcher(origin.guard) as fetcher:
                crawl = await fetcher.fetch(Place(url=origin.url("/feed")))
        return crawl, canary.accepts, len(origin.asked("/feed"))

    crawl, heard, asked = asyncio.run(run())
    assert crawl.status is Status.REFUSED
    assert crawl.reason.startswith("guard: ")
    assert (heard, asked) == (0, 0)


def test_C06_a_change_of_mind_is_obeyed_before_the_next_visit():
    async def run():
        clock = Clock()
        async with Origin() as origin:
            origin.on("/robots.txt", reply(b"", 200, Cache_Control="max-age=7200"), reply(NO))
            origin.on("/private", reply(FEED))
            async with HttpFetcher(origin.guard, now=clock) as fetcher:
                for minutes in (0, 119, 120):
                    clock.time = 1e9 + minutes * 60
                    await fetcher.fetch(Place(url=origin.url("/private")))
        return [request.path for request in origin.requests]

    assert asyncio.run(run()) == ["/robots.txt", "/private", "/private", "/robots.txt"]


@pytest.mark.parametrize(
    ("said", "delay"),
    [("0", 0.0), ("5", 5.0), ("1e9", 300.0), ("-1", None), ("abc", None)],
)
def test_C07_the_delay_is_handed_on(said, delay):
    (crawl,), _ = visit(reply(f"User-agent: dayfly\nCrawl-delay: {said}\n".encode()))
    assert crawl.crawl_delay == delay


def test_robots_txt_is_asked_for_politely():
    async def run():
        async with Origin() as origin:
            origin.on("/feed", reply(FEED))
            source = Place(url=origin.url("/feed"), headers=(("Authorization", "Bearer secret"),))
            async with HttpFetcher(origin.guard) as fetcher:
                await asyncio.gather(*(fetcher.fetch(source) for _ in range(5)))
        return origin.requests

    requests = asyncio.run(run())
    (robots,) = [request for request in requests if request.path == "/robots.txt"]
    assert b"secret" not in robots.raw
    assert robots.headers["user-agent"].startswith("dayfly")
    assert len(requests) == 6


def test_C04_of_a_robots_txt_above_every_limit_the_beginning_counts():
    rest = b"# " + b"x" * 1000 + b"\n"
    crawls, _ = visit(reply(NO + rest * 4000), paths=("/feed", "/private"))
    assert [crawl.status for crawl in crawls] == [Status.CHANGED, Status.REFUSED]


@pytest.mark.parametrize("code", [301, 302, 307])
@pytest.mark.parametrize(
    ("said", "wait_s"),
    [
        (["5"], None), (["0"], None), (["60"], None), (["-5"], None), (["soon"], None),
        ([formatdate(Clock.time - HOUR, usegmt=True)], None),
        ([formatdate(Clock.time + 30, usegmt=True)], None),
        (["61"], 61), (["600"], 600), (["600.5"], 600.5), (["99999999999"], DAY), (["1e99"], DAY),
        ([formatdate(Clock.time + HOUR, usegmt=True)], HOUR), (["5", "600"], 600),
        (["600", "5"], 600), (["5, 600"], 600), (["soon", "600"], 600),
    ],
)  # fmt: skip
def test_C08_a_redirect_that_asks_for_minutes_is_not_followed_before(code, said, wait_s):
    lines = "".join(f"Retry-After: {value}\r\n" for value in said)
    moved = f"HTTP/1.1 {code} Elsewhere\r\nLocation: /feed\r\n{lines}Content-Length: 0\r\n\r\n"

    async def run():
        async with Origin() as origin:
            origin.on("/old", moved.encode())
            origin.on("/feed", reply(FEED, Content_Type="application/rss+xml"))
            async with HttpFetcher(origin.guard, now=Clock(), deadlines=QUICK) as fetcher:
                crawl = await fetcher.fetch(Place(url=origin.url("/old")))
                return crawl, [request.path for request in origin.requests]

    crawl, asked = asyncio.run(run())
    if wait_s is None:
        assert (crawl.status, asked[-1]) == (Status.CHANGED, "/feed")
    else:
        assert (crawl.status, crawl.reason) == (Status.FAILED, f"http {code}")
        assert crawl.not_before == Clock.time + wait_s
        assert "/feed" not in asked


def test_C13_a_portal_that_shows_a_page_is_told_as_a_move():
    async def run():
        async with Origin() as origin:
            origin.on("/robots.txt", reply(b"", 404))
            origin.on("/feed", redirect("/portal", 301))
            origin.on("/portal", reply(b"<html><body>Sign in</body></html>"))
            async with HttpFetcher(origin.guard, now=Clock(), deadlines=QUICK) as fetcher:
                return await fetcher.fetch(Place(url=origin.url("/feed"))), origin.url("/portal")

    crawl, portal = asyncio.run(run())
    assert (crawl.status, crawl.moved) == (Status.FAILED, portal)
