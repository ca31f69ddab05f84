"""Visits over real sockets, with the guard on, from robots.txt to the last item."""

import asyncio
import hashlib

import pytest
from tests.origin import Canary, Origin, Place, redirect, reply, silence

from dayfly.fetch import Deadlines, Guard, HttpFetcher
from dayfly.fetch.cage import Cage
from dayfly.fetch.documents import Document, Reader
from dayfly.model import Crawl, Item, Status

NOW = 1_800_000_000.0  # 15 January 2027, 08:00 GMT
FEED = (
    b'<rss version="2.0"><channel><title>News</title>'
    b"<item><guid>1</guid><pubDate>Fri, 15 Jan 2027 07:00:00 GMT</pubDate></item>"
    b"<item><guid>2</guid><pubDate>Fri, 15 Jan 2027 06:00:00 GMT</pubDate></item></channel></rss>"
)
QUICK = Deadlines(connect=1.0, first_byte=1.0, idle=1.0, total=2.0)


def visits(script, *places, settings=None, reader=None) -> tuple[list[Crawl], Origin]:
    """Visits one after another; what is told of a place may be a function of the crawls so far."""

    async def run():
        async with Origin() as origin:
            script(origin)
            options = {"now": lambda: NOW, "deadlines": QUICK, "spacing": 0.0} | (settings or {})
            crawls = []
            async with HttpFetcher(origin.guard, **options) as fetcher:
                if reader is not None:
                    fetcher.reader.close()
                    fetcher.reader = reader
                for place in places:
                    told = place(crawls) if callable(place) else dict(place)
                    told["url"] = origin.url(told.pop("path", "/feed"))
                    crawls.append(await fetcher.fetch(Place(**told)))
        return crawls, origin

    return asyncio.run(run())


def visit(*answers, reader=None, settings=None, **place) -> Crawl:
    (crawl,), _ = visits(
        lambda origin: origin.on("/feed", *answers), place, reader=reader, settings=settings
    )
    return crawl


def test_a_feed_becomes_a_crawl_with_all_that_is_visible():
    said = reply(FEED, 200, ETag='W/"x"', Last_Modified="Fri, 15 Jan 2027 07:00:00 GMT")
    crawl = visit(said)
    assert (crawl.row, crawl.time, crawl.cost) == (3, NOW, 2.0)
    assert (crawl.status, crawl.reason) == (Status.CHANGED, "")
    assert [item.key for item in crawl.items] == ["1", "2"]
    assert (crawl.visible, crawl.oldest_s, crawl.title) == (2, 7200.0, "News")
    assert (crawl.etag, crawl.last_modified) == ('W/"x"', "Fri, 15 Jan 2027 07:00:00 GMT")
    assert crawl.digest == hashlib.sha256(FEED).hexdigest()[:32]
    assert (crawl.wire_bytes, crawl.moved, crawl.not_before) == (len(said), "", None)
    assert (crawl.truncated, crawl.malformed) == (False, False)
    assert crawl.took_s > 0.0


@pytest.mark.parametrize(
    "etag", ['W/"a b,c"-unquoted', '"Case"', "plain", '""', "W/'x'", '"a\\"b"']
)
def test_C09_validators_are_echoed_byte_for_byte_and_kept_on_304(etag):
    odd = "Yesterday, more or less"
    crawls, origin = visits(
        lambda origin: origin.on(
            "/feed", reply(FEED, 200, ETag=etag, Last_Modified=odd), reply(b"", 304)
        ),
        {},
        lambda so_far: {
            "etag": so_far[0].etag, "last_modified": so_far[0].last_modified, "digest": "d"
        },
    )  # fmt: skip
    first, second = origin.asked("/feed")
    assert "if-none-match" not in first.headers
    assert second.headers["if-none-match"] == etag
    assert second.headers["if-modified-since"] == odd
    assert f"If-None-Match: {etag}\r\n".encode() in second.raw
    crawl = crawls[1]
    assert (crawl.status, crawl.items, crawl.visible) == (Status.UNCHANGED, (), 0)
    assert (crawl.etag, crawl.last_modified, crawl.digest) == (etag, odd, "d")


def test_C09_only_what_was_given_is_echoed():
    _, origin = visits(
        lambda origin: origin.on("/feed", reply(FEED)),
        {"last_modified": "Fri, 15 Jan 2027 07:00:00 GMT"},
    )
    (asked,) = origin.asked("/feed")
    assert "if-none-match" not in asked.headers
    assert "if-modified-since" in asked.headers
    assert not {"cache-control", "pragma", "referer", "cookie"} & set(asked.headers)


def test_C10_a_304_may_bring_a_new_validator_and_a_body_that_nobody_reads():
    crawl = visit(reply(b"", 304, ETag='"new"'), etag='"old"')
    assert (crawl.status, crawl.etag) == (Status.UNCHANGED, '"new"')
    crawl = visit(reply(b"", 304) + FEED, etag='"old"')
    assert (crawl.status, crawl.items, crawl.etag) == (Status.UNCHANGED, (), '"old"')


