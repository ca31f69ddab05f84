"""The file: same promises as the twin, and it survives."""

import itertools
import os
import sqlite3
import stat

import pytest
from msgspec.structs import replace
from tests.unit.store.making import crawl, listing, opened, record

from dayfly.errors import BadInput, SchemaMismatch, StaleFence, StoreError
from dayfly.model import Item, Status
from dayfly.store import (
    Event,
    MemoryStore,
    Record,
    SqliteStore,
    State,
    StoredSource,
    check_store,
)
from dayfly.store.rows import visit_row


def test_it_keeps_the_promises_of_every_store(quick_path):
    number = itertools.count()
    check_store(lambda: SqliteStore(quick_path / f"{next(number)}.db"))


def test_what_was_recorded_is_there_after_reopening(tmp_path):
    store = opened(tmp_path / "s.db")
    store.record(record(store, crawl(0, "k")), store.own())
    before = store.sources()
    store.close()
    assert not (tmp_path / "s.db-wal").exists()
    again = SqliteStore(tmp_path / "s.db")
    assert again.sources() == before
    assert [item.key for item in again.items()] == ["k"]
    assert again.unseen(0, ["k", "l"]) == {"l"}
    assert again.check() == []
    again.close()


def test_a_batch_is_all_or_nothing(tmp_path):
    """One item cannot be written, so nothing of what came before it is."""
    store = opened(tmp_path / "s.db", "a", "b")
    before = store.sources()
    broken = crawl(1, items=(Item(key="fine", published=1.0, title=None),))
    batch = [*record(store, crawl(0, "k")), Record(crawl=broken, source=before[1])]
    fence = store.own()
    with pytest.raises(StoreError, match=r"s\.db.*NOT NULL"):
        store.record(batch, fence)
    assert store.sources() == before
    assert list(store.items()) == []
    assert store.unseen(0, ["k"]) == {"k"}
    store.record(batch[:1], fence)
    assert [item.key for item in store.items()] == ["k"]
    store.close()


def test_a_link_that_is_the_key_comes_back_too(tmp_path):
    store = opened(tmp_path / "s.db")
    links = [("http://x/1", "http://x/1"), ("2", "http://x/2"), ("3", ""), ("", "")]
    items = tuple(Item(key=key, published=None, link=link) for key, link in links)
    store.record(record(store, crawl(0, items=items)), store.own())
    assert [(item.key, item.link) for item in store.items()] == links
    store.close()


def test_text_that_no_file_can_hold_does_not_keep_others_from_being_stored(tmp_path):
    store = opened(tmp_path / "s.db", "a", "b")
    (first, second) = record(store, crawl(0, "good"), crawl(1, "bad \ud800"))
    second = replace(second, source=replace(second.source, document_title="\udcff", digest="d"))
    store.record([first, second], store.own())
    assert [item.key for item in store.items()] == ["good", "bad ?"]
    assert store.unseen(1, ["bad \ud800"]) == set()
    kept = store.sources()[1]
    assert (kept.document_title, kept.digest) == ("?", "d")
    assert kept.etag == "", "a validator goes back byte for byte or not at all"
    store.close()


def test_D03_a_paused_owner_finds_its_fence_stale(tmp_path):
    """Two connections, as two processes have them: one sleeps while the other takes over."""
    first, second = opened(tmp_path / "s.db"), SqliteStore(tmp_path / "s.db")
    old = first.own()
    first.record(record(first, crawl(0, "a")), old)
    first.claim([0], 6.0, old)
    new = second.own()
    assert second.lost(new) == [0]
    second.record(record(second, crawl(0, "b", time=7.0)), new)
    stale = 0
    for late in (
        lambda: first.record(record(first, crawl(0, "c")), old),
        lambda: first.claim([0], 8.0, old),
        lambda: first.forget(items_before=9.0, visits_before=9.0, fence=old),
    ):
        try:
            late()
        except StaleFence:
            stale += 1
    assert stale == 3
    assert [item.key for item in first.items()] == ["a", "b"]
    assert first.sources()[0].etag == "b"
    first.close()
    second.close()


