"""Things to put into a store that is being checked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from dayfly.estimate import Estimate
from dayfly.model import Crawl, Item, Status
from dayfly.store.base import Record, Store
from dayfly.store.sources import Listing, StoredSource

NOW = 1.7e9


def a_listing(id: str, **changes: Any) -> Listing:
    """A source to be added."""
    return Listing(id=id, url=f"http://{id}.example.org/feed", **changes)


def a_belief(row: int, time: float = NOW) -> Estimate:
    """A belief whose numbers are hard to keep."""
    # -inf and numbers without a short decimal form must come back as they were.
    memory = (0.1 + 0.2, float("-inf"), 1e-300)
    return Estimate(row=row, time=time, arrival=1 / 3, decay=2 / 7, worth=1 / 11, memory=memory)


def a_crawl(row: int, *keys: str, time: float = NOW, **changes: Any) -> Crawl:
    """A crawl that saw these items."""
    items = tuple(Item(key=key, published=time - 60, title="é", link="http://x/") for key in keys)
    crawl = Crawl(
        row=row,
        time=time,
        status=Status.CHANGED,
        items=items,
        visible=len(items),
        oldest_s=60.0,
        value=0.5,
    )
    return replace(crawl, **changes)


def a_record(store: Store, crawl: Crawl, **changes: Any) -> Record:
    """The crawl, and its source with every column that a crawl can change changed."""
    source = store.sources()[crawl.row]
    return Record(
        crawl=crawl,
        source=replace(
            source,
            **{
                "url": "http://moved.example.org/",
                "host": "moved.example.org",
                "etag": 'W/"1"',
                "last_modified": "Sun, 06 Nov 1994 08:49:37 GMT",
                "digest": "d1",
                "not_before": crawl.time + 60,
                "why_not": "cache",
                "last_crawl": crawl.time,
                "last_new": crawl.time,
                "last_status": crawl.status.value,
                "last_reason": "none",
                "failures": 3,
                "moved_to": "http://elsewhere.example.org/",
                "moved_since": crawl.time - 5,
                "gone_since": crawl.time - 7,
                "lost": 1,
                "document_title": "Ünïcode",
                "malformed": True,
                "estimate": a_belief(crawl.row, crawl.time),
                **changes,
            },
        ),
    )


def write(store: Store, fence: int, *crawls: Crawl) -> None:
    """Store these crawls in one batch."""
    store.record([a_record(store, crawl) for crawl in crawls], fence)


def forget_all(
    store: Store, items_before: float, visits_before: float, fence: int
) -> tuple[int, int, int]:
    """Forget portion after portion until nothing is left; how many items, visits and events."""
    items = visits = events = 0
    for _ in range(1000):
        dropped = store.forget(items_before=items_before, visits_before=visits_before, fence=fence)
        if not any(dropped):
            return items, visits, events
        items, visits, events = items + dropped[0], visits + dropped[1], events + dropped[2]
    raise AssertionError("forgetting must come to an end and say so")


@contextlib.contextmanager
def refused(kind: type[Exception], promise: str) -> Iterator[None]:
    """The block must raise an error of this kind, else the promise is broken."""
    try:
        yield
    except kind:
        return
    raise AssertionError(promise)


def all_of(store: Store) -> tuple[Sequence[object], ...]:
    """What a refused write must not change."""
    return (store.sources(), list(store.items()), list(store.visits()), store.hosts())


def stored(listing: Listing, row: int = 0) -> StoredSource:
    """The listing as the store should have it."""
    names = Listing.__struct_fields__
    return StoredSource(row=row, **{name: getattr(listing, name) for name in names})


def in_row(record: Record, row: int) -> Record:
    """The same crawl, said to be of another row."""
    return Record(crawl=replace(record.crawl, row=row), source=replace(record.source, row=row))
