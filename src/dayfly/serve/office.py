"""Everything that can be asked of a crawler, running or not; every answer is plain JSON.

==================  ==============================================================================
operation           arguments → answer
==================  ==============================================================================
``sources.add``     sources: [listing as dict], update?, follow? → {added, known, rows}; of all
``sources.list``    tag?, state?, after?, limit? → {sources: […], next}
``sources.show``    source → the source and its last visits
``sources.pause``   source, until? → the source
``sources.resume``  source → the source; also revives what is gone or quarantined
``sources.remove``  source → the source
``sources.change``  source, and any listed value but id → the source
``discover``        url, allow?, contact? → {feeds: [{url, title, kind}]}: feeds of a web page
``items``           since?, after?, limit?, unique?, source?, tag? → {items: […], last, more}
``refresh``         source → {id, name, visit_at, held_by}
``explain``         source, budget_per_s? → what we believe, and why it waits
``stats``           seconds? → totals, and who needs a look
``events.add``      events: [[source or link, key, time, amount]] → {added, known, unknown}
``events.learn``    → {learned: […]}: worth and decay from all events
``check``           → {problems: […]}; not while a crawler runs
``backup``          path → {path, size_bytes}
``plan``            seconds?, budget_per_s?, limit? → {visits: […], …}: what comes, and why
``status``          → {pid, running, now_at}
==================  ==============================================================================

`source` is an id, an address, a title, or the beginning of the first two that no other has.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from dayfly.errors import BadInput, StoreError, UnknownName
from dayfly.serve import discovering, happenings, items, looking, sources, upkeep
from dayfly.serve.house import House, StillHouse
from dayfly.serve.remote import answering
from dayfly.serve.wire import beside
from dayfly.store import SqliteStore
from dayfly.store.lock import owned

#: Seconds to wait for a database that somebody has for a moment.
_PATIENCE = 5.0

Operation = Callable[..., Coroutine[Any, Any, dict[str, Any]]]

OPERATIONS: Mapping[str, Operation] = {
    "sources.add": sources.add,
    "sources.list": sources.list_,
    "sources.show": sources.show,
    "sources.pause": sources.pause,
    "sources.resume": sources.resume,
    "sources.remove": sources.remove,
    "sources.change": sources.change,
    "discover": discovering.discover,
    "items": items.items,
    "refresh": looking.refresh,
    "explain": looking.explain,
    "stats": looking.stats,
    "plan": looking.plan,
    "events.add": happenings.add,
    "events.learn": happenings.learn,
    "backup": upkeep.backup,
    "check": upkeep.check,
    "status": upkeep.status,
}


class Asked(Protocol):
    """Something that answers: an office here, or one in another process."""

    def ask(self, what: str, **arguments: Any) -> Any:
        """The answer to one operation."""
        ...


class Office:
    """All operations, on a house."""

    def __init__(self, house: House) -> None:
        self.house = house

    def ask(self, what: str, **arguments: Any) -> Any:
        """The answer, where the house is at rest: nothing in it has to be waited for."""
        task = self.answer(what, arguments)
        try:
            task.send(None)
        except StopIteration as done:
            return done.value
        task.close()
        raise RuntimeError(f"{what}: a crawler is at work here; ask on its loop")

    async def answer(self, what: str, arguments: Mapping[str, Any]) -> Any:
        """The answer, on the loop's thread; raises `DayflyError` where it cannot be given."""
        operation = OPERATIONS.get(what)
        if operation is None:
            raise UnknownName("operation", what, OPERATIONS)
        try:
            inspect.signature(operation).bind(self.house, **arguments)
        except TypeError as error:
            raise BadInput(f"{what}: {error}") from None
        return await operation(self.house, **arguments)


@contextmanager
def reach(db: str | Path, *, create: bool = False) -> Iterator[Asked]:
    """The office of this database: the running owner's, or one of our own while there is none.

    With `create` a database that does not exist yet is made; else it is an error.
    """
    path = Path(db)
    give_up = time.monotonic() + _PATIENCE
    while True:
        remote = answering(path)
        if remote is not None:
            with remote:
                yield remote
            return
        if not create and not path.exists():
            raise StoreError(f"{path}: there is no such database; dayfly sources add makes one")
        try:
            with ExitStack() as stack:
                stack.enter_context(owned(beside(path, "")))
                kept = stack.pop_all()
            break
        except StoreError as error:
            # It has an owner that does not answer yet, or another command is at it. Where the
            # folder is to blame, there is nothing to wait for.
            if time.monotonic() > give_up or isinstance(error.__cause__, OSError):
                raise
            time.sleep(0.1)
    with kept:
        store = SqliteStore(path)
        kept.callback(store.close)
        yield Office(StillHouse(store))
