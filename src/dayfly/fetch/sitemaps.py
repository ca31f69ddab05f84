"""Sitemaps, news sitemaps and sitemap indexes as entries.

An address is the identity of its entry; when it was published is what a news sitemap says, else
when it changed last. At most 50,000 addresses count, as the protocol has it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dayfly.fetch.dates import instant
from dayfly.fetch.feeds import strict
from dayfly.fetch.gate import Unreadable, fed_up, pass_gate, refusal
from dayfly.fetch.identity import Entry, web_link

if TYPE_CHECKING:
    from lxml.etree import _Element

ADDRESSES = 50_000
#: More tags than this for one address is not a sitemap.
_TAGS = 50_000
_PIECE = 1 << 16


@dataclass(slots=True)
class Sitemap:
    """What a sitemap lists."""

    entries: list[Entry] = field(default_factory=list)
    children: list[tuple[str, float | None]] = field(default_factory=list)
    truncated: bool = False


def read_sitemap(body: bytes, url: str, now: float) -> Sitemap:
    """The addresses of a sitemap (XML, or one per line), or the sitemaps of an index.

    >>> found = read_sitemap(b'''<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>
    ... <loc>http://example.org/a</loc><lastmod>2026-11-15</lastmod></url></urlset>''', "", 1.8e9)
    >>> found.entries[0].link, found.entries[0].published
    ('http://example.org/a', 1794700800.0)
    """
    if not body.lstrip().startswith(b"<"):
        return _lines(body, url)
    from lxml import etree

    pass_gate(body)
    found = Sitemap()
    try:
        for element in _elements(body):
            if len(found.entries) + len(found.children) == ADDRESSES:
                found.truncated = True
                break
            _take(element, found, url, now)
    except etree.XMLSyntaxError as error:
        raise refusal(error) from None
    return found


def _elements(body: bytes) -> Iterator[_Element]:
    """Each address or sitemap in turn; what has been read is forgotten."""
    from lxml import etree

    parser = etree.XMLPullParser(events=("end",), tag=("{*}url", "{*}sitemap"), **strict())
    tags = 0
    for start in range(0, len(body), _PIECE):
        piece = body[start : start + _PIECE]
        tags += piece.count(b"<") + piece.count(b"=")
        parser.feed(piece)
        for _, element in parser.read_events():
            parent = element.getparent()
            if parent is None or parent.getparent() is not None:
                continue
            yield element
            element.clear()
            while element.getprevious() is not None:
                del parent[0]
            tags = 0
        if tags > _TAGS:
            raise fed_up(parser, f"more than {_TAGS} tags for one address")
    parser.close()


def _take(element: _Element, found: Sitemap, url: str, now: float) -> None:
    said: dict[str, str] = {}
    for part in element.iter("{*}loc", "{*}lastmod", "{*}publication_date", "{*}title"):
        # Pictures and films of a page have a place and a title too.
        outer = part.getparent()
        local = part.tag.rpartition("}")[2]
        if outer is element or (outer is not None and outer.tag.endswith("}news")):
            said.setdefault(local, part.text or "")
    link = web_link(said.get("loc") or element.text or "", url)
    if not link:
        return
    date = said.get("publication_date") or said.get("lastmod", "")
    published = instant(date, now)
    if element.tag.endswith("sitemap"):
        found.children.append((link, published))
    else:
        title = said.get("title", "")
        found.entries.append(Entry(link=link, title=title, date=date, published=published))


def _lines(body: bytes, url: str) -> Sitemap:
    found = Sitemap()
    for line in io.BytesIO(body):
        if len(found.entries) == ADDRESSES:
            found.truncated = True
            break
        text = line[:8192].decode("utf-8", "replace").strip()
        if text.startswith(("http://", "https://")) and (link := web_link(text, url)):
            found.entries.append(Entry(link=link))
    if not found.entries:
        raise Unreadable("not a sitemap: no addresses")
    return found
