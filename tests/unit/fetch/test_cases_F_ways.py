"""Cases F01 and F07 on every way on which an address can come to us; the guard is on."""

import asyncio
import socket

import pytest
from tests.origin import CANARY, ORIGIN, Canary, Origin, Place, Told, redirect, reply
from tests.unit.fetch.dialling import written_down
from tests.unit.fetch.test_guard import CLOSED

from dayfly.config.lists import read_sources
from dayfly.errors import BadInput
from dayfly.fetch import Deadlines, FetchError, Forbidden, HttpFetcher
from dayfly.model import Status
from dayfly.schedule import Rules
from dayfly.serve import Office, StillHouse
from dayfly.store import MemoryStore

QUICK = Deadlines(dns=1.0, connect=1.0, tls=1.0, first_byte=1.0, idle=1.0, total=3.0)
HOSTS = [f"[{address}]" if ":" in address else address for address in CLOSED if "%" not in address]
HOSTS += [CANARY, f"[::ffff:{CANARY}]", f"[::{CANARY}]", f"[64:ff9b::{CANARY}]", "[2002:7f00:3::1]"]
FEED = b"<rss version='2.0'><channel><title>t</title><item><guid>1</guid></item></channel></rss>"


def out(way, *hosts):
    """What came of all forbidden addresses on one way out; nobody but the origin was dialled."""

    async def run():
        async with Origin() as origin, Canary() as canary:
            names = Told()
            names._answers = {f"n{n}.example": [[ORIGIN]] for n in range(len(HOSTS))}
            fetcher = HttpFetcher(origin.guard, deadlines=QUICK, resolver=names, spacing=0.0)
            urls = [f"http://{host}:{canary.port}/feed.xml" for host in hosts or HOSTS]
            with written_down() as dialled:
                async with fetcher:
                    told = await way(origin, fetcher, urls)
            assert {*dialled} <= {(ORIGIN, origin.port)}
        assert canary.accepts == 0
        return told

    return asyncio.run(run())


def test_what_is_dialled_is_written_down():
    """Else its absence would prove nothing."""

    async def run():
        async with Origin() as origin, HttpFetcher(origin.guard) as fetcher:
            with written_down() as dialled:
                await fetcher.fetch(Place(url=origin.url("/feed")))
            return dialled, [(ORIGIN, origin.port)]

    dialled, expected = asyncio.run(run())
    assert dialled == expected
    with written_down() as dialled, socket.socket() as made:
        with pytest.raises(PermissionError, match="a test dials"):
            made.connect(("192.0.2.1", 9))
        assert dialled == [("192.0.2.1", 9)]


async def visited(fetcher: HttpFetcher, url: str, **settings) -> str:
    crawl = await fetcher.fetch(Place(url=url, **settings))
    assert crawl.status is Status.REFUSED
    return crawl.reason


async def as_source(origin, fetcher, urls):
    return [await visited(fetcher, url, obey_robots=obey) for url in urls for obey in (True, False)]


def as_redirect(status):
    async def way(origin, fetcher, urls):
        for n, url in enumerate(urls):
            origin.on(f"/{n}", redirect(url, status))
        return [
            await visited(fetcher, origin.url(f"/{n}"), obey_robots=obey)
            for n in range(len(urls))
            for obey in (True, False)
        ]

    return way


async def as_redirect_of_robots(origin, fetcher, urls):
    """A robots.txt for each name; what it leads to is no more than another address."""
    origin.on("/robots.txt", *[redirect(url) for url in urls])
    return [
        await visited(fetcher, origin.url("/feed", host=f"n{n}.example")) for n in range(len(urls))
    ]


async def as_file_of_a_sitemap(origin, fetcher, urls):
    told = []
    for n, url in enumerate(urls):
        index = f"<sitemapindex><sitemap><loc>{url}</loc></sitemap></sitemapindex>"
        origin.on(f"/{n}.xml", reply(index.encode()))
        for obey in (True, False):
            crawl = await fetcher.fetch(Place(url=origin.url(f"/{n}.xml"), obey_robots=obey))
            assert crawl.status is Status.FAILED
            told.append(crawl.reason)
    return told


async def as_redirect_of_a_file_of_a_sitemap(origin, fetcher, urls):
    told = []
    for n, url in enumerate(urls):
        loc = origin.url(f"/{n}/away.xml")
        index = f"<sitemapindex><sitemap><loc>{loc}</loc></sitemap></sitemapindex>"
        origin.on(f"/{n}.xml", reply(index.encode()))
        origin.on(f"/{n}/away.xml", redirect(url))
        crawl = await fetcher.fetch(Place(url=origin.url(f"/{n}.xml"), obey_robots=False))
        assert crawl.status is Status.FAILED
        told.append(crawl.reason)
    return told


async def as_webhook(origin, fetcher, urls):
    told = []
    for url in urls:
        with pytest.raises(Forbidden) as caught:
            await fetcher.web.post(url, b"{}", {"Content-Type": "application/json"})
        told.append(str(caught.value))
    return told


