"""RSS, Atom, RDF and CDF as entries."""

import gc

import pytest

from dayfly.fetch import feeds
from dayfly.fetch.documents import read_strictly
from dayfly.fetch.entries import LONGEST
from dayfly.fetch.feeds import ITEMS, Feed, read_feed
from dayfly.fetch.gate import Malformed, Unreadable
from dayfly.fetch.identity import items_of

NOW = 1_800_000_000.0  # 15 January 2027
URL = "http://example.org/news/feed"


def rss(*items: str, head: str = "<title>t</title>") -> bytes:
    inside = "".join(f"<item>{item}</item>" for item in items)
    return f'<rss version="2.0"><channel>{head}{inside}</channel></rss>'.encode()


def read(body: bytes):
    return items_of(read_feed(body, NOW, URL).entries)


def test_rss_atom_and_rdf_give_the_same_items():
    as_rss = rss(
        "<guid>urn:1</guid><title>A &amp; B</title><link>http://x/?a=1&amp;b=2</link>"
        "<pubDate>Tue, 12 Jan 2027 10:00:00 +0100</pubDate>"
    )
    as_atom = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><id>u</id>
      <updated>2027-01-12T09:00:00Z</updated><entry><id>urn:1</id><title>A &amp; B</title>
      <link href="http://x/?a=1&amp;b=2"/><updated>2027-01-12T09:00:00Z</updated></entry></feed>"""
    as_rdf = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
      xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
      <channel><items><rdf:Seq><rdf:li/></rdf:Seq></items></channel>
      <item rdf:about="urn:1"><title>A &amp; B</title><link>http://x/?a=1&amp;b=2</link>
      <dc:date> 2027-01-12T09:00:00Z </dc:date></item></rdf:RDF>"""
    (item,) = read(as_rss)
    assert read(as_atom) == read(as_rdf) == (item,)
    assert (item.key, item.title, item.link) == ("urn:1", "A & B", "http://x/?a=1&b=2")
    assert item.published == 1799744400.0


def test_a_channel_definition_is_read():
    (item,) = read(
        b'<CHANNEL><ITEM HREF="/1" LASTMOD="2027-01-12T09:00Z"><TITLE>t</TITLE></ITEM></CHANNEL>'
    )
    assert (item.link, item.title, item.published) == ("http://example.org/1", "t", 1799744400.0)


def test_what_a_feed_says_of_itself():
    head = (
        "<title>News <b>now</b></title><ttl>60</ttl><skipHours><hour>3</hour><hour>99</hour>"
        "<hour>x</hour></skipHours><skipDays><day>Sunday</day></skipDays>"
        "<image><title>no</title></image>"
    )
    feed = read_feed(rss("<guid>1</guid>", head=head), NOW)
    assert (feed.title, feed.ttl) == ("News now", "60")
    assert (feed.skip_hours, feed.skip_days) == ((3,), ("Sunday",))


def test_names_in_large_letters_and_in_the_feeds_own_namespace_are_known():
    (item,) = read(b"<rss><Channel><Item><GUID>1</GUID><TITLE>t</TITLE></Item></Channel></rss>")
    assert (item.key, item.title) == ("1", "t")
    (item,) = read(b'<rss xmlns="urn:own"><channel><item><guid>1</guid></item></channel></rss>')
    assert item.key == "1"


def test_published_comes_before_updated_and_a_quoted_feed_does_not_count():
    feed = b"""<feed xmlns="http://www.w3.org/2005/Atom"><updated>2027-01-01</updated>
      <entry><id>1</id><updated>2027-01-03</updated><published>2027-01-02</published></entry>
      <entry><id>2</id><published>soon</published><updated>2027-01-03</updated></entry>
      <entry><id>3</id><source><id>no</id><updated>2027-01-03</updated></source></entry></feed>"""
    assert [item.published for item in read(feed)] == [1798848000.0, 1798934400.0, None]


def test_a_date_is_never_guessed_from_the_number_of_an_item():
    items = read(rss("<guid>7</guid>", "<guid>12</guid><pubDate>soon</pubDate>"))
    assert [item.published for item in items] == [None, None]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ('<link rel="self" href="/s"/><link rel="alternate" href="/a"/>', "/a"),
        ('<link type="application/json" href="/j"/><link type="text/html" href="/h"/>', "/h"),
        ('<link type="application/json" href="/j"/>', "/j"),
        ('<link rel="enclosure" href="/e"/>', None),
        ('<link href="/1"/><link href="/2"/>', "/1"),
    ],
)
def test_of_several_links_the_page_counts_then_the_first(links, expected):
    feed = f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id>{links}</entry></feed>'
    (item,) = read(feed.encode())
    assert item.link == (f"http://example.org{expected}" if expected else "")


