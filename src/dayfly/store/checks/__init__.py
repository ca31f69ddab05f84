"""What every store must satisfy, ours or a user's."""

from __future__ import annotations

from collections.abc import Callable

from dayfly.store.base import Store
from dayfly.store.checks import crawls, others, owners, sources


def check_store(make_store: Callable[[], Store]) -> None:
    """Raise AssertionError, naming the broken promise, unless new stores keep them all.

    `make_store()` must answer with a store that is still empty.

    >>> from dayfly.store import MemoryStore
    >>> check_store(MemoryStore)
    """
    for check in (*sources.CHECKS, *crawls.CHECKS, *owners.CHECKS, *others.CHECKS):
        store = make_store()
        try:
            check(store)
        finally:
            store.close()
