"""Copies: whole, checked, and never in the way of what is there."""

import os
import shutil
import sqlite3
import stat
import threading

import pytest
from tests.unit.store.making import KILLED, all_of, crawl, die, in_child, opened, record
from tests.unit.store.test_files import limit_files
from tests.unit.store.test_migrate import write_first_version

from dayfly.errors import SchemaMismatch, StaleFence, StoreError
from dayfly.store import SqliteStore, backup, owned, restore
from dayfly.store.troubles import cannot_be_written


def answers(path):
    store = SqliteStore(path)
    try:
        assert store.check() == []
        return all_of(store)
    finally:
        store.close()


def test_D17_a_backup_made_under_load_is_the_store_at_one_point(tmp_path, monkeypatch):
    """Every batch has one item of each source, so half a batch would show."""
    monkeypatch.setattr(backup, "_STEP", 2)  # many steps, much can happen in between
    store = opened(tmp_path / "s.db", "a", "b", "c")
    fence = store.own()

    def batch(n):
        return record(store, *[crawl(row, f"{n}", time=float(n)) for row in range(3)])

    for n in range(1, 100):
        store.record(batch(n), fence)
    done, written = threading.Event(), []

    def load():
        n = 100
        while not done.is_set():
            store.record(batch(n), fence)
            written.append(n)
            n += 1

    writer = threading.Thread(target=load)
    writer.start()
    try:
        store.claim([0], 1.0, fence)
        store.backup(tmp_path / "copy.db")
    finally:
        done.set()
        writer.join()
    assert written, "nothing was written meanwhile"
    at_the_end = all_of(store)
    store.close()
    copy = answers(tmp_path / "copy.db")
    number = len(copy["items"])
    assert number % 3 == 0
    assert number >= 3 * 99
    assert copy["items"] == at_the_end["items"][:number]
    assert copy["visits"] == at_the_end["visits"][:number]
    assert {source.etag for source in copy["sources"]} == {str(number // 3)}
    aside = restore(tmp_path / "copy.db", tmp_path / "s.db")
    assert answers(tmp_path / "s.db") == copy
    assert answers(aside) == at_the_end


def test_a_backup_is_one_file_for_its_owner_only(tmp_path):
    store = opened(tmp_path / "s.db")
    store.claim([0], 1.0, store.own())
    store.backup(tmp_path / "copy.db")
    store.record(record(store, crawl(0, "later")), store.own())
    store.backup(tmp_path / "copy.db")  # it takes the place of the earlier one
    store.close()
    assert sorted(os.listdir(tmp_path)) == ["copy.db", "s.db"]
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    copy = SqliteStore(tmp_path / "copy.db")
    assert copy.lost(copy.own()) == [], "what was under way elsewhere is not lost here"
    assert [item.key for item in copy.items()] == ["later"]
    copy.close()


def test_a_backup_goes_over_nothing_but_backups(tmp_path):
    store = opened(tmp_path / "s.db")
    other = opened(tmp_path / "other.db")
    (tmp_path / "letter.txt").write_text("dear")
    (tmp_path / "folder").mkdir()
    for name in ("s.db", "other.db", "letter.txt", "folder", "nowhere/copy.db"):
        with pytest.raises(StoreError, match=name):
            store.backup(tmp_path / name)
    assert (tmp_path / "letter.txt").read_text() == "dear"
    store.record(record(store, crawl(0, "k")), store.own())
    other.close()
    store.close()


@pytest.mark.parametrize("step", ["backup", "restore"])
def test_a_copy_for_which_there_is_no_room_names_its_place_and_what_came_of_it(tmp_path, step):
    def work():
        store = opened(tmp_path / "s.db")
        store.record(
            record(store, crawl(0, *[f"{n} {'x' * 500}" for n in range(100)])), store.own()
        )
        if step == "restore":
            store.backup(tmp_path / "copy.db")
        named, outcome, copy = {
            "backup": (
                "copy.db",
                "no backup was made",
                lambda: store.backup(tmp_path / "copy.db"),
            ),
            "restore": (
                "new.db",
                "nothing was changed",
                lambda: restore(tmp_path / "copy.db", tmp_path / "new.db"),
            ),
        }[step]
        limit_files(20_000)
        with pytest.raises(StoreError) as caught:
            copy()
        limit_files(0)
        assert str(caught.value).startswith(f"{tmp_path / named}: ")
        assert f"{outcome}; see that there is room" in str(caught.value)
        assert not (tmp_path / named).exists()
        store.close()

    assert in_child(work) == 0


def test_a_backup_of_a_damaged_store_blames_the_store(tmp_path):
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    assert not cannot_be_written(error)
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
    assert not cannot_be_written(error)
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    assert cannot_be_written(error)


def test_restore_never_goes_over_an_owned_store(tmp_path):
    store = opened(tmp_path / "s.db")
    store.backup(tmp_path / "copy.db")
    with owned(tmp_path / "s.db"), pytest.raises(StoreError, match="owned by process"):
        restore(tmp_path / "copy.db", tmp_path / "s.db")
    store.close()


def test_restore_refuses_what_is_no_whole_backup_and_leaves_all_as_it_was(tmp_path):
    path = tmp_path / "s.db"
    store = opened(path)
    store.record(record(store, crawl(0, *[f"k{n}" for n in range(500)])), store.own())
    store.backup(tmp_path / "copy.db")
    store.close()
    whole = (tmp_path / "copy.db").read_bytes()
    before = answers(path)
    (tmp_path / "empty.db").touch()
    (tmp_path / "text.db").write_text("this is a letter, not a store\n" * 200)
    (tmp_path / "half.db").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "zeros.db").write_bytes(whole[:8192] + bytes(4096) + whole[12288:])
    with sqlite3.connect(tmp_path / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE precious (x)")
    foreign.close()
    shutil.copy(tmp_path / "copy.db", tmp_path / "newer.db")
    with sqlite3.connect(tmp_path / "newer.db") as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    shutil.copy(tmp_path / "copy.db", tmp_path / "evil.db")
    with sqlite3.connect(tmp_path / "evil.db") as evil:
        evil.execute("CREATE TRIGGER evil AFTER INSERT ON item BEGIN DELETE FROM item; END")
    evil.close()
    assert in_child(lambda: dead_store(tmp_path / "dead.db")) == KILLED
    shutil.copy(tmp_path / "dead.db", tmp_path / "logless.db")
    names = ["missing", "empty", "text", "half", "zeros", "evil", "dead", "logless"]
    expected = {f"{name}.db": StoreError for name in names}
    expected |= {"foreign.db": SchemaMismatch, "newer.db": SchemaMismatch}
    for name, kind in expected.items():
        there = tmp_path / name
        content = there.read_bytes() if there.exists() else None
        with pytest.raises(kind, match=name) as caught:
            restore(there, path)
        assert "dayfly restore" not in str(caught.value), "that was just tried"
        if name in ("text.db", "half.db"):
            assert "is no backup that could be used" in str(caught.value)
            assert "nothing was changed" in str(caught.value)
        assert answers(path) == before
        assert content == (there.read_bytes() if there.exists() else None)
    with pytest.raises(StoreError, match="the store itself"):
        restore(path, path)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def dead_store(path):
    store = opened(path)
    store.record(record(store, crawl(0, "k")), store.own())
    die()


def test_restore_takes_the_previous_schema_and_only_reads_the_backup(tmp_path):
    write_first_version(tmp_path / "old.db")
    before = (tmp_path / "old.db").read_bytes()
    assert restore(tmp_path / "old.db", tmp_path / "s.db") is None
    assert len(answers(tmp_path / "s.db")["items"]) == 4
    assert (tmp_path / "old.db").read_bytes() == before
    assert "old.db-wal" not in os.listdir(tmp_path)


def test_the_owner_of_the_earlier_file_cannot_write_to_the_restored_one(tmp_path):
    store = opened(tmp_path / "s.db")
    store.backup(tmp_path / "copy.db")
    fences = [store.own() for _ in range(5)]
    store.close()
    restore(tmp_path / "copy.db", tmp_path / "s.db")
    again = SqliteStore(tmp_path / "s.db")
    for fence in fences:
        with pytest.raises(StaleFence):
            again.claim([0], 1.0, fence)
    assert again.own() > max(fences)
    again.close()


def test_a_number_that_was_told_of_an_item_is_not_given_to_another(tmp_path):
    store = opened(tmp_path / "s.db")
    fence = store.own()
    store.record(record(store, crawl(0, "a", time=1.0)), fence)
    store.backup(tmp_path / "copy.db")
    store.record(record(store, crawl(0, "b", "c", time=2.0)), fence)
    told = {item.number: item.key for item in store.items()}
    store.close()
    restore(tmp_path / "copy.db", tmp_path / "s.db")
    again = SqliteStore(tmp_path / "s.db")
    assert [item.key for item in again.items()] == ["a"]
    again.record(record(again, crawl(0, "c", time=3.0)), again.own())
    assert [item.number for item in again.items() if item.number not in told] == [max(told) + 1]
    assert again.check() == []
    again.close()


def test_what_the_first_schema_had_counted_counts(tmp_path):
    store = opened(tmp_path / "new.db")
    store.backup(tmp_path / "copy.db")
    store.close()
    write_first_version(tmp_path / "s.db")
    restore(tmp_path / "copy.db", tmp_path / "s.db")
    again = SqliteStore(tmp_path / "s.db")
    assert again.own() > 3
    again.record(record(again, crawl(0, "a", time=1.0)), again.own())
    assert [item.number for item in again.items()] == [5]
    again.close()


def test_nor_can_one_who_died_before_its_fence_left_the_log(tmp_path):
    path = tmp_path / "s.db"
    store = opened(path)
    store.backup(tmp_path / "copy.db")
    store.close()

    def owner_that_dies():
        dying = SqliteStore(path)
        for _ in range(5):
            dying.own()
        die()

    assert in_child(owner_that_dies) == KILLED
    restore(tmp_path / "copy.db", path)
    again = SqliteStore(path)
    assert again.own() > 5
    again.close()


def test_restore_keeps_a_store_that_was_not_closed_with_its_log(tmp_path):
    path = tmp_path / "s.db"
    store = opened(tmp_path / "good.db")
    store.backup(tmp_path / "copy.db")
    store.close()
    assert in_child(lambda: dead_store(path)) == KILLED
    aside = restore(tmp_path / "copy.db", path)
    assert answers(path)["items"] == []
    assert [item.key for item in answers(aside)["items"]] == ["k"], "its log came along"
    second = restore(tmp_path / "copy.db", path)
    assert second not in (None, aside)


@pytest.mark.parametrize("step", ["link", "rename", "replace"])
@pytest.mark.parametrize("closed", [True, False])
def test_a_restore_killed_half_way_can_be_done_again(tmp_path, step, closed):
    path = tmp_path / "s.db"
    store = opened(tmp_path / "good.db")
    store.record(record(store, crawl(0, "good")), store.own())
    store.backup(tmp_path / "copy.db")
    store.close()
    assert in_child(lambda: dead_store(path)) == KILLED
    if closed:
        SqliteStore(path).close()

    def work():
        setattr(os, step, lambda *_, **__: die())
        restore(tmp_path / "copy.db", path)

    assert in_child(work) in ((KILLED, 0) if closed and step == "rename" else (KILLED,))
    if not closed and step == "replace":
        with pytest.raises(StoreError, match="is gone"):  # its log was put aside already
            SqliteStore(path)
    else:
        assert [item.key for item in answers(path)["items"]] in (["k"], ["good"])
    restore(tmp_path / "copy.db", path)
    assert [item.key for item in answers(path)["items"]] == ["good"]
