"""A batch of crawls, written in one transaction: the hot path of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from dayfly.errors import StoreError
from dayfly.model import Crawl
from dayfly.store.base import Record, StoredSource
from dayfly.store.database import Database, no_source
from dayfly.store.keys import hashes
from dayfly.store.rows import item_row, left_behind, storable, visit_row


def record(file: Database, records: Sequence[Record], fence: int) -> None:
    """Store these crawls whole, or refuse them whole."""
    try:
        _record(file, records, fence)
    except StoreError as error:
        # One text that no file can hold must not keep the others of its batch from being stored.
        # It is rare, so nobody looks for it before.
        if not isinstance(error.__cause__, UnicodeError):
            raise
        _record(file, [storable(record) for record in records], fence)


def _record(file: Database, records: Sequence[Record], fence: int) -> None:
    ask = file.ask
    with file.writing() as db:
        number = before = file.check(fence)
        items: list[tuple[Any, ...]] = []
        for record in records:
            crawl, source = record.crawl, record.source
            if crawl.row != source.row:
                raise StoreError(f"crawl of row {crawl.row} with source of row {source.row}")
            if db.execute(ask["crawled_source"], left_behind(source)).rowcount != 1:
                raise no_source(source.row)
            known = hashes([item.key for item in crawl.items])
            for item, key in zip(crawl.items, known, strict=True):
                # Whether this changes anything decides whether the item is new.
                if db.execute(ask["know"], (crawl.row, key)).rowcount == 1:
                    number += 1
                    items.append(item_row(number, crawl, item))
            _tell_host(db, ask, crawl, source)
        db.executemany(ask["add_item"], items)
        if number != before:
            db.execute(ask["count_items"], (number,))
        db.executemany(ask["add_visit"], [visit_row(record.crawl) for record in records])
        db.executemany(ask["release"], [(record.crawl.row,) for record in records])


def _tell_host(
    db: sqlite3.Connection, ask: dict[str, str], crawl: Crawl, source: StoredSource
) -> None:
    if crawl.host_not_before is not None:
        db.execute(ask["block_host"], (source.host, crawl.host_not_before))
    if crawl.crawl_delay is not None:
        db.execute(ask["space_host"], (source.host, crawl.crawl_delay))
    elif crawl.answered and source.obey_robots:
        # Its robots.txt was read, and asks for nothing.
        db.execute(ask["unspace_host"], (source.host,))
