"""Files that are full, forbidden, gone or damaged: loud, and nothing is lost in silence."""

import os
import random
import resource
import shutil
import signal
import sqlite3
import tempfile
from pathlib import Path

import pytest
from tests.unit.store.making import KILLED, all_of, crawl, die, in_child, opened, record

from dayfly.errors import StoreError
from dayfly.store import SqliteStore, restore


def limit_files(size: int) -> None:
    """No file of this process may grow beyond this size: a disk that is full."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size if size else hard, hard))


def refused(work, *words: str) -> None:
    with pytest.raises(StoreError) as caught:
        work()
    for word in words:
        assert word in str(caught.value), f"{word!r} is not in {str(caught.value)!r}"


def test_D06_a_full_disk_at_commit_loses_nothing_and_it_goes_on_when_there_is_room(tmp_path):
    path = tmp_path / "s.db"

    def work():
        store = opened(path)
        fence = store.own()
        store.record(record(store, crawl(0, "before")), fence)
        before = all_of(store)
        limit_files(os.path.getsize(f"{path}-wal") + 8192)
        large = record(store, crawl(0, *[f"{n} {'x' * 500}" for n in range(100)]))
        for _ in range(3):
            refused(lambda: store.record(large, fence), "s.db", "nothing was written", "full")
            assert all_of(store) == before, "it can still be read"
        limit_files(0)
        store.record(large, fence)
        assert len(list(store.items())) == 101
        assert store.check() == []
        store.close()

    assert in_child(work) == 0
    store = SqliteStore(path)
    assert len(list(store.items())) == 101
    store.close()


def test_D06_a_full_disk_at_checkpoint_loses_nothing(tmp_path):
    """The log can grow and the file cannot; then neither can, and then there is room again."""
    path = tmp_path / "s.db"

    def work():
        store = opened(path)
        fence = store.own()
        store._file.db.execute("PRAGMA wal_autocheckpoint = 10")
        limit_files(300_000)
        stored = 0
        for n in range(10_000):
            keys = [f"{n}-{k} {'x' * 500}" for k in range(10)]
            try:
                store.record(record(store, crawl(0, *keys)), fence)
            except StoreError:
                break
            stored += 10
        assert 0 < stored < 1000
        assert len(list(store.items())) == stored
        limit_files(0)
        store.record(record(store, crawl(0, "more")), fence)
        assert len(list(store.items())) == stored + 1
        assert store.check() == []
        die()

    assert in_child(work) == KILLED
    store = SqliteStore(path)
    assert store.check() == []
    assert [item.key for item in store.items()][-1] == "more"
    store.close()


def test_D06_a_store_closed_on_a_full_disk_opens_again(tmp_path):
    """The mark that it was closed cannot be written; that is no reason to miss the log."""
    path = tmp_path / "s.db"

    def work():
        store = opened(path)
        fence = store.own()
        for n in range(50):  # the same pages over and over: a long log of a short file
            store.record(record(store, crawl(0, f"{n}")), fence)
        limit_files(os.path.getsize(f"{path}-wal"))
        refused(lambda: store.record(record(store, crawl(0, "k")), fence), "full")
        store.close()
        assert os.path.getsize(f"{path}-wal") == 0

    assert in_child(work) == 0
    store = SqliteStore(path)
    assert len(list(store.items())) == 50
    assert store.check() == []
    store.close()


def test_D06_a_log_that_cannot_be_copied_into_the_file_is_told_at_the_start(tmp_path):
    """There is room for a line more in the log, and none for what a crash left in it."""
    path = tmp_path / "s.db"
    whole_store(path)
    size = path.stat().st_size

    def dies():
        store = SqliteStore(path)
        many = [f"{n} {'x' * 500}" for n in range(25)]
        store.record(record(store, crawl(0, *many)), store.own())
        assert os.path.getsize(f"{path}-wal") < size - 20_000
        die()

    assert in_child(dies) == KILLED

    def work():
        limit_files(size)
        refused(lambda: SqliteStore(path), "s.db", "nothing was written")

    assert in_child(work) == 0
    store = SqliteStore(path)
    assert len(list(store.items())) == 625
    assert store.check() == []
    store.close()


def test_D06_a_store_that_could_not_be_opened_does_not_pass_for_one_that_was_not_closed(
    tmp_path, monkeypatch
):
    """The disk was full for a moment, just when the mark was on its way into the file."""
    path = tmp_path / "s.db"
    whole = whole_store(path)
    connect = sqlite3.connect

    class Full(sqlite3.Connection):
        def execute(self, query, *rest):
            if "wal_checkpoint" in query:
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(query, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, factory=Full, **k))
        refused(lambda: SqliteStore(path), "disk I/O error")
    store = SqliteStore(path)
    assert all_of(store) == whole
    store.close()


def test_D06_a_transaction_that_the_file_gave_up_by_itself_ends_as_any_other(tmp_path):
    store = opened(tmp_path / "s.db")
    fence = store.own()

    def work():
        with store._file.writing() as db:
            db.execute("ROLLBACK")  # as SQLite does where a disk fails
            db.execute("SELECT * FROM nowhere")

    refused(work, "s.db", "nowhere")
    store.record(record(store, crawl(0, "k")), fence)
    assert [item.key for item in store.items()] == ["k"]
    store.close()


def test_D06_a_file_that_may_not_grow_at_all_is_told_at_the_start(tmp_path):
    def work():
        limit_files(100)
        refused(lambda: SqliteStore(tmp_path / "s.db"), "s.db")

    assert in_child(work) == 0


@pytest.fixture
def foreign_folder():
    """A folder that an ordinary user can reach: who is root may write to anything."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_nobody(work) -> int:
    def drop_and_work():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        work()

    return in_child(drop_and_work)


