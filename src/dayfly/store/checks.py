"""What every store must satisfy, ours or a user's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

from dayfly.errors import BadInput, StaleFence, StoreError
from dayfly.estimate import Estimate
from dayfly.model import Crawl, Item, Status
from dayfly.store.base import Listing, Store

_NOW = 1.7e9
_ODD_KEYS = ("plain", "", "a'b\"c;--", "nul\0inside", "emoji 🦟", "x" * 5000)


def check_store(make_store: Callable[[], Store]) -> None:
    """Raise AssertionError, naming the broken promise, unless new stores keep them all.

    `make_store()` must answer with a store that is still empty.

    >>> from dayfly.store import MemoryStore
    >>> check_store(MemoryStore)
    """
    for check in (
        _rows_count_up,
        _a_bad_listing_adds_nothing,
        _a_crawl_is_remembered_whole,
        _items_are_stored_once,
        _a_visit_without_an_answer_keeps_validators,
        _a_stale_fence_writes_nothing,
        _an_unknown_row_writes_nothing,
        _what_was_read_does_not_change,
    ):
        store = make_store()
        try:
            check(store)
        finally:
            store.close()


def _listing(id: str, **changes: float) -> Listing:
    return Listing(id=id, url=f"http://{id}.example.org/feed", **changes)  # type: ignore[arg-type]


def _estimate(row: int, time: float = _NOW) -> Estimate:
    # -inf and numbers without a short decimal form must come back as they were.
    memory = (0.1 + 0.2, float("-inf"), 1e-300)
    return Estimate(row=row, time=time, arrival=1 / 3, decay=2 / 7, worth=1 / 11, memory=memory)


def _crawl(row: int, *keys: str, time: float = _NOW) -> Crawl:
    items = tuple(Item(key=key, published=time - 60, title="é", link="http://x/") for key in keys)
    return Crawl(
        row=row,
        time=time,
        status=Status.CHANGED,
        items=items,
        visible=len(items),
        oldest_s=60.0,
        value=0.5,
        etag='W/"1"',
        last_modified="Sun, 06 Nov 1994 08:49:37 GMT",
        not_before=time + 60,
    )


@contextlib.contextmanager
def _refused(kind: type[Exception], promise: str) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    raise AssertionError(promise)


def _rows_count_up(store: Store) -> None:
    assert store.sources() == [], "a new store must be empty"
    assert store.add([_listing("a"), _listing("b", weight=2.5)]) == [0, 1], "rows count from 0"
    assert store.add([_listing("c", window=20.0)]) == [2], "rows go on where they stopped"
    assert store.add([]) == [], "adding nothing adds nothing"
    sources = store.sources()
    assert [s.row for s in sources] == [0, 1, 2], "sources come in the order of their rows"
    assert [s.id for s in sources] == ["a", "b", "c"], "ids must be kept"
    assert (sources[1].weight, sources[2].window) == (2.5, 20.0), "numbers must be kept"
    assert sources[0].window == float("inf"), "no window must stay no window"
    assert sources[0].host == "a.example.org", "the host comes from the address"
    assert all(s.last_crawl is None and s.estimate is None for s in sources), "nothing is known yet"


def _a_bad_listing_adds_nothing(store: Store) -> None:
    store.add([_listing("a")])
    for bad in (_listing("a"), _listing("z", decay=-1.0), replace(_listing("z"), url="")):
        with _refused(BadInput, f"{bad} must be refused"):
            store.add([_listing("b"), bad])
        assert [s.id for s in store.sources()] == ["a"], "a refused list must leave nothing behind"


def _a_crawl_is_remembered_whole(store: Store) -> None:
    store.add([_listing("a"), _listing("b")])
    crawl, estimate = _crawl(1, "k"), _estimate(1)
    before = store.sources()
    store.record(crawl, estimate, store.own())
    other, source = store.sources()
    assert other == before[0], "a crawl must leave other sources alone"
    assert source == before[1].after(crawl, estimate), "a crawl must be remembered bit for bit"
    (item,) = store.items()
    assert (item.row, item.key, item.seen) == (1, "k", _NOW), "an item must be kept"
    assert (item.published, item.title, item.link) == (_NOW - 60, "é", "http://x/"), "in full"


def _items_are_stored_once(store: Store) -> None:
    store.add([_listing("a"), _listing("b")])
    fence = store.own()
    assert store.unseen(0, _ODD_KEYS) == set(_ODD_KEYS), "nothing is known yet"
    store.record(_crawl(0, *_ODD_KEYS), _estimate(0), fence)
    assert store.unseen(0, [*_ODD_KEYS, "new"]) == {"new"}, "stored keys are known"
    assert store.unseen(1, _ODD_KEYS) == set(_ODD_KEYS), "keys belong to their source"
    store.record(_crawl(0, "plain", "late", time=_NOW + 9), _estimate(0), fence)
    kept = list(store.items())
    assert len(kept) == len(_ODD_KEYS) + 1, "an item must be stored once"
    assert {item.seen for item in kept if item.key == "plain"} == {_NOW}, "as first seen"
    assert [item.key for item in store.items(_NOW + 9)] == ["late"], "since must be obeyed"


def _a_visit_without_an_answer_keeps_validators(store: Store) -> None:
    store.add([_listing("a")])
    fence = store.own()
    store.record(_crawl(0, "k"), _estimate(0), fence)
    failed = Crawl(row=0, time=_NOW + 5, status=Status.FAILED, reason="timeout")
    store.record(failed, _estimate(0, _NOW + 5), fence)
    (source,) = store.sources()
    assert source.etag == 'W/"1"', "a failed visit must not lose validators"
    assert source.not_before == _NOW + 60, "a failed visit must not lift not_before"
    assert source.last_crawl == _NOW + 5, "a failed visit is a visit"
    gone = replace(_crawl(0, time=_NOW + 99), etag="", last_modified="", not_before=None)
    store.record(gone, _estimate(0), fence)
    (source,) = store.sources()
    assert (source.etag, source.last_modified) == ("", ""), "validators go when the source says so"


def _a_stale_fence_writes_nothing(store: Store) -> None:
    store.add([_listing("a")])
    old = store.own()
    new = store.own()
    assert new > old, "every owner has a higher fence"
    before = store.sources()
    for fence in (old, new + 1):
        with _refused(StaleFence, f"fence {fence} must be refused where {new} is right"):
            store.record(_crawl(0, "k"), _estimate(0), fence)
        assert store.sources() == before, "a refused crawl must leave nothing behind"
        assert list(store.items()) == [], "a refused crawl must leave nothing behind"
    store.record(_crawl(0, "k"), _estimate(0), new)
    assert store.sources() != before, "the owner must be able to write"


def _an_unknown_row_writes_nothing(store: Store) -> None:
    store.add([_listing("a")])
    fence = store.own()
    for row in (-1, 1):
        with _refused(StoreError, f"row {row} does not exist"):
            store.record(_crawl(row, "k"), _estimate(row), fence)
        assert list(store.items()) == [], "a refused crawl must leave nothing behind"


def _what_was_read_does_not_change(store: Store) -> None:
    store.add([_listing("a")])
    sources, items = store.sources(), store.items()
    store.record(_crawl(0, "k"), _estimate(0), store.own())
    assert sources[0].last_crawl is None, "an answer must not change under the reader"
    assert list(items) == [], "an answer must not change under the reader"