def test_relative_links_are_resolved_against_the_nearest_base():
    feed = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://other.org/x/">
      <entry><id>1</id><link href="1"/></entry>
      <entry xml:base="y/"><id>2</id><link href="2"/></entry></feed>"""
    assert [item.link for item in read(feed)] == ["http://other.org/x/1", "http://other.org/x/y/2"]
    assert read(rss("<link>../1</link>"))[0].link == "http://example.org/1"


def test_a_guid_is_a_link_only_if_it_is_an_address():
    items = read(
        rss(
            "<guid>http://x/1</guid>", '<guid isPermaLink="false">http://x/2</guid>',
            '<guid isPermaLink="true">3</guid>', "<guid>abc</guid>",
        )
    )  # fmt: skip
    assert [item.link for item in items] == ["http://x/1", "", "http://example.org/news/3", ""]


def test_an_item_inside_another_is_none():
    assert len(read(rss("<guid>1</guid><x><y><item><guid>2</guid></item></y></x>"))) == 1


def test_small_entities_are_read():
    feed = b'<!DOCTYPE rss [<!ENTITY nbsp "&#160;"><!ENTITY c "(c)">]>' + rss(
        "<guid>1</guid><title>&c;&nbsp;&c; 2027</title>"
    )
    assert read(feed)[0].title == "(c) (c) 2027"


def test_a_long_feed_is_read_piece_by_piece_to_the_same_items():
    items = [f"<guid>{n}</guid><title>{'long ' * 100}</title>" for n in range(1500)]
    feed = read_feed(rss(*items, head="<title>t</title><ttl>5</ttl>"), NOW, URL)
    assert [entry.id for entry in feed.entries] == [str(n) for n in range(1500)]
    assert (feed.title, feed.ttl, feed.truncated) == ("t", "5", False)


def test_a_long_feed_that_is_broken_is_refused():
    items = [f"<guid>{n}</guid><title>{'long ' * 100}</title>" for n in range(1500)]
    with pytest.raises(Malformed, match="mismatch"):
        read_feed(rss(*items).replace(b"</channel>", b""), NOW, URL)
    with pytest.raises(Malformed):
        read_feed(rss("x & y", *items), NOW, URL)


def test_at_most_so_many_items_are_read():
    feed = read_feed(rss(*(f"<guid>{n}</guid>" for n in range(ITEMS))), NOW)
    assert (len(feed.entries), feed.truncated) == (ITEMS, False)
    feed = read_feed(rss(*(f"<guid>{n}</guid>" for n in range(ITEMS + 1))), NOW)
    assert (len(feed.entries), feed.truncated) == (ITEMS, True)


def test_P05_of_a_long_feed_no_item_is_kept_once_it_was_read():
    """The tree of one that is within all limits takes forty times its bytes."""
    item = b"<item><guid>%d</guid>" + b"<b>x</b>" * 100 + b"</item>"
    body = b"<rss><channel>" + b"".join(item % n for n in range(1000)) + b"</channel></rss>"
    feed = Feed()
    root = feeds._by_pieces(body, feed, NOW, "")
    assert [entry.id for entry in feed.entries] == [str(n) for n in range(1000)]
    assert not list(root.iter("b"))


def test_P05_tags_are_counted_from_item_to_item():
    """All that is there at a time is limited, not what a long feed has in all."""
    many = "<category/>" * 90_000
    feed = read_feed(rss("<guid>1</guid>" + many, "<guid>2</guid>" + many), NOW)
    assert ([entry.id for entry in feed.entries], feed.truncated) == (["1", "2"], False)
    feed = read_feed(rss("<guid>1</guid>", "<guid>2</guid>" + many * 2), NOW)
    assert ([entry.id for entry in feed.entries], feed.truncated) == (["1"], True)


def test_P05_long_texts_are_cut_and_the_rest_of_the_item_is_read():
    long = "€" + "x" * (1 << 20)
    feed = read_feed(
        rss(
            f"<guid>1</guid><title>{long}</title><link>http://x/1</link><description>{long}"
            "</description>",
            f"<guid>{long}</guid><title>a</title>",
            f"<guid>{long}<b>y</b></guid><title>b</title>",
            f"<x y='{long}'>{long}</x>{long}",
            f"<link href='{long}'/><guid>5</guid>{long}",
            head=f"<title>{long}</title>",
        ),
        NOW,
    )
    first, second, third, *_, last = feed.entries
    assert (first.id, first.title, first.link) == ("1", ("€" + "x" * 1023), "http://x/1")
    assert second.id == third.id == long[:LONGEST]
    assert (second.title, third.title) == ("a", "b")
    assert (last.id, last.link, len(feed.title), feed.truncated) == ("5", "", 1024, False)


def test_P05_texts_are_limited_all_together():
    wide = "€" + "x" * 10_000
    feed = read_feed(rss(*(f"<x>{n} {wide}</x>" for n in range(500))), NOW)
    assert feed.truncated
    assert 100 < len(feed.entries) < 400
    feed = read_feed(rss(*(f"<guid>{n}</guid><title>{wide}</title>" for n in range(500))), NOW)
    assert (feed.truncated, len(feed.entries)) == (False, 500)


def test_P07_a_fault_before_many_tags_is_mended_and_not_where_the_feed_ends():
    dense = "<description><![CDATA[" + "<td a=b>x</td>" * 100 + "]]></description>"
    items = [f"<guid>{n}</guid>{dense}" for n in range(1200)]
    items[3] += "<title>a & b</title>"
    document = read_strictly(rss(*items), "auto", "", URL, NOW)
    assert (len(document.items), document.truncated, document.malformed) == (1200, False, True)


@pytest.mark.parametrize(
    "end",
    [
        b"</channel></rss>", b"</x>", b"<x>" + b"<y/>" * 400_000,
        b"<item><guid>x</guid></item>" * 1000 + b"</channel></rss>",
    ],
)  # fmt: skip
def test_a_tree_goes_with_its_last_user(end):
    """Not when somebody looks for circles, which is much later."""
    body = rss(*(f"<guid>{n}</guid>{'<x/>' * 100}" for n in range(1500)))[:-16] + end

    def trees() -> int:
        return sum(type(one).__name__ == "XMLPullParser" for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = trees()
        try:
            read_feed(body, NOW)
        except Unreadable:
            assert end == b"</x>"
        assert trees() == before
    finally:
        gc.enable()
