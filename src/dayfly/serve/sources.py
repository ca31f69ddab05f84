"""Operations on the list of sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from dayfly.errors import BadInput
from dayfly.serve.directory import find
from dayfly.serve.house import House
from dayfly.serve.vocabulary import (
    CHANGEABLE,
    changed,
    read_listing,
    shown_source,
    shown_visit,
    state_at,
)
from dayfly.store import Listing, State, StoredSource
from dayfly.store.pauses import is_pause, paused_over, without_pause

#: Sources in one answer, where nobody asks for another number.
_PORTION = 5000
#: Visits shown with a source.
_VISITS = 10


async def add(
    house: House,
    *,
    sources: Sequence[dict[str, Any]],
    update: bool = False,
    follow: bool = False,
) -> dict[str, Any]:
    """Take sources in. Known ones (by id or address) stay as they are, removed ones come back.

    With `update`, what is said about a known source and is not the default replaces what it has:
    a list leaves out what it has no word for. With `follow` the defaults count, too, as far as
    their keys are there. The address stays in any case: the source may have moved since.
    """
    listings = [read_listing(given) for given in sources]
    known, present = house.known(), house.sources()
    rows: list[int | None] = []
    new: dict[str, Listing] = {}
    changes: dict[int, StoredSource] = {}
    revived = 0
    for given, listing in zip(sources, listings, strict=True):
        house.admit(listing)
        row = known.row(listing.id, listing.url)
        rows.append(row)
        if row is None:
            new.setdefault(listing.id, listing)
            continue
        source = changes.get(row, present[row])
        if source.state == State.REMOVED:
            source = changed(source, _said(listing) | {"url": listing.url})
            changes[row] = replace(source, state=State.ACTIVE)
            revived += 1
        elif update or follow:
            said = _said(listing) if update else {name: getattr(listing, name) for name in given}
            if different := _different(source, said):
                changes[row] = changed(source, different)
    # Both follow at once upon what was looked at: nobody else has his turn before.
    places = dict(zip(new, await house.add(list(new.values())) if new else [], strict=True))
    if changes:
        await house.change(list(changes.values()))
    return {
        "added": len(new) + revived,
        "known": len(listings) - len(new) - revived,
        "rows": [
            places[listing.id] if row is None else row
            for listing, row in zip(listings, rows, strict=True)
        ],
    }


async def list_(
    house: House,
    *,
    tag: str | None = None,
    state: str | None = None,
    after: int = -1,
    limit: int | None = None,
) -> dict[str, Any]:
    """Sources in the order of their rows, removed ones only if asked for."""
    most = (_PORTION if house.loop is not None else None) if limit is None else limit
    shown: list[dict[str, Any]] = []
    sources = house.sources()
    for source in sources[after + 1 :]:
        if (state_at(source, house.now()) == state) if state else source.state != State.REMOVED:
            if tag is not None and tag not in source.tags:
                continue
            if most is not None and len(shown) >= most:
                return {"sources": shown, "next": shown[-1]["row"] if shown else after}
            shown.append(shown_source(source, house.now()))
    return {"sources": shown, "next": None}


async def show(house: House, *, source: str, visits: int = _VISITS) -> dict[str, Any]:
    """One source, and how its last visits ended, the newest first."""
    found = find(house.sources(), source)
    return shown_source(found, house.now()) | {
        "visits": await last_visits(house, found.row, visits)
    }


async def last_visits(house: House, row: int, number: int) -> list[dict[str, Any]]:
    """The last visits to a source, the newest first."""
    from collections import deque

    kept = await house.with_store(lambda store: deque(store.visits(row), maxlen=number))
    return [shown_visit(visit) for visit in reversed(kept)]


async def pause(house: House, *, source: str, until: float | None = None) -> dict[str, Any]:
    """Do not visit it until then, or until it is resumed."""
    found = _living(house, source)
    if until is None:
        return await _put(house, replace(found, state=State.PAUSED))
    if until <= house.now():
        raise BadInput("a pause must end in the future")
    if found.state is State.PAUSED:
        found = replace(found, state=State.ACTIVE)  # it was paused for good; this one has an end
    pending = found.not_before is not None and found.not_before > house.now()
    if pending and not is_pause(found.why_not):
        if found.not_before is not None and found.not_before >= until:
            return await _put(house, found)  # it rests for longer than that anyhow
        note = paused_over(found.not_before, found.why_not)
    else:
        note = found.why_not if pending else "paused"
    return await _put(house, replace(found, not_before=until, why_not=note))


async def resume(house: House, *, source: str) -> dict[str, Any]:
    """Visit it again: after a pause, or where it was gone or quarantined."""
    found = _living(house, source)
    put = replace(found, state=State.ACTIVE, gone_since=None, lost=0)
    # A pause may end early. What the source itself asked for before it may not.
    if is_pause(found.why_not):
        until, why = without_pause(found.why_not)
        put = replace(put, not_before=until, why_not=why)
    return await _put(house, put)


async def remove(house: House, *, source: str) -> dict[str, Any]:
    """Never visit it again. Its items stay until they expire."""
    return await _put(house, replace(_living(house, source), state=State.REMOVED))


async def change(house: House, *, source: str, **values: Any) -> dict[str, Any]:
    """Set some of its listed values."""
    if not values:
        raise BadInput(f"nothing to change; what can be changed: {', '.join(CHANGEABLE)}")
    put = changed(_living(house, source), values)
    house.admit(put)
    return await _put(house, put)


def _living(house: House, named: str) -> StoredSource:
    found = find(house.sources(), named)
    if found.state == State.REMOVED:
        raise BadInput(f"source {named!r} was removed; dayfly sources add brings it back")
    return found


async def _put(house: House, source: StoredSource) -> dict[str, Any]:
    await house.change([source])
    return shown_source(source, house.now())


def _said(listing: Listing) -> dict[str, Any]:
    """What a listing says beyond the defaults."""
    usual = Listing(id=listing.id, url=listing.url)
    return {
        name: getattr(listing, name)
        for name in CHANGEABLE
        if name != "url" and getattr(listing, name) != getattr(usual, name)
    }


def _different(source: StoredSource, said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a source and is not so; its address is its own."""
    return {
        name: value
        for name, value in said.items()
        if name in CHANGEABLE and name != "url" and getattr(source, name) != value
    }
