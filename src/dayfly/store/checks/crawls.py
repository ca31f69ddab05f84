"""What must hold of crawls: their items, their sources, their visits."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from dayfly.errors import StoreError
from dayfly.model import Crawl, Item, RobotsCopy, Status, told_as
from dayfly.store.base import Record, Store
from dayfly.store.checks.made import (
    NOW,
    a_crawl,
    a_listing,
    a_record,
    all_of,
    forget_all,
    in_row,
    refused,
    write,
)
from dayfly.store.sources import State

#: Keys that a careless store would stumble over.
ODD_KEYS = ("plain", "", "a'b\"c;--", "nul\0inside", "emoji 🦟", "half \ud83d", "x" * 5000)


def _a_crawl_is_remembered_whole(store: Store) -> None:
    store.add([a_listing("a"), a_listing("b")])
    before = store.sources()
    crawl = a_crawl(1, "k", truncated=True, malformed=True, wire_bytes=5000, took_s=0.25)
    record = a_record(store, crawl)
    store.record([record], store.own())
    other, source = store.sources()
    assert other == before[0], "a crawl must leave other sources alone"
    assert source == record.source, "a crawl must be remembered bit for bit"
    (item,) = store.items()
    assert (item.row, item.key, item.seen, item.number) == (1, "k", NOW, 1), "items must be kept"
    assert (item.published, item.title, item.link) == (NOW - 60, "é", "http://x/"), "in full"
    (visit,) = store.visits()
    assert visit == replace(crawl, items=()), "a visit must be kept without its items"


def _a_batch_is_remembered_whole(store: Store) -> None:
    store.add([a_listing("a"), a_listing("b")])
    fence = store.own()
    twice = [a_crawl(0, "k", "l"), a_crawl(1, "k"), a_crawl(0, "l", "m", time=NOW + 1)]
    records = [a_record(store, crawl) for crawl in twice]
    store.record(records, fence)
    assert store.sources() == [records[2].source, records[1].source], "the last of a source counts"
    found = [(item.row, item.key, item.seen) for item in store.items()]
    expected = [(0, "k", NOW), (0, "l", NOW), (1, "k", NOW), (0, "m", NOW + 1)]
    assert found == expected, "items of a batch must be stored once, in order"
    before = all_of(store)
    with refused(StoreError, "a batch with an unknown row must be refused"):
        store.record([records[0], in_row(records[1], 7)], fence)
    with refused(StoreError, "a crawl must be of the source beside it"):
        store.record([records[0], Record(crawl=a_crawl(0), source=records[1].source)], fence)
    assert all_of(store) == before, "a refused batch must leave nothing behind"
    store.record([], fence)
    assert all_of(store) == before, "an empty batch must change nothing"


def _a_crawl_does_not_undo_the_operator(store: Store) -> None:
    store.add([a_listing("a"), a_listing("b")])
    fence = store.own()
    records = [a_record(store, a_crawl(0)), a_record(store, a_crawl(1), state=State.GONE)]
    paused = replace(store.sources()[0], state=State.PAUSED, weight=5.0, title="mine")
    store.change([paused])
    store.record(records, fence)
    first, second = store.sources()
    kept = (first.state, first.weight, first.title)
    assert kept == (State.PAUSED, 5.0, "mine"), "a visit under way must not undo a change"
    assert first.etag == 'W/"1"', "what the visit saw is kept all the same"
    assert second.state == State.GONE, "a crawl can tell that a source is gone"


def _items_are_stored_once(store: Store) -> None:
    store.add([a_listing("a"), a_listing("b")])
    fence = store.own()
    assert store.unseen(0, ODD_KEYS) == set(ODD_KEYS), "nothing is known yet"
    assert store.unseen(0, []) == set(), "no keys, no answer"
    write(store, fence, a_crawl(0, *ODD_KEYS))
    assert store.unseen(0, [*ODD_KEYS, "new", "new"]) == {"new"}, "stored keys are known"
    assert store.unseen(1, ODD_KEYS) == set(ODD_KEYS), "keys belong to their source"
    write(store, fence, a_crawl(0, "plain", "late", time=NOW + 9))
    kept = list(store.items())
    assert len(kept) == len(ODD_KEYS) + 1, "an item must be stored once"
    assert {item.seen for item in kept if item.key == "plain"} == {NOW}, "as first seen"
    assert [item.key for item in store.items(NOW + 9)] == ["late"], "since must be obeyed"


def _another_id_makes_no_new_item(store: Store) -> None:
    store.add([a_listing("a"), a_listing("b")])
    item = Item(key="id-1", published=NOW, title="News", link="http://x/1")
    crawl = replace(a_crawl(0, "plain"), items=(item,))
    store.record([a_record(store, crawl)], store.own())
    name = told_as(replace(item, key="id-2"))
    assert store.unseen(0, [name, "id-2"]) == {"id-2"}, "an item is known by what it says, too"
    assert store.unseen(1, [name]) == {name}, "in its source"


def _encryption_makes_no_new_items(store: Store) -> None:
    store.add([a_listing("a")])
    fence = store.own()
    write(store, fence, a_crawl(0, "http://x/1", "https://x/2"))
    moved = ["https://x/1", "http://x/2", "http://x/3"]
    assert store.unseen(0, moved) == {"http://x/3"}, "http and https are one key"
    write(store, fence, a_crawl(0, *moved))
    kept = [item.key for item in store.items()]
    assert kept == ["http://x/1", "https://x/2", "http://x/3"], "kept as first seen"


def _items_are_numbered(store: Store) -> None:
    store.add([a_listing("a")])
    fence = store.own()
    write(store, fence, a_crawl(0, "a", "b", time=NOW + 5))
    write(store, fence, a_crawl(0, "c", time=NOW))  # the clock went back
    numbers = [item.number for item in store.items()]
    assert numbers == sorted(set(numbers)), "numbers must grow"
    assert numbers[0] > 0, "numbers must be above 0"
    assert [i.key for i in store.items(after=numbers[0])] == ["b", "c"], "after must be obeyed"
    assert [i.key for i in store.items(limit=2)] == ["a", "b"], "limit must be obeyed"
    assert list(store.items(limit=0)) == [], "a limit of nothing is nothing"
    assert [i.key for i in store.items(NOW + 1, after=numbers[0])] == ["b"], "and both together"


def _visits_are_kept_in_order(store: Store) -> None:
    store.add([a_listing("a"), a_listing("b")])
    fence = store.own()
    failed = Crawl(row=1, time=NOW + 5, status=Status.FAILED, reason="timeout")
    write(store, fence, a_crawl(0, time=NOW + 9), failed, a_crawl(0, time=NOW))
    times = [visit.time for visit in store.visits()]
    assert times == [NOW, NOW + 5, NOW + 9], "visits come oldest first"
    assert list(store.visits(1)) == [failed], "visits of one source"
    assert [v.time for v in store.visits(since=NOW + 5)] == times[1:], "since must be obeyed"
    assert [v.time for v in store.visits(0, NOW + 1)] == [NOW + 9], "and both together"


def _what_is_old_is_forgotten_but_stays_known(store: Store) -> None:
    store.add([a_listing("a")])
    fence = store.own()
    write(store, fence, a_crawl(0, "old", "older"), a_crawl(0, "new", time=NOW + 10))
    (*_, last) = store.items()
    dropped = forget_all(store, NOW + 99, NOW + 10, fence)
    assert dropped == (3, 1, 0), "what is older must be dropped and counted"
    assert list(store.items()) == [], "dropped items are gone"
    assert [visit.time for visit in store.visits()] == [NOW + 10], "younger visits stay"
    assert store.unseen(0, ["old", "new", "never"]) == {"never"}, "keys stay known"
    write(store, fence, a_crawl(0, "old", "next", time=NOW + 20))
    (item,) = store.items()
    assert item.key == "next", "what was dropped must not come back"
    assert item.number > last.number, "a number must never be given twice"


def _what_was_read_does_not_change(store: Store) -> None:
    store.add([a_listing("a")])
    sources, items, visits = store.sources(), store.items(), store.visits()
    hosts, robots = store.hosts(), store.robots()
    fence = store.own()
    store.record([a_record(store, a_crawl(0, "k", host_not_before=NOW))], fence)
    store.keep_robots([RobotsCopy(origin="http://a:80", outcome="absent")], fence)
    assert sources[0].last_crawl is None, "an answer must not change under the reader"
    assert list(items) == [], "an answer must not change under the reader"
    assert list(visits) == [], "an answer must not change under the reader"
    assert (hosts, robots) == ([], []), "an answer must not change under the reader"


CHECKS: tuple[Callable[[Store], None], ...] = (
    _a_crawl_is_remembered_whole,
    _a_batch_is_remembered_whole,
    _a_crawl_does_not_undo_the_operator,
    _items_are_stored_once,
    _another_id_makes_no_new_item,
    _encryption_makes_no_new_items,
    _items_are_numbered,
    _visits_are_kept_in_order,
    _what_is_old_is_forgotten_but_stays_known,
    _what_was_read_does_not_change,
)
