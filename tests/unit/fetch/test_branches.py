"""Sitemap indexes over real sockets: which of their files one visit reads, and when it is done."""

import asyncio
from types import SimpleNamespace

import pytest
from tests.origin import Canary, Origin, Place, redirect, reply
from tests.unit.fetch.visiting import NOW, QUICK, visit, visits

from dayfly.fetch import Guard, HttpFetcher, branches
from dayfly.fetch.cage import Cage
from dayfly.fetch.documents import Reader
from dayfly.model import Status

SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def index(*children: tuple[str, str]) -> bytes:
    listed = "".join(
        f"<sitemap><loc>{loc}</loc>{f'<lastmod>{date}</lastmod>' if date else ''}</sitemap>"
        for loc, date in children
    )
    return f'<sitemapindex xmlns="{SITEMAPS}">{listed}</sitemapindex>'.encode()


def sitemap(*locs: str) -> bytes:
    listed = "".join(f"<url><loc>{loc}</loc></url>" for loc in locs)
    return f'<urlset xmlns="{SITEMAPS}">{listed}</urlset>'.encode()


def walk(script, *, settings=None, **place):
    """One visit to /feed, an index that the script writes once the origin's address is known."""
    crawls, origin = visits(script, place, settings=settings)
    return crawls[0], origin


def test_F18_the_newest_files_of_an_index_are_read_and_no_more_than_a_few():
    def script(origin):
        days = [(origin.url(f"/{n}.xml"), f"2027-01-{n:02}") for n in range(1, 13)]
        origin.on("/feed", reply(index(*days), 200, ETag='"i"'))
        for n in range(1, 13):
            origin.on(f"/{n}.xml", reply(sitemap(f"http://x.example/{n}")))

    crawl, origin = walk(script)
    asked = [request.path for request in origin.requests]
    assert asked == ["/robots.txt", "/feed", "/12.xml", "/11.xml", "/10.xml", "/9.xml"]
    assert [item.link[-2:] for item in crawl.items] == ["12", "11", "10", "/9"]
    assert (crawl.status, crawl.truncated) == (Status.CHANGED, True)
    # Five requests were spent, and the index changes when its files do.
    assert (crawl.cost, crawl.etag) == (10.0, '"i"')
    assert crawl.digest


def test_F18_an_index_that_does_not_say_when_its_files_change_is_read_again():
    def script(origin):
        origin.on("/feed", reply(index((origin.url("/a.xml"), "")), 200, ETag='"i"'))
        origin.on("/a.xml", reply(sitemap("http://x.example/1")))

    crawl, _ = walk(script)
    assert crawl.visible == 1
    assert (crawl.etag, crawl.last_modified, crawl.digest) == ("", "", "")


def test_an_index_whose_file_did_not_come_is_read_again():
    def script(origin):
        listed = [(origin.url("/a.xml"), "2027-01-02"), (origin.url("/b.xml"), "2027-01-01")]
        origin.on("/feed", reply(index(*listed), 200, ETag='"i"'))
        origin.on("/a.xml", reply(b"", 500))
        origin.on("/b.xml", reply(sitemap("http://x.example/1")))

    crawl, _ = walk(script)
    assert (crawl.visible, crawl.truncated) == (1, True)
    assert (crawl.etag, crawl.digest) == ("", "")


def test_an_index_whose_file_could_not_be_read_now_is_read_again():
    class Busy(Reader):
        async def read(self, body, **about):
            if b"<rss" in body:
                await Cage(waiting=0).read(body, "", NOW)
            return await super().read(body, **about)

    def script(origin):
        listed = [(origin.url("/a.xml"), "2027-01-02"), (origin.url("/b.xml"), "2027-01-01")]
        origin.on("/feed", reply(index(*listed), 200, ETag='"i"'))
        origin.on("/a.xml", reply(b"<rss><item>"))
        origin.on("/b.xml", reply(sitemap("http://x.example/1")))

    (crawl,), _ = visits(script, {}, reader=Busy())
    assert (crawl.visible, crawl.truncated) == (1, True)
    assert (crawl.etag, crawl.digest) == ("", "")