def test_C10_a_304_that_nobody_asked_for_is_a_failure():
    crawl = visit(reply(b"", 304, ETag='"x"'))
    assert (crawl.status, crawl.reason, crawl.etag) == (Status.FAILED, "http 304", "")


def test_C10_the_same_bytes_are_not_read_twice():
    class Once:
        reads = 0

        def close(self):
            pass

        async def read(self, body, **_):
            self.reads += 1
            return Document(items=(Item(key="1", published=None),))

    reader = Once()
    crawls, _ = visits(
        lambda origin: origin.on(
            "/feed", reply(FEED, 200, ETag='"1"'), reply(FEED, 200, ETag='"2"')
        ),
        {},
        lambda so_far: {"digest": so_far[0].digest},
        reader=reader,
    )
    assert [crawl.status for crawl in crawls] == [Status.CHANGED, Status.UNCHANGED]
    assert (reader.reads, crawls[1].etag, crawls[1].items) == (1, '"2"', ())
    assert crawls[0].digest == crawls[1].digest


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (204, Status.FAILED), (206, Status.FAILED), (400, Status.FAILED), (404, Status.FAILED),
        (500, Status.FAILED), (503, Status.FAILED), (429, Status.FAILED),
        (401, Status.REFUSED), (403, Status.REFUSED), (410, Status.REFUSED), (451, Status.REFUSED),
    ],
)  # fmt: skip
def test_other_answers_are_failed_or_refused_with_their_number(code, status):
    crawl = visit(reply(b"" if code == 204 else FEED, code, ETag='"x"'), etag='"kept by the store"')
    assert (crawl.status, crawl.reason, crawl.items) == (status, f"http {code}", ())
    assert (crawl.not_before, crawl.etag, crawl.digest, crawl.moved) == (None, "", "", "")


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_is_obeyed_and_a_429_is_for_the_whole_host(code):
    crawl = visit(reply(b"", code, Retry_After="7200"))
    assert crawl.not_before == NOW + 7200.0
    assert crawl.host_not_before == (NOW + 7200.0 if code == 429 else None)


def test_a_429_that_says_nothing_is_still_for_the_whole_host():
    crawl = visit(reply(b"", 429))
    assert (crawl.not_before, crawl.host_not_before) == (None, NOW + 60.0)


def test_hints_hold_us_back_up_to_the_cap():
    assert visit(reply(FEED, 200, Cache_Control="max-age=600")).not_before == NOW + 600.0
    assert visit(reply(FEED, 200, Cache_Control="max-age=99999")).not_before == NOW + 3600.0
    capped = visit(reply(FEED, 200, Cache_Control="max-age=99999"), settings={"cache_cap": 900.0})
    assert capped.not_before == NOW + 900.0
    again = visit(reply(b"", 304, Cache_Control="max-age=600"), etag='"x"')
    assert again.not_before == NOW + 600.0
    slow = FEED.replace(b"<title>", b"<ttl>20</ttl><title>")
    assert visit(reply(slow)).not_before == NOW + 1200.0
    assert visit(reply(slow, 200, Cache_Control="max-age=1800")).not_before == NOW + 1800.0


def test_C13_where_permanent_redirects_lead_is_told_whatever_is_there():
    def script(origin):
        for code in (301, 302, 308):
            origin.on(f"/{code}", redirect("/feed", code))
        origin.on("/feed", reply(FEED))
        origin.on("/nowhere", redirect("/missing", 301))
        origin.on("/portal", redirect("/login", 301))
        origin.on("/login", reply(b"<html><body>Please log in</body></html>"))

    paths = ("/301", "/302", "/308", "/nowhere", "/portal")
    crawls, origin = visits(script, *({"path": path} for path in paths))
    moved = [crawl.moved for crawl in crawls]
    feed, missing, login = (origin.url(path) for path in ("/feed", "/missing", "/login"))
    assert moved == [feed, "", feed, missing, login]
    assert [crawl.status for crawl in crawls[-2:]] == [Status.FAILED, Status.FAILED]


def test_a_body_that_is_no_feed_changes_nothing_that_we_know():
    for body in (b"", b"<html><body>Welcome</body></html>", b"hello"):
        crawl = visit(reply(body, 200, ETag='"x"', Cache_Control="max-age=600"))
        assert crawl.status is Status.FAILED, body
        assert (crawl.items, crawl.etag, crawl.digest, crawl.not_before) == ((), "", "", None)
        assert crawl.wire_bytes > 0


def test_an_empty_feed_is_an_answer_without_news():
    crawl = visit(reply(b'<rss version="2.0"><channel><title>t</title></channel></rss>'))
    assert (crawl.status, crawl.visible, crawl.oldest_s) == (Status.UNCHANGED, 0, None)


