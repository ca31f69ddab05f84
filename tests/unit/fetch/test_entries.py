"""Of several children that say the same thing, which one is believed."""

import pytest
from lxml import etree

from dayfly.fetch.entries import EntryReader

NOW = 1.8e9


def read(item):
    return EntryReader("rss", NOW, "http://example.org/feed").read(etree.fromstring(item))


@pytest.mark.parametrize(
    ("said", "link"),
    [
        ("<guid>7</guid><link href='http://a.org/'>http://b.org/</link>", "http://a.org/"),
        ("<guid>7</guid><link>http://b.org/</link><link>http://c.org/</link>", "http://b.org/"),
        ("<guid>7</guid><link> </link><link>http://c.org/</link>", "http://c.org/"),
        ("<guid>http://d.org/</guid><link/>", "http://d.org/"),
        ("<guid isPermaLink='false'>http://d.org/</guid>", ""),
        ("<guid>7</guid><link>/relative</link>", "http://example.org/relative"),
        ("<guid>7</guid><link>javascript:alert(1)</link>", ""),
    ],
)
def test_links(said, link):
    assert read(f"<item>{said}</item>").link == link


def test_the_first_date_that_makes_sense():
    found = read(
        "<item><pubDate>soon</pubDate>"
        "<date xmlns='http://purl.org/dc/elements/1.1/'>2026-11-15T10:00:00Z</date></item>"
    )
    assert found.published == 1794736800.0
