"""What a source showed before need not be read again, and nothing new is missed for it."""

import asyncio
from array import array

from tests.origin import Origin, Place, reply

from dayfly.fetch import HttpFetcher
from dayfly.fetch.shown import Showing, Shown
from dayfly.model import Status

NOW = 1.8e9
DATES = {1: "Sun, 15 Nov 2026 10:00:00 GMT", 2: "Sun, 15 Nov 2026 11:00:00 GMT"}


def feed(*items):
    """A feed of (id, number) pairs; the date follows from the number."""
    said = "".join(
        f"<item><guid>{key}</guid><title>t{n}</title><link>http://example.org/{n}</link>"
        f"<pubDate>{DATES.get(n, DATES[2])}</pubDate></item>"
        for key, n in items
    )
    return f"<rss version='2.0'><channel><title>t</title>{said}</channel></rss>".encode()


def visits(*turns):
    """What a fetcher said of one source; each turn is a document, and whether it was stored."""

    async def run():
        crawls, digest = [], ""
        async with Origin() as origin:
            origin.on("/feed", *(reply(body) for body, _ in turns))
            async with HttpFetcher(origin.guard, now=lambda: NOW) as fetcher:
                for _, stored in turns:
                    place = Place(url=origin.url("/feed"), digest=digest)
                    crawls.append(await fetcher.fetch(place))
                    digest = crawls[-1].digest if stored else digest
        return crawls

    return asyncio.run(run())


def test_a_visit_tells_what_is_new_and_how_much_was_visible():
    one, two = feed(("a", 1)), feed(("b", 2), ("a", 1))
    first, second = visits((one, True), (two, True))
    assert [item.key for item in first.items] == ["a"]
    assert [item.key for item in second.items] == ["b"]
    assert (second.visible, second.status) == (2, Status.CHANGED)
    assert second.oldest_s == NOW - 1794736800.0


def test_nothing_new_is_no_change():
    one, two = feed(("a", 1)), feed(("a", 2))
    _, second = visits((one, True), (two, True))
    assert (second.items, second.visible, second.status) == ((), 1, Status.UNCHANGED)


def test_what_could_not_be_stored_is_told_again():
    one, two, three = feed(("a", 1)), feed(("b", 2), ("a", 1)), feed(("c", 2), ("b", 2), ("a", 1))
    _, second, third = visits((one, True), (two, False), (three, True))
    assert [item.key for item in second.items] == ["b"]
    assert [item.key for item in third.items] == ["c", "b", "a"]


def showing(count):
    return Showing(*(array(kind, range(count)) for kind in "qqd"))


def test_the_documents_read_longest_ago_make_room():
    def kept():
        return [len(shown.of(row, "digest") or ()) for row in range(4)]

    shown = Shown(most=2 * (600 + 2 * 24))  # two documents of two items
    for row in range(3):
        shown.keep(row, "digest", showing(2))
    assert kept() == [0, 2, 2, 0]
    shown.keep(1, "digest", None)
    shown.keep(0, "digest", showing(2))
    assert kept() == [2, 0, 2, 0]
    shown.keep(3, "digest", showing(100))
    assert kept() == [0, 0, 0, 0]
