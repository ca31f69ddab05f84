"""Feeds of a site."""

from dayfly.fetch.discovery import Found, feeds_in, usual_places

URL = "https://www.example.org/blog/post.html"


def test_feeds_that_a_page_names_come_first():
    page = b"""<html><head><base href="/base/">
      <link rel='alternate' type='application/atom+xml' href='atom' title='A &amp; B'>
      <LINK REL="feed ALTERNATE" TYPE="application/rss+xml; charset=utf-8" HREF=/rss>
      <link rel="alternate" hreflang="de" href="/de"><link rel="stylesheet" href="/feed.css">
      <!-- <link rel="alternate" type="application/rss+xml" href="/old"> -->
      <body><a href="/feed/">RSS <b>feed</b></a><a href="/feed/">again</a><a href="/about">x</a>"""
    assert feeds_in(page, URL) == [
        Found("https://www.example.org/base/atom", "A & B"),
        Found("https://www.example.org/rss"),
        Found("https://www.example.org/feed/", "RSS feed"),
    ]


def test_links_that_only_mention_feeds_are_not_taken():
    page = b"""<a href="/feedback">f</a><a href="https://other.org/rss.xml">o</a>
      <a href="/atomic-clock">c</a><a href="javascript:feed()">j</a>
      <a href="https://feeds.host.org/x/rss">yes</a><a href="https://example.org/index.rdf">yes</a>"""
    assert [one.url for one in feeds_in(page, URL)] == [
        "https://feeds.host.org/x/rss",
        "https://example.org/index.rdf",
    ]


def test_usual_places_beside_the_page_and_at_the_root():
    places = usual_places(URL)
    assert places[0] == Found("https://www.example.org/blog/feed")
    assert Found("https://www.example.org/sitemap.xml", "", "sitemap") in places
    assert len(places) == len(set(places))
    assert usual_places("file:///etc/passwd") == []


def test_pages_that_try_to_be_slow_are_not():
    evil = (
        b"<a " * 700_000,
        b"<!--" * 500_000,
        b"<div>" * 400_000,
        b"<link a=" * 250_000,
        b"\xff" * 10,
    )
    for page in evil:
        assert feeds_in(page, URL) == []
    assert len(feeds_in(b'<a href="/%d/feed">x</a>' * 10_000 % tuple(range(10_000)), URL)) == 50
