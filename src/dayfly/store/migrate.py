"""Which schema a file has, and the steps from any that we know to ours."""

from __future__ import annotations

import importlib.resources
import re
import sqlite3
from collections.abc import Iterator
from os import PathLike

from dayfly.errors import SchemaMismatch
from dayfly.store.keys import hashes

#: Marks the file as ours: "Dfly".
APPLICATION = 0x44666C79
#: The schema of this version; earlier ones are brought up to it, any other is refused.
VERSION = 3
OLDEST = 1


def find_version(db: sqlite3.Connection, path: str | PathLike[str]) -> int:
    """The schema of the file, 0 if it is still empty; any other file is left alone."""
    ((application,),) = db.execute("PRAGMA application_id")
    ((version,),) = db.execute("PRAGMA user_version")
    ((tables,),) = db.execute("SELECT count(*) FROM sqlite_schema")
    if (application, version, tables) == (0, 0, 0):
        return 0
    if application != APPLICATION:
        raise SchemaMismatch(f"{path} is not a Dayfly store; name another file")
    if not OLDEST <= version <= VERSION:
        raise SchemaMismatch(
            f"{path} has schema {version}; this version of Dayfly reads {OLDEST} to {VERSION}, "
            f"use the one that wrote it"
        )
    return int(version)


def migrate(db: sqlite3.Connection, path: str | PathLike[str]) -> None:
    """Bring the file to our schema, step by step.

    A step is one transaction that ends with the new version, so a process that dies leaves the
    file at one of the steps and the next one goes on from there.
    """
    teach(db)
    for step in range(find_version(db, path) + 1, VERSION + 1):
        db.execute("BEGIN IMMEDIATE")
        try:
            # Somebody else may have taken the step while we waited for the lock.
            if find_version(db, path) == step - 1:
                for statement in statements(f"{step:03}.sql"):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION}")
                db.execute(f"PRAGMA user_version = {step}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def teach(db: sqlite3.Connection) -> None:
    """Let SQL use our hash of keys."""
    db.create_function("hash_of", 1, lambda key: hashes([key])[0], deterministic=True)


def statements(name: str) -> Iterator[str]:
    """The statements of one of our SQL files, one by one."""
    lines: list[str] = []
    for line in _text(name).splitlines(keepends=True):
        lines.append(line)
        if sqlite3.complete_statement("".join(lines)):
            yield "".join(lines)
            lines.clear()


def queries() -> dict[str, str]:
    """The named queries of queries.sql."""
    parts = re.split(r"^-- (\w+): .*\n", _text("queries.sql"), flags=re.MULTILINE)
    return {name: query.strip() for name, query in zip(parts[1::2], parts[2::2], strict=True)}


def _text(name: str) -> str:
    return importlib.resources.files("dayfly.store").joinpath("sql", name).read_text("utf-8")
