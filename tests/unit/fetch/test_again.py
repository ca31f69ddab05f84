"""A feed that was read before: what is left out was there before, and nothing new is."""

import random
import re
from functools import partial

import pytest

from dayfly.fetch.again import read_again
from dayfly.fetch.documents import read_strictly
from dayfly.fetch.feeds import ITEMS, read_feed
from dayfly.fetch.gate import Malformed

NOW = 1.8e9
DATES = ("Sun, 15 Nov 2026 10:00:00 GMT", "2026-11-15T11:00:00+01:00", "soon", "", "1 Jan 1950")
TEXTS = (
    "plain", "<![CDATA[<b>bold</b>]]>", "<p>inside</p>", "<![CDATA[ <item> ]]>",
    "<![CDATA[ </item> ]]>", "<!-- <item> </item> -->", "<item><guid>inner</guid></item>",
    "&lt;item&gt;", "<![CDATA[ <item><guid>7</guid></item> ]]>", "<items/>", "<item/>",
)  # fmt: skip


def said(draw, number):
    """An item that says something about this number; often as it would say it the next time."""
    odd = draw.random() < 0.08
    id_ = draw.choice(("", "id-0", f"  id-{number} ")) if odd else f"id-{number}"
    date = draw.choice(DATES) if odd else DATES[0]
    text = draw.choice(TEXTS) if draw.random() < 0.05 else TEXTS[number % 3]
    link = f"http://example.org/{draw.randrange(3) if odd else number}"
    return (
        f"<item><guid>{id_}</guid><link>{link}</link><title>t{number}</title>"
        f"<pubDate>{date}</pubDate><description>{text}</description></item>"
    )


def documents(seed):
    """A feed at several visits: items come and go, some are rewritten, some say odd things."""
    draw = random.Random(seed)
    gap = draw.choice(("", "", "\n  ", "\n  ", "<!-- next -->", "<link>http://example.org/</link>"))
    items = {number: said(draw, number) for number in range(draw.randrange(7))}
    for visit in range(6):
        for number in list(items):
            if draw.random() < 0.15:
                del items[number]
            elif draw.random() < 0.1:
                items[number] = said(draw, number)
        for number in range(100 * visit, 100 * visit + draw.randrange(3)):
            items = {number: said(draw, number)} | items
        listed = list(items.values())
        if listed and draw.random() < 0.1:
            listed.append(draw.choice(listed))
        if draw.random() < 0.1:
            draw.shuffle(listed)
        body = gap.join(["", *listed, ""])
        end = draw.choice(("</channel></rss>",) * 9 + ("</channel>",))
        yield f"<rss><channel><title>Visit {visit}</title>{body}{end}".encode()


@pytest.mark.parametrize("seed", range(400))
def test_read_again_or_whole_the_same_is_new(seed):
    print("seed", seed)
    stored, before = set(), None
    for text in documents(seed):
        try:
            whole = read_strictly(text, "auto", "", "http://example.org/", NOW)
        except Malformed as error:
            with pytest.raises(Malformed, match=re.escape(str(error))):
                read_strictly(text, "auto", "", "http://example.org/", NOW, before)
            continue
        again = read_strictly(text, "auto", "", "http://example.org/", NOW, before)
        new = [item for item in whole.items if item.key not in stored]
        assert [item for item in again.items if item.key not in stored] == new
        assert again.title == whole.title
        if again.showing is not None:
            assert len(again.showing) == len(whole.items)
            dates = [item.published for item in whole.items if item.published is not None]
            assert sorted(date for date in again.showing.dates if date == date) == sorted(dates)
        stored |= {item.key for item in whole.items}
        before = again.showing


def test_many_of_the_random_feeds_are_not_read_whole_again():
    # Otherwise the test above would compare nothing.
    spared = total = 0
    for seed in range(400):
        before = None
        for text in documents(seed):
            reader = Counting()
            try:
                _, before = read_again(text, "rss", before, reader)
            except Malformed:
                continue
            total += 1
            spared += reader.read < len(text)
    print(f"{spared} of {total}")
    assert spared > total / 3


class Counting:
    """Reads feeds, and knows how many bytes it has read."""

    def __init__(self):
        self.read = 0

    def __call__(self, text):
        self.read += len(text)
        return read_feed(text, NOW, "http://example.org/")


def twice(first, second, root="rss"):
    """What is found in the second of two documents, what is remembered, how much was read of it."""
    _, before = read_again(first, root, None, partial(read_feed, now=NOW))
    reader = Counting()
    feed, showing = read_again(second, root, before, reader)
    return [entry.id for entry in feed.entries], showing, reader.read / len(second)


