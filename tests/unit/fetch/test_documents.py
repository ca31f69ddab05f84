"""What a body is, and which way it is read."""

import asyncio
import threading
import time

import pytest

from dayfly.fetch.documents import Reader, Unreadable, root_of

NOW = 1_800_000_000.0
URL = "http://example.org/feed"
RSS = b'<rss version="2.0"><channel><title>t</title><item><guid>1</guid></item></channel></rss>'
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><id>1</id></entry></feed>'
JSON = b'{"version": "https://jsonfeed.org/version/1", "title": "t", "items": [{"id": "1"}]}'
SITEMAP = b"<urlset><url><loc>http://x/1</loc></url></urlset>"
PAGE = b"""<html><title>Jobs</title><ul><li><a href="/1">One</a>
  <time datetime="2027-01-12">x</time>
  <li><a href="/2"><b>Two</b></a><li>none</ul>"""


@pytest.fixture(scope="module")
def reader():
    with Reader() as one:
        yield one


@pytest.fixture
def read(reader):
    def read(body, **arguments):
        return asyncio.run(reader.read(body, **({"url": URL, "now": NOW} | arguments)))

    return read


@pytest.mark.parametrize("body", [RSS, ATOM, JSON, b"\n " + RSS, b"\xef\xbb\xbf" + ATOM])
@pytest.mark.parametrize("content_type", ["", "text/html", "application/json", "image/png"])
def test_the_bytes_decide_and_not_the_header(read, body, content_type):
    document = read(body, content_type=content_type)
    assert [item.key for item in document.items] == ["1"]
    assert (document.title, document.malformed, document.truncated) == ("t", False, False)


def test_sitemaps_are_told_by_their_root(read):
    assert read(SITEMAP).items[0].link == "http://x/1"
    index = b"<sitemapindex><sitemap><loc>http://x/1</loc></sitemap></sitemapindex>"
    assert read(index).children == (("http://x/1", None),)
    assert read(b"http://x/1\n", kind="sitemap").items[0].key == "http://x/1"


def test_the_kind_narrows_what_is_accepted(read):
    with pytest.raises(Unreadable, match="not a feed: <urlset>"):
        read(SITEMAP, kind="feed")
    assert read(RSS, kind="sitemap").items  # a feed may stand in for a sitemap
    with pytest.raises(Unreadable, match="no XML, no JSON"):
        read(b"http://x/1\n")


def test_a_page_may_say_its_encoding_in_its_head(read):
    page = '<html><head><meta charset="windows-1251"></head><li><a href="/1">Новости</a></li>'
    document = read(page.encode("cp1251"), kind="page", select={"item": "li"})
    assert [item.title for item in document.items] == ["Новости"]
    # An encoding that nobody knows counts as not said; what is in a comment is not said at all.
    unknown = {"kind": "page", "select": {"item": "li"}, "content_type": "text/html; charset=foo"}
    assert [item.title for item in read(page.encode("cp1251"), **unknown).items] == ["Новости"]
    hidden = page.replace("<meta", "<!-- <meta").replace('1251">', '1251"> -->')
    document = read(hidden.encode(), kind="page", select={"item": "li"})
    assert [item.title for item in document.items] == ["Новости"]
    # The header comes first.
    head = {"kind": "page", "select": {"item": "li"}, "content_type": "text/html; charset=utf-8"}
    assert [item.title for item in read(page.encode(), **head).items] == ["Новости"]


def test_a_page_has_items_where_the_selectors_say(read):
    document = read(PAGE, kind="page", select={"item": "li"})
    assert [(item.title, item.link, item.published) for item in document.items] == [
        ("One", "http://example.org/1", 1799712000.0),
        ("Two", "http://example.org/2", None),
        ("none", "", None),
    ]
    assert document.title == "Jobs"
    linked = read(PAGE, select={"item": "li > a"})
    assert [item.title for item in linked.items] == ["One", "Two"]
    for select, why in (({}, "needs a selector"), ({"item": "em"}, "nothing matches")):
        with pytest.raises(Unreadable, match=why):
            read(PAGE, kind="page", select=select)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "empty"), (b"  \n", "empty"), (PAGE, "a web page"), (b"<opml/>", "<opml>"),
        (b"<!DOCTYPE html><p>Log in", "<p>"), (b"hello", "no XML"), (b"\x1f\x8b\x08", "no XML"),
    ],
)  # fmt: skip
def test_what_is_no_feed_is_named(read, body, why):
    with pytest.raises(Unreadable, match=f"^not a feed: .*{why}"):
        read(body)


