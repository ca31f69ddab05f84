"""One open file: how it is found, opened and let go, and what a transaction on it is."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from dayfly.errors import SchemaMismatch, StaleFence, StoreError
from dayfly.store.migrate import OLDEST, VERSION, find_version, migrate, queries
from dayfly.store.troubles import told

#: STRICT tables came with this release.
_OLDEST = (3, 37, 0)
#: Wait so long for another program that writes, seconds.
_PATIENCE = 30.0
#: Pages in the write-ahead log before they are copied into the file, and bytes that the log keeps.
_LOG_PAGES = 4000
_LOG_BYTES = 64 << 20
#: A log that has grown so long, because somebody was always reading or still copying when it could
#: have begun anew, is emptied: they are waited for then, so many seconds at most. If that is not
#: enough, they are waited for again when it has grown by some more.
_LOG_LONG, _LOG_MORE, _OTHERS = 24 << 20, 4 << 20, 2.0
#: Memory for pages, KiB.
_CACHE = 32 << 10
#: A file up to this size is looked through when it is opened; a larger one by `dayfly doctor`.
_LOOKED_THROUGH = 64 << 20


class Database:
    """A connection that refuses to go on where what it writes would be lost.

    Any thread may use it, one at a time. A process that was forked may not: two processes with one
    connection destroy the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old, 3.37 is needed")
        self.path = Path(path)
        self.ask = queries()
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._closed = False
        #: Bytes of the log when it was last looked at, and from how many on it is emptied.
        self._log, self._log_limit = 0, _LOG_LONG
        self._real = os.path.realpath(path)
        log_is_there = os.path.exists(f"{self._real}-wal")
        self._create(log_is_there)
        try:
            # isolation_level=None: transactions begin where we say so, and IMMEDIATE, because a
            # deferred one that turns out to write fails at once when another writer was faster.
            self.db = sqlite3.connect(
                self._real, isolation_level=None, timeout=_PATIENCE, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise told(self.path, error) from error
        try:
            with self.reading():
                self._open(log_is_there)
                self._mark()
            self._files = self._look()
        except BaseException:
            self.db.close()
            raise

    def _create(self, log_is_there: bool) -> None:
        """Make the file if there is none, for its owner's eyes only: it may hold credentials."""
        try:
            os.close(os.open(self._real, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            if os.path.isdir(self._real):
                raise StoreError(f"{self.path}: is a folder; name a file in it") from None
            return
        except OSError as error:
            raise told(self.path, error) from error
        with contextlib.suppress(OSError):
            sync(os.path.dirname(self._real))
        if log_is_there:
            os.unlink(self._real)
            raise StoreError(
                f"{self.path} is missing but its log {self.path}-wal is there; put the file back, "
                f"or a backup with `dayfly restore`"
            )

    def _open(self, log_was_there: bool) -> None:
        """Find our own schema, or a file that is still empty; anything else is left alone."""
        version = find_version(self.db, self.path)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute("PRAGMA trusted_schema = OFF")
        self.db.execute(f"PRAGMA cache_size = -{_CACHE}")
        self.db.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        self.db.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        if version and os.path.getsize(self._real) <= _LOOKED_THROUGH:
            ((verdict,),) = self.db.execute("PRAGMA quick_check(1)")
            if verdict != "ok":
                raise StoreError(
                    f"{self.path} is damaged ({verdict}); put a backup in its place with "
                    f"`dayfly restore`"
                )
        if version == OLDEST:
            # Others could read it; from here on it may hold credentials.
            for name in (self._real, f"{self._real}-wal", f"{self._real}-shm"):
                with contextlib.suppress(OSError):
                    os.chmod(name, 0o600)
        migrate(self.db, self.path)
        ((was_open,),) = self.db.execute(self.ask["was_open"])
        if was_open and not log_was_there:
            raise StoreError(
                f"{self.path} was not closed and its log {self.path}-wal is gone; what was written "
                f"last may be missing, unless another program has opened the file since: then all "
                f"is in it. Put the log back, or a backup with `dayfly restore`; to go on with "
                f"what is there, make an empty file {self.path}-wal"
            )

    def _mark(self) -> None:
        """Say in the file that it is open: in the file itself, because the log may vanish."""
        self.db.execute(self.ask["mark_open"], (1,))
        try:
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error:
            self.close()
            raise

    def close(self) -> None:
        """Let go of it, and leave one whole file behind."""
        if os.getpid() != self._process:
            return  # the file belongs to the process that opened it
        with self._lock:
            if self._closed:
                return
            self._closed = True
            marked = False
            with contextlib.suppress(sqlite3.Error):
                self.db.execute(self.ask["mark_open"], (0,))
                marked = True
            self.db.close()
            if not marked and os.path.exists(self._real):
                # The disk is full, perhaps. The mark stays, and SQLite takes the log away if it
                # could copy all of it into the file: then the log must not be missed.
                with contextlib.suppress(OSError):
                    os.close(os.open(f"{self._real}-wal", os.O_CREAT | os.O_WRONLY, 0o600))

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Errors of the file, told as ours and with its name."""
        if os.getpid() != self._process:
            raise StoreError(
                f"{self.path} was opened by process {self._process}; open it again in this one"
            )
        with self._lock:
            try:
                yield self.db
            except (sqlite3.Error, UnicodeError, OverflowError) as error:
                raise told(self.path, error) from error

    @contextlib.contextmanager
    def given_away(self) -> Iterator[None]:
        """Let other threads use it for the length of a block within `reading`."""
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it, or nothing."""
        with self.reading() as db:
            self._still_there()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            if self._log > self._log_limit:
                # What was written is written, whatever comes of this: a full disk, for example.
                with contextlib.suppress(sqlite3.Error):
                    self._empty_log()

    def _empty_log(self) -> None:
        busy, end = 1, time.monotonic() + _OTHERS
        self.db.execute(f"PRAGMA busy_timeout = {int(_OTHERS * 1000)}")
        try:
            while busy and time.monotonic() < end:
                # SQLite waits for those who read, but not for another who empties it as well.
                ((busy, _, _),) = self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                time.sleep(0.01 * busy)
        finally:
            self._log_limit = self._log + _LOG_MORE if busy else _LOG_LONG
            self.db.execute(f"PRAGMA busy_timeout = {int(_PATIENCE * 1000)}")

    def check(self, fence: int | None) -> int:
        """Refuse a stale fence; the answer is how many items there ever were.

        For use within a transaction. No fence stands for a write that needs no owner.
        """
        ((current, items, version),) = self.db.execute(self.ask["standing"])
        if version != VERSION:
            raise SchemaMismatch(
                f"{self.path} has been brought to schema {version} by another version of Dayfly; "
                f"this one can write no more"
            )
        if fence is not None and fence != current:
            raise StaleFence(f"fence {fence} is stale, the store is at {current}")
        return int(items)

    def _still_there(self) -> None:
        """What is written to a file that was deleted is lost, and nobody would be told."""
        if self._look() != self._files:
            raise StoreError(
                f"{self.path} or its log was deleted or replaced while it was open; nothing was "
                f"written. Stop Dayfly, then put a backup in its place with `dayfly restore`"
            )

    def _look(self) -> list[tuple[int, int]]:
        """Which files these names stand for."""
        found = []
        for name in (self._real, f"{self._real}-wal"):
            try:
                status = os.stat(name)
                found.append((status.st_dev, status.st_ino))
            except OSError:
                found.append((0, 0))
            else:
                self._log = status.st_size  # the log comes last
        return found


def no_source(row: int, id: str = "") -> StoreError:
    """There is no such row, or it has another id."""
    called = f" is called {id!r}" if id else ""
    return StoreError(f"no source in row {row}{called}; nothing was written")


def sync(path: str | os.PathLike[str]) -> None:
    """Have the disk keep this file, or the names in this folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
