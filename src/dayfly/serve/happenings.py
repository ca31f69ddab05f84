"""Operations on events: clicks, votes and shares teach what items are worth, and for how long.

The rule of `events.learn`: of items that appeared at least two days ago, events within two days of
their appearance count. Where there are too many, only every second item is looked at, or every
fourth: what is left is as good a picture. From 20 such events on, decay and worth of each source
are the most likely ones, drawn towards the fleet where a source has few events (20 events, three
items). Worth keeps its scale: the mean over all items stays what it was, so that value before and
after compares.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from msgspec.structs import replace

from dayfly.errors import BadInput
from dayfly.estimate.events import EventEstimator
from dayfly.serve.directory import Known
from dayfly.serve.house import House
from dayfly.serve.vocabulary import shown_url
from dayfly.store import Event, State, Store, StoredItem, StoredSource

#: Events are looked at up to this age, in seconds; from so many on they teach.
WINDOW, FEWEST = 2 * 86400.0, 20
#: Items and events read, and sources changed, at a time: the store is needed elsewhere, too.
_PORTION, _CHANGED = 20_000, 1000
#: Events that are held in memory at most.
_MOST = 1_000_000


async def add(house: House, *, events: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Keep events, each [source or empty, link or key of the item, time, amount].

    Where no source is named, all sources that have an item with this link get the event.
    """
    known = Known(house.sources())
    wanted: set[str] = set()
    asked: list[tuple[int | None, str, float, float]] = []
    unknown = 0
    for number, given in enumerate(events, start=1):
        source, item, time, amount = _checked(given, number)
        row = known.row(source, source) if source else None
        if source and row is None:
            unknown += 1
            continue
        wanted.add(item)
        asked.append((row, item, time, amount))
    places: dict[str, list[StoredItem]] = {}

    def note(item: StoredItem) -> None:
        for name in {item.key, item.link} & wanted:
            places.setdefault(name, []).append(item)

    await _each_item(house, note)
    found: list[Event] = []
    for row, item, time, amount in asked:
        here = [one for one in places.get(item, ()) if row in (None, one.row)]
        unknown += not here
        found += [Event(row=one.row, key=one.key, time=time, amount=amount) for one in here]
    added = await house.with_store(lambda store: store.add_events(found)) if found else 0
    return {"added": added, "known": len(found) - added, "unknown": unknown}


async def learn(house: House) -> dict[str, Any]:
    """Worth and decay of every source from all events that are kept."""
    now, n = house.now(), len(house.sources())
    moments = await _moments(house)
    items = np.zeros(n)
    rows: list[int] = []
    ages: list[float] = []
    amounts: list[float] = []

    def note(item: StoredItem) -> None:
        born = _born(item)
        if born > now - WINDOW or item.row >= n or not moments.counts(item.key):
            return  # its two days are not over, or others speak for it
        items[item.row] += 1
        for time, amount in moments.of(item):
            age = time - born
            if 0 <= age <= WINDOW:
                rows.append(item.row)
                ages.append(age)
                amounts.append(amount)

    await _each_item(house, note)
    if len(rows) < FEWEST:
        return {"events": len(rows), "fewest": FEWEST, "learned": []}
    estimator = EventEstimator(n, WINDOW)
    # One event of amount 3 counts as three.
    estimator.items_ += items
    estimator.events_ += np.bincount(rows, amounts, minlength=n)
    estimator.ages_ += np.bincount(rows, np.multiply(amounts, ages), minlength=n)
    changes = await _change(house, estimator, items)
    return {
        "events": len(rows),
        "fewest": FEWEST,
        "learned": [
            {
                "id": shown_url(one.id),
                "worth": one.worth,
                "half_life_s": float(np.log(2) / one.decay),
                "events": float(estimator.events_[one.row]),
                "items": int(items[one.row]),
            }
            for one in changes
        ],
    }


async def _change(
    house: House, estimator: EventEstimator, items: np.ndarray[Any, Any]
) -> list[StoredSource]:
    """Give sources that have shown items what their events say."""
    decay, worth = estimator.decay(), estimator.worth()
    listed = np.array([source.worth for source in house.sources()[: len(items)]])
    worth *= float((listed * items).sum() / max((worth * items).sum(), 1e-300))
    rows = np.flatnonzero(items)
    changes: list[StoredSource] = []
    for first in range(0, len(rows), _CHANGED):
        # Made from what they are by now: an operator may have changed one between two portions.
        sources = [house.sources()[row] for row in rows[first : first + _CHANGED]]
        some = [
            replace(source, worth=float(worth[source.row]), decay=float(decay[source.row]))
            for source in sources
            if source.state != State.REMOVED
        ]
        await house.change(some)
        changes += some
    return changes


class _Moments:
    """When there was interest in which item; in every second one, or fourth, if it is too much."""

    def __init__(self) -> None:
        self._by_item: dict[tuple[int, str], list[tuple[float, float]]] = {}
        self._number, self._share = 0, 1

    def counts(self, key: str) -> bool:
        """Whether the item of this key is looked at."""
        return zlib.crc32(key.encode(errors="replace")) % self._share == 0

    def of(self, item: StoredItem) -> Sequence[tuple[float, float]]:
        """Time and amount of its events."""
        return self._by_item.get((item.row, item.key), ())

    def add(self, event: Event) -> None:
        """One more."""
        if not self.counts(event.key):
            return
        self._by_item.setdefault((event.row, event.key), []).append((event.time, event.amount))
        self._number += 1
        while self._number > _MOST:
            self._share *= 2
            self._by_item = {at: said for at, said in self._by_item.items() if self.counts(at[1])}
            self._number = sum(map(len, self._by_item.values()))


async def _moments(house: House) -> _Moments:
    """The events of items that are kept; older ones have nothing left to teach."""
    oldest = math.inf

    def note(item: StoredItem) -> None:
        nonlocal oldest
        oldest = min(oldest, _born(item))

    await _each_item(house, note)
    found = _Moments()
    if math.isinf(oldest):
        return found
    events = await house.with_store(lambda store: store.events(oldest))
    while portion := await house.with_store(lambda _: list(islice(events, _PORTION))):
        for event in portion:
            found.add(event)
    return found


def _born(item: StoredItem) -> float:
    return item.seen if item.published is None else min(item.published, item.seen)


async def _each_item(house: House, note: Callable[[StoredItem], None]) -> None:
    """Every stored item, a portion at a time."""
    last = 0
    while True:

        def read(store: Store, after: int = last) -> list[StoredItem]:
            return list(store.items(after=after, limit=_PORTION))

        portion = await house.with_store(read)
        for item in portion:
            note(item)
        if len(portion) < _PORTION:
            return
        last = portion[-1].number


def _checked(given: Sequence[Any], number: int) -> tuple[str, str, float, float]:
    match given:
        case [str(source), str(item), float() | int() as time, float() | int() as amount] if (
            item and 0 <= time < 1e11 and 0 < amount < 1e9
        ):
            return source, item, float(time), float(amount)
    raise BadInput(f"event {number}: needs [source, link or key, time, amount]")
