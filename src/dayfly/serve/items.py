"""Items as they are asked for: since when, from where, each once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dayfly.errors import BadInput
from dayfly.serve.directory import find
from dayfly.serve.house import House
from dayfly.serve.vocabulary import shown_item
from dayfly.store import Store, StoredItem

#: Items in one answer, and items looked at for it: the store is needed elsewhere, too.
_PORTION, _SCANNED = 1000, 20_000
#: So many links are remembered to tell whether one was seen; about 100 MB.
_REMEMBERED = 500_000


class Once:
    """Whether this item was met before, in whatever source: the same link, else the same key."""

    def __init__(self) -> None:
        self._met: dict[str, None] = {}

    def new(self, item: dict[str, Any]) -> bool:
        """True the first time."""
        identity = item["link"] or item["key"]
        if identity in self._met:
            return False
        self._met[identity] = None
        if len(self._met) > _REMEMBERED:
            del self._met[next(iter(self._met))]
        return True


async def items(
    house: House,
    *,
    since: float = 0.0,
    after: int = 0,
    limit: int | None = None,
    unique: bool = False,
    source: str | None = None,
    tag: str | None = None,
) -> dict[str, Any]:
    """Items first seen since then and numbered above `after`, in the order of their numbers.

    `last` is the number to go on after; `more` says whether there may be more by now.
    """
    most = _PORTION if limit is None else limit
    if most < 1:
        raise BadInput(f"limit must be at least 1, got {limit}")
    wanted = _wanted(house, source, tag)
    first_seen = Once()

    def read(store: Store) -> tuple[list[StoredItem], int, bool]:
        kept: list[StoredItem] = []
        last, looked = after, 0
        for item in store.items(since, after=after, limit=_SCANNED):
            last, looked = item.number, looked + 1
            if wanted(item.row):
                kept.append(item)
                if len(kept) >= most:
                    return kept, last, True
        return kept, last, looked == _SCANNED

    found, last, more = await house.with_store(read)
    sources = house.sources()
    shown = [shown_item(item, sources) for item in found]
    if unique:
        shown = [item for item in shown if first_seen.new(item)]
    return {"items": shown, "last": last, "more": more}


def _wanted(house: House, named: str | None, tag: str | None) -> Callable[[int], bool]:
    sources = house.sources()
    if named is not None:
        row = find(sources, named).row
        return lambda candidate: candidate == row
    if tag is not None:
        return lambda candidate: tag in sources[candidate].tags
    return lambda _: True
