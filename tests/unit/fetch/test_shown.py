"""What a source showed before need not be read again, and nothing new is missed for it."""

import asyncio
import random

import pytest
from tests.origin import Origin, Place, reply
from tests.unit.fetch.test_entries import a_feed

from dayfly.fetch import HttpFetcher
from dayfly.fetch.documents import read_strictly
from dayfly.fetch.shown import Shown
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


def read(body, known=None):
    return read_strictly(body, "auto", "", "http://example.org/", NOW, known or {})


@pytest.mark.parametrize("seed", range(400))
def test_whatever_a_feed_shows_next_nothing_new_is_missed(seed):
    print("seed", seed)
    rng = random.Random(seed)
    # Often the same shape twice, so that many items are shown again.
    first, second = (
        a_feed(random.Random(rng.randrange(40))),
        a_feed(random.Random(rng.randrange(40))),
    )
    if rng.random() < 0.5:
        second = first.partition("</channel>")[0] + second.partition("<channel>")[2]
    before = read(first.encode())
    whole, rest = read(second.encode()), read(second.encode(), before.shown)
    stored = {item.key for item in before.items}
    new = [item for item in whole.items if item.key not in stored]
    assert [item for item in rest.items if item.key not in stored] == new
    # A date that was rewritten since is not read again, but the item is counted.
    assert (rest.shown or {}).keys() == (whole.shown or {}).keys()


def test_items_shown_before_are_left_out():
    before = read(feed(("a", 1), ("b", 2)))
    after = read(feed(("c", 2), ("a", 1), ("b", 2)), before.shown)
    assert [item.key for item in after.items] == ["c"]
    assert len(after.shown) == 3


@pytest.mark.parametrize("ids", [("a", "a"), (" ", "b"), ("", "b")])
def test_where_ids_do_not_tell_items_apart_all_are_read(ids):
    body = feed(*zip(ids, (1, 2), strict=True))
    before = read(body)
    assert before.shown is None
    assert read(body, {hash(one): NOW for one in ids}).items == before.items


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


def test_the_documents_read_longest_ago_make_room():
    shown = Shown(most=4)
    for row in range(3):
        shown.keep(row, "digest", {1: 0.0, 2: 0.0})
    assert [len(shown.of(row, "digest")) for row in range(3)] == [0, 2, 2]
    shown.keep(1, "digest", None)
    shown.keep(0, "digest", {1: 0.0, 2: 0.0})
    assert [len(shown.of(row, "digest")) for row in range(3)] == [2, 0, 2]
    shown.keep(3, "digest", dict.fromkeys(range(5), 0.0))
    assert not any(shown.of(row, "digest") for row in range(4))