@pytest.mark.parametrize(("status", "settled"), [(503, False), (200, True)])
def test_an_index_whose_file_robots_forbid_is_settled_only_if_they_say_so(status, settled):
    """The file is on the other of two hosts, whose robots.txt is away, or says no."""

    async def run():
        async with Origin() as origin, Origin() as other:
            other.on("/robots.txt", reply(b"User-agent: *\nDisallow: /", status))
            listed = [(other.url("/a.xml"), "2027-01-02"), (origin.url("/b.xml"), "2027-01-01")]
            origin.on("/feed", reply(index(*listed), 200, ETag='"i"'))
            origin.on("/b.xml", reply(sitemap("http://x.example/1")))
            guard = Guard([origin.allowance, other.allowance])
            async with HttpFetcher(guard, now=lambda: NOW, deadlines=QUICK, spacing=0.0) as fetcher:
                return await fetcher.fetch(Place(url=origin.url("/feed"), obey_robots=True))

    crawl = asyncio.run(run())
    assert (crawl.visible, crawl.truncated) == (1, True)
    assert crawl.etag == ('"i"' if settled else "")


@pytest.mark.parametrize("found", [0, 1])
def test_a_file_that_asks_us_to_slow_down_ends_the_walk(found):
    def script(origin):
        listed = [(origin.url(f"/{n}.xml"), f"2027-01-0{9 - n}") for n in range(4)]
        origin.on("/feed", reply(index(*listed), 200, Cache_Control="max-age=60"))
        for n in range(4):
            origin.on(f"/{n}.xml", reply(sitemap(f"http://x.example/{n}")))
        origin.on(f"/{found}.xml", reply(b"", 429, Retry_After="600"))

    crawl, origin = walk(script)
    assert crawl.visible == found
    assert crawl.status is (Status.CHANGED if found else Status.FAILED)
    assert (crawl.not_before, crawl.host_not_before) == (NOW + 600.0, NOW + 600.0)
    assert len(origin.requests) == 3 + found


def test_F18_circles_end():
    def script(origin):
        listed = [(origin.url(path), "") for path in ("/feed", "/b.xml", "/feed#x", "/b.xml")]
        origin.on("/feed", reply(index(*listed)))
        origin.on("/b.xml", reply(index(*listed, (origin.url("/c.xml"), ""))))
        origin.on("/c.xml", reply(sitemap("http://x.example/1")))

    crawl, origin = walk(script)
    assert crawl.visible == 1
    asked = [request.path for request in origin.requests]
    assert asked == ["/robots.txt", "/feed", "/b.xml", "/c.xml"]


def test_F18_a_chain_without_end_stops_at_the_third_level():
    async def deeper(request, reader, writer):
        n = int(request.path.strip("/").removesuffix(".xml") or 0)
        host = request.headers["host"]
        writer.write(reply(index((f"http://{host}/{n + 1}.xml", ""))))

    def script(origin):
        origin.on("/feed", reply(index((origin.url("/1.xml"), ""))))
        for n in range(1, 20):
            origin.on(f"/{n}.xml", deeper)

    crawl, origin = walk(script)
    assert crawl.status is Status.FAILED
    assert crawl.reason == "sitemap index: too much to follow"
    assert [request.path for request in origin.requests][2:] == ["/1.xml", "/2.xml"]


def test_F18_robots_as_its_own_sitemap_is_no_sitemap():
    def script(origin):
        origin.on("/robots.txt", reply(f"Sitemap: {origin.url('/robots.txt')}\n".encode()))
        origin.on("/feed", reply(index((origin.url("/robots.txt"), ""))))

    crawl, origin = walk(script)
    assert crawl.status is Status.FAILED
    assert len(origin.requests) == 3


