"""Items of a feed as entries: which of their children say what, and how much of it is kept.

A character may take four bytes where it came in one. So the texts of one document are limited all
together, and texts of half a million characters are cut before they are read.
"""

from __future__ import annotations

import functools
from itertools import chain
from typing import TYPE_CHECKING

from dayfly.fetch.dates import instant
from dayfly.fetch.identity import Entry, clean, is_plain, web_link
from dayfly.fetch.vocabulary import DATES, ID, LINK, MEDIA, TITLE, Uses, use_of

if TYPE_CHECKING:
    from lxml.etree import XPath, _Element

#: Bytes that the texts of one document may take; a document that has more is called truncated.
TEXTS = 24 << 20
#: So many characters of one text are read.
LONGEST = 1 << 19
#: Shorter titles are kept as they are; meanings of so many names are remembered.
_TITLE, _NAMES = 1024, 1000
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_WEB = ("http://", "https://")


class _FewUses(Uses):
    """Does not remember every name that somebody makes up."""

    def __missing__(self, tag: str) -> str:
        return super().__missing__(tag) if len(self) < _NAMES else use_of(tag, self._root)


class EntryReader:
    """Reads the items of one document.

    Parameters
    ----------
    root
        The name of the document's first element.
    now
        Dates ahead of it are mistakes.
    url
        Where the document was found.
    """

    def __init__(self, root: str, now: float, url: str) -> None:
        self._uses, self._now, self._url = _FewUses(root), now, url

    def read(self, item: _Element) -> Entry:
        """What this item says: of several children for one use, the first that says something."""
        found: dict[str, str] = {}
        guid = None
        for child in item:
            use = self._uses[child.tag]
            if not use or (use in found and found[use].strip()):
                continue
            text = "".join(child.itertext()) if len(child) else child.text
            if use == LINK and child.get("href") is not None:
                _add_link(child, found)
            elif text:
                found[use] = text
                if use == ID:
                    guid = child
        key = (found.get(ID) or item.get(_ABOUT, "")).strip()
        title = found.get(TITLE) or found.get(MEDIA, "")
        link = found.get(LINK) or found.get("page") or found.get("other") or _href(item)
        if not link and guid is not None:
            permalink = guid.get("isPermaLink", "")
            if permalink == "true" or (permalink != "false" and _is_web(key)):
                link = key
        if link and not is_plain(link):
            url = self._url
            link = web_link(link, url if link.startswith(_WEB) else item.base or url)
        date, published = self._date(item, found)
        text = "" if key or link or title else _text(item)
        return Entry(key, link, short_title(title), date, published, text)

    def _date(self, item: _Element, found: dict[str, str]) -> tuple[str, float | None]:
        """The best date as it is written, and the first one that makes sense."""
        date = ""
        for rank in DATES:
            if written := found.get(rank):
                published = instant(written, self._now)
                date = date or written
                if published is not None:
                    return date, published
        if not date:
            date = item.get("lastmod") or item.get("LASTMOD") or ""
            return date, instant(date, self._now)
        return date, None


def short_title(title: str) -> str:
    """A title as it is, unless it is so long that it will be cut."""
    return title if len(title) <= _TITLE else clean(title)


def weight_of(entry: Entry) -> int:
    """How many bytes the texts of an entry take at the most, and what becomes of them when cleaned.

    >>> weight_of(Entry(id="7", link="http://x/", title="€"))
    18
    """
    weight = 0
    for text in (entry.id, entry.link, entry.title, entry.date, entry.text):
        weight += len(text) if text.isascii() else 8 * len(text)
    return weight


def shorten(item: _Element) -> None:
    """Cut what is longer than `LONGEST` in an element, for whoever reads it and its children."""
    long, start = _long()
    for part in long(item):
        if part is item:
            # Nobody has so much to say there.
            item.attrib.clear()
            item.text = None
            for child in item:
                child.tail = None
        else:
            said = start(part)
            part.clear()
            part.text = said


@functools.cache
def _long() -> tuple[XPath, XPath]:
    """Finds what is too long in an element, and the start of it, without a text in between."""
    from lxml.etree import XPath

    own = f"self::*[(@* | text())[string-length() > {LONGEST}]]"
    parts = f"*[string-length() > {LONGEST} or .//@*[string-length() > {LONGEST}]]"
    long = f"{own} | {parts} | *[@*[string-length() > {LONGEST}]]"
    return XPath(long), XPath(f"substring(., 1, {LONGEST})", smart_strings=False)


def _text(item: _Element) -> str:
    """All that an item says, where there is nothing better to tell it by."""
    texts = (text.strip() for text in item.itertext())
    values = (value for part in item for value in part.attrib.values())
    said, room = [], LONGEST
    for text in filter(None, chain(texts, values)):
        said.append(text)
        room -= len(text)
        if room < 0:
            break
    return " ".join(said)


def _add_link(child: _Element, found: dict[str, str]) -> None:
    """Atom may have several links: a page comes before other forms of the same thing."""
    relation = child.get("rel", "alternate")
    if relation in ("alternate", "http://www.iana.org/assignments/relation/alternate"):
        page = "html" in child.get("type", "text/html")
        found.setdefault("page" if page else "other", child.get("href", ""))


def _is_web(text: str) -> bool:
    return text[:8].lower().startswith(_WEB)


def _href(item: _Element) -> str:
    """Where an item of a channel definition (CDF) leads."""
    return str(item.get("href") or item.get("HREF") or "")
