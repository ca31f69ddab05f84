"""Items read column by column say the same as items read one by one."""

import random

import pytest
from lxml import etree

from dayfly.fetch.entries import EntryReader
from dayfly.fetch.feeds import strict

NOW = 1.8e9
DATES = ("Sun, 15 Nov 2026 10:00:00 GMT", "2026-11-15T11:00:00+01:00", "soon", "", "1 Jan 1950")
LINKS = (
    "http://example.org/{}",
    " /relative/{} ",
    "javascript:{}",
    "",
    "https://x.example/?a={}&amp;b",
)
TITLES = ("Title {}", "<b>bold</b> {}", "<![CDATA[a < {}]]>", "", "two\n lines {}")
ATTRIBUTES = ("", "", "", ' href="http://example.org/other"', ' href=""')


def items_of(text):
    root = etree.fromstring(text.encode(), etree.XMLParser(**strict()))
    return root.tag, list(root.iter("{*}item", "{*}entry"))


def both(text):
    root, items = items_of(text)
    reader = EntryReader(root, NOW, "http://example.org/feed")
    return reader.read_all(items)[0], [reader.read(item) for item in items]


def a_feed(rng):
    """A feed whose items are alike, or nearly so; what they say may be missing, or odd."""
    odd = rng.choice((0.0, 0.05, 0.5))
    names = ["guid", "link", "title", "pubDate", "description", "category", "link", "dc:date"]
    pool = names[: rng.choice((4, 5, 6, 8))]
    shape = rng.sample(pool, k=len(pool) - rng.choice((0, 0, 1)))
    items = []
    for number in range(rng.randrange(6)):
        mine = rng.sample(shape, k=len(shape)) if rng.random() < odd else shape
        parts = []
        for name in mine:
            said = {"guid": ("id-{}",), "link": LINKS, "title": TITLES, "pubDate": DATES,
                    "dc:date": DATES}.get(name, ("text {}", "<p>more</p>"))  # fmt: skip
            text = (rng.choice(said) if rng.random() < odd else said[0]).format(number)
            attribute = rng.choice(ATTRIBUTES) if name == "link" and rng.random() < odd else ""
            parts.append(f"<{name}{attribute}>{text}</{name}>")
        items.append(f"<item>{' '.join(parts)}</item>")
    dc = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    return f"<rss {dc}><channel>{''.join(items)}</channel></rss>"


@pytest.mark.parametrize("seed", range(400))
def test_columns_say_what_items_say(seed):
    print("seed", seed)
    together, alone = both(a_feed(random.Random(seed)))
    assert together == alone


def test_most_of_the_random_feeds_are_read_in_columns():
    # Otherwise the test above would compare nothing.
    by_columns = 0
    for seed in range(400):
        root, items = items_of(a_feed(random.Random(seed)))
        by_columns += bool(items) and EntryReader(root, NOW, "")._columns(items) is not None
    assert by_columns > 60


@pytest.mark.parametrize(
    ("item", "link"),
    [
        ("<guid>7</guid><link href='http://a.org/'>http://b.org/</link>", "http://a.org/"),
        ("<guid>7</guid><link>http://b.org/</link><link>http://c.org/</link>", "http://b.org/"),
        ("<guid>http://d.org/</guid><link/>", "http://d.org/"),
    ],
)
def test_the_same_link_wins_in_both_ways(item, link):
    rest = f"<title>a</title><pubDate>{DATES[0]}</pubDate>"
    together, alone = both(f"<rss><channel>{2 * f'<item>{item}{rest}</item>'}</channel></rss>")
    assert [entry.link for entry in together] == [link, link]
    assert together == alone


def test_children_of_neighbours_are_not_mixed_up():
    # As many children in all, and in the same order, but not as many in each item.
    date = f"<pubDate>{DATES[0]}</pubDate>"
    first = "<guid>1</guid><link>http://a.org/1</link><title>one</title>"
    second = f"{date}<guid>2</guid><link>http://a.org/2</link><title>two</title>{date}"
    feed = f"<rss><channel><item>{first}</item><item>{second}</item></channel></rss>"
    together, alone = both(feed)
    assert [entry.published for entry in together] == [None, 1794736800.0]
    assert together == alone


def test_a_document_without_items():
    assert EntryReader("rss", NOW, "").read_all([]) == ([], None)
