"""From one schema to the next."""

import sqlite3

import pytest
from tests.unit.store.making import KILLED, all_of, crawl, die, in_child, listing, opened, record

from dayfly.errors import SchemaMismatch, StaleFence, StoreError
from dayfly.store import Funds, SqliteStore
from dayfly.store.migrate import APPLICATION, OLDEST, VERSION, migrate, statements, teach


def write_first_version(path) -> None:
    """A file as the first version of Dayfly left it, crawled by its owner with fence 3."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    for statement in statements("001.sql"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute("PRAGMA user_version = 1")
    db.execute("UPDATE owner SET fence = 3")
    db.executemany(
        "INSERT INTO source (row, id, url, host, weight, arrival, decay, worth, cost, window, etag)"
        " VALUES (?, ?, 'http://x/', 'x', 1, 1, 1, 1, 1, 9e999, 'e')",
        [(0, "a"), (1, "b")],
    )
    db.executemany(
        "INSERT INTO item (row, key, published, seen, worth, title, link)"
        " VALUES (?, ?, 1, 5, 1, 't', 'l')",
        [(0, "k"), (0, "l"), (1, "k"), (1, "nul\0 🦟")],
    )
    db.execute("INSERT INTO visit VALUES (1, 0, 5, 'changed', '', 2, 2, 60, 1, 1)")
    db.close()


def test_D16_the_second_version_is_brought_up_to_ours(tmp_path):
    """It was crawled, did not know what was left to spend, and died with a visit under way."""
    write_first_version(tmp_path / "s.db")
    db = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    teach(db)
    for statement in statements("002.sql"):
        db.execute(statement)
    db.execute("INSERT INTO claim (row, fence, time) VALUES (1, 4, 6)")
    db.execute("PRAGMA user_version = 2")
    db.close()
    store = SqliteStore(tmp_path / "s.db")
    assert store.check() == []
    assert store.funds() is None
    assert [source.id for source in store.sources()] == ["a", "b"]
    assert len(list(store.items())) == 4
    fence = store.own()
    assert store.lost(fence) == [1]
    funds = Funds(time=7.0, left=-0.5, markup=0.1)
    store.claim([0], 7.0, fence, funds)
    store.close()
    again = SqliteStore(tmp_path / "s.db")
    assert again.funds() == funds
    again.close()


def test_D16_the_first_version_is_brought_up_to_ours(tmp_path):
    write_first_version(tmp_path / "s.db")
    store = SqliteStore(tmp_path / "s.db")
    assert [(s.id, s.etag, s.kind, s.state) for s in store.sources()] == [
        ("a", "e", "auto", "active"),
        ("b", "e", "auto", "active"),
    ]
    assert [(i.number, i.row, i.key) for i in store.items()] == [
        (1, 0, "k"), (2, 0, "l"), (3, 1, "k"), (4, 1, "nul\0 🦟"),
    ]  # fmt: skip
    assert store.unseen(0, ["k", "nul\0 🦟"]) == {"nul\0 🦟"}
    assert store.unseen(1, ["k", "nul\0 🦟"]) == set()
    assert [visit.visible for visit in store.visits()] == [2]
    assert store.check() == []
    fence = store.own()
    store.record(record(store, crawl(0, "k", "m")), fence)
    assert [(i.number, i.key) for i in store.items(after=4)] == [(5, "m")]
    store.close()


def test_D16_an_item_under_both_http_and_https_is_one_key_from_now_on(tmp_path):
    """The first version took them for two."""
    write_first_version(tmp_path / "s.db")
    db = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    db.executemany(
        "INSERT INTO item (row, key, published, seen, worth, title, link)"
        " VALUES (?, ?, 1, 5, 1, 't', 'l')",
        [(0, "http://x/1"), (0, "https://x/1"), (1, "https://x/1")],
    )
    db.close()
    store = SqliteStore(tmp_path / "s.db")
    assert store.check() == []
    assert len(list(store.items())) == 7
    assert store.unseen(0, ["http://x/1", "https://x/1", "http://x/2"]) == {"http://x/2"}
    store.close()


def test_D16_a_file_that_others_could_read_is_for_its_owner_only_from_now_on(tmp_path):
    """The first version kept no secrets, and left the permissions to the system."""
    write_first_version(tmp_path / "s.db")
    (tmp_path / "s.db").chmod(0o644)
    store = SqliteStore(tmp_path / "s.db")
    modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert modes == {"s.db": 0o600, "s.db-wal": 0o600, "s.db-shm": 0o600}
    store.close()


def test_D16_whoever_wrote_the_previous_version_can_write_no_more(tmp_path):
    write_first_version(tmp_path / "s.db")
    store = SqliteStore(tmp_path / "s.db")
    with pytest.raises(StaleFence):
        store.claim([0], 5.0, 3)
    store.close()


@pytest.mark.parametrize("version", [VERSION + 1, VERSION - 1])
def test_D16_an_open_store_refuses_to_write_to_another_schema(tmp_path, version):
    """A newer Dayfly brought it up, or somebody put an older file's content there."""
    store = opened(tmp_path / "s.db")
    fence = store.own()
    other = sqlite3.connect(tmp_path / "s.db")
    other.execute(f"PRAGMA user_version = {version}")
    other.close()
    for write in (
        lambda: store.record(record(store, crawl(0, "k")), fence),
        lambda: store.claim([0], 5.0, fence),
        store.own,
        lambda: store.add([listing("new")]),
        lambda: store.change(store.sources()),
    ):
        with pytest.raises(StoreError, match=f"schema {version}"):
            write()
    store.close()


def test_D16_any_other_version_is_refused_and_left_alone(tmp_path):
    for version in (OLDEST - 1, VERSION + 1, 99):
        path = tmp_path / f"{version}.db"
        opened(path).close()
        with sqlite3.connect(path) as db:
            db.execute(f"PRAGMA user_version = {version}")
        db.close()
        before = path.read_bytes()
        with pytest.raises(SchemaMismatch, match=f"schema {version}.*reads {OLDEST} to {VERSION}"):
            SqliteStore(path)
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    "points", [(1, 9, 40), pytest.param(range(1, 200), marks=pytest.mark.acceptance)], ids=len
)
@pytest.mark.parametrize("previous", [False, True])
def test_D16_a_process_killed_during_migration_is_gone_on_from(quick_path, previous, points):
    """Killed before statements of every step, from nothing and from the first version."""
    for point in points:
        path = quick_path / f"{point}.db"
        if previous:
            write_first_version(path)

        def work(path=path, point=point):
            db = sqlite3.connect(path, isolation_level=None)
            db.execute("PRAGMA journal_mode = WAL")
            seen = []

            def traced(statement):
                seen.append(statement)
                if len(seen) == point:
                    die()

            db.set_trace_callback(traced)
            migrate(db, path)
            db.close()

        ended = in_child(work)
        store = SqliteStore(path)
        assert store.check() == []
        found = all_of(store)
        assert len(found["items"]) == (4 if previous else 0)
        assert len(found["sources"]) == (2 if previous else 0)
        store.close()
        if ended == 0:
            break
        assert ended == KILLED
    assert point > 30, "the steps have more statements than that"


def test_two_processes_that_migrate_at_once_take_each_step_once(tmp_path):
    write_first_version(tmp_path / "s.db")
    first = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    second = SqliteStore(tmp_path / "s.db")
    migrate(first, tmp_path / "s.db")  # it finds that all was done
    assert len(list(second.items())) == 4
    first.close()
    second.close()