@pytest.mark.parametrize("make", [lambda path: SqliteStore(path), lambda path: MemoryStore()])
@pytest.mark.parametrize("state", [State.PAUSED, State.REMOVED, State.QUARANTINED, State.ACTIVE])
def test_C14_a_visit_that_ends_with_gone_does_not_override_the_operator(tmp_path, make, state):
    """The visit was under way while the source was paused."""
    store = make(tmp_path / "s.db")
    store.add([listing("a")])
    fence = store.own()
    (before,) = store.sources()
    store.change([replace(before, state=state)])
    gone = crawl(0, status=Status.REFUSED, reason="http 410", items=(), visible=0)
    after = replace(before, state=State.GONE, last_crawl=5.0, last_reason="http 410")
    store.record([Record(crawl=gone, source=after)], fence)
    (found,) = store.sources()
    assert found.state is (State.GONE if state is State.ACTIVE else state)
    assert found.last_reason == "http 410"
    store.close()


def test_D04_two_schedulers_cannot_both_claim(tmp_path):
    stores = [opened(tmp_path / "s.db", "a", "b")]
    stores.append(SqliteStore(tmp_path / "s.db"))
    fences = [store.own() for store in stores]
    with pytest.raises(StaleFence):
        stores[0].claim([0, 1], 5.0, fences[0])
    stores[1].claim([0, 1], 5.0, fences[1])
    assert stores[1].lost(fences[1]) == []
    for store in stores:
        store.close()


def test_long_answers_are_read_page_by_page(tmp_path):
    """More than a page, with the same times and with what is dropped and added in between."""
    store = opened(tmp_path / "s.db", "a", "b")
    fence = store.own()
    keys = [f"k{n}" for n in range(2500)]
    store.record(record(store, *[crawl(n % 2, key, time=5.0) for n, key in enumerate(keys)]), fence)
    store.add_events([Event(row=0, key=key, time=1.0) for key in keys])
    items, visits = store.items(), store.visits()
    first = [next(items) for _ in range(10)]
    store.record(record(store, crawl(0, "late", time=5.0)), fence)
    assert [item.key for item in [*first, *items]] == keys
    assert len(list(visits)) == 2500
    assert len(list(store.visits(0))) == 1251
    assert [event.key for event in store.events()] == sorted(keys)
    assert [item.key for item in store.items(limit=1500)] == keys[:1500]
    assert [item.key for item in store.items(5.0, after=2000)] == [*keys[2000:], "late"]
    store.close()


def test_the_latest_items_are_found_without_looking_at_all_others(tmp_path):
    store = opened(tmp_path / "s.db")
    fence = store.own()
    keys = [f"k{n}" for n in range(20_000)]
    store.record(record(store, crawl(0, *keys, time=1.0), crawl(0, "new", time=9.0)), fence)
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    store._file.db.set_progress_handler(count, 1000)
    assert [item.key for item in store.items(since=5.0)] == ["new"]
    assert list(store.items(since=10.0)) == []
    assert steps < 5
    store.close()


def test_whoever_reads_on_does_not_look_at_what_he_has_read(tmp_path):
    store = opened(tmp_path / "s.db")
    fence = store.own()
    keys = [f"k{n}" for n in range(20_000)]
    store.record(record(store, crawl(0, *keys, time=5.0)), fence)
    last = max(item.number for item in store.items(since=4.0))
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    store._file.db.set_progress_handler(count, 1000)
    assert list(store.items(since=4.0, after=last)) == []
    assert [item.number for item in store.items(since=4.0, after=last - 1)] == [last]
    assert steps < 5
    store.record(record(store, crawl(0, "late", time=3.0), crawl(0, "new", time=6.0)), fence)
    assert [item.key for item in store.items(since=4.0, after=last)] == ["new"]
    store.close()


def test_one_call_forgets_a_portion_and_no_more(tmp_path):
    store = opened(tmp_path / "s.db")
    fence = store.own()
    keys = [f"k{n}" for n in range(4500)]
    store.record(record(store, crawl(0, *keys)), fence)
    store.add_events([Event(row=0, key=key, time=5.0) for key in keys[:2500]])
    dropped = [store.forget(items_before=6.0, visits_before=5.0, fence=fence) for _ in range(4)]
    assert dropped == [(2000, 0, 2000), (2000, 0, 500), (500, 0, 0), (0, 0, 0)]
    assert store.unseen(0, keys) == set()
    assert store.check() == []
    store.close()


def test_what_is_secret_stays_in_a_file_for_its_owner_only(tmp_path):
    secret = (("Authorization", "Bearer hunter2"),)
    before = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "s.db")
        store.add([listing("a", headers=secret)])
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert modes == {"s.db": 0o600, "s.db-wal": 0o600, "s.db-shm": 0o600}
    finally:
        os.umask(before)
    (source,) = store.sources()
    assert source.headers == secret
    for bad in (
        listing("b", headers=(("X", "hunter2 \ud800"),)),
        listing("b", headers=secret, title=None),
        listing("a", headers=secret),
        listing("b", headers=secret, decay=-1.0),
    ):
        with pytest.raises((BadInput, StoreError)) as caught:
            store.add([bad])
        assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(source)
    store.close()


