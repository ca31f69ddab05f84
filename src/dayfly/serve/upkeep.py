"""Operations on the database itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dayfly.errors import BadInput
from dayfly.serve.house import House
from dayfly.store import SqliteStore, Store


async def backup(house: House, *, path: str) -> dict[str, Any]:
    """A consistent copy of the database at this path, while the crawl goes on."""
    target = Path(path)
    if not target.is_absolute():
        raise BadInput(f"{path}: must be an absolute path; we may work in different folders")
    if target.is_dir():
        raise BadInput(f"{path}: is a folder, not a file")
    store = await house.with_store(lambda store: store)
    if not isinstance(store, SqliteStore):
        raise BadInput("a store in memory has nothing to copy")
    # It lets the crawl write in between, so it must not sit in the thread that does.
    await house.aside(lambda: store.backup(target))
    return {"path": path, "size_bytes": target.stat().st_size}


async def status(house: House) -> dict[str, Any]:
    """Who answers."""
    return {"pid": os.getpid(), "running": house.loop is not None, "now_at": house.now()}


async def check(house: House) -> dict[str, Any]:
    """What is wrong inside the database; takes a while, so only where nobody crawls."""
    if house.loop is not None:
        raise BadInput("not while a crawler runs; check a backup instead")

    def look(store: Store) -> list[str]:
        return store.check() if isinstance(store, SqliteStore) else []

    return {"problems": await house.with_store(look)}