def rss(*items, gap=b""):
    return b"<rss><channel>" + gap.join((b"", *items, b"")) + b"</channel></rss>"


def item(number, more=b""):
    return b"<item><guid>%d</guid>%s<description>%s</description></item>" % (
        number, more, 500 * b"x",
    )  # fmt: skip


OLD = [item(number) for number in range(30, 0, -1)]


@pytest.mark.parametrize("gap", [b"", b"\n    "])
def test_of_a_long_feed_only_the_new_item_is_parsed(gap):
    found, showing, share = twice(rss(*OLD, gap=gap), rss(item(31), *OLD[:-1], gap=gap))
    assert (found, len(showing)) == (["31"], 30)
    assert share < 0.05


def test_nothing_new_under_a_new_heading():
    heading = b"<rss><channel><lastBuildDate>now</lastBuildDate>"
    found, showing, share = twice(rss(*OLD), rss(*OLD).replace(b"<rss><channel>", heading))
    assert (found, len(showing)) == ([], 30)
    assert share < 0.01


def test_atom_and_rdf():
    entries = [b"<entry><id>%d</id></entry>" % number for number in range(3)]
    feed = b"<feed>%s</feed>"
    found, _, share = twice(feed % b"".join(entries[:2]), feed % b"".join(entries), "feed")
    assert found == ["2"]
    assert share < 1
    rdf = b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><items/>%s</r:RDF>'
    items = [b'<item r:about="%d"><title>t</title></item>' % number for number in range(3)]
    found, _, share = twice(rdf % b"".join(items[:2]), rdf % b"".join(items), "rdf")
    assert found == ["2"]
    assert share < 1


def test_an_item_that_was_rewritten_is_not_new():
    found, showing, share = twice(rss(*OLD), rss(item(30, b"<title>better</title>"), *OLD[1:]))
    assert (found, len(showing)) == ([], 30)
    assert share < 0.05


@pytest.mark.parametrize(
    "text",
    [
        b"<description><![CDATA[ <item> ]]></description>",
        b"<description><!-- <item></item> --></description>",
        b"<group><item><guid>inner</guid></item></group>",
    ],
)
def test_what_only_looks_like_an_item_has_the_whole_read(text):
    odd = item(31, text)
    found, showing, share = twice(rss(*OLD), rss(odd, *OLD))
    assert found[0] == "31"
    assert len(found) == 31
    assert showing is None
    assert share >= 1
    # And it is not taken for one the next time.
    found, showing, _ = twice(rss(odd, *OLD), rss(item(32), *OLD))
    assert found[0] == "32"
    assert len(found) == 31


def test_a_quoted_item_beside_one_that_is_written_differently():
    one, two = b"<item><guid>1</guid></item>", b"<item><guid>2</guid></item>"
    for real in (b"<item a='1'><guid>9</guid></item>", b"<item ><guid>9</guid></item>",
                 b"<ITEM><guid>9</guid></ITEM>", b"<entry><guid>9</guid></entry>",
                 b"<x:item xmlns:x='y'><guid>9</guid></x:item>"):  # fmt: skip
        for first in (real + b"<!-- " + one + b" -->", b"<!-- " + one + b" -->" + real):
            found, _, _ = twice(rss(first), rss(two, one))
            assert found == ["2", "1"], first


@pytest.mark.parametrize(
    "text",
    [
        rss(item(1), b"<link>http://example.org/</link>", item(2)),
        rss(item(1), b"<!-- and then -->", item(2)),
        rss(item(1), "\u2003".encode(), item(2)),
        rss(item(1), item(2)) + b"<!-- </item> -->",
        rss(item(1), item(2)).replace(b"</channel>", b"<!-- </item> --></channel>"),
        rss(item(1), b"<item><title>no name</title></item>"),
        rss(item(99), item(99)),
        rss(item(1), b"<item/>"),
        rss(item(1), b"<item b='2'><guid>2</guid></item>"),
        rss(b"<item b='2'><guid>2</guid></item>", item(1)),
        b"<!DOCTYPE rss [<!ENTITY a 'x'>]>" + rss(item(1, b"<title>&a;</title>"), item(2)),
        b"<rss/>",
    ],
)
def test_what_cannot_be_cut_for_certain_is_not_remembered(text):
    feed, showing = read_again(text, "rss", None, partial(read_feed, now=NOW))
    assert showing is None
    # Nor is it cut the next time, whatever else is known.
    _, before = read_again(rss(*OLD), "rss", None, partial(read_feed, now=NOW))
    again, _ = read_again(text, "rss", before, partial(read_feed, now=NOW))
    assert again.entries == feed.entries


