"""Sitemaps that list other sitemaps: the newest of those are read in the same visit, a few of them.

An index can name thousands of files, itself among them, or go on for ever. So one visit follows few
of them, newest first, to a limited depth, never the same address twice, and only on the index's own
host. The limits on addresses and bytes hold for all files of a visit together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from dayfly.fetch.documents import Document, Unreadable
from dayfly.fetch.errors import FetchError
from dayfly.fetch.urls import Forbidden, check_url
from dayfly.fetch.web import Answer
from dayfly.model import Item, compared

#: Files that one visit reads beside the index, and how deep indexes of indexes may go.
_FILES, _DEPTH = 4, 3
#: Items and unpacked bytes of one visit.
_ITEMS, _BYTES = 50_000, 50_000_000
#: Seconds that one visit may spend on waiting between its requests; and the longest of a single
#: wait, which is granted to the newest file where a site asks for it.
_PATIENCE, _ONE_WAIT = 30.0, 120.0
_SLOWER = frozenset({429, 503})


@dataclass(kw_only=True)
class Walk:
    """What one visit to an index has seen so far."""

    #: Asks for an address (with the most bytes that its body may have), and reads an answer.
    ask: Callable[[str, int], Awaitable[Answer]]
    read: Callable[[Answer], Awaitable[Document]]
    #: Seconds between two requests, and hosts on which files may lie.
    pause: float
    hosts: frozenset[str]
    seen: set[str]
    items: dict[str, Item] = field(default_factory=dict)
    #: Files asked for, bytes received, bytes unpacked.
    files: int = 0
    wire: int = 0
    unpacked: int = 0
    malformed: bool = False
    #: Whether something was left out, and why the first file that failed did.
    truncated: bool = False
    trouble: str = ""
    #: Whether there is nothing to come back for until the index changes: each index says when its
    #: files changed, and those that were asked for came or never will.
    settled: bool = True
    #: An answer that asked us to slow down: it ends the walk.
    enough: Answer | None = None

    async def down(self, index: Document, depth: int = 1) -> None:
        """Read what this index lists."""
        for listed, changed in newest(index.children):
            url = listed.partition("#")[0]
            if url in self.seen:
                continue
            if self.enough is not None:
                return
            self.settled = self.settled and changed is not None
            if self.files >= _FILES or depth >= _DEPTH or not self._patient() or self._full():
                self.truncated = True
                self.trouble = self.trouble or "too much to follow"
                return
            self.seen.add(url)
            try:
                if check_url(url).raw_host not in self.hosts:
                    raise Forbidden("a sitemap on another host")
                self.files += 1
                await asyncio.sleep(self.pause)
                answer = await self.ask(url, _BYTES - self.unpacked)
                self.wire += answer.wire_bytes
                self.unpacked += len(answer.body)
                if answer.status != 200:
                    # A redirect comes here only if it asks to be followed later.
                    later = answer.status < 400 and "Retry-After" in answer.headers
                    if later or answer.status in _SLOWER:
                        self.enough = answer
                    raise FetchError(f"http {answer.status}")
                document = await self.read(answer)
            except (Forbidden, Unreadable, FetchError) as error:
                self.truncated = True
                self.trouble = self.trouble or str(error)
                if isinstance(error, FetchError) or error.passing:
                    self.settled = False
                continue
            self.add(document)
            if document.children:
                await self.down(document, depth + 1)

    def add(self, document: Document) -> None:
        """Keep what this document holds itself."""
        for item in document.items:
            if len(self.items) >= _ITEMS:
                self.truncated = True
                break
            self.items.setdefault(compared(item.key), item)
        self.truncated = self.truncated or document.truncated
        self.malformed = self.malformed or document.malformed

    def _patient(self) -> bool:
        """Whether there is time to wait for one file more."""
        waits = self.files + 1
        return self.pause * waits <= (_ONE_WAIT if waits == 1 else _PATIENCE)

    def _full(self) -> bool:
        return len(self.items) >= _ITEMS or self.unpacked >= _BYTES


def newest(
    children: tuple[tuple[str, float | None], ...],
) -> list[tuple[str, float | None]]:
    """The files of an index, those that changed last first; without a date as they are listed.

    Examples
    --------
    >>> newest((("a", 1.0), ("b", None), ("c", 2.0)))
    [('c', 2.0), ('a', 1.0), ('b', None)]
    """
    return sorted(children, key=lambda child: -(child[1] or 0.0))
