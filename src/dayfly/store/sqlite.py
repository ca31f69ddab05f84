"""The store in one SQLite file: write-ahead log, one writer, one transaction per crawl."""

from __future__ import annotations

import contextlib
import importlib.resources
import re
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dayfly.errors import SchemaMismatch, StaleFence, StoreError
from dayfly.estimate import Estimate
from dayfly.model import Crawl
from dayfly.store.base import Listing, StoredItem, StoredSource, check_listings

#: Marks the file as ours ("Dfly") and says which schema it has.
_APPLICATION = 0x44666C79
_VERSION = 1
#: STRICT tables came with this release.
_OLDEST = (3, 37, 0)


class SqliteStore:
    """Remembers everything in one file, which survives the process and its death.

    One process writes to it at a time. Every commit is synced, so that what was recorded outlives
    power loss too.
    """

    def __init__(self, path: str | Path) -> None:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old, 3.37 is needed")
        self.path = Path(path)
        self._ask = _queries()
        try:
            # isolation_level=None: transactions begin where we say so, and IMMEDIATE, because a
            # deferred one that turns out to write fails at once when another writer was faster.
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=5.0)
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {error}") from error
        try:
            self._open()
        except BaseException:
            self._db.close()
            raise

    def add(self, sources: Iterable[Listing]) -> list[int]:
        """Store these sources under new rows."""
        listings = list(sources)
        with self._transaction():
            check_listings(listings, (id for (id,) in self._db.execute(self._ask["ids"])))
            ((first,),) = self._db.execute(self._ask["count_sources"])
            rows = list(range(first, first + len(listings)))
            self._db.executemany(
                self._ask["add_source"],
                [
                    {"row": row} | asdict(listing)
                    for row, listing in zip(rows, listings, strict=True)
                ],
            )
        return rows

    def sources(self) -> list[StoredSource]:
        """All sources in the order of their rows."""
        with self._told():
            return [_source(*record) for record in self._db.execute(self._ask["sources"])]

    def own(self) -> int:
        """Become the owner."""
        with self._transaction():
            return int(self._db.execute(self._ask["take_over"]).fetchall()[0][0])

    def unseen(self, row: int, keys: Sequence[str]) -> set[str]:
        """Those of the keys that are not stored for this source."""
        ask = self._ask["known_item"]
        with self._told():
            return {
                key
                for key in keys
                if self._db.execute(ask, {"row": row, "key": key}).fetchone() is None
            }

    def record(self, crawl: Crawl, estimate: Estimate, fence: int) -> None:
        """Store one crawl whole, or refuse it whole."""
        with self._transaction():
            ((current,),) = self._db.execute(self._ask["fence"])
            if fence != current:
                raise StaleFence(f"fence {fence} is stale, the store is at {current}")
            touched = self._db.execute(self._ask["update_source"], _left_behind(crawl, estimate))
            if touched.rowcount != 1:
                raise StoreError(f"no source in row {crawl.row}; nothing was written")
            self._db.executemany(
                self._ask["add_item"],
                [{"row": crawl.row, "seen": crawl.time} | asdict(item) for item in crawl.items],
            )
            self._db.execute(self._ask["add_visit"], _visit(crawl))

    def items(self, since: float = 0.0) -> Iterator[StoredItem]:
        """Items first seen at or after this time."""
        names = ("row", "key", "published", "seen", "worth", "title", "link")
        with self._told():
            found = self._db.execute(self._ask["items"], {"since": since}).fetchall()
        return (StoredItem(**dict(zip(names, record, strict=True))) for record in found)

    def close(self) -> None:
        """Let go of it."""
        self._db.close()

    def _open(self) -> None:
        """Find our own schema, or a file that is still empty; anything else is left alone."""
        with self._told():
            ((application,),) = self._db.execute("PRAGMA application_id")
            ((version,),) = self._db.execute("PRAGMA user_version")
            ((tables,),) = self._db.execute("SELECT count(*) FROM sqlite_schema")
            empty = (application, version, tables) == (0, 0, 0)
            if not empty and application != _APPLICATION:
                raise SchemaMismatch(f"{self.path} is not a Dayfly store; name another file")
            if not empty and version != _VERSION:
                raise SchemaMismatch(
                    f"{self.path} has schema {version}, this version of Dayfly reads {_VERSION}"
                )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA foreign_keys = ON")
            if empty:
                self._db.executescript(
                    f"BEGIN IMMEDIATE; {_text('schema.sql')}"
                    f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION};"
                    "COMMIT;"
                )

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the file, told as ours and with its name."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {error}") from error

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def _queries() -> dict[str, str]:
    """The named queries of queries.sql."""
    parts = re.split(r"^-- (\w+): .*\n", _text("queries.sql"), flags=re.MULTILINE)
    return {name: query.strip() for name, query in zip(parts[1::2], parts[2::2], strict=True)}


def _text(name: str) -> str:
    return importlib.resources.files("dayfly.store").joinpath(name).read_text(encoding="utf-8")


def _source(*record: Any) -> StoredSource:
    row, id, url, host, weight, arrival, decay, worth, cost, window = record[:10]
    etag, last_modified, not_before, last_crawl = record[10:14]
    time, *belief, memory = record[14:]
    estimate = None
    if time is not None:
        numbers = struct.unpack(f"<{len(memory) // 8}d", memory)
        estimate = Estimate(
            row=row, time=time, arrival=belief[0], decay=belief[1], worth=belief[2], memory=numbers
        )
    return StoredSource(
        row=row, id=id, url=url, host=host, weight=weight, arrival=arrival, decay=decay,
        worth=worth, cost=cost, window=window, etag=etag, last_modified=last_modified,
        not_before=not_before, last_crawl=last_crawl, estimate=estimate,
    )  # fmt: skip


def _left_behind(crawl: Crawl, estimate: Estimate) -> dict[str, Any]:
    return {
        "row": crawl.row,
        "time": crawl.time,
        "answered": crawl.answered,
        "etag": crawl.etag,
        "last_modified": crawl.last_modified,
        "not_before": crawl.not_before,
        "estimate_time": estimate.time,
        "estimate_arrival": estimate.arrival,
        "estimate_decay": estimate.decay,
        "estimate_worth": estimate.worth,
        "estimate_memory": struct.pack(f"<{len(estimate.memory)}d", *estimate.memory),
    }


def _visit(crawl: Crawl) -> dict[str, Any]:
    return {
        "row": crawl.row,
        "time": crawl.time,
        "status": crawl.status,
        "reason": crawl.reason,
        "new_items": len(crawl.items),
        "visible": crawl.visible,
        "oldest_s": crawl.oldest_s,
        "value": crawl.value,
        "cost": crawl.cost,
    }
