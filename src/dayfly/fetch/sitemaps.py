"""Sitemaps, news sitemaps and sitemap indexes as entries.

An address is the identity of its entry; when it was published is what a news sitemap says, else
when it changed last. At most 50,000 addresses count, as the protocol has it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dayfly.fetch.dates import instant
from dayfly.fetch.entries import LONGEST, TEXTS, shorten, weight_of
from dayfly.fetch.feeds import SPAN, strict
from dayfly.fetch.gate import Unreadable, fed_up, pass_gate, pull_parser, refusal
from dayfly.fetch.identity import Entry, clean, web_link

if TYPE_CHECKING:
    from lxml.etree import XMLPullParser, _Element

ADDRESSES = 50_000
#: More tags than this for one address is not a sitemap. Names of tags and attributes are kept until
#: the end: beyond so many of them, only those are counted that are different within a piece, and no
#: honest sitemap has so many of these.
_TAGS, _COUNTED, _NAMES = 50_000, 200_000, 800_000
_NAME = re.compile(rb"""<([^\s<>/=]+)|\s([^\s<>=/'"]+)=""")
_PIECE = 1 << 16
_MARKUP = re.compile(rb"\s*+<")


@dataclass(slots=True)
class Sitemap:
    """What a sitemap lists."""

    entries: list[Entry] = field(default_factory=list)
    children: list[tuple[str, float | None]] = field(default_factory=list)
    truncated: bool = False
    #: Whether its texts have to be counted, and bytes that are left for them.
    long: bool = False
    room: int = TEXTS


def read_sitemap(body: bytes, url: str, now: float) -> Sitemap:
    """The addresses of a sitemap (XML, or one per line), or the sitemaps of an index.

    >>> found = read_sitemap(b'''<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>
    ... <loc>http://example.org/a</loc><lastmod>2026-11-15</lastmod></url></urlset>''', "", 1.8e9)
    >>> found.entries[0].link, found.entries[0].published
    ('http://example.org/a', 1794700800.0)
    """
    if not _MARKUP.match(body):
        return _lines(body, url)
    from lxml import etree

    pass_gate(body)
    found = Sitemap(long=len(body) > LONGEST)
    try:
        with pull_parser("{*}url", "{*}sitemap", **strict()) as parser:
            for element in _elements(parser, body):
                if len(found.entries) + len(found.children) == ADDRESSES or found.room < 0:
                    found.truncated = True
                    break
                _take(element, found, url, now)
    except etree.XMLSyntaxError as error:
        raise refusal(error) from None
    return found


def _elements(parser: XMLPullParser, body: bytes) -> Iterator[_Element]:
    """Each address or sitemap in turn; what has been read is forgotten."""
    tags = total = last = 0
    for start in range(0, len(body), _PIECE):
        piece = body[start : start + _PIECE]
        tags += piece.count(b"<") + piece.count(b"=")
        if len(body) > LONGEST:
            total += _names_in(piece, all_=total <= _COUNTED)
            if total > _NAMES:
                raise Unreadable(f"hostile: more than {_NAMES} names of tags and attributes")
        parser.feed(piece)
        for _, element in parser.read_events():
            parent = element.getparent()
            if parent is None or parent.getparent() is not None:
                continue
            if start - last >= LONGEST:
                shorten(element)
            yield element
            element.clear()
            while element.getprevious() is not None:
                del parent[0]
            tags, last = 0, start
        if tags > _TAGS:
            raise fed_up(parser, f"more than {_TAGS} tags for one address")
        if start - last > SPAN:
            raise fed_up(parser, f"more than {SPAN} bytes for one address")
    parser.close()


def _names_in(piece: bytes, all_: bool) -> int:
    """How many names of tags and attributes, or different ones, a piece has."""
    if not all_:
        return len(set(_NAME.findall(piece)))
    tags = piece.count(b"<") - piece.count(b"</")
    return tags + piece.count(b'="') + piece.count(b"='")


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
    title = clean(said.get("title", ""))
    entry = Entry(link=link, title=title, date=date, published=published)
    if found.long:
        found.room -= weight_of(entry)
    if element.tag.endswith("sitemap"):
        found.children.append((link, published))
    else:
        found.entries.append(entry)


def _lines(body: bytes, url: str) -> Sitemap:
    found = Sitemap(long=len(body) > LONGEST)
    for line in io.BytesIO(body):
        if len(found.entries) == ADDRESSES or found.room < 0:
            found.truncated = True
            break
        text = line[:8192].decode("utf-8", "replace").strip()
        if text.startswith(("http://", "https://")) and (link := web_link(text, url)):
            found.entries.append(Entry(link=link))
            if found.long:
                found.room -= weight_of(found.entries[-1])
    if not found.entries:
        raise Unreadable("not a sitemap: no addresses")
    return found
