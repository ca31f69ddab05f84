"""A source as the operator lists it and as it is stored, and what its numbers may be."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import force_setattr

from dayfly.errors import BadInput
from dayfly.estimate import Estimate
from dayfly.model import Fleet, Source


class State(StrEnum):
    """Whether a source is crawled, and if not, why."""

    ACTIVE = "active"
    PAUSED = "paused"  # by the operator
    GONE = "gone"  # 410, confirmed; revived by hand
    QUARANTINED = "quarantined"  # its visits ended with the death of the crawler
    REMOVED = "removed"  # by the operator; its row stays taken, its items stay until they expire


class Listing(Struct, frozen=True, kw_only=True, gc=False):
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
    #: What is there: "auto" (told by what it answers), "feed", "sitemap" or "page".
    kind: str = "auto"
    title: str = ""
    tags: tuple[str, ...] = ()
    #: Seconds between visits, at least and at most; None as the run has it.
    min_interval: float | None = None
    max_interval: float | None = None
    #: Overrides that the operator answers for; listed wherever the source is shown.
    obey_robots: bool = True
    verify_tls: bool = True
    #: Sent along to this origin only. May hold secrets: shown nowhere.
    headers: tuple[tuple[str, str], ...] = ()
    #: CSS selectors of a "page": item, link, title, date.
    select: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.host:
            try:
                force_setattr(self, "host", host_of(self.url))
            except ValueError as error:
                raise BadInput(f"source {self.id!r}: {error}: {self.url!r}") from None

    # Both ways to show it, ours and rich's, leave the secrets out.
    def __rich_repr__(self) -> list[tuple[str, Any]]:
        names = (name for name in self.__struct_fields__ if name != "headers")
        return [(name, getattr(self, name)) for name in names]

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({told})"

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


class StoredSource(Listing, frozen=True, kw_only=True, gc=False):
    """A listed source, its row number, and what the last crawl left behind."""

    #: Stable for the life of the store; rows count up from 0 without gaps.
    row: int
    state: State = State.ACTIVE
    #: Validators to echo, byte for byte, and hash of the last body; empty if there were none.
    etag: str = ""
    last_modified: str = ""
    digest: str = ""
    #: Not to be visited before this time, POSIX seconds, and which rule says so.
    not_before: float | None = None
    why_not: str = ""
    #: When the last visit ended, whatever came of it; None before the first. When the last new
    #: item was seen.
    last_crawl: float | None = None
    last_new: float | None = None
    #: How the last visit ended, and how many in a row did not answer.
    last_status: str = ""
    last_reason: str = ""
    failures: int = 0
    #: A permanent redirect that is waiting to be believed, and since when it has been seen.
    moved_to: str = ""
    moved_since: float | None = None
    #: Since when the source says that it is gone.
    gone_since: float | None = None
    #: Visits under way when the crawler died, in a row.
    lost: int = 0
    #: What the document calls itself, and whether only the tolerant parser can read it.
    document_title: str = ""
    malformed: bool = False
    #: What the estimator made of it; None before the first crawl.
    estimate: Estimate | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.title or self.document_title or self.id

    @property
    def arrives(self) -> float:
        """Items per second as far as we know; none where nobody answers and never showed one."""
        if self.failures and self.last_new is None:
            return 0.0
        return self.arrival if self.estimate is None else self.estimate.arrival

    @property
    def publishes(self) -> float:
        """Worth per second as far as we know; none if it is not crawled."""
        return self.arrives * self.worth * self.weight if self.state is State.ACTIVE else 0.0


def host_of(url: str) -> str:
    """The host of an address, one however its name is written; ValueError where there is nonsense.

    >>> host_of("https://BÜCHER.example:8443/feed")
    'xn--bcher-kva.example'
    """
    host = urlsplit(url).hostname or ""
    if not host.isascii():
        with contextlib.suppress(UnicodeError):
            host = host.encode("idna").decode("ascii")
    return host


def fleet_of(sources: Iterable[Listing]) -> Fleet:
    """The sources as columns, in the order given; bad numbers are named."""
    return Fleet.of(listing.source for listing in sources)


#: What the numbers of a source may be, beside 0 where that is one of them. Further out nothing is
#: meant, and products of several would be beyond what single precision holds.
_BOUNDS = {
    "arrival": (1e-12, 1e6), "decay": (1e-12, 1e3), "worth": (1e-12, 1e12),
    "weight": (1e-12, 1e12), "cost": (1e-6, 1e6),
}  # fmt: skip
_MAY_BE_0 = frozenset(("decay", "worth", "weight"))


def check_listings(listings: Sequence[Listing], known: Iterable[str]) -> None:
    """Refuse what could not be used later: ids that are taken, numbers that make no sense."""
    taken = set(known)
    for listing in listings:
        if not listing.id or not listing.url:
            raise BadInput(f"a source needs an id and a url, got {listing.id!r}, {listing.url!r}")
        if listing.id in taken:
            raise BadInput(f"duplicate id {listing.id!r}")
        taken.add(listing.id)
        # Nobody reckons with one that is removed: numbers that came in before there were bounds
        # must not keep anybody from that.
        removed = getattr(listing, "state", None) is State.REMOVED
        try:
            fleet_of([listing]) if removed else check_numbers(listing)
        except BadInput as error:
            raise BadInput(f"source {listing.id!r}: {error}") from None


def check_numbers(listing: Listing) -> None:
    """Refuse numbers that make no sense, alone or together."""
    for name, (least, most) in _BOUNDS.items():
        value = getattr(listing, name)
        if not least <= value <= most and not (value == 0 and name in _MAY_BE_0):
            zero = "0 or " if name in _MAY_BE_0 else ""
            per = " per second" if name in ("arrival", "decay") else ""
            raise BadInput(f"{name} must be {zero}from {least:g} to {most:g}{per}, got {value:g}")
    if listing.window < 1 or listing.window != listing.window:
        raise BadInput(f"window must be at least 1, got {listing.window:g}")
