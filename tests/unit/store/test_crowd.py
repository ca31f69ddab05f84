"""Many at once."""

import os
import sqlite3
import threading
import time

import pytest
from tests.unit.store.making import crawl, listing, record

from dayfly.store import SqliteStore
from dayfly.store.database import Database

WRITERS = 16


def crowd(path, seconds: float, shared: bool) -> None:
    """Sixteen write and one reads without hurry; afterwards all is there, and the log is small."""
    store = SqliteStore(path)
    store.add([listing(f"s{row}") for row in range(WRITERS)])
    fence = store.own()
    end = time.monotonic() + seconds
    errors: list[Exception] = []
    written = [0] * WRITERS
    largest = [0]
    read = [0]

    def watch() -> None:
        largest[0] = max(largest[0], os.path.getsize(f"{path}-wal"))

    def write(row: int) -> None:
        mine = store if shared else SqliteStore(path)
        try:
            while time.monotonic() < end or not written[row]:
                keys = [f"{written[row]}-{n} {'x' * 200}" for n in range(50)]
                assert mine.unseen(row, keys) == set(keys)
                mine.claim([row], 1.0, fence)
                mine.record(record(mine, crawl(row, *keys, time=1.0)), fence)
                written[row] += len(keys)
                watch()
        except Exception as error:
            errors.append(error)
        finally:
            if mine is not store:
                mine.close()

    def look() -> None:
        mine = store if shared else SqliteStore(path)
        try:
            while time.monotonic() < end:
                for _ in mine.items():
                    read[0] += 1
                    if read[0] % 500 == 0:
                        time.sleep(0.01)
        except Exception as error:
            errors.append(error)
        finally:
            if mine is not store:
                mine.close()

    threads = [threading.Thread(target=write, args=(row,)) for row in range(WRITERS)]
    threads.append(threading.Thread(target=look))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{sum(written)} items written, {read[0]} read, log at most {largest[0] >> 20} MiB")
    assert errors == []
    assert min(written) > 0
    assert largest[0] <= 64 << 20
    found = [0] * WRITERS
    for item in store.items():
        found[item.row] += 1
    assert found == written
    assert store.check() == []
    store.close()


@pytest.mark.parametrize("shared", [True, False], ids=["one connection", "many connections"])
def test_D08_sixteen_writers_and_a_long_reader_never_see_a_locked_file(tmp_path, shared):
    crowd(tmp_path / "s.db", 1.0, shared)


@pytest.mark.acceptance
@pytest.mark.parametrize("shared", [True, False], ids=["one connection", "many connections"])
def test_D08_the_log_stays_small_however_long_it_goes_on(tmp_path, shared):
    crowd(tmp_path / "s.db", 20.0, shared)


@pytest.mark.soak
def test_D08_ten_minutes(tmp_path):
    crowd(tmp_path / "s.db", 600.0, True)


def test_a_log_that_cannot_be_emptied_takes_nothing_back(tmp_path, monkeypatch):
    def full(self):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Database, "_empty_log", full)
    monkeypatch.setattr("dayfly.store.database._LOG_LONG", 0)
    store = SqliteStore(tmp_path / "s.db")
    store.add([listing("s0")])
    store.record(record(store, crawl(0, "k", time=1.0)), store.own())
    assert [item.key for item in store.items()] == ["k"]
    store.close()


def test_a_reader_who_does_not_end_is_not_waited_for_at_every_write(tmp_path, monkeypatch):
    monkeypatch.setattr("dayfly.store.database._LOG_LONG", 100_000)
    monkeypatch.setattr("dayfly.store.database._OTHERS", 0.05)
    tries, empty = [], Database._empty_log

    def counted(self):
        tries.append(self._log)
        empty(self)

    monkeypatch.setattr(Database, "_empty_log", counted)
    store = SqliteStore(tmp_path / "s.db")
    store.add([listing("s0")])
    reader = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM source").fetchall()
    fence = store.own()
    for number in range(60):
        keys = [f"{number} {n} {'x' * 200}" for n in range(20)]
        store.record(record(store, crawl(0, *keys, time=1.0)), fence)
    assert 0 < len(tries) < 5
    reader.close()
    for number in range(60, 600):
        keys = [f"{number} {n} {'x' * 200}" for n in range(20)]
        store.record(record(store, crawl(0, *keys, time=1.0)), fence)
    assert os.path.getsize(f"{tmp_path}/s.db-wal") < 8 << 20
    store.close()
