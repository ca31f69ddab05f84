"""Visits over real sockets, with the guard on, from robots.txt to the last item."""

import asyncio
import hashlib

import pytest
from tests.origin import Origin, Place, redirect, reply, silence
from tests.unit.fetch.visiting import NOW, visit, visits

from dayfly.fetch import Deadlines, Guard, HttpFetcher
from dayfly.fetch.documents import Document
from dayfly.model import Item, Status

FEED = (
    b'<rss version="2.0"><channel><title>News</title>'
    b"<item><guid>1</guid><pubDate>Fri, 15 Jan 2027 07:00:00 GMT</pubDate></item>"
    b"<item><guid>2</guid><pubDate>Fri, 15 Jan 2027 06:00:00 GMT</pubDate></item></channel></rss>"
)


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
