"""What a loop tells whoever watches it, and what it counts."""

from __future__ import annotations

from dataclasses import dataclass

from dayfly.model import Crawl, RobotsCopy, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """These sources are visited now."""

    time: float
    #: Rows, best first.
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """These visits ended and are stored."""

    time: float
    #: As recorded: new items only.
    crawls: tuple[Crawl, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that an operator should know."""

    time: float
    #: "store" (it cannot be written), "stored" (it can again), "clock", "quarantine", "slow stop".
    kind: str
    #: What happened, and what is done about it.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRead:
    """These copies of robots.txt are new, and stored; some say that there is none."""

    time: float
    copies: tuple[RobotsCopy, ...]


#: What a watcher is told.
News = Chosen | Recorded | Notice | RobotsRead


@dataclass(slots=True, kw_only=True)
class Counts:
    """What came of the visits since the loop was made."""

    #: When that was, POSIX seconds.
    since: float
    visits: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0
    refused: int = 0
    items: int = 0
    #: Worth of the new items when they were seen, and worth when new of all that was published
    #: meanwhile, as far as the estimates tell.
    value: float = 0.0
    expected: float = 0.0
    #: Visits that were given up because the loop was stopped.
    abandoned: int = 0
    #: Bytes received.
    wire_bytes: int = 0

    def count(self, crawl: Crawl) -> None:
        """One more visit, as recorded."""
        self.visits += 1
        self.changed += crawl.status is Status.CHANGED
        self.unchanged += crawl.status is Status.UNCHANGED
        self.failed += crawl.status is Status.FAILED
        self.refused += crawl.status is Status.REFUSED
        self.items += len(crawl.items)
        self.value += crawl.value
        self.wire_bytes += crawl.wire_bytes
