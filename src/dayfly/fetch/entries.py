"""Items of a feed as entries: which of their children say what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dayfly.fetch.dates import instant
from dayfly.fetch.identity import Entry, is_plain, web_link
from dayfly.fetch.vocabulary import DATES, ID, LINK, MEDIA, TITLE, Uses

if TYPE_CHECKING:
    from lxml.etree import _Element

_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_WEB = ("http://", "https://")


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
        self._uses, self._now, self._url = Uses(root), now, url

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
        return Entry(key, link, title, date, published, text)

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


def _text(item: _Element) -> str:
    """All that an item says, where there is nothing better to tell it by."""
    said = [text.strip() for text in item.itertext()]
    for part in item:
        said.extend(part.attrib.values())
    return " ".join(filter(None, said))


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