def test_it_writes_ahead_and_syncs(tmp_path):
    store = opened(tmp_path / "s.db")
    asked = {
        "journal_mode": "wal", "synchronous": 2, "journal_size_limit": 64 << 20,
        "wal_autocheckpoint": 4000, "busy_timeout": 30_000,
    }  # fmt: skip
    for name, answer in asked.items():
        assert store._file.db.execute(f"PRAGMA {name}").fetchone() == (answer,)
    store.close()


def test_the_name_of_a_new_file_is_synced_with_its_folder(tmp_path, monkeypatch):
    """Else a file whose commits were synced could have no name after a power cut."""
    synced = []
    monkeypatch.setattr("dayfly.store.database.sync", synced.append)
    opened(tmp_path / "s.db").close()
    assert [os.fspath(path) for path in synced] == [os.path.realpath(tmp_path)]
    opened(tmp_path / "s.db").close()
    assert len(synced) == 1, "a file that is there has its name"


def test_a_visit_belongs_to_a_source_and_the_file_itself_says_so(tmp_path):
    store = opened(tmp_path / "s.db")
    (nobodys,) = record(store, crawl(0, "k"))
    with pytest.raises(StoreError, match="FOREIGN KEY"), store._file.writing() as db:
        db.execute(store._file.ask["add_visit"], visit_row(replace(nobodys.crawl, row=7)))
    store.close()


def test_A10_what_a_file_defines_itself_can_call_nothing_of_ours(tmp_path):
    """A file that somebody handed us may have views; our functions are not theirs to use."""
    opened(tmp_path / "s.db").close()
    with sqlite3.connect(tmp_path / "s.db") as db:
        db.execute("CREATE VIEW trap AS SELECT hash_of(id) FROM source")
    db.close()
    store = SqliteStore(tmp_path / "s.db")
    with pytest.raises(StoreError, match="unsafe use of hash_of"), store._file.reading() as db:
        db.execute("SELECT * FROM trap").fetchall()
    store.close()


def test_a_release_of_sqlite_that_is_too_old_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(StoreError, match=r"too old, 3\.37 is needed"):
        SqliteStore(tmp_path / "s.db")
    assert not (tmp_path / "s.db").exists()


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


def test_a_missing_folder_is_told_with_the_file(tmp_path):
    with pytest.raises(StoreError, match=r"nowhere.s\.db"):
        SqliteStore(tmp_path / "nowhere" / "s.db")


def test_a_closed_store_says_so_and_can_be_closed_again(tmp_path):
    store = opened(tmp_path / "s.db")
    store.close()
    store.close()
    assert os.listdir(tmp_path) == ["s.db"]
    with pytest.raises(StoreError, match=r"s\.db.*closed"):
        store.sources()


def test_the_check_tells_what_does_not_fit_together(tmp_path):
    store = opened(tmp_path / "s.db", "a", "b")
    fence = store.own()
    store.record(record(store, crawl(0, "k"), crawl(1, "l")), fence)
    db = store._file.db
    for damage, words in (
        ("DELETE FROM known WHERE row = 0", "items whose key is not known: 1"),
        ("UPDATE owner SET items = 1", "items numbered above the count: 1"),
        ("INSERT INTO claim VALUES (9, 1, 1.0)", "claims of sources that do not exist: 1"),
        ("INSERT INTO claim VALUES (1, 99, 1.0)", "claims under a fence that was never given: 1"),
        ("UPDATE source SET estimate_memory = x'01' WHERE row = 1", "beliefs that cannot be read"),
        ("PRAGMA foreign_keys = OFF; DELETE FROM source WHERE row = 0", "do not count up"),
    ):
        db.executescript(damage)
        assert [problem for problem in store.check() if words in problem], words
    db.execute("CREATE TRIGGER evil AFTER INSERT ON item BEGIN DELETE FROM item; END")
    assert store.check() == ["parts that are missing or not ours: trigger evil"]
    store.close()


def test_secrets_are_shown_nowhere():
    from rich.pretty import pretty_repr

    secret = StoredSource(row=0, id="a", url="http://a.example/", headers=(("X-Key", "SECRET"),))
    assert secret.headers
    for shown in (repr(secret), str(secret), pretty_repr(secret), f"{[secret]}"):
        assert "SECRET" not in shown
