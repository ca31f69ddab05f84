"""Whether a file is whole: the pages as SQLite sees them, and what must hold between our tables."""

from __future__ import annotations

import sqlite3

from dayfly.store.migrate import migrate, teach

#: Each query counts what must not be there.
_BROKEN = {
    "rows of sources do not count up from 0": "SELECT max(row) + 1 <> count(*) FROM source",
    "items of sources that do not exist": "SELECT count(*) FROM item WHERE row NOT IN "
    "(SELECT row FROM source)",
    "visits to sources that do not exist": "SELECT count(*) FROM visit WHERE row NOT IN "
    "(SELECT row FROM source)",
    "claims of sources that do not exist": "SELECT count(*) FROM claim WHERE row NOT IN "
    "(SELECT row FROM source)",
    "claims under a fence that was never given": "SELECT count(*) FROM claim WHERE fence > "
    "(SELECT fence FROM owner)",
    "items numbered above the count": "SELECT count(*) FROM item WHERE number > "
    "(SELECT items FROM owner)",
    "items whose key is not known": "SELECT count(*) FROM item WHERE NOT EXISTS (SELECT 1 FROM "
    "known WHERE known.row = item.row AND known.hash = hash_of(item.key))",
    "beliefs that cannot be read": "SELECT count(*) FROM source WHERE estimate_time IS NOT NULL "
    "AND (estimate_memory IS NULL OR length(estimate_memory) % 8 <> 0)",
}
#: Stop after so many damaged places.
_ENOUGH = 20


def find_problems(db: sqlite3.Connection) -> list[str]:
    """All that is wrong, in words; nothing if all is well."""
    strange = _parts(db) ^ _our_parts()
    if strange:
        # Queries would fail; and a trigger that is not ours could undo what we write.
        named = ", ".join(sorted(f"{kind} {name}" for kind, name in strange))
        return [f"parts that are missing or not ours: {named}"]
    found = [str(line) for (line,) in db.execute(f"PRAGMA integrity_check({_ENOUGH})")]
    if found != ["ok"]:
        return found
    teach(db)
    problems = []
    for words, query in _BROKEN.items():
        ((count,),) = db.execute(query)
        if count:
            problems.append(f"{words}: {count}")
    return problems


def _parts(db: sqlite3.Connection) -> set[tuple[str, str]]:
    """Tables, indices, views and triggers, without those that SQLite makes itself."""
    rows = db.execute(
        "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'"
    )
    return {(str(kind), str(name)) for kind, name in rows}


def _our_parts() -> set[tuple[str, str]]:
    new = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(new, "a new store")
        return _parts(new)
    finally:
        new.close()
