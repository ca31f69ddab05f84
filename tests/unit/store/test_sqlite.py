"""The file: same promises as the twin, and it survives."""

import itertools
import sqlite3
import subprocess
import sys

import pytest

from dayfly.errors import SchemaMismatch, StaleFence, StoreError
from dayfly.estimate import Estimate
from dayfly.model import Crawl, Item, Status
from dayfly.store import Listing, SqliteStore, check_store

ESTIMATE = Estimate(row=0, time=5.0, arrival=0.1, decay=0.2, worth=0.3, memory=(1.0, 0.1))


def crawl(*keys: str) -> Crawl:
    items = tuple(Item(key=key, published=1.0) for key in keys)
    return Crawl(row=0, time=5.0, status=Status.CHANGED, items=items, visible=len(items))


def opened(path) -> SqliteStore:
    store = SqliteStore(path)
    if not store.sources():
        store.add([Listing(id="a", url="http://a.example.org/")])
    return store


def test_it_keeps_the_promises_of_every_store(tmp_path):
    number = itertools.count()
    check_store(lambda: SqliteStore(tmp_path / f"{next(number)}.db"))


def test_what_was_recorded_is_there_after_reopening(tmp_path):
    store = opened(tmp_path / "s.db")
    store.record(crawl("k"), ESTIMATE, store.own())
    before = store.sources()
    store.close()
    again = SqliteStore(tmp_path / "s.db")
    assert again.sources() == before
    assert [item.key for item in again.items()] == ["k"]
    assert again.unseen(0, ["k", "l"]) == {"l"}
    again.close()


def test_a_crawl_is_all_or_nothing(tmp_path):
    """The items cannot be written, so neither is what came before them."""
    store = opened(tmp_path / "s.db")
    before = store.sources()
    broken = Crawl(
        row=0, time=5.0, status=Status.CHANGED, etag="new", visible=2,
        items=(Item(key="fine", published=1.0), Item(key=None, published=1.0)),  # type: ignore[arg-type]
    )  # fmt: skip
    with pytest.raises(StoreError, match=r"s\.db.*NOT NULL"):
        store.record(broken, ESTIMATE, store.own())
    assert store.sources() == before
    assert list(store.items()) == []
    store.close()


def test_the_earlier_owner_can_write_no_more(tmp_path):
    """Two connections, as two processes have them."""
    first, second = opened(tmp_path / "s.db"), SqliteStore(tmp_path / "s.db")
    old = first.own()
    first.record(crawl("a"), ESTIMATE, old)
    new = second.own()
    with pytest.raises(StaleFence):
        first.record(crawl("b"), ESTIMATE, old)
    second.record(crawl("c"), ESTIMATE, new)
    assert [item.key for item in first.items()] == ["a", "c"]
    first.close()
    second.close()


def test_a_killed_process_leaves_whole_crawls_only(tmp_path):
    """The process dies in the middle of a transaction; what it had committed stays."""
    program = """
import os, sys
sys.path[:0] = sys.argv[2:]
from dayfly.store import Listing, SqliteStore
from dayfly.estimate import Estimate
from dayfly.model import Crawl, Item, Status
store = SqliteStore(sys.argv[1])
store.add([Listing(id="a", url="http://a.example.org/")])
estimate = Estimate(row=0, time=5.0, arrival=1.0, decay=1.0, worth=1.0)
def crawl(key):
    items = (Item(key=key, published=1.0),)
    return Crawl(row=0, time=5.0, status=Status.CHANGED, items=items, etag=key)
fence = store.own()
store.record(crawl("whole"), estimate, fence)
ask = store._ask
ask["add_visit"] = "SELECT die()"
store._db.create_function("die", 0, lambda: os._exit(9))
store.record(crawl("half"), estimate, fence)
"""
    path = tmp_path / "s.db"
    ended = subprocess.run([sys.executable, "-c", program, str(path), *sys.path], check=False)
    assert ended.returncode == 9
    store = SqliteStore(path)
    assert [item.key for item in store.items()] == ["whole"]
    assert store.sources()[0].etag == "whole"
    store.close()


def test_a_file_that_is_not_ours_is_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE precious (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(SchemaMismatch, match="not a Dayfly store"):
        SqliteStore(path)
    assert path.read_bytes() == before
    (tmp_path / "text.db").write_text("hello, this is no database at all\n" * 100)
    with pytest.raises(StoreError, match=r"text\.db"):
        SqliteStore(tmp_path / "text.db")


def test_another_schema_version_is_refused(tmp_path):
    opened(tmp_path / "s.db").close()
    with sqlite3.connect(tmp_path / "s.db") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(SchemaMismatch, match="schema 99"):
        SqliteStore(tmp_path / "s.db")


def test_a_missing_folder_is_told_with_the_file(tmp_path):
    with pytest.raises(StoreError, match=r"nowhere.s\.db"):
        SqliteStore(tmp_path / "nowhere" / "s.db")


def test_it_writes_ahead_and_syncs(tmp_path):
    store = opened(tmp_path / "s.db")
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()
