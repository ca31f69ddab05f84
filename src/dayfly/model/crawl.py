"""What one visit saw: success or not, it is data."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Status(StrEnum):
    """How a visit ended."""

    CHANGED = "changed"  # answered, with items we did not have
    UNCHANGED = "unchanged"  # answered, nothing new (304, or all items known)
    FAILED = "failed"  # did not answer, or not with anything readable
    REFUSED = "refused"  # we did not ask, or were asked to stay away (robots, guard, 401, 403, 410)


# Structs, because many are made: a hundred items for every document. Frozen dataclasses take much
# longer to make and to change.
class Item(Struct, frozen=True, kw_only=True, gc=False):
    """One thing that a source published."""

    #: Identity within its source, by `compared`; stable across rewrites.
    key: str
    #: When it appeared, POSIX seconds; None where the source does not say (first seen counts).
    published: float | None
    #: Worth when new, relative to the source's own worth.
    worth: float = 1.0
    title: str = ""
    link: str = ""


def compared(key: str) -> str:
    """A key as it is compared: a site that becomes encrypted does not publish all of it again.

    >>> compared("http://example.org/1")
    'https://example.org/1'
    """
    return "https" + key[4:] if key.startswith("http://") else key


def told_as(item: Item) -> str:
    """What an item is known by beside its key; empty where its key is all that tells it.

    Some feeds make up new ids each time they are asked. Where no id is known, an item that has the
    link, the title and the date of one that is known is that one.

    >>> told_as(Item(key="7", published=1.8e9, title="News", link="https://example.org/7"))
    '1800000000 https://example.org/7 News'
    >>> told_as(Item(key="7", published=None, title="News", link="https://example.org/7"))
    ''
    """
    if item.published is None or not item.link or item.link == item.key:
        return ""
    return f"{item.published:.0f} {compared(item.link)} {item.title}"


class Crawl(Struct, frozen=True, kw_only=True, gc=False):
    """What one visit to one source saw."""

    #: The source, by its row in the fleet.
    row: int
    #: When the visit ended, POSIX seconds.
    time: float
    status: Status
    #: Why, where it failed or was refused: "timeout", "http 500", "robots", …
    reason: str = ""
    #: From fetch: every visible item, save those that the last document stored had already.
    #: After `Store.unseen`: only those never seen before.
    items: tuple[Item, ...] = ()
    #: How many items were visible, and how old the oldest of them was (seconds, None if unknown).
    visible: int = 0
    oldest_s: float | None = None
    #: Worth of the new items at the time of the visit.
    value: float = 0.0
    #: Budget units spent.
    cost: float = 1.0
    #: The source asks not to be visited before this time (Retry-After, max-age), POSIX seconds.
    not_before: float | None = None
    #: The same for all sources of its host (429), and seconds between visits that its robots.txt
    #: asks for.
    host_not_before: float | None = None
    crawl_delay: float | None = None
    #: Validators to echo at the next visit, byte for byte.
    etag: str = ""
    last_modified: str = ""
    #: Hash of the decoded body: the same bytes need not be read twice.
    digest: str = ""
    #: Where permanent redirects alone led to, if they did.
    moved: str = ""
    #: What the document calls itself.
    title: str = ""
    #: Whether there was more than we read, and whether it had to be read by the tolerant parser.
    truncated: bool = False
    malformed: bool = False
    #: Bytes received, and seconds that the visit took.
    wire_bytes: int = 0
    took_s: float = 0.0

    @property
    def answered(self) -> bool:
        """Whether the visit tells what the source had."""
        return self.status in (Status.CHANGED, Status.UNCHANGED)