def test_long_names_that_differ_at_the_end_differ():
    long = [b"<item><guid>%s%d</guid></item>" % (1100 * b"x", number) for number in range(2)]
    found, showing, _ = twice(rss(long[0], *OLD), rss(long[1], *OLD))
    assert ([name[-1] for name in found], len(showing)) == (["1"], 31)


def test_what_was_not_read_to_its_end_is_not_remembered(monkeypatch):
    monkeypatch.setattr("dayfly.fetch.feeds._SHORT", 100)
    monkeypatch.setattr("dayfly.fetch.feeds._TAGS", 20)
    feed, showing = read_again(rss(item(1), 99 * b"<a/>"), "rss", None, partial(read_feed, now=NOW))
    assert (len(feed.entries), feed.truncated, showing) == (1, True, None)


def test_names_that_are_the_same_to_the_store_are_the_same():
    odd = [b"<item><guid>a%sb</guid></item>" % gap for gap in (b" ", b"  ")]
    _, showing, _ = twice(rss(*OLD), rss(*odd, *OLD))
    assert showing is None


def test_an_old_item_twice_is_still_one():
    found, showing, share = twice(rss(*OLD), rss(item(31), *OLD, OLD[3]))
    assert (found, len(showing)) == (["31"], 31)
    assert share < 0.05


def test_what_no_feed_may_hold_between_its_items_is_not_overlooked():
    with pytest.raises(Malformed):
        twice(rss(*OLD), rss(OLD[0] + b"\f", *OLD[1:]))


def test_a_mended_feed_is_not_read_whole_again_either():
    def read(text, before=None):
        return read_strictly(text, "auto", "", "http://example.org/", NOW, before)

    amiss = [item(number, b"<title>this & that</title>") for number in range(31)]
    first = read(rss(*amiss[1:]))
    assert (len(first.items), first.malformed) == (30, True)
    second = read(rss(*amiss), first.showing)
    assert ([one.key for one in second.items], second.malformed) == (["0"], True)


def test_an_id_that_is_used_again_for_something_else():
    other = b"<item><guid>30</guid><link>http://example.org/other</link></item>"
    found, showing, _ = twice(rss(*OLD), rss(other, *OLD))
    assert found == ["30", "30", *map(str, range(29, 0, -1))]
    assert showing is None


def test_what_is_wrong_among_the_old_is_not_overlooked():
    broken = rss(item(31), OLD[0], b"<b>", *OLD[1:])
    with pytest.raises(Malformed):
        twice(rss(*OLD), broken)


def test_a_feed_that_grows_beyond_what_is_read():
    old = [b"<item><guid>%d</guid></item>" % number for number in range(ITEMS)]
    found, showing, share = twice(rss(*old), rss(item(ITEMS), *old))
    assert (len(found), showing, share) == (ITEMS, None, 1.0)


BASED = b'<rss xml:base="http://%s/"><channel>'
INSIDE = b'<rss><channel xml:base="http://%s/">'


@pytest.mark.parametrize(
    ("head", "url"),
    [
        (b"<rss><channel>", "http://b.org/"),
        (BASED % b"b.org", "http://a.org/"),
        (INSIDE % b"b.org", "http://a.org/"),
    ],
)
def test_the_same_bytes_in_another_context_are_read_again(head, url):
    def read(head, count, url, before=None):
        items = b"".join(b"<item><link>/%d</link></item>" % number for number in range(count))
        return read_strictly(head + items + b"</channel></rss>", "auto", "", url, NOW, before)

    usual = head.replace(b"b.org", b"a.org")
    first = read(usual, 2, "http://a.org/")
    again = read(head, 3, url, first.showing)
    assert [one.key for one in again.items] == [f"http://b.org/{number}" for number in range(3)]
    same = read(usual, 3, "http://a.org/", first.showing)
    assert [one.key for one in same.items] == ["http://a.org/2"]


def test_a_very_long_head_is_not_searched():
    long = b"<rss><channel><title>" + 70_000 * b"x" + b"</title>" + item(1) + b"</channel></rss>"
    found, showing, share = twice(long, long.replace(item(1), item(2)))
    assert (found, showing, share) == (["2"], None, 1.0)