def test_D07_a_file_that_may_not_be_written_is_told_and_left_alone(foreign_folder):
    path = foreign_folder / "s.db"
    opened(path).close()
    path.chmod(0o444)
    before = path.read_bytes()
    assert as_nobody(lambda: refused(lambda: SqliteStore(path), "s.db", "permission")) == 0
    path.chmod(0o000)
    assert as_nobody(lambda: refused(lambda: SqliteStore(path), "s.db", "write")) == 0
    new = foreign_folder / "new.db"
    assert as_nobody(lambda: refused(lambda: SqliteStore(new), "new.db", "ermission")) == 0
    assert path.read_bytes() == before
    assert not new.exists()


def test_D07_a_file_that_cannot_be_opened_is_told(tmp_path, monkeypatch):
    def closed(*_, **__):
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", closed)
    refused(lambda: SqliteStore(tmp_path / "s.db"), "s.db", "unable to open")


def test_D07_a_folder_in_the_place_of_a_file_is_told(tmp_path):
    (tmp_path / "s.db").mkdir()
    refused(lambda: SqliteStore(tmp_path / "s.db"), "s.db", "is a folder")


@pytest.mark.parametrize("victim", ["s.db", "s.db-wal"])
def test_D07_a_file_deleted_while_open_is_noticed_before_anything_is_written(tmp_path, victim):
    store = opened(tmp_path / "s.db")
    fence = store.own()
    store.record(record(store, crawl(0, "k")), fence)
    (tmp_path / victim).unlink()
    for write in (
        lambda: store.record(record(store, crawl(0, "l")), fence),
        store.own,
        lambda: store.add([]),
    ):
        refused(write, "s.db", "deleted", "dayfly restore")
    assert [item.key for item in store.items()] == ["k"], "what is there can still be read"
    store.close()
    if victim == "s.db":
        assert not (tmp_path / "s.db").exists(), "no new file in its place"
    else:
        again = SqliteStore(tmp_path / "s.db")
        assert [item.key for item in again.items()] == ["k"], "what was in the log was saved"
        again.close()


def test_D07_a_file_replaced_while_open_is_noticed(tmp_path):
    store = opened(tmp_path / "s.db")
    opened(tmp_path / "other.db", "x").close()
    os.replace(tmp_path / "other.db", tmp_path / "s.db")
    refused(store.own, "replaced")
    store.close()


