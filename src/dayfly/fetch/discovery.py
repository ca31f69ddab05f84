"""Feeds of a site: what its page points to, and where else one may look.

A page names its feeds in its head (`link rel=alternate`). Where it does not, links whose address
looks like a feed are the next best, and then the paths that common software uses. Nothing is
fetched here. Tags are picked out of the page by pattern: that is enough for links, and no page can
make it slow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from urllib.parse import urljoin, urlsplit

from dayfly.fetch.charsets import page_as_utf8
from dayfly.fetch.identity import clean, web_link

#: So much of a page is looked at, and so many feeds are handed back.
_PAGE, _MOST = 2 << 20, 50
_TYPES = frozenset(
    (
        "application/rss+xml", "application/atom+xml", "application/rdf+xml", "text/rss+xml",
        "application/x-rss+xml", "application/feed+json", "application/json", "application/xml",
        "text/xml",
    )
)  # fmt: skip
_TAG = re.compile(r"<(link|a|base)\s([^<>]{1,2000})>", re.I)
_ANY = re.compile(r"<[^<>]*>")
_ATTRIBUTE = re.compile(r"""([\w:-]{1,40})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
#: Addresses that look like a feed, as whole words of their path or query.
_LOOKS = re.compile(r"(?:^|[/._=?&-])(?:rss2?|atom|feeds?|rdf|feed\.json)(?:$|[/._=?&-])", re.I)
_PATHS = (
    "feed", "feed/", "rss", "rss.xml", "feed.xml", "atom.xml", "index.xml", "feeds/posts/default",
    "feed.json", "sitemap.xml", "news-sitemap.xml",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A feed that a page points to, or a place where one may be."""

    url: str
    title: str = ""
    #: "feed" or "sitemap".
    kind: str = "feed"


def feeds_in(html: bytes, url: str) -> list[Found]:
    """The feeds that a page points to: first those that it names, then those that look like one.

    Examples
    --------
    >>> feeds_in(b'''<link rel="alternate" type="application/rss+xml" title="All" href="/rss">
    ... <a href="https://example.org/blog/atom.xml">subscribe</a>''', "https://example.org/")
    [Found(url='https://example.org/rss', title='All', kind='feed'),
     Found(url='https://example.org/blog/atom.xml', title='subscribe', kind='feed')]
    """
    page = _without_comments(page_as_utf8(html[:_PAGE]).decode("utf-8", "replace"))
    base = url
    named: dict[str, Found] = {}
    likely: dict[str, Found] = {}
    for tag in _TAG.finditer(page):
        said = _attributes(tag[2])
        to = web_link(said.get("href", ""), base)
        name = tag[1].lower()
        if not to or len(likely) > _MOST:
            continue
        if name == "base":
            base = to
        elif name == "link":
            kind = said.get("type", "").partition(";")[0].strip().lower()
            # Pages in other languages are alternates too, and have another type or none.
            if kind in _TYPES and "alternate" in said.get("rel", "").lower().split():
                named.setdefault(to, Found(to, clean(said.get("title", ""), 200)))
        elif _looks_like_feed(to, url):
            text = page[tag.end() : tag.end() + 400].partition("</a")[0]
            likely.setdefault(to, Found(to, clean(unescape(_ANY.sub(" ", text)), 200)))
    return list((named | {to: one for to, one in likely.items() if to not in named}).values())[
        :_MOST
    ]


def _attributes(tag: str) -> dict[str, str]:
    said: dict[str, str] = {}
    for one in _ATTRIBUTE.finditer(tag):
        value = next((part for part in one.groups()[1:] if part is not None), "")
        said.setdefault(one[1].lower(), unescape(value))
    return said


def _without_comments(page: str) -> str:
    """A page without its comments; step by step, because a pattern could take for ever."""
    kept, at = [], 0
    while (start := page.find("<!--", at)) >= 0:
        kept.append(page[at:start])
        at = page.find("-->", start)
        if at < 0:
            return "".join(kept)
    return "".join([*kept, page[at:]])


def usual_places(url: str) -> list[Found]:
    """Where the feeds of common software are, beside a page and at the root of its site.

    >>> [place.url for place in usual_places("https://example.org/blog/")][:2]
    ['https://example.org/blog/feed', 'https://example.org/blog/feed/']
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return []
    beside = urljoin(url, "./")
    root = f"{parts.scheme}://{parts.netloc}/"
    places = [base + path for base in dict.fromkeys((beside, root)) for path in _PATHS]
    return [Found(one, "", "sitemap" if "sitemap" in one else "feed") for one in places]


def _looks_like_feed(link: str, page: str) -> bool:
    """Whether an address reads like a feed, on the page's own host or at a host for feeds."""
    there = urlsplit(link)
    if not _LOOKS.search(f"{there.path}?{there.query}"[:500]):
        return False
    here = urlsplit(page).hostname or ""
    host = there.hostname or ""
    return host == here or host.removeprefix("www.") == here.removeprefix("www.") or (
        host.startswith(("feeds.", "feed.", "rss."))
    )  # fmt: skip
