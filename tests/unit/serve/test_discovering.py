"""Feeds of a page, found with the guard on and robots.txt obeyed."""

import asyncio

import pytest
from tests.origin import CANARY, Canary, Origin, redirect, reply

from dayfly.errors import BadInput
from dayfly.fetch import HttpFetcher
from dayfly.schedule import Rules
from dayfly.serve import Office, StillHouse
from dayfly.store import MemoryStore

RSS = b'<?xml version="1.0"?><rss version="2.0"><channel><title>All news</title></channel></rss>'
PAGE = b'<html><head><link rel="alternate" type="application/rss+xml" title="N" href="/n.xml">'


def discover(script, path="/"):
    """Ask a house with an open fetcher, beside a canary that must hear nobody."""

    async def main():
        async with Canary() as canary, Origin() as origin:
            for at, answers in script(origin, canary).items():
                origin.on(at, answers)
            async with HttpFetcher(origin.guard) as fetcher:
                house = StillHouse(MemoryStore(), rules=Rules(host_spacing=0.0))
                house.fetcher = fetcher
                try:
                    answer = await Office(house).answer("discover", {"url": origin.url(path)})
                finally:
                    assert canary.accepts == 0
            return [
                (one["url"].removeprefix(origin.url("")), one["title"]) for one in answer["feeds"]
            ]

    return asyncio.run(main())


def html(body=PAGE):
    return reply(body, Content_Type="text/html")


def test_a_page_names_its_feeds():
    assert discover(lambda *_: {"/": html()}) == [("/n.xml", "N")]


def test_a_feed_is_its_own():
    feed = reply(RSS, Content_Type="application/rss+xml")
    assert discover(lambda *_: {"/x": feed}, "/x") == [("/x", "All news")]


def test_usual_places_are_tried_where_nothing_is_named():
    feed = reply(RSS, Content_Type="application/rss+xml")
    assert discover(lambda *_: {"/": html(b"<p>hi"), "/rss.xml": feed}) == [
        ("/rss.xml", "All news")
    ]
    assert discover(lambda *_: {"/": html(b"<p>hi")}) == []


def test_robots_are_obeyed():
    robots = reply(b"User-agent: *\nDisallow: /\n", Content_Type="text/plain")
    with pytest.raises(BadInput, match="robots"):
        discover(lambda *_: {"/": html(), "/robots.txt": robots})


def test_F07_discovery_goes_where_the_guard_lets_it():
    with pytest.raises(BadInput, match="not public"):
        discover(lambda origin, canary: {"/": redirect(f"http://{CANARY}:{canary.port}/")})
    with pytest.raises(BadInput, match="http 404"):
        discover(lambda *_: {})
    still = Office(StillHouse(MemoryStore()))
    with pytest.raises(BadInput, match="not public"):
        still.ask("discover", url="http://127.0.0.3:80/", contact="https://example.org/")
    with pytest.raises(BadInput, match="no contact"):
        still.ask("discover", url="http://93.184.215.14/")