def test_D07_a_file_that_is_missing_beside_its_log_is_not_made_anew(tmp_path):
    path = tmp_path / "s.db"
    assert in_child(lambda: crashed(path)) == KILLED
    path.unlink()
    refused(lambda: SqliteStore(path), "missing", "s.db-wal", "dayfly restore")
    assert not path.exists()


def crashed(path) -> None:
    store = opened(path)
    store.record(record(store, crawl(0, "k")), store.own())
    die()


def test_D09_a_deleted_log_is_noticed_at_the_start(tmp_path):
    path = tmp_path / "s.db"
    assert in_child(lambda: crashed(path)) == KILLED
    log = Path(f"{path}-wal")
    kept = log.read_bytes()
    log.unlink()
    for _ in range(2):  # the first attempt must not hide it from the second
        refused(lambda: SqliteStore(path), "s.db-wal is gone", "dayfly restore")
    log.write_bytes(kept)
    store = SqliteStore(path)
    assert [item.key for item in store.items()] == ["k"]
    store.close()


def test_D09_without_the_log_it_goes_on_with_what_is_there_if_told_so(tmp_path):
    path = tmp_path / "s.db"
    assert in_child(lambda: crashed(path)) == KILLED
    log = Path(f"{path}-wal")
    log.unlink()
    refused(lambda: SqliteStore(path), "make an empty file")
    log.touch()
    store = SqliteStore(path)
    assert store.check() == []
    store.close()


def whole_store(path):
    store = opened(path, "a", "b", "c")
    fence = store.own()
    for n in range(20):
        keys = [f"{n}-{k}" for k in range(30)]
        store.record(record(store, crawl(n % 3, *keys, time=float(n))), fence)
    store.backup(path.with_name("backup.db"))
    answer = all_of(store)
    store.close()
    return answer


def test_D09_a_truncated_file_is_noticed_at_the_start_and_a_backup_helps(tmp_path):
    path = tmp_path / "s.db"
    answer = whole_store(path)
    size = path.stat().st_size
    for left in (size - 4096, size // 2, 4096, 100):
        os.truncate(path, left)
        refused(lambda: SqliteStore(path), "s.db", "dayfly restore")
        restore(tmp_path / "backup.db", path)
        store = SqliteStore(path)
        assert all_of(store) == answer
        store.close()


def test_D09_a_flipped_page_is_noticed_at_the_start_and_a_backup_helps(tmp_path):
    path = tmp_path / "s.db"
    answer = whole_store(path)
    whole = path.read_bytes()
    seed = 20260
    print("seed", seed)
    rng = random.Random(seed)
    for page in range(len(whole) // 4096):
        damaged = bytearray(whole)
        damaged[page * 4096 : page * 4096 + 4096] = rng.randbytes(4096)
        path.write_bytes(damaged)
        refused(lambda: SqliteStore(path), "s.db", "dayfly restore")
    restore(tmp_path / "backup.db", path)
    store = SqliteStore(path)
    assert all_of(store) == answer
    store.close()


def test_D11_a_forked_process_that_closes_the_store_writes_nothing(tmp_path):
    """It would say that the file was closed, through a connection that is not its own."""
    store = opened(tmp_path / "s.db")
    store.record(record(store, crawl(0, "k")), store.own())

    def files():
        return {
            file.name: file.read_bytes() for file in tmp_path.iterdir() if "shm" not in file.name
        }

    before = files()
    assert set(before) == {"s.db", "s.db-wal"}

    def work():
        store.close()
        refused(store.sources, "open it again")

    assert in_child(work) == 0
    assert files() == before
    ((was_open,),) = store._file.db.execute(store._file.ask["was_open"])
    assert was_open
    store.close()


def test_D11_a_forked_process_cannot_use_the_store_of_its_parent(tmp_path):
    store = opened(tmp_path / "s.db")
    fence = store.own()
    store.record(record(store, crawl(0, "k")), fence)
    parent = os.getpid()

    def work():
        for use in (store.sources, store.own, lambda: store.unseen(0, ["k"]), store.check):
            refused(use, f"process {parent}", "open it again")
        store.close()  # does nothing: the file is not ours

    assert in_child(work) == 0
    store.record(record(store, crawl(0, "l")), fence)
    assert store.check() == []
    store.close()
    assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN, "else a full disk would kill us"
