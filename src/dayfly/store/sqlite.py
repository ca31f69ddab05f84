"""The store in one SQLite file: write-ahead log, one writer, a batch of crawls at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike

import msgspec

from dayfly.model import Crawl, RobotsCopy
from dayfly.store import answers
from dayfly.store.backup import back_up
from dayfly.store.base import Event, Funds, HostState, Record, StoredItem
from dayfly.store.database import Database, no_source
from dayfly.store.integrity import find_problems
from dayfly.store.keys import Remembered, clean_text, hashes
from dayfly.store.recording import record
from dayfly.store.rows import (
    listing_row,
    read_source,
    source_row,
)
from dayfly.store.sources import Listing, StoredSource, check_listings

#: Forget so many of each kind in a call: whoever waits for the store waits for one call, not for
#: all that is old.
_PORTION = 2000


class SqliteStore:
    """Remembers everything in one file, which survives the process and its death.

    One process writes to it at a time (`dayfly.store.lock`). Every commit is synced, so that what
    was recorded outlives power loss too. After an error nothing was written, and the same object
    goes on when the cause is gone: a full disk that has room again, a lock that was released.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._file = Database(path)
        self._ask = self._file.ask
        self._remembered = Remembered()
        self.path = self._file.path

    def add(self, sources: Iterable[Listing]) -> list[int]:
        """Store these sources under new rows."""
        listings = list(sources)
        with self._file.writing() as db:
            self._file.check(None)
            ids = msgspec.json.encode([listing.id for listing in listings]).decode()
            check_listings(listings, (id for (id,) in db.execute(self._ask["taken"], (ids,))))
            ((first,),) = db.execute(self._ask["count_sources"])
            rows = list(range(first, first + len(listings)))
            db.executemany(
                self._ask["add_source"],
                (listing_row(row, listing) for row, listing in zip(rows, listings, strict=True)),
            )
        return rows

    def change(self, sources: Iterable[StoredSource]) -> None:
        """Replace these sources."""
        changed = list(sources)
        check_listings(changed, ())
        with self._file.writing() as db:
            self._file.check(None)
            for source in changed:
                if db.execute(self._ask["change_source"], source_row(source)).rowcount != 1:
                    raise no_source(source.row, source.id)

    def sources(self) -> list[StoredSource]:
        """All sources in the order of their rows."""
        with self._file.reading() as db:
            return [read_source(record) for record in db.execute(self._ask["sources"])]

    def own(self) -> int:
        """Become the owner."""
        with self._file.writing() as db:
            self._file.check(None)
            return int(db.execute(self._ask["own"]).fetchall()[0][0])

    def claim(
        self, rows: Sequence[int], time: float, fence: int, funds: Funds | None = None
    ) -> None:
        """These visits begin."""
        with self._file.writing() as db:
            self._file.check(fence)
            ((count,),) = db.execute(self._ask["count_sources"])
            for row in rows:
                if not 0 <= row < count:
                    raise no_source(row)
            db.executemany(self._ask["claim"], ((int(row), fence, time) for row in rows))
            if funds is not None:
                kept = (funds.time, funds.left, funds.markup)
                db.execute(self._ask["keep_funds"], kept)

    def funds(self) -> Funds | None:
        """What the last claim left."""
        with self._file.reading() as db:
            found = db.execute(self._ask["funds"]).fetchall()
        for time, left, markup in found:
            return Funds(time=time, left=left, markup=markup)
        return None

    def release(self, rows: Sequence[int], fence: int) -> None:
        """These visits did not take place after all."""
        with self._file.writing() as db:
            self._file.check(fence)
            db.executemany(self._ask["release"], ((int(row),) for row in rows))

    def lost(self, fence: int) -> list[int]:
        """Rows whose visits began under an earlier fence and never ended."""
        with self._file.writing() as db:
            self._file.check(fence)
            return [row for (row,) in db.execute(self._ask["lost"], (fence,)).fetchall()]

    def unseen(self, row: int, keys: Sequence[str]) -> set[str]:
        """Those of the keys that are not known for this source."""
        known = self._remembered.of(row)
        asked = [key for key in keys if key not in known]
        if not asked:
            return set()
        numbers = msgspec.json.encode(hashes(asked)).decode()
        with self._file.reading() as db:
            found = db.execute(self._ask["unseen"], (row, numbers)).fetchall()
        unseen = {asked[place] for (place,) in found}
        if seen := set(keys) - unseen:
            self._remembered.keep(row, seen)
        return unseen

    def record(self, records: Sequence[Record], fence: int) -> None:
        """Store these crawls whole, or refuse them whole."""
        record(self._file, records, fence)

    def items(
        self, since: float = 0.0, *, after: int = 0, limit: int | None = None
    ) -> Iterator[StoredItem]:
        """Items first seen at or after this time, by number."""
        return answers.items(self._file, since, after, limit)

    def visits(self, row: int | None = None, since: float = 0.0) -> Iterator[Crawl]:
        """Visits that ended at or after this time, oldest first."""
        return answers.visits(self._file, row, since)

    def hosts(self) -> list[HostState]:
        """What is remembered about hosts."""
        with self._file.reading() as db:
            found = db.execute(self._ask["hosts"]).fetchall()
        return [
            HostState(host=host, not_before=not_before, crawl_delay=crawl_delay)
            for host, not_before, crawl_delay in found
            if not_before is not None or crawl_delay is not None
        ]

    def robots(self) -> list[RobotsCopy]:
        """All copies of robots.txt."""
        names = ("origin", "outcome", "body", "fetched", "expires", "unreachable_since", "reason")
        with self._file.reading() as db:
            found = db.execute(self._ask["robots"]).fetchall()
        return [RobotsCopy(**dict(zip(names, record, strict=True))) for record in found]

    def keep_robots(self, copies: Sequence[RobotsCopy], fence: int) -> None:
        """Remember these copies instead of earlier ones."""
        with self._file.writing() as db:
            self._file.check(fence)
            db.executemany(
                self._ask["keep_robots"],
                (
                    (
                        copy.origin, copy.outcome, copy.body, copy.fetched, copy.expires,
                        copy.unreachable_since, clean_text(copy.reason),
                    )
                    for copy in copies
                ),
            )  # fmt: skip

    def add_events(self, events: Sequence[Event]) -> int:
        """Keep these events; the answer is how many were new."""
        with self._file.writing() as db:
            self._file.check(None)
            ((count,),) = db.execute(self._ask["count_sources"])
            new = 0
            for event in events:
                if not 0 <= event.row < count:
                    raise no_source(event.row)
                values = (event.row, clean_text(event.key), event.time, event.amount)
                new += db.execute(self._ask["add_event"], values).rowcount
            return new

    def events(self, since: float = 0.0) -> Iterator[Event]:
        """Events at or after this time, oldest first."""
        return answers.events(self._file, since)

    def forget(
        self, *, items_before: float, visits_before: float, fence: int
    ) -> tuple[int, int, int]:
        """Drop a portion of what is older; the keys of items stay known."""
        with self._file.writing() as db:
            self._file.check(fence)
            items = db.execute(self._ask["forget_items"], (items_before, _PORTION)).rowcount
            visits = db.execute(self._ask["forget_visits"], (visits_before, _PORTION)).rowcount
            events = db.execute(self._ask["forget_events"], (items_before, _PORTION)).rowcount
        return items, visits, events

    def check(self) -> list[str]:
        """Look through the whole file; what is wrong with it, or nothing."""
        with self._file.reading() as db:
            return find_problems(db)

    def backup(self, path: str | PathLike[str]) -> None:
        """Write a copy that is whole, while crawls go on."""
        back_up(self._file, path)

    def close(self) -> None:
        """Let go of it."""
        self._file.close()
