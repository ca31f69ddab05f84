"""What we ask of a store, and what it keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from dayfly.model import Crawl, RobotsCopy
from dayfly.store.sources import Listing, StoredSource


class StoredItem(Struct, frozen=True, kw_only=True, gc=False):
    """One item, as first seen."""

    row: int
    key: str
    #: When the source says it appeared, and when we saw it first; POSIX seconds.
    published: float | None
    seen: float
    worth: float = 1.0
    title: str = ""
    link: str = ""
    #: Counts up over all items of the store in the order of recording; 0 before.
    number: int = 0


class HostState(Struct, frozen=True, kw_only=True, gc=False):
    """What is remembered about a host."""

    host: str
    #: Leave it alone until then (429, Retry-After), and the spacing its robots.txt asks for.
    not_before: float | None = None
    crawl_delay: float | None = None


class Funds(Struct, frozen=True, kw_only=True, gc=False):
    """What a crawl had to spend, so that the next one has no more."""

    time: float
    #: Cost units that were left of what could be saved up; negative where it was overdrawn.
    left: float
    #: The price as learnt, over the price that was reckoned from what is believed of the sources.
    markup: float = 1.0


class Event(Struct, frozen=True, kw_only=True, gc=False):
    """Somebody was interested: a click, a vote, a share."""

    row: int
    key: str
    time: float
    amount: float = 1.0


class Record(Struct, frozen=True, kw_only=True, gc=False):
    """One crawl with its new items only, and the source as it is after it."""

    crawl: Crawl
    source: StoredSource


class Store(Protocol):
    """Remembers what was crawled: one crawl is one transaction, all of it or nothing.

    Who may write is said by a fence, an integer that grows with every change of owner. A process
    that lost the store to another one finds its fence stale and its write refused.
    """

    def add(self, sources: Iterable[Listing]) -> list[int]:
        """Store these sources under new rows; all of them, or none and `BadInput`."""
        ...

    def change(self, sources: Iterable[StoredSource]) -> None:
        """Replace these sources, found by row: what the operator changed; all or none.

        Their ids stay as they are.
        """
        ...

    def sources(self) -> list[StoredSource]:
        """All sources in the order of their rows, removed ones too."""
        ...

    def own(self) -> int:
        """Become the owner; whoever was it before can write no more."""
        ...

    def claim(
        self, rows: Sequence[int], time: float, fence: int, funds: Funds | None = None
    ) -> None:
        """These visits begin; `record` ends them, and `lost` tells which never ended.

        A second claim of the same owner replaces the first. What is left after paying for them is
        kept in the same transaction: no crash can lose one without the other.
        """
        ...

    def funds(self) -> Funds | None:
        """What the last claim left; None if none has said."""
        ...

    def release(self, rows: Sequence[int], fence: int) -> None:
        """These visits did not take place, were given up, or are known to be lost: forget them."""
        ...

    def lost(self, fence: int) -> list[int]:
        """Rows whose visits began under an earlier fence and never ended, until `release`."""
        ...

    def unseen(self, row: int, keys: Sequence[str]) -> set[str]:
        """Those of the keys, or names by `told_as`, under which no item of this source is stored.

        The same address with http and with https is one key.
        """
        ...

    def record(self, records: Sequence[Record], fence: int) -> None:
        """Store items, sources, hosts and visits in one transaction, or raise `StaleFence`."""
        ...

    def items(
        self, since: float = 0.0, *, after: int = 0, limit: int | None = None
    ) -> Iterator[StoredItem]:
        """Items first seen at or after this time and numbered above `after`, by number."""
        ...

    def visits(self, row: int | None = None, since: float = 0.0) -> Iterator[Crawl]:
        """Visits that ended at or after this time, without their items, oldest first."""
        ...

    def hosts(self) -> list[HostState]:
        """What is remembered about hosts."""
        ...

    def robots(self) -> list[RobotsCopy]:
        """All copies of robots.txt."""
        ...

    def keep_robots(self, copies: Sequence[RobotsCopy], fence: int) -> None:
        """Remember these copies instead of earlier ones of the same origin."""
        ...

    def add_events(self, events: Sequence[Event]) -> int:
        """Keep these events; the answer is how many were new."""
        ...

    def events(self, since: float = 0.0) -> Iterator[Event]:
        """Events at or after this time, oldest first."""
        ...

    def forget(
        self, *, items_before: float, visits_before: float, fence: int
    ) -> tuple[int, int, int]:
        """Drop a portion of what is older; how many items, visits and events were dropped.

        One call is one transaction and takes a moment; where none of the three is above 0, nothing
        is left to drop. Events go with the items of their time: alone they teach nothing. Keys of
        dropped items stay known, so that an item that is still shown is not new again.
        """
        ...

    def close(self) -> None:
        """Let go of it; nothing unwritten is held back."""
        ...
