"""The seven things we ask of a store, and what it keeps about a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import urlsplit

from dayfly.errors import BadInput
from dayfly.estimate import Estimate
from dayfly.model import Crawl, Fleet, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A source as the operator lists it."""

    #: Chosen by the operator; stable for the life of the source, unique in the store.
    id: str
    url: str
    #: The machine that answers; taken from the address where it is not given.
    host: str = ""
    #: How much this source matters beside others; multiplies `worth`.
    weight: float = 1.0
    #: Items per second: a guess, until crawls tell.
    arrival: float = 1.0 / 86400.0
    #: Loss of interest per second; ln 2 / half-life. By default half of it is gone in six hours.
    decay: float = 0.6931471805599453 / 21600.0
    #: Worth of a new item, budget units of one crawl, and how many items the source shows.
    worth: float = 1.0
    cost: float = 1.0
    window: float = float("inf")

    def __post_init__(self) -> None:
        if not self.host:
            try:
                host = urlsplit(self.url).hostname or ""
            except ValueError as error:
                raise BadInput(f"source {self.id!r}: {error}: {self.url!r}") from None
            object.__setattr__(self, "host", host)

    @property
    def source(self) -> Source:
        """The source as the mathematics sees it."""
        return Source(
            arrival=self.arrival,
            decay=self.decay,
            worth=self.worth * self.weight,
            cost=self.cost,
            window=self.window,
            id=self.id,
            host=self.host,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSource(Listing):
    """A listed source, its row number, and what the last crawl left behind."""

    #: Stable for the life of the store; rows count up from 0 without gaps.
    row: int
    #: Validators to echo, byte for byte; empty if the source gave none.
    etag: str = ""
    last_modified: str = ""
    #: The source asked not to be visited before this time, POSIX seconds.
    not_before: float | None = None
    #: When the last visit ended, whatever came of it; None before the first.
    last_crawl: float | None = None
    #: What the estimator made of it; None before the first crawl.
    estimate: Estimate | None = None

    def after(self, crawl: Crawl, estimate: Estimate) -> StoredSource:
        """What is to be remembered about this source once the crawl is recorded."""
        # A visit that was not answered says nothing about validators: keep the old ones.
        told = crawl if crawl.answered else self
        wait = self.not_before if crawl.not_before is None else crawl.not_before
        return replace(
            self,
            etag=told.etag,
            last_modified=told.last_modified,
            not_before=wait,
            last_crawl=crawl.time,
            estimate=estimate,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """One item, as first seen."""

    row: int
    key: str
    #: When the source says it appeared, and when we saw it first; POSIX seconds.
    published: float | None
    seen: float
    worth: float = 1.0
    title: str = ""
    link: str = ""


class Store(Protocol):
    """Remembers what was crawled: one crawl is one transaction, all of it or nothing.

    Who may write is said by a fence, an integer that grows with every change of owner. A process
    that lost the store to another one finds its fence stale and its write refused.
    """

    def add(self, sources: Iterable[Listing]) -> list[int]:
        """Store these sources under new rows; all of them, or none and `BadInput`."""
        ...

    def sources(self) -> list[StoredSource]:
        """All sources in the order of their rows."""
        ...

    def own(self) -> int:
        """Become the owner; whoever was it before can write no more."""
        ...

    def unseen(self, row: int, keys: Sequence[str]) -> set[str]:
        """Those of the keys under which no item of this source is stored."""
        ...

    def record(self, crawl: Crawl, estimate: Estimate, fence: int) -> None:
        """Store items, validators, estimate, `not_before` and the visit, or raise `StaleFence`."""
        ...

    def items(self, since: float = 0.0) -> Iterator[StoredItem]:
        """Items first seen at or after this time, oldest first."""
        ...

    def close(self) -> None:
        """Let go of it; nothing unwritten is held back."""
        ...


def fleet_of(sources: Iterable[Listing]) -> Fleet:
    """The sources as columns, in the order given; bad numbers are named."""
    return Fleet.of(listing.source for listing in sources)


def check_listings(listings: Sequence[Listing], known: Iterable[str]) -> None:
    """Refuse what could not be used later: ids that are taken, numbers that make no sense."""
    taken = set(known)
    for listing in listings:
        if not listing.id or not listing.url:
            raise BadInput(f"a source needs an id and a url, got {listing.id!r}, {listing.url!r}")
        if listing.id in taken:
            raise BadInput(f"duplicate id {listing.id!r}")
        taken.add(listing.id)
        try:
            fleet_of([listing])
        except BadInput as error:
            raise BadInput(f"source {listing.id!r}: {error}") from None