def office(fetcher: HttpFetcher) -> Office:
    house = StillHouse(MemoryStore(), rules=Rules(host_spacing=0.0))
    house.fetcher = fetcher
    return Office(house)


async def as_page_to_look_for_feeds(origin, fetcher, urls):
    told = []
    for url in urls:
        with pytest.raises(BadInput) as caught:
            await office(fetcher).answer("discover", {"url": url})
        told.append(str(caught.value))
    return told


async def as_redirect_of_such_a_page(origin, fetcher, urls):
    told = []
    for n, url in enumerate(urls):
        origin.on(f"/{n}", redirect(url, 301))
        with pytest.raises(BadInput) as caught:
            await office(fetcher).answer("discover", {"url": origin.url(f"/{n}")})
        told.append(str(caught.value))
    return told


WAYS = {
    "source": as_source,
    **{f"redirect {status}": as_redirect(status) for status in (301, 302, 303, 307, 308)},
    "redirect of robots.txt": as_redirect_of_robots,
    "file of a sitemap": as_file_of_a_sitemap,
    "redirect of a file of a sitemap": as_redirect_of_a_file_of_a_sitemap,
    "webhook": as_webhook,
    "discovery": as_page_to_look_for_feeds,
    "redirect of discovery": as_redirect_of_such_a_page,
}


@pytest.mark.parametrize("way", WAYS)
def test_F01_no_special_address_is_dialled_whatever_way_it_comes(way):
    assert len({*HOSTS}) >= 40
    assert len(WAYS) >= 8
    told = out(WAYS[way])
    assert len(told) >= len(HOSTS)
    for reason in told:
        assert "address is not public" in reason or "on another host" in reason, reason


@pytest.mark.parametrize("way", WAYS)
def test_F01_our_own_listening_address_is_dialled_on_no_way(way):
    """It may be public, or allowed; it is ours all the same."""

    async def run():
        async with Origin() as origin, Origin() as ours:
            guard = type(origin.guard)([origin.allowance, ours.allowance], [ours.allowance])
            names = Told(n0_example=[[ORIGIN]])
            async with HttpFetcher(guard, deadlines=QUICK, resolver=names, spacing=0.0) as fetcher:
                told = await WAYS[way](origin, fetcher, [ours.url("/feed.xml")])
        return told, ours.accepts

    told, accepts = asyncio.run(run())
    assert accepts == 0
    assert all("our own or forbidden" in reason for reason in told), told


