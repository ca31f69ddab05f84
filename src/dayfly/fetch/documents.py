"""Documents as items: what a body is, its bytes say, not its header.

Feeds (RSS, Atom, RDF, CDF, JSON Feed), sitemaps and their indexes are told by their first element.
A web page has items only if it is said where (`select`); it is read in the cage. Feeds go three
ways, each only where the one before failed: as they are; with small faults mended; to the tolerant
parser in the cage.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Self, TypeVar

from dayfly.errors import BadInput
from dayfly.fetch.again import read_again
from dayfly.fetch.cage import Cage
from dayfly.fetch.charsets import as_utf8, page_as_utf8
from dayfly.fetch.feeds import ITEMS, Feed, read_feed
from dayfly.fetch.gate import Malformed, Unreadable
from dayfly.fetch.identity import items_of
from dayfly.fetch.jsonfeed import read_json
from dayfly.fetch.mending import mend
from dayfly.fetch.pages import check_select
from dayfly.fetch.shown import Showing
from dayfly.fetch.sitemaps import read_sitemap
from dayfly.model import Item

__all__ = ["KINDS", "Document", "Reader", "Unreadable", "read_strictly"]

_T = TypeVar("_T")
#: What an operator may say a source is.
KINDS = ("auto", "feed", "sitemap", "page")
#: Larger bodies are read in a thread, so that other visits go on meanwhile.
_LONG = 1 << 18
#: Larger feeds are read whole each time: to cut one into items takes its length once more.
_CUT = 4 << 20
#: What may stand before the first element, and that element's name.
_PROLOG = re.compile(rb"\s+|<\?[^>]*>|<!--.*?-->|<!DOCTYPE(?:[^\[>]|\[[^\]]*\])*>", re.I | re.S)
_ROOT = re.compile(rb"<(?:[\w.-]{1,40}:)?([\w.-]{1,40})")
_HEAD = 1 << 16
_FEEDS = frozenset(("rss", "feed", "rdf", "channel"))
_SITEMAPS = frozenset(("urlset", "sitemapindex"))
_HIDDEN = re.compile(rb"<(rss|feed|rdf:rdf)[\s>]", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What one body holds."""

    #: Every item that is visible, in the order of the document, each key once; without those that
    #: were known before.
    items: tuple[Item, ...]
    #: What to remember of it for the next time; None where nothing helps.
    showing: Showing | None = None
    title: str = ""
    #: Whether there was more than we read, and whether it was not well-formed.
    truncated: bool = False
    malformed: bool = False
    #: Whether it ends within an item: the rest may come the next time, under the same validators.
    cut: bool = False
    #: How long it asks to be left alone, as written: minutes, hours of the day, days of the week.
    ttl: str = ""
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[str, ...] = ()
    #: Of a sitemap index: the addresses of its sitemaps, and when each changed.
    children: tuple[tuple[str, float | None], ...] = ()


