"""Dates as they are written, and nothing that is not XML."""

import pytest

from dayfly.fetch import Unreadable
from dayfly.fetch.gate import pass_gate


def test_published_comes_before_updated_whatever_their_order():
    feed = b"""<feed xmlns="http://www.w3.org/2005/Atom"><updated>feed</updated>
      <entry><updated>u</updated><published>p</published></entry>
      <entry><updated>u</updated></entry><entry><published/></entry></feed>"""
    assert pass_gate(feed) == ["p", "u", ""]


def test_only_an_items_own_dates_count():
    """An Atom entry may quote the feed it came from, with that feed's date."""
    feed = b"""<feed xmlns="http://www.w3.org/2005/Atom"><entry>
      <source><updated>the other feed's</updated></source></entry></feed>"""
    assert pass_gate(feed) == [""]


def test_rdf_and_dublin_core_dates_are_read():
    feed = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
      xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
      <channel><items><rdf:Seq><rdf:li/></rdf:Seq></items></channel>
      <item><dc:date> 2027-01-01 </dc:date></item></rdf:RDF>"""
    assert pass_gate(feed) == ["2027-01-01"]


def test_a_date_split_by_the_parser_is_whole():
    assert pass_gate(b"<rss><item><pubDate>a<![CDATA[b]]>c&#100;</pubDate></item></rss>") == [
        "abcd"
    ]


def test_an_undeclared_prefix_is_refused():
    with pytest.raises(Unreadable, match="unbound prefix"):
        pass_gate(b"<rss><a:b/></rss>")


def test_the_old_rss_doctype_is_no_entity_declaration():
    feed = (
        b'<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN"'
        b' "http://my.netscape.com/publish/formats/rss-0.91.dtd">'
        b'<rss version="0.91"><channel><item><title>t</title></item></channel></rss>'
    )
    assert pass_gate(feed) == [""]


@pytest.mark.parametrize(
    "body",
    [
        b"<rss><channel " + b" ".join(b'a%d=""' % n for n in range(1000)) + b"/></rss>",
        b'<rss xmlns="' + b"x" * 5000 + b'"><channel/></rss>',
        b"<rss><channel>" + b"<item/>" * 5000 + b"</channel></rss>",
        b"<rss><" + b"n" * 5000 + b"/></rss>",
    ],
    ids=["attributes", "namespace", "items", "name"],
)
def test_shapes_that_cost_the_parser_more_than_the_sender_are_refused(body):
    with pytest.raises(Unreadable, match="hostile"):
        pass_gate(body)