def every_field(canary: str) -> dict[str, bytes]:
    """Documents that name an address wherever one may stand."""
    rss = f"""<?xml version="1.0"?><?xml-stylesheet href="{canary}s.xsl" type="text/xsl"?>
    <!DOCTYPE rss SYSTEM "{canary}rss.dtd">
    <rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xml:base="{canary}"
     xmlns:media="http://search.yahoo.com/mrss/"><channel><title>t</title><link>{canary}</link>
    <docs>{canary}docs</docs><image><url>{canary}icon.png</url><link>{canary}</link></image>
    <cloud domain="{CANARY}" port="80" path="/rpc" protocol="http-post" registerProcedure=""/>
    <textInput><link>{canary}search</link></textInput>
    <atom:link rel="hub" href="{canary}hub"/><atom:link rel="self" href="{canary}self"/>
    <atom:link rel="next" href="{canary}page2"/><item><guid isPermaLink="true">{canary}1</guid>
    <link>{canary}1</link><comments>{canary}c</comments><source url="{canary}s">s</source>
    <enclosure url="{canary}e.mp3" length="1" type="audio/mpeg"/>
    <media:content url="{canary}m.jpg"/><media:thumbnail url="{canary}t.jpg"/>
    <description>&lt;img src="{canary}i.png"&gt;&lt;script src="{canary}x.js"&gt;</description>
    </item></channel></rss>"""
    atom = f"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="{canary}"><title>t</title>
    <id>x</id><icon>{canary}icon.png</icon><logo>{canary}logo.png</logo>
    <link rel="hub" href="{canary}hub"/><link rel="self" href="{canary}self"/>
    <link rel="next" href="{canary}page2"/><author><name>a</name><uri>{canary}</uri></author>
    <entry><id>1</id><title>t</title><link href="{canary}1"/>
    <link rel="enclosure" href="{canary}e.mp3"/><content src="{canary}content"/></entry></feed>"""
    sitemap = f"""<urlset xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
    <url><loc>{canary}1</loc><image:image><image:loc>{canary}i.png</image:loc></image:image>
    </url></urlset>"""
    json = f"""{{"version": "https://jsonfeed.org/version/1.1", "title": "t",
    "home_page_url": "{canary}", "feed_url": "{canary}feed", "next_url": "{canary}page2",
    "icon": "{canary}icon.png", "favicon": "{canary}favicon.ico",
    "hubs": [{{"type": "WebSub", "url": "{canary}hub"}}],
    "items": [{{"id": "1", "url": "{canary}1", "external_url": "{canary}x",
    "image": "{canary}i.png", "banner_image": "{canary}b.png",
    "attachments": [{{"url": "{canary}a.mp3", "mime_type": "audio/mpeg"}}]}}]}}"""
    broken = rss.replace("</rss>", "").replace("<docs>", "<docs>& ")
    return {
        name: text.encode()
        for name, text in (
            ("rss", rss), ("atom", atom), ("sitemap", sitemap), ("json", json), ("broken", broken),
        )
    }  # fmt: skip


def test_F07_no_field_of_a_document_is_an_instruction_to_go_there():
    async def way(origin, fetcher, urls):
        crawls = {}
        for name, body in every_field(urls[0].removesuffix("feed.xml")).items():
            origin.on(f"/{name}", reply(body, Link=f'<{urls[0]}>; rel="hub"'))
            crawls[name] = await fetcher.fetch(Place(url=origin.url(f"/{name}")))
        return crawls

    crawls = out(way, CANARY)
    # They were read: each has its item, whose link is handed on and not followed.
    for name, crawl in crawls.items():
        assert (crawl.status, crawl.visible) == (Status.CHANGED, 1), (name, crawl.reason)
        assert CANARY in crawl.items[0].link


def test_F07_a_page_may_name_any_feed_and_looking_for_feeds_does_not_go_there():
    async def way(origin, fetcher, urls):
        (url,) = urls
        kind = 'type="application/rss+xml"'
        page = f"""<html><head><base href="{url}"><link rel="icon" href="{url}">
        <link rel="alternate" {kind} href="{url}" title="N"><link rel="stylesheet" href="{url}">
        <script src="{url}"></script></head><body><img src="{url}"><iframe src="{url}"></iframe>
        <a href="/rss">feed</a></body></html>"""
        origin.on("/", reply(page.encode(), Content_Type="text/html"))
        found = await office(fetcher).answer("discover", {"url": origin.url("/")})
        named = [one["url"] for one in found["feeds"]]
        return named, [await visited(fetcher, one) for one in named]

    named, told = out(way, CANARY)
    assert len(named) >= 1
    assert all(CANARY in url for url in named)
    assert all("not public" in reason for reason in told)


@pytest.mark.parametrize("suffix", ["opml", "txt", "csv"])
def test_F07_a_list_may_name_any_source_and_reading_it_does_not_go_there(tmp_path, suffix):
    async def way(origin, fetcher, urls):
        (url,) = urls
        written = {
            "opml": f"""<opml version="2.0"><head><docs>{url}</docs></head><body>
            <outline type="rss" text="a" xmlUrl="{url}" htmlUrl="{url}"/>
            <outline type="include" text="b" url="{url}"/></body></opml>""",
            "txt": f"{url}\n",
            "csv": f"url\n{url}\n",
        }
        path = tmp_path / f"list.{suffix}"
        path.write_text(written[suffix])
        listings = read_sources(path).listings
        return [await visited(fetcher, one.url) for one in listings]

    (reason,) = out(way, CANARY)
    assert "not public" in reason


def test_F07_a_webhook_is_not_redirected():
    async def way(origin, fetcher, urls):
        told = []
        for status in (301, 302, 303, 307, 308):
            origin.on("/hook", redirect(urls[0], status))
            told.append(await fetcher.web.post(origin.url("/hook"), b"{}", {}))
        return told

    assert out(way, CANARY) == [301, 302, 303, 307, 308]


def test_F04_a_name_that_leads_inside_is_refused_on_every_way():
    """A look-up that follows aliases ends at an address, and that is what counts."""

    async def run():
        async with Origin() as origin, Canary() as canary:
            names = Told(inside_example=[[CANARY]], fails_example=[])
            names._answers.pop("fails.example")
            told = []
            with written_down() as dialled:
                async with HttpFetcher(
                    origin.guard, deadlines=QUICK, resolver=names, spacing=0.0
                ) as fetcher:
                    for host in ("inside.example", "fails.example"):
                        url = f"http://{host}:{canary.port}/feed.xml"
                        origin.on("/away", redirect(url))
                        for place in (url, origin.url("/away")):
                            source = Place(url=place, obey_robots=False)
                            told.append((await fetcher.fetch(source)).reason)
                        with pytest.raises((Forbidden, FetchError)) as caught:
                            await fetcher.web.post(url, b"", {})
                        told.append(str(caught.value))
            assert {*dialled} <= {(ORIGIN, origin.port)}
        return told, canary.accepts

    told, accepts = asyncio.run(run())
    assert accepts == 0
    assert told == [
        "guard: address is not public", "guard: address is not public", "address is not public",
        "dns: no address for this name", "dns: no address for this name",
        "dns: no address for this name",
    ]  # fmt: skip