def test_robots_are_asked_before_and_their_no_is_a_refusal():
    def script(origin):
        origin.on("/robots.txt", reply(b"User-agent: *\nDisallow: /private\nCrawl-delay: 7\n"))
        origin.on("/feed", reply(FEED))
        origin.on("/private", reply(FEED))

    crawls, origin = visits(
        script, {}, {"path": "/private"}, {"path": "/private", "obey_robots": False}
    )
    assert [(crawl.status, crawl.reason) for crawl in crawls] == [
        (Status.CHANGED, ""),
        (Status.REFUSED, "robots"),
        (Status.CHANGED, ""),
    ]
    assert [crawl.crawl_delay for crawl in crawls] == [7.0, None, None]
    assert crawls[1].not_before > NOW
    asked = [request.path for request in origin.requests]
    assert asked == ["/robots.txt", "/feed", "/private"]


def test_C03_robots_that_cannot_be_had_mean_no():
    crawls, origin = visits(
        lambda origin: (
            origin.on("/robots.txt", reply(b"", 503)),
            origin.on("/feed", reply(FEED)),
        ),
        {},
    )
    assert crawls[0].status is Status.REFUSED
    assert crawls[0].reason.startswith("robots unreachable")
    assert not origin.asked("/feed")


def test_robots_of_where_a_redirect_leads_are_obeyed_too():
    async def run():
        async with Origin() as one, Origin() as two:
            one.on("/feed", redirect(two.url("/feed")))
            two.on("/robots.txt", reply(b"User-agent: *\nDisallow: /\n"))
            two.on("/feed", reply(FEED))
            guard = Guard([one.allowance, two.allowance])
            async with HttpFetcher(guard, now=lambda: NOW) as fetcher:
                crawl = await fetcher.fetch(Place(url=one.url("/feed")))
                careless = await fetcher.fetch(Place(url=one.url("/feed"), obey_robots=False))
        return crawl, careless, two.asked("/feed")

    crawl, careless, asked = asyncio.run(run())
    assert (crawl.status, crawl.reason) == (Status.REFUSED, "robots")
    assert (careless.visible, len(asked)) == (2, 1)


def test_what_the_operator_says_about_a_source_reaches_the_reader():
    told = {}

    class Listening:
        def close(self):
            pass

        async def read(self, body, **arguments):
            told.update(arguments, body=body)
            return Document(items=())

    select = (("item", "li"), ("link", "a"))
    visit(
        reply(b"<html>", 200, Content_Type="text/html; charset=x"),
        reader=Listening(), kind="page", select=select,
    )  # fmt: skip
    assert (told["body"], told["kind"], told["select"]) == (b"<html>", "page", dict(select))
    assert (told["content_type"], told["now"]) == ("text/html; charset=x", NOW)
    assert told["url"].endswith("/feed")


def test_a_visit_that_fails_tells_how_long_it_took():
    crawl = visit(silence, settings={"deadlines": Deadlines(first_byte=0.2)})
    assert (crawl.status, crawl.reason) == (Status.FAILED, "timeout: first byte")
    assert crawl.took_s >= 0.2


def test_a_reason_that_quotes_a_server_is_plain_text():
    crawl = visit(b"HTTP/1.1 200 OK\r\nContent-Encoding: \xff\xfe\x1b[31m\r\n\r\n")
    assert crawl.status is Status.FAILED
    assert crawl.reason.isascii()
    assert crawl.reason.isprintable()
    assert len(crawl.reason) < 200


@pytest.mark.parametrize("url", ["", "feed", "file:///etc/passwd", "http://user:pw@example.org/"])
def test_a_source_without_an_address_is_refused(url):
    async def run():
        async with HttpFetcher(now=lambda: NOW) as fetcher:
            return [await fetcher.fetch(Place(url=url, obey_robots=obey)) for obey in (True, False)]

    for crawl in asyncio.run(run()):
        assert crawl.status is Status.REFUSED
        assert crawl.reason.startswith("guard: ")
        assert "pw" not in crawl.reason


def test_fetching_before_opening_is_a_mistake_of_the_caller():
    with pytest.raises(RuntimeError, match="async with"):
        asyncio.run(HttpFetcher().fetch(Place(url="http://example.org/")))


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


def test_P07_a_feed_that_was_cut_off_is_asked_for_again_as_a_whole():
    """Its validators are those of the whole: with them, the rest would never come."""
    cut = FEED[: FEED.index(b"<guid>2") + 3]
    crawls, origin = visits(
        lambda origin: origin.on(
            "/feed", reply(cut, 200, ETag='"x"', Last_Modified="then"), reply(FEED, 200, ETag='"x"')
        ),
        {},
        lambda so_far: {
            "etag": so_far[0].etag,
            "last_modified": so_far[0].last_modified,
            "digest": so_far[0].digest,
        },
    )
    assert [item.key for item in crawls[0].items] == ["1"]
    assert "if-none-match" not in origin.asked("/feed")[1].headers
    assert [item.key for item in crawls[1].items] == ["1", "2"]
    assert crawls[1].etag == '"x"'


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
    crawl, origin = walk(script, settings={"spacing": 40.0})
    assert crawl.reason == "sitemap index: too much to follow"
    assert len(origin.requests) == 2
