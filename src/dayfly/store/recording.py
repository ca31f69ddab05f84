"""A batch of crawls, written in one transaction: the hot path of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from dayfly.errors import StoreError
from dayfly.model import told_as
from dayfly.store.base import Record
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
            if not crawl.items:
                continue
            known = hashes([item.key for item in crawl.items])
            for item, key in zip(crawl.items, known, strict=True):
                # Whether this changes anything decides whether the item is new.
                if db.execute(ask["know"], (crawl.row, key)).rowcount == 1:
                    number += 1
                    items.append(item_row(number, crawl, item))
            told = hashes(list(filter(None, map(told_as, crawl.items))))
            db.executemany(ask["know"], [(crawl.row, name) for name in told])
        db.executemany(ask["add_item"], items)
        if number != before:
            db.execute(ask["count_items"], (number,))
        db.executemany(ask["add_visit"], [visit_row(record.crawl) for record in records])
        db.executemany(ask["release"], [(record.crawl.row,) for record in records])
        _tell_hosts(db, ask, records)


def _tell_hosts(db: sqlite3.Connection, ask: dict[str, str], records: Sequence[Record]) -> None:
    """What these visits say about whole hosts; of how they are spaced, the last word counts."""
    spacing: dict[str, float | None] = {}
    for record in records:
        crawl, host = record.crawl, record.source.host
        if crawl.host_not_before is not None:
            db.execute(ask["block_host"], (host, crawl.host_not_before))
        if crawl.crawl_delay is not None:
            spacing[host] = crawl.crawl_delay
        elif crawl.answered and record.source.obey_robots:
            # Its robots.txt was read, and asks for nothing.
            spacing[host] = None
    asked = [(host, delay) for host, delay in spacing.items() if delay is not None]
    free = [host for host, delay in spacing.items() if delay is None]
    db.executemany(ask["space_host"], asked)
    if free:
        db.execute(ask["unspace_hosts"], (msgspec.json.encode(free).decode(),))
