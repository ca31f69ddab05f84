"""Which source is meant: by id, by address, by title, or by the beginning of id or address."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dayfly.errors import BadInput, UnknownName
from dayfly.serve.vocabulary import shown_url
from dayfly.store import State, StoredSource

#: Sources named where a beginning fits several, and names among which the nearest is sought.
_TOLD, _SEARCHED = 3, 2000
#: Seconds for which an index is kept for the next portion of an import.
_KEPT = 5.0


def find(sources: Sequence[StoredSource], named: str) -> StoredSource:
    """The one source of this name; removed ones only by their whole id or address."""
    if not isinstance(named, str) or not named:
        raise BadInput("which source? Give its title, or the beginning of its id or address")
    named = shown_url(named)
    near: list[StoredSource] = []
    called: list[StoredSource] = []
    exact: StoredSource | None = None
    removed: StoredSource | None = None
    for source in sources:
        if named in (source.id, source.url, shown_url(source.url)):
            if source.state != State.REMOVED:
                return source
            exact = exact or source
        elif _begins(source, named) or source.name == named:
            if source.state == State.REMOVED:
                removed = source
            else:
                (called if source.name == named else near).append(source)
    if exact is not None:
        return exact
    for several, what in ((called, "the title"), (near, "the beginning")):
        if len(several) == 1:
            return several[0]
        if several:
            shown = ", ".join(shown_url(source.id) for source in several[:_TOLD])
            more = f" and {len(several) - _TOLD} more" if len(several) > _TOLD else ""
            raise BadInput(f"{named!r} is {what} of several sources: {shown}{more}")
    if not sources:
        raise BadInput(f"there is no source {named!r}, nor any other: dayfly sources add URL")
    if removed is not None:
        raise BadInput(
            f"source {shown_url(removed.id)!r} was removed; dayfly sources add brings it back"
        )
    living = [source for source in sources[:_SEARCHED] if source.state != State.REMOVED]
    known = [shown_url(source.id) for source in living]
    try:
        raise UnknownName("source", named, known)
    except UnknownName as error:
        if "did you mean" in str(error):
            raise
    raise BadInput(f"unknown source {named!r}; dayfly sources list shows all")


def _begins(source: StoredSource, named: str) -> bool:
    """People leave out the scheme and the www."""
    url = source.url.partition("://")[2]
    return (
        source.id.startswith(named)
        or source.url.startswith(named)
        or url.startswith(named)
        or url.removeprefix("www.").startswith(named)
    )


class Known:
    """Ids and addresses that are taken, for imports of any length.

    A long import comes in portions, and the index is made for its first one: `of` keeps it for a
    few seconds. What is added meanwhile is noted; whoever changes an address drops the index. A
    move that a visit finds is not a new source in any case, because ids stay.
    """

    def __init__(self, sources: Sequence[StoredSource]) -> None:
        self._sources = sources
        self._ids: dict[str, int] = {}
        self._urls: dict[str, int] = {}
        self._seen = 0
        self._made = time.monotonic()
        self._read_on()

    @classmethod
    def of(cls, sources: Sequence[StoredSource], before: Known | None) -> Known:
        """The index of these sources; the one before, if it is of the same ones and not old."""
        if before is None or before._sources is not sources or before._age > _KEPT:
            return cls(sources)
        before._read_on()
        return before

    def row(self, id: str, url: str) -> int | None:
        """The source that has this id or address."""
        found = self._ids.get(id)
        return self._urls.get(url) if found is None else found

    def _note(self, source: StoredSource) -> None:
        """This source has this address."""
        self._ids[source.id] = source.row
        # A removed source does not stand in the way of a living one with its address.
        if source.state != State.REMOVED or source.url not in self._urls:
            self._urls[source.url] = source.row

    @property
    def _age(self) -> float:
        return time.monotonic() - self._made

    def _read_on(self) -> None:
        """Rows count up, so new ones are at the end."""
        for row in range(self._seen, len(self._sources)):
            self._note(self._sources[row])
        self._seen = len(self._sources)
