"""What must hold of sources."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from dayfly.errors import BadInput, StoreError
from dayfly.store.base import Store
from dayfly.store.checks.made import NOW, a_belief, a_listing, refused, stored
from dayfly.store.sources import State


def _rows_count_up(store: Store) -> None:
    assert store.sources() == [], "a new store must be empty"
    assert store.add([a_listing("a"), a_listing("b", weight=2.5)]) == [0, 1], "rows count from 0"
    assert store.add([a_listing("c", window=20.0)]) == [2], "rows go on where they stopped"
    assert store.add([]) == [], "adding nothing adds nothing"
    sources = store.sources()
    assert [s.row for s in sources] == [0, 1, 2], "sources come in the order of their rows"
    assert [s.id for s in sources] == ["a", "b", "c"], "ids must be kept"
    assert (sources[1].weight, sources[2].window) == (2.5, 20.0), "numbers must be kept"
    assert sources[0].window == float("inf"), "no window must stay no window"
    assert sources[0].host == "a.example.org", "the host comes from the address"
    assert all(s.last_crawl is None and s.estimate is None for s in sources), "nothing is known yet"


def _a_bad_listing_adds_nothing(store: Store) -> None:
    store.add([a_listing("a")])
    for bad in (a_listing("a"), a_listing("z", decay=-1.0), replace(a_listing("z"), url="")):
        with refused(BadInput, f"{bad} must be refused"):
            store.add([a_listing("b"), bad])
        assert [s.id for s in store.sources()] == ["a"], "a refused list must leave nothing behind"


def _all_of_a_source_is_kept(store: Store) -> None:
    listing = a_listing(
        "a",
        kind="page",
        title="Ä",
        tags=("x", "y z"),
        min_interval=60.0,
        max_interval=1e6,
        obey_robots=False,
        verify_tls=False,
        headers=(("Authorization", "Bearer secret"), ("X", "")),
        select=(("item", "li > a"),),
    )
    store.add([listing])
    assert store.sources() == [stored(listing)], "all that the operator lists must be kept"


def _a_change_is_whole(store: Store) -> None:
    store.add([a_listing("a"), a_listing("b")])
    first, second = store.sources()
    new = replace(
        second,
        state=State.PAUSED,
        weight=3.0,
        tags=("t",),
        not_before=NOW,
        why_not="paused",
        lost=2,
        estimate=a_belief(1),
    )
    store.change([new])
    assert store.sources() == [first, new], "a change must be kept, and leave others alone"
    bad = (replace(second, decay=-1.0), replace(second, id="c"), replace(second, row=7))
    for wrong in bad:
        with refused((BadInput, StoreError), f"{wrong} must be refused"):  # type: ignore[arg-type]
            store.change([replace(first, weight=9.0), wrong])
        assert store.sources() == [first, new], "a refused change must leave nothing behind"


CHECKS: tuple[Callable[[Store], None], ...] = (
    _rows_count_up,
    _a_bad_listing_adds_nothing,
    _all_of_a_source_is_kept,
    _a_change_is_whole,
)