def test_F18_items_and_bytes_of_all_files_together_are_limited(monkeypatch):
    monkeypatch.setattr("dayfly.fetch.branches._ITEMS", 15)

    def script(origin):
        origin.on("/feed", reply(index(*((origin.url(f"/{n}.xml"), "") for n in range(3)))))
        for n in range(3):
            listed = [f"http://x.example/{n}/{i}" for i in range(10)]
            origin.on(f"/{n}.xml", reply(sitemap(*listed)))

    crawl, origin = walk(script)
    assert (crawl.visible, crawl.truncated, len(origin.requests)) == (15, True, 4)
    monkeypatch.setattr("dayfly.fetch.branches._ITEMS", 50_000)
    monkeypatch.setattr("dayfly.fetch.branches._BYTES", 1000)
    crawl, _ = walk(script)
    assert (crawl.visible, crawl.truncated) == (10, True)


def test_F18_a_million_addresses_are_cut_and_said_to_be():
    body = sitemap(*(f"http://x.example/{n}" for n in range(60_000)))
    crawl = visit(reply(body), kind="sitemap")
    assert (crawl.visible, crawl.truncated) == (50_000, True)


def test_F07_files_on_other_hosts_and_the_canary_are_not_asked_for():
    async def run():
        async with Origin() as origin, Origin() as other, Canary() as canary:
            listed = [
                canary.url("/s.xml"), f"http://[::1]:{canary.port}/", "file:///etc/passwd",
                other.url("/s.xml", host="localhost"), origin.url("/away.xml"),
                origin.url("/s.xml"),
            ]  # fmt: skip
            origin.on("/feed", reply(index(*((url, "") for url in listed))))
            origin.on("/away.xml", redirect(canary.url()))
            origin.on("/s.xml", reply(sitemap("http://x.example/1", canary.url("/item"))))
            guard = Guard([origin.allowance, other.allowance])
            async with HttpFetcher(guard, now=lambda: NOW, spacing=0.0) as fetcher:
                crawl = await fetcher.fetch(Place(url=origin.url("/feed")))
        return crawl, other.accepts, canary.accepts

    crawl, other, canary = asyncio.run(run())
    assert (other, canary) == (0, 0)
    # Links are handed on, never followed.
    assert (crawl.visible, crawl.truncated) == (2, True)


def test_files_of_an_index_get_secrets_and_robots_like_the_index():
    def script(origin):
        origin.on("/robots.txt", reply(b"User-agent: *\nDisallow: /no.xml\n"))
        listed = [(origin.url("/no.xml"), ""), (origin.url("/a.xml"), "")]
        origin.on("/feed", reply(index(*listed)))
        origin.on("/a.xml", reply(sitemap("http://x.example/1")))

    crawl, origin = walk(script, headers=(("X-Key", "secret"),))
    assert crawl.visible == 1
    assert not origin.asked("/no.xml")
    assert origin.asked("/a.xml")[0].headers["x-key"] == "secret"


def test_between_the_requests_of_a_visit_there_is_a_pause():
    def script(origin):
        origin.on("/feed", reply(index(*((origin.url(f"/{n}.xml"), "") for n in range(3)))))
        for n in range(3):
            origin.on(f"/{n}.xml", reply(sitemap(f"http://x.example/{n}")))

    crawl, _ = walk(script, settings={"spacing": 0.05})
    assert crawl.visible == 3
    # Waiting has its limit, too; what asks for more is not read in one visit.
    crawl, origin = walk(script, settings={"spacing": 130.0})
    assert crawl.reason == "sitemap index: too much to follow"
    assert len(origin.requests) == 2


def test_a_site_that_wants_long_pauses_is_asked_for_one_file_per_visit(monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(branches, "asyncio", SimpleNamespace(sleep=sleep))

    def script(origin):
        listed = [(origin.url(f"/{n}.xml"), f"2026-11-1{n}") for n in range(3)]
        origin.on("/feed", reply(index(*listed)))
        for n in range(3):
            origin.on(f"/{n}.xml", reply(sitemap(f"http://x.example/{n}")))

    crawl, origin = walk(script, settings={"spacing": 40.0})
    assert slept == [40.0]
    assert [item.key for item in crawl.items] == ["http://x.example/2"]
    assert [request.path for request in origin.requests][2:] == ["/2.xml"]
