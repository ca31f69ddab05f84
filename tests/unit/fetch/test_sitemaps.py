"""Sitemaps, news sitemaps and indexes."""

import pytest

from dayfly.fetch.gate import Malformed, Unreadable
from dayfly.fetch.sitemaps import ADDRESSES, read_sitemap

NOW = 1_800_000_000.0
URL = "http://example.org/sitemap.xml"
XMLNS = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
)


def sitemap(inside: str, root: str = "urlset") -> bytes:
    return f'<?xml version="1.0"?><{root} {XMLNS}>{inside}</{root}>'.encode()


def test_addresses_with_their_last_change():
    found = read_sitemap(
        sitemap(
            "<url><loc> http://x/1 </loc><lastmod>2027-01-12</lastmod></url>"
            "<url><loc>/2</loc></url>"
        ),
        URL,
        NOW,
    )
    assert [(one.link, one.published) for one in found.entries] == [
        ("http://x/1", 1799712000.0),
        ("http://example.org/2", None),
    ]


def test_news_has_its_own_date_and_title():
    found = read_sitemap(
        sitemap(
            "<url><image:image><image:loc>http://x/i</image:loc><image:title>no</image:title>"
            "</image:image><loc>http://x/1</loc><lastmod>2027-01-13</lastmod><news:news>"
            "<news:publication_date>2027-01-12</news:publication_date><news:title>A &amp; B"
            "</news:title></news:news></url>"
        ),
        URL,
        NOW,
    )
    (one,) = found.entries
    assert (one.link, one.title, one.published) == ("http://x/1", "A & B", 1799712000.0)


def test_an_index_has_children():
    found = read_sitemap(
        sitemap(
            "<sitemap><loc>http://x/a.xml</loc><lastmod>2027-01-12</lastmod></sitemap>"
            "<sitemap><loc>javascript:x</loc></sitemap>",
            "sitemapindex",
        ),
        URL,
        NOW,
    )
    assert found.children == [("http://x/a.xml", 1799712000.0)]
    assert not found.entries


def test_a_list_of_lines_is_a_sitemap_too():
    found = read_sitemap(b"http://x/1\r\nnot this\n\nhttps://x/2\n", URL, NOW)
    assert [one.link for one in found.entries] == ["http://x/1", "https://x/2"]
    with pytest.raises(Unreadable, match="no addresses"):
        read_sitemap(b"hello", URL, NOW)


def test_a_broken_sitemap_is_refused_whole():
    with pytest.raises(Malformed):
        read_sitemap(sitemap("<url><loc>http://x/1</loc></url>")[:-5], URL, NOW)


def test_at_most_fifty_thousand_addresses_count():
    lines = b"".join(b"http://x/%d\n" % n for n in range(ADDRESSES + 1))
    found = read_sitemap(lines, URL, NOW)
    assert (len(found.entries), found.truncated) == (ADDRESSES, True)


def test_a_flood_of_tags_is_refused():
    with pytest.raises(Unreadable, match=r"tags for one address|malformed"):
        read_sitemap(sitemap("<a/>" * 200_000), URL, NOW)
    with pytest.raises(Unreadable, match=r"tags for one address|malformed"):
        read_sitemap(sitemap(f"<x>{'<url/>' * 200_000}</x>"), URL, NOW)


def test_P05_texts_are_limited_all_together():
    wide = "€" + "x" * 400
    title = f"<news:news><news:title>{wide}</news:title></news:news>"
    body = sitemap("".join(f"<url><loc>http://x/{n}</loc>{title}</url>" for n in range(10_000)))
    found = read_sitemap(body, URL, NOW)
    assert found.truncated
    assert 1000 < len(found.entries) < 10_000
    lines = "".join(f"http://x/{n}/{wide}\n" for n in range(10_000)).encode()
    assert read_sitemap(lines, URL, NOW).truncated


def test_P05_a_long_text_costs_only_itself():
    long = "€" + "x" * (1 << 20)
    body = sitemap(
        f"<url><loc>http://x/1</loc><news:news><news:title>{long}</news:title></news:news></url>"
        f"<url><loc>http://x/{long}</loc></url><url><loc>http://x/3</loc></url>"
    )
    assert [one.link for one in read_sitemap(body, URL, NOW).entries] == [
        "http://x/1",
        "http://x/3",
    ]


def test_P05_made_up_names_and_one_endless_address_are_refused():
    names = "".join(f"<url><loc>x</loc><a{n}/><b{n}/></url>" for n in range(1000))
    read_sitemap(sitemap(names), URL, NOW)
    few = "".join("<url>" + f"<a{n}/>" * 900 + "</url>" for n in range(1000))
    assert read_sitemap(sitemap(few), URL, NOW).entries == []
    many = "".join(
        "<url>" + "".join(f"<a{n}-{one}/>" for one in range(900)) + "</url>" for n in range(1000)
    )
    with pytest.raises(Unreadable, match="names of tags and attributes"):
        read_sitemap(sitemap(many), URL, NOW)
    with pytest.raises(Unreadable, match=r"bytes for one address|malformed|hostile"):
        read_sitemap(sitemap("<url>" + f"<x>{'y' * 1_000_000}</x>" * 15 + "</url>"), URL, NOW)


def test_a_sitemap_in_ten_languages_is_read_whole():
    """Many tags and attributes, with few names."""
    links = b"".join(
        b'<xhtml:link rel="alternate" hreflang="l%d" href="http://x.example/l%d"/>' % (n, n)
        for n in range(10)
    )
    urls = b"".join(
        b"<url><loc>http://x.example/%d</loc>%s</url>" % (n, links) for n in range(20_000)
    )
    head = b'<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml">'
    found = read_sitemap(head + urls + b"</urlset>", "", 1.8e9)
    assert (len(found.entries), found.truncated) == (20_000, False)
