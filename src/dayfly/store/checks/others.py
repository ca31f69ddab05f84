"""What must hold of hosts, copies of robots.txt and events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dayfly.model import RobotsCopy, Status
from dayfly.store.base import Event, HostState, Store
from dayfly.store.checks.made import NOW, a_crawl, a_listing, a_record, forget_all


def _hosts_are_left_alone_as_long_as_they_ask(store: Store) -> None:
    store.add(
        [a_listing("a", host="h"), a_listing("b", host="h"), a_listing("c", obey_robots=False)]
    )
    fence = store.own()
    assert store.hosts() == [], "nothing is known yet"

    def visit(row: int, **changes: Any) -> None:
        host = {"url": "http://h/", "host": "h"}
        store.record([a_record(store, a_crawl(row, **changes), **host)], fence)

    refused = {"status": Status.REFUSED}
    visit(0, host_not_before=NOW + 100, crawl_delay=7.0, **refused)
    said = HostState(host="h", not_before=NOW + 100, crawl_delay=7.0)
    assert store.hosts() == [said], "what a host asks for must be kept"
    visit(1, host_not_before=NOW + 50, **refused)
    assert store.hosts() == [said], "who asks for less does not shorten it"
    visit(2)
    assert store.hosts() == [said], "who did not read robots.txt cannot tell what it asks for"
    visit(1)
    assert store.hosts() == [replace(said, crawl_delay=None)], "a delay goes when robots.txt does"


def _robots_are_kept(store: Store) -> None:
    fence = store.own()
    one = RobotsCopy(
        origin="http://a:80", outcome="found", body=b"\0\xff", fetched=1.5, expires=9.0
    )
    two = RobotsCopy(origin="https://a:443", outcome="unreachable", unreachable_since=2.0)
    store.keep_robots([two, one], fence)
    assert store.robots() == [one, two], "copies must be kept bit for bit"
    new = replace(two, outcome="absent", unreachable_since=None, reason="http 404")
    store.keep_robots([new], fence)
    assert store.robots() == [one, new], "the last copy counts"


def _events_are_kept_once(store: Store) -> None:
    store.add([a_listing("a"), a_listing("b")])
    late = Event(row=0, key="k", time=NOW + 1, amount=2.0)
    early = Event(row=1, key="k", time=NOW)
    assert store.add_events([late, early, late]) == 2, "new events must be counted"
    assert store.add_events([late, replace(early, row=0)]) == 1, "known ones must not"
    assert list(store.events()) == [replace(early, row=0), early, late], "oldest first"
    assert list(store.events(NOW + 1)) == [late], "since must be obeyed"


def _events_go_with_the_items_of_their_time(store: Store) -> None:
    store.add([a_listing("a"), a_listing("b")])
    fence = store.own()
    old = [Event(row=row, key=key, time=NOW) for row in (0, 1) for key in ("k", "l")]
    young = Event(row=0, key="k", time=NOW + 10)
    store.add_events([*old, young])
    dropped = forget_all(store, NOW + 10, NOW + 99, fence)
    assert dropped == (0, 0, 4), "events that are older must be dropped and counted"
    assert list(store.events()) == [young], "younger events stay"
    assert forget_all(store, NOW + 10, NOW + 99, fence) == (0, 0, 0), "what is gone is gone"


CHECKS: tuple[Callable[[Store], None], ...] = (
    _hosts_are_left_alone_as_long_as_they_ask,
    _robots_are_kept,
    _events_are_kept_once,
    _events_go_with_the_items_of_their_time,
)
