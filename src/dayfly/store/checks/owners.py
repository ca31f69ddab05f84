"""What must hold of owners: who may write, and what was under way."""

from __future__ import annotations

from collections.abc import Callable

from dayfly.errors import StaleFence, StoreError
from dayfly.model import RobotsCopy
from dayfly.store.base import Event, Funds, Store
from dayfly.store.checks.made import (
    NOW,
    a_crawl,
    a_listing,
    a_record,
    all_of,
    in_row,
    refused,
    write,
)


def _a_stale_fence_writes_nothing(store: Store) -> None:
    store.add([a_listing("a")])
    old = store.own()
    new = store.own()
    assert new > old, "every owner has a higher fence"
    before = all_of(store)
    record = a_record(store, a_crawl(0, "k"))
    for fence in (old, new + 1):
        words = f"fence {fence} must be refused where {new} is right"
        with refused(StaleFence, words):
            store.record([record], fence)
        with refused(StaleFence, words):
            store.claim([0], NOW, fence)
        with refused(StaleFence, words):
            store.release([0], fence)
        with refused(StaleFence, words):
            store.lost(fence)
        with refused(StaleFence, words):
            store.keep_robots([RobotsCopy(origin="http://a:80", outcome="absent")], fence)
        with refused(StaleFence, words):
            store.forget(items_before=NOW, visits_before=NOW, fence=fence)
        assert all_of(store) == before, "a refused crawl must leave nothing behind"
        assert store.robots() == [], "a refused copy must leave nothing behind"
    store.record([record], new)
    assert all_of(store) != before, "the owner must be able to write"
    assert store.lost(store.own()) == [], "a refused claim must leave nothing behind"


def _an_unknown_row_writes_nothing(store: Store) -> None:
    store.add([a_listing("a")])
    fence = store.own()
    for row in (-1, 1):
        with refused(StoreError, f"row {row} does not exist"):
            store.record([in_row(a_record(store, a_crawl(0, "k")), row)], fence)
        with refused(StoreError, f"row {row} does not exist"):
            store.claim([0, row], NOW, fence)
        with refused(StoreError, f"row {row} does not exist"):
            store.add_events([Event(row=0, key="k", time=NOW), Event(row=row, key="k", time=1.0)])
        assert list(store.items()) == [], "a refused crawl must leave nothing behind"
        assert list(store.events()) == [], "refused events must leave nothing behind"
    assert store.lost(store.own()) == [], "a refused claim must leave nothing behind"


def _visits_that_never_ended_are_told_until_released(store: Store) -> None:
    store.add([a_listing(id) for id in "abcd"])
    first = store.own()
    store.claim([3, 1, 0, 2], NOW, first)
    store.claim([1], NOW + 1, first)  # the same visit, chosen again after an error
    write(store, first, a_crawl(0))
    store.release([2], first)
    assert store.lost(first) == [], "visits of the present owner are under way, not lost"
    second = store.own()
    store.claim([3], NOW + 2, second)
    assert store.lost(second) == [1], "what never ended is lost, unless it is under way again"
    assert store.lost(second) == [1], "and told until somebody has taken note"
    store.release([1], second)
    assert store.lost(second) == [], "then no more"


def _what_is_left_to_spend_is_kept_with_the_claim(store: Store) -> None:
    store.add([a_listing("a")])
    assert store.funds() is None, "nobody has said what is left"
    old, fence = store.own(), store.own()
    # Numbers without a short decimal form, and a debt, must come back as they were.
    first = Funds(time=NOW, left=-0.1 - 0.2, markup=1e-300)
    store.claim([0], NOW, fence, first)
    assert store.funds() == first, "what is left must be kept bit for bit"
    store.claim([0], NOW + 1, fence)
    assert store.funds() == first, "who says nothing changes nothing"
    more = Funds(time=NOW + 2, left=70.0, markup=0.5)
    with refused(StaleFence, "an owner of before must not say what is left"):
        store.claim([], NOW + 2, old, more)
    with refused(StoreError, "a claim of an unknown row must be refused"):
        store.claim([0, 1], NOW + 2, fence, more)
    assert store.funds() == first, "a refused claim must leave what is left alone"
    store.claim([], NOW + 2, fence, more)
    store.own()
    assert store.funds() == more, "what is left outlives its owner"


CHECKS: tuple[Callable[[Store], None], ...] = (
    _a_stale_fence_writes_nothing,
    _an_unknown_row_writes_nothing,
    _visits_that_never_ended_are_told_until_released,
    _what_is_left_to_spend_is_kept_with_the_claim,
)