def test_single_bad_bytes_are_mended_and_the_rest_is_read_strictly(read):
    body = RSS.replace(b"<guid>", b"<title>caf\xe9 \x0b</title><link>/?a=1&amp;b=2</link><guid>")
    document = read(b"  " + body)
    assert document.malformed
    (item,) = document.items
    assert (item.title, item.link) == ("café", "http://example.org/?a=1&b=2")


def test_broken_feeds_keep_their_links_and_keys(read):
    """A parser that repairs would drop the ampersand of the link after the first fault."""
    whole = RSS.replace(b"<guid>", b"<link>http://x/?a=1&amp;b=2</link><guid>")
    for fault in (b"a & b", b"&nbsp;", b"&nbsp;<br>", b"<br>", b"<media:x/>"):
        document = read(whole.replace(b"<title>t", b"<title>t " + fault))
        assert document.malformed
        assert document.items == read(whole).items


def test_links_and_ids_with_bare_ampersands_are_what_was_meant(read):
    for fault in (b"", b"<br>"):
        body = RSS.replace(
            b"<guid>1", fault + b"<link>/?a=1&b=2&copy=3</link><guid>x?a=1&b=2&amp;c"
        )
        (item,) = read(body).items
        assert (item.key, item.link) == ("x?a=1&b=2&c", "http://example.org/?a=1&b=2&copy=3")


def test_of_a_feed_that_is_cut_off_the_last_item_is_left_out(read):
    body = RSS.replace(b"</channel>", b"<item><guid>half of an i")
    document = read(body.partition(b"</rss>")[0])
    assert [item.key for item in document.items] == ["1"]
    assert (document.malformed, document.truncated) == (True, True)


def test_something_before_the_feed_is_forgiven(read):
    document = read(b"Warning: mysql has gone away<br />\n" + RSS)
    assert document.malformed
    assert [item.key for item in document.items] == ["1"]


def test_a_broken_feed_with_nothing_in_it_is_refused_with_the_first_reason(read):
    with pytest.raises(Unreadable, match=r"^malformed: "):
        read(b"<rss><channel>")


def test_a_long_body_is_read_in_a_thread(read):
    items = b"".join(
        b"<item><guid>%d</guid><title>%s</title></item>" % (n, b"x" * 500) for n in range(1500)
    )
    document = read(b"<rss><channel>" + items + b"</channel></rss>")
    assert len(document.items) == 1500


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"<rss>", "rss"), (b'<?xml version="1.0"?>\n<!-- <a> -->\n<RDF:rdf x="">', "rdf"),
        (b"<!DOCTYPE rss [<!ENTITY a '>'>]><rss>", "rss"), (b"<!DOCTYPE html><HTML>", "html"),
        (b"<!-- never closed <rss>", ""), (b"", ""), (b"x<rss>", ""),
    ],
)  # fmt: skip
def test_the_first_element_is_found(start, name):
    assert root_of(start) == name


def test_long_bodies_are_read_one_at_a_time_and_short_ones_meanwhile(monkeypatch):
    under_way, most = 0, 0

    def slow(body, *_):
        nonlocal under_way, most
        if len(body) > 1000:
            under_way += 1
            most = max(most, under_way)
            time.sleep(0.02)
            under_way -= 1
        return len(body)

    monkeypatch.setattr("dayfly.fetch.documents.read_strictly", slow)

    async def run():
        with Reader() as reader:
            bodies = [b"x" * (1 << 20)] * 4 + [b"x"]
            reads = [asyncio.ensure_future(reader.read(body, now=NOW)) for body in bodies]
            first = await next(asyncio.as_completed(reads))
            return first, await asyncio.gather(*reads)

    first, lengths = asyncio.run(run())
    assert (first, most, lengths) == (1, 1, [1 << 20] * 4 + [1])


def test_names_that_somebody_made_up_end_with_the_body(read):
    """Each thread has its own memory of names in the parser: none reads two bodies."""

    def readers() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.name.startswith("reader")]

    body = RSS.replace(b"</channel>", b"<x>" + b"y" * (1 << 19) + b"</x></channel>")
    for _ in range(3):
        assert len(read(body).items) == 1
        for thread in readers():
            thread.join(10.0)
        assert not readers()


def test_a_very_long_feed_is_read_whole_each_time(read):
    """To cut it into items would take its length once more."""
    short = RSS.replace(b"</item>", b"<x>" + b"y" * (3 << 20) + b"</x></item>")
    assert read(short).showing is not None
    long = RSS.replace(b"</item>", b"<x>" + b"y" * (5 << 20) + b"</x></item>")
    assert read(long).showing is None
    assert len(read(long, before=read(short).showing).items) == 1
