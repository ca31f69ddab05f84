"""Long answers, read page by page.

A reader that takes hours must not hold a snapshot for so long: the write-ahead log could not be
emptied meanwhile. So each page is read by itself, up to what was there when the question was asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from dayfly.model import Crawl
from dayfly.store.base import Event, StoredItem
from dayfly.store.database import Database
from dayfly.store.rows import read_item, read_visit

#: So many at a time.
_PAGE = 1000


def items(file: Database, since: float, after: int, limit: int | None) -> Iterator[StoredItem]:
    """Items first seen at or after this time and numbered above `after`, by number."""
    with file.reading() as db:
        ((last,),) = db.execute(file.ask["last_item"])
        if since > 0.0:
            # Whoever reads on is beyond that instant, mostly; to look for the first item since then
            # takes longer the more there are.
            following = db.execute(file.ask["next_item"], (after,)).fetchall()
            if not following:
                return iter(())
            if following[0][0] < since:
                ((first,),) = db.execute(file.ask["first_item"], (since,))
                if first is None:
                    return iter(())
                after = max(after, first - 1)
    return _items(file, since, after, last, limit)


def _items(
    file: Database, since: float, after: int, last: int, limit: int | None
) -> Iterator[StoredItem]:
    while limit is None or limit > 0:
        portion = _PAGE if limit is None else min(_PAGE, limit)
        with file.reading() as db:
            found = db.execute(file.ask["items"], (after, last, since, portion)).fetchall()
        yield from map(read_item, found)
        if len(found) < portion:
            return
        after = found[-1][0]
        limit = None if limit is None else limit - len(found)


def visits(file: Database, row: int | None, since: float) -> Iterator[Crawl]:
    """Visits that ended at or after this time, oldest first."""
    with file.reading() as db:
        ((last,),) = db.execute(file.ask["last_visit"])
    return _visits(file, row, since, last)


def _visits(file: Database, row: int | None, since: float, last: int) -> Iterator[Crawl]:
    ask = file.ask["visits" if row is None else "visits_of"]
    which = () if row is None else (row,)
    place: tuple[float, int] = (since, 0)
    while True:
        with file.reading() as db:
            found = db.execute(ask, (*which, *place, last, _PAGE)).fetchall()
        yield from map(read_visit, found)
        if len(found) < _PAGE:
            return
        place = (found[-1][2], found[-1][0])


def events(file: Database, since: float) -> Iterator[Event]:
    """Events at or after this time, oldest first."""
    place: tuple[float, int, str] = (since, -1, "")
    while True:
        with file.reading() as db:
            found = db.execute(file.ask["events"], (*place, _PAGE)).fetchall()
        for row, key, time, amount in found:
            yield Event(row=row, key=key, time=time, amount=amount)
        if len(found) < _PAGE:
            return
        row, key, time, _ = found[-1]
        place = (time, row, key)