class Reader:
    """Reads bodies; owns the process in which malformed feeds are read, if it comes to that."""

    def __init__(self, cage: Cage | None = None) -> None:
        self._cage = cage or Cage()
        # Long bodies are read one at a time, so that what they take does not add up.
        self._turn = asyncio.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process in which malformed feeds are read."""
        self._cage.close()

    async def read(
        self,
        body: bytes,
        *,
        kind: str = "auto",
        content_type: str = "",
        url: str = "",
        now: float,
        select: Mapping[str, str] = {},
        before: Showing | None = None,
    ) -> Document:
        """All items of a body; raises `Unreadable` with a short reason where none can be had.

        Those that the source has shown before may be left out.
        """
        if kind == "page" or (select and kind == "auto"):
            try:
                check_select(select)
            except BadInput as error:
                raise Unreadable(f"not a page with items: {error}") from None
            page = await self._aside(len(body), lambda: page_as_utf8(body, content_type))
            return _document(await self._cage.read(page, url, now, select=select))
        try:
            strictly = partial(read_strictly, body, kind, content_type, url, now, before)
            return await self._aside(len(body), strictly)
        except Malformed as error:
            # Only its words: with it, all that was made of the body so far would be kept.
            why = str(error)
        text = await self._aside(len(body), lambda: mend(as_utf8(body, content_type)))
        feed = await self._cage.read(text, url, now, why=why)
        cut = _is_cut(text)
        if cut:
            # The last item may lack the end of its id; better none than another one.
            feed.entries, feed.truncated = feed.entries[:-1], True
        return _document(feed, malformed=True, cut=cut)

    async def _aside(self, length: int, read: Callable[[], _T]) -> _T:
        """Here if the body is short, else in a thread.

        In each thread the XML parser keeps every name that it has ever met. So a thread reads one
        body, and what somebody made up ends with it.
        """
        if length <= _LONG:
            return read()
        async with self._turn:
            line = ThreadPoolExecutor(1, thread_name_prefix="reader")
            try:
                return await asyncio.get_running_loop().run_in_executor(line, read)
            finally:
                line.shutdown(wait=False)


def read_strictly(
    body: bytes, kind: str, content_type: str, url: str, now: float, before: Showing | None = None
) -> Document:
    """A document without guesses; raises `Malformed` where only the tolerant parser is left."""
    text = as_utf8(body, content_type)
    start = text[:_HEAD].lstrip()
    if start[:1] in (b"{", b"["):
        return _document(read_json(text, url, now))
    name = root_of(start)
    if name in _SITEMAPS and kind != "feed":
        return _sitemap(text, url, now)
    if name in _FEEDS:
        return _feed(text, name, url, now, before)
    if kind == "sitemap" and not start.startswith(b"<"):
        return _sitemap(text, url, now)
    if name != "html" and _HIDDEN.search(start):
        raise Malformed("malformed: something stands before the feed")
    raise Unreadable(f"not a feed: {_what(start, name)}")


def root_of(start: bytes) -> str:
    """The name of the first element in small letters, without prefix; empty if there is none.

    >>> root_of(b'<?xml version="1.0"?><!-- <a> --><!DOCTYPE rdf:RDF><rdf:RDF xmlns:rdf="x">')
    'rdf'
    """
    at = 0
    while found := _PROLOG.match(start, at):
        at = found.end()
    root = _ROOT.match(start, at)
    return root[1].decode("ascii", "replace").lower() if root else ""


def _feed(text: bytes, root: str, url: str, now: float, before: Showing | None) -> Document:
    def read(text: bytes) -> Feed:
        return read_feed(text, now, url)

    if len(text) > _CUT:
        return _document(read(text))
    try:
        document = _document(*read_again(text, root, before, read, url))
    except Malformed:
        mended = mend(text)
        if mended == text:
            raise
    else:
        # A parser that is fed piece by piece finds nothing more behind a bare ampersand, and does
        # not say so before the end: what seems to be too much may be that.
        if not document.truncated or len(document.items) >= ITEMS or (mended := mend(text)) == text:
            return document
    return _document(*read_again(mended, root, before, read, url), malformed=True)


def _sitemap(text: bytes, url: str, now: float) -> Document:
    try:
        found = read_sitemap(text, url, now)
    except Malformed:
        try:
            found = read_sitemap(mend(text), url, now)
        except Malformed as error:
            raise Unreadable(str(error)) from None  # there is no tolerant reader of sitemaps
    return Document(
        items=items_of(found.entries), truncated=found.truncated, children=tuple(found.children)
    )


def _is_cut(text: bytes) -> bool:
    """Whether a document ends within an item."""
    return any(text.rfind(b"<" + name) > text.rfind(b"</" + name) for name in (b"item", b"entry"))


def _document(
    feed: Feed, showing: Showing | None = None, *, malformed: bool = False, cut: bool = False
) -> Document:
    return Document(
        items=items_of(feed.entries), showing=showing, title=feed.title, truncated=feed.truncated,
        malformed=malformed, cut=cut, ttl=feed.ttl, skip_hours=feed.skip_hours,
        skip_days=feed.skip_days,
    )  # fmt: skip


def _what(start: bytes, name: str) -> str:
    """What something is that has no items, for people."""
    if not start:
        return "empty"
    if name == "html":
        return "a web page"
    return f"<{name}>" if name else "no XML, no JSON"
