"""Sources, items and visits as rows of tables, and back."""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack, unpack
from typing import Any

import msgspec
from msgspec.structs import replace

from dayfly.estimate import Estimate
from dayfly.model import Crawl, Item, Status
from dayfly.store.base import Record, StoredItem
from dayfly.store.keys import clean_text
from dayfly.store.sources import Listing, State, StoredSource

_LISTED = Listing.__struct_fields__
_STORED = tuple(name for name in StoredSource.__struct_fields__ if name != "estimate")
_BELIEF = tuple(f"estimate_{name}" for name in ("time", "arrival", "decay", "worth", "memory"))
#: Text about a source that comes from outside.
_WORDS = ("url", "host", "digest", "why_not", "last_reason", "moved_to", "document_title")


def listing_row(row: int, listing: Listing) -> dict[str, Any]:
    """A source as the operator lists it, by column."""
    return {"row": row, **_columns(listing, _LISTED)}


def source_row(source: StoredSource) -> dict[str, Any]:
    """All of a source, by column."""
    belief = zip(_BELIEF, _belief(source.estimate), strict=True)
    return {**_columns(source, _STORED), **dict(belief)}


def _columns(listing: Listing, names: Sequence[str]) -> dict[str, Any]:
    columns = {name: getattr(listing, name) for name in names}
    for name in ("tags", "headers", "select"):
        columns[name] = msgspec.json.encode(columns[name]).decode() if columns[name] else ""
    return columns


def left_behind(source: StoredSource) -> tuple[Any, ...]:
    """What a crawl can change about a source, in the order of the query `crawled_source`.

    Plain types only: sqlite3 takes twice as long where it must ask how to adapt one.
    """
    return (
        source.url, source.host, source.state.value, source.etag, source.last_modified,
        source.digest, source.not_before, source.why_not, source.last_crawl, source.last_new,
        source.last_status, source.last_reason, source.failures, source.moved_to,
        source.moved_since, source.gone_since, source.lost, source.document_title,
        int(source.malformed),
        *_belief(source.estimate), source.row,
    )  # fmt: skip


def _belief(estimate: Estimate | None) -> tuple[Any, ...]:
    if estimate is None:
        return (None, None, None, None, None)
    memory = pack(f"<{len(estimate.memory)}d", *estimate.memory)
    return (estimate.time, estimate.arrival, estimate.decay, estimate.worth, memory)


def read_source(record: tuple[Any, ...]) -> StoredSource:
    """A source from the columns of the query `sources`."""
    (
        row, id, url, host, weight, arrival, decay, worth, cost, window, kind, title, tags,
        min_interval, max_interval, obey_robots, verify_tls, headers, select,
        state, etag, last_modified, digest, not_before, why_not, last_crawl, last_new, last_status,
        last_reason, failures, moved_to, moved_since, gone_since, lost, document_title, malformed,
        *belief, memory,
    ) = record  # fmt: skip
    estimate = None
    if belief[0] is not None:
        estimate = Estimate(
            row=row, time=belief[0], arrival=belief[1], decay=belief[2], worth=belief[3],
            memory=unpack(f"<{len(memory) // 8}d", memory),
        )  # fmt: skip
    return StoredSource(
        row=row, id=id, url=url, host=host, weight=weight, arrival=arrival, decay=decay,
        worth=worth, cost=cost, window=window, kind=kind, title=title,
        tags=tuple(msgspec.json.decode(tags)) if tags else (),
        min_interval=min_interval, max_interval=max_interval, obey_robots=bool(obey_robots),
        verify_tls=bool(verify_tls), headers=_pairs(headers), select=_pairs(select),
        state=State(state), etag=etag, last_modified=last_modified, digest=digest,
        not_before=not_before, why_not=why_not, last_crawl=last_crawl, last_new=last_new,
        last_status=last_status, last_reason=last_reason, failures=failures, moved_to=moved_to,
        moved_since=moved_since, gone_since=gone_since, lost=lost, document_title=document_title,
        malformed=bool(malformed), estimate=estimate,
    )  # fmt: skip


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in msgspec.json.decode(text)) if text else ()


def item_row(number: int, crawl: Crawl, item: Item) -> tuple[Any, ...]:
    """An item, in the order of the query `add_item`."""
    link = item.link if item.link != item.key else None
    return (number, crawl.row, item.key, item.published, crawl.time, item.worth, item.title, link)


def read_item(record: tuple[Any, ...]) -> StoredItem:
    """An item from the columns of the query `items`."""
    number, row, key, published, seen, worth, title, link = record
    return StoredItem(
        number=number, row=row, key=key, published=published, seen=seen, worth=worth, title=title,
        link=link,
    )  # fmt: skip


def visit_row(crawl: Crawl) -> tuple[Any, ...]:
    """A visit, in the order of the query `add_visit`."""
    return (
        crawl.row, crawl.time, crawl.status.value, crawl.reason, len(crawl.items), crawl.visible,
        crawl.oldest_s, crawl.value, crawl.cost, int(crawl.truncated), int(crawl.malformed),
        crawl.wire_bytes, crawl.took_s,
    )  # fmt: skip


def read_visit(record: tuple[Any, ...]) -> Crawl:
    """A visit from the columns of the queries `visits` and `visits_of`."""
    (
        _, row, time, status, reason, visible, oldest_s, value, cost, truncated, malformed,
        wire_bytes, took_s,
    ) = record  # fmt: skip
    return Crawl(
        row=row, time=time, status=Status(status), reason=reason, visible=visible,
        oldest_s=oldest_s, value=value, cost=cost, truncated=bool(truncated),
        malformed=bool(malformed), wire_bytes=wire_bytes, took_s=took_s,
    )  # fmt: skip


def storable(record: Record) -> Record:
    """The same with text that a file can hold; a validator that would change is dropped instead."""
    crawl, source = record.crawl, record.source
    items = tuple(
        replace(item, key=clean_text(item.key), title=clean_text(item.title),
                link=clean_text(item.link))
        for item in crawl.items
    )  # fmt: skip
    crawl = replace(crawl, items=items, reason=clean_text(crawl.reason))
    words: dict[str, Any] = {name: clean_text(getattr(source, name)) for name in _WORDS}
    for name in ("etag", "last_modified"):
        value = getattr(source, name)
        words[name] = value if clean_text(value) == value else ""
    return Record(crawl=crawl, source=replace(source, **words))
