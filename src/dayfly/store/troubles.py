"""Errors of the file in words: what happened, and what to do."""

from __future__ import annotations

import sqlite3
from os import PathLike

from dayfly.errors import StoreError

#: By the primary code of SQLite, which is the lowest byte of the extended one.
_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full; nothing was written; make room, and it goes on",
    sqlite3.SQLITE_IOERR: "the disk does not take or give the data; nothing was written; see "
    "whether it is full, limited or failing",
    sqlite3.SQLITE_READONLY: "the file may not be written; see its permissions and its folder's",
    sqlite3.SQLITE_PERM: "the file may not be used; see its permissions",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; see that its folder exists and that you "
    "may write to both",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; put a backup in its place with `dayfly restore`",
    sqlite3.SQLITE_NOTADB: "this is no database, or a damaged one; name another file, or put a "
    "backup in its place with `dayfly restore`",
    sqlite3.SQLITE_BUSY: "another program is using the file and does not let go of it",
    sqlite3.SQLITE_LOCKED: "another program is using the file and does not let go of it",
}


#: Reading failed: of a copy, that is about what is copied.
_READ = (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ)


def cannot_be_written(error: sqlite3.Error) -> bool:
    """Whether this is about where a copy goes, not about what is copied."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    primary = code & 0xFF
    if primary == sqlite3.SQLITE_IOERR:
        return code not in _READ
    return primary in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY)


def uncopied(target: str | PathLike[str], error: Exception, outcome: str) -> StoreError:
    """The error of a file that was to be written whole; what came of it instead."""
    said = error.strerror or error if isinstance(error, OSError) else error
    advice = "see that there is room and that you may write there, or name another place"
    return StoreError(f"{target}: {said}; {outcome}; {advice}")


def told(path: str | PathLike[str], error: Exception) -> StoreError:
    """The error as ours, with the name of the file; it quotes nothing that is stored."""
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        advice = None if code is None else _ADVICE.get(code & 0xFF)
        return StoreError(f"{path}: {error}" + (f" ({advice})" if advice else ""))
    if isinstance(error, OSError):
        return StoreError(f"{path}: {error.strerror or error}")
    # Python refuses to hand a value over: text that is not Unicode, a number beyond 64 bits. Its
    # message may quote the value, which may be a secret.
    return StoreError(f"{path}: a value cannot be stored ({type(error).__name__}); nothing written")
