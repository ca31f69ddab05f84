"""Feeds as items, and what is not a feed."""

import pytest

from dayfly.fetch import Unreadable, read_feed

NOW = 1_800_000_000.0  # 15 January 2027

RSS = """<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>t</title>
<link>http://x/</link><description>d</description>{}</channel></rss>"""


def rss(*items: str) -> bytes:
    return RSS.format("".join(f"<item>{item}</item>" for item in items)).encode()


def test_rss_and_atom_give_the_same_items():
    as_rss = rss(
        "<guid>1</guid><title>A &amp; B</title><link>http://x/?a=1&amp;b=2</link>"
        "<pubDate>Tue, 12 Jan 2027 10:00:00 +0100</pubDate>"
    )
    as_atom = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><id>u</id>
      <updated>2027-01-12T09:00:00Z</updated><entry><id>1</id><title>A &amp; B</title>
      <link href="http://x/?a=1&amp;b=2"/><updated>2027-01-12T09:00:00Z</updated></entry></feed>"""
    (item,) = read_feed(as_rss, NOW)
    assert read_feed(as_atom, NOW) == (item,)
    assert (item.key, item.title, item.link) == ("1", "A & B", "http://x/?a=1&b=2")
    assert item.published == 1799744400.0


def test_identity_is_the_id_else_the_link_else_the_title():
    items = read_feed(
        rss("<guid>g</guid><link>http://x/1</link>", "<link>http://x/2</link>", "<title>t</title>"),
        NOW,
    )
    assert [item.key for item in items] == ["g", "http://x/2", "t"]


def test_each_key_comes_once_and_nameless_items_not_at_all():
    items = read_feed(rss("<guid>a</guid><title>1</title>", "<guid>a</guid>", "<author/>"), NOW)
    assert [(item.key, item.title) for item in items] == [("a", "1")]


def test_a_huge_key_is_replaced_by_its_hash_and_stays_distinct():
    items = read_feed(rss(f"<guid>{'x' * 100000}a</guid>", f"<guid>{'x' * 100000}b</guid>"), NOW)
    assert len({item.key for item in items}) == 2
    assert all(len(item.key) <= 512 for item in items)


@pytest.mark.parametrize(
    "date",
    ["", "soon", "Thu, 01 Jan 1970 00:00:00 GMT", "Tue, 12 Jan 2100 10:00:00 GMT",
     "0000-00-00T00:00:00Z", "9999-12-31T23:59:59Z", "Mon, 99 Xyz 2026 99:99:99 GMT"],
)  # fmt: skip
def test_a_date_that_makes_no_sense_is_none(date):
    (item,) = read_feed(rss(f"<guid>1</guid><pubDate>{date}</pubDate>"), NOW)
    assert item.published is None


def test_a_date_is_never_guessed_from_the_number_of_an_item():
    """The fast parser alone would date item 7 on the seventh of this month."""
    items = read_feed(rss("<guid>7</guid>", "<guid>12</guid><pubDate>soon</pubDate>"), NOW)
    assert [item.published for item in items] == [None, None]


def test_each_item_has_its_own_date():
    day = "<pubDate>{} Jan 2027 00:00:00 GMT</pubDate>"
    items = read_feed(
        rss("<guid>c</guid>" + day.format(3), "<guid>x</guid>", "<guid>a</guid>" + day.format(1)),
        NOW,
    )
    assert [item.published for item in items] == [1798934400.0, None, 1798761600.0]


def test_a_date_without_a_zone_is_universal_time():
    (item,) = read_feed(rss("<guid>1</guid><pubDate>2027-01-12T09:00:00</pubDate>"), NOW)
    assert item.published == 1799744400.0


def test_a_date_a_little_ahead_is_now():
    (item,) = read_feed(rss("<guid>1</guid><pubDate>Fri, 15 Jan 2027 09:00:00 GMT</pubDate>"), NOW)
    assert item.published == NOW


def test_an_empty_feed_has_no_items():
    assert read_feed(rss(), NOW) == ()


def test_control_bytes_and_leading_space_are_forgiven():
    (item,) = read_feed(b"\n  " + rss("<guid>a\x0bb</guid>").replace(b"<?xml", b"<?xml", 1), NOW)
    assert item.key == "ab"


def test_utf16_is_read():
    text = RSS.replace("utf-8", "utf-16").format("<item><guid>é</guid></item>")
    (item,) = read_feed(text.encode("utf-16"), NOW)
    assert item.key == "é"


BOMB = (
    b'<!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>'
    b"<rss version='2.0'><channel><title>&c;</title></channel></rss>"
)
FILE = (
    b'<!DOCTYPE rss [<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    b"<rss version='2.0'><channel><item><guid>&f;</guid></item></channel></rss>"
)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "malformed"),
        (b"   ", "malformed"),
        (b"hello", "malformed"),
        (b'{"version": "https://jsonfeed.org/version/1"}', "malformed"),
        (b"<html><body><p>Not found</body></html>", "malformed"),
        (b"<html><body><p>Not found</p></body></html>", "not a feed"),
        (b"<opml version='1.0'><head/></opml>", "not a feed"),
        (rss("<guid>1</guid>")[:-20], "malformed"),
        (rss("<guid>a & b</guid>"), "malformed"),
        (rss("<guid>&nbsp;</guid>"), "malformed"),
        (rss("<guid>1</guid><media:thing/>"), "malformed"),
        (rss("<guid>\xe9</guid>").replace(b"\xc3\xa9", b"\xe9"), "malformed"),
        (b'<?xml version="1.0" encoding="klingon"?><rss/>', "malformed"),
        (BOMB, "declares entities"),
        (FILE, "declares entities"),
        (b"<a>" * 100_000 + b"</a>" * 100_000, "nested too deep"),
    ],
)
def test_what_cannot_be_read_without_guessing_is_refused(body, why):
    with pytest.raises(Unreadable, match=why):
        read_feed(body, NOW)


def test_no_bytes_make_it_raise_anything_else():
    """Random damage to a real feed: items or a refusal, never an accident."""
    import numpy as np

    seed = 11
    print("seed", seed)
    rng = np.random.default_rng(seed)
    whole = rss(*(f"<guid>{n}</guid><title>t {n}</title>" for n in range(5)))
    for _ in range(500):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole), rng.integers(1, 4)):
            damaged[at] = rng.integers(0, 256)
        try:
            items = read_feed(bytes(damaged[: rng.integers(0, len(whole) + 1)]), NOW)
        except Unreadable:
            continue
        assert len(items) <= 5
