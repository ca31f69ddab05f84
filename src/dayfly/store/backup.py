"""Copies of a store: made while crawls go on, checked before they take a name."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from dayfly.errors import StoreError
from dayfly.store.database import Database, sync
from dayfly.store.integrity import find_problems
from dayfly.store.lock import owned
from dayfly.store.migrate import APPLICATION, find_version, migrate
from dayfly.store.troubles import cannot_be_written, uncopied

#: Pages copied at a time, and the pause in which whoever waits may write, seconds.
_STEP = 256
_PAUSE = 0.001
#: Counts in a damaged file may be anything.
_BELIEVED = 1 << 53
#: Read the file alone, and touch neither it nor its folder.
_UNTOUCHED = "mode=ro&immutable=1"
#: What is said where a copy came to nothing.
_NO_BACKUP, _NO_CHANGE = "no backup was made", "nothing was changed"


def back_up(file: Database, path: str | os.PathLike[str]) -> None:
    """Write a copy of an open store, as it is at the end; it replaces an earlier copy."""
    target = Path(os.path.realpath(path))
    if target == Path(os.path.realpath(file.path)):
        raise StoreError(f"{path} is the store itself; name another file")
    if target.exists() and not _is_ours(target):
        raise StoreError(f"{path} is there and is no backup of Dayfly; name another file")
    if os.path.exists(f"{target}-wal"):
        raise StoreError(f"{path} is a store that is in use; name another file")

    def give_way(_status: int, _remaining: int, _total: int) -> None:
        # What is written meanwhile, through the same connection, goes into the copy too.
        with file.given_away():
            time.sleep(_PAUSE)

    with _draft(target, _NO_BACKUP) as draft:
        with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as copy:
            with file.reading() as db:
                try:
                    db.backup(copy, pages=_STEP, progress=give_way)
                except sqlite3.Error as error:
                    if cannot_be_written(error):
                        raise uncopied(target, error, _NO_BACKUP) from error
                    raise
            _settle(copy, None)
            _refuse_if_damaged(draft, copy)
        _put(draft, target)


def restore(backup: str | os.PathLike[str], path: str | os.PathLike[str]) -> Path | None:
    """Put a backup in the place of a store that nobody owns.

    The backup is only read. The answer is the name under which the earlier file was kept.
    """
    source, target = Path(os.path.realpath(backup)), Path(os.path.realpath(path))
    if source == target:
        raise StoreError(f"{backup} is the store itself; name a backup")
    with owned(path), _draft(target, _NO_CHANGE) as draft:
        _copy(backup, source, draft, _left(target))
        aside = _put_aside(target)
        _put(draft, target)
    return aside


def _copy(said: str | os.PathLike[str], source: Path, draft: Path, left: _Left) -> None:
    """A checked copy of a backup, brought to our schema."""
    if source.is_dir():
        raise StoreError(f"{said} is a folder; name a file that `dayfly backup` has written")
    if not source.is_file():
        raise StoreError(f"{said} is not there; name a file that `dayfly backup` has written")
    if os.path.exists(f"{source}-wal") and os.path.getsize(f"{source}-wal"):
        raise StoreError(
            f"{said} is a store that is in use or was not closed, not a backup; make one of it "
            f"with `dayfly backup`"
        )
    try:
        with (
            contextlib.closing(_read_only(source)) as original,
            contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as copy,
        ):
            if find_version(original, said) == 0:
                raise StoreError(f"{said} is empty; name a file that `dayfly backup` has written")
            original.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            migrate(copy, said)
            ((was_open,),) = copy.execute("SELECT opened FROM owner")
            if was_open:
                raise StoreError(
                    f"{said} is a copy of a store that was not closed, and its log is missing; "
                    f"name a file that `dayfly backup` has written"
                )
            _settle(copy, left)
            _refuse_if_damaged(said, copy)
    except sqlite3.Error as error:
        if cannot_be_written(error):
            raise
        raise StoreError(
            f"{said} is no backup that could be used ({error}); {_NO_CHANGE}; name a file that "
            f"`dayfly backup` has written"
        ) from error


def _settle(copy: sqlite3.Connection, left: _Left | None) -> None:
    """Make the copy one file that was closed, without visits under way."""
    copy.execute("PRAGMA journal_mode = DELETE")
    copy.execute("BEGIN IMMEDIATE")
    copy.execute("UPDATE owner SET opened = 0")
    copy.execute("DELETE FROM claim")
    if left is not None:
        # Whoever owned the earlier file must not be taken for the owner of this one, and a number
        # that was told of one item must not be given to another.
        copy.execute(
            "UPDATE owner SET fence = max(fence, ?) + 1, items = max(items, ?)",
            (left.fence, left.items),
        )
    copy.execute("COMMIT")


def _refuse_if_damaged(said: str | os.PathLike[str], copy: sqlite3.Connection) -> None:
    problems = find_problems(copy)
    if problems:
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise StoreError(f"{said} is damaged: {problems[0]}{more}; nothing was put in place")


class _Left(NamedTuple):
    """What the file that is to be replaced had counted."""

    fence: int
    items: int


def _left(target: Path) -> _Left:
    """The counts of the file that is to be replaced, as far as they can be read.

    If it was not closed, the last ones are in its log alone; without the log it may still be read
    where the log cannot.
    """
    fences, items = [0], [0]
    for options in ("mode=ro", _UNTOUCHED):
        fences += _counts(target, options, "SELECT fence FROM owner")
        items += _counts(target, options, "SELECT items FROM owner")
        # The first schema did not count them.
        items += _counts(target, options, "SELECT max(number) FROM item")
    return _Left(max(fences), max(items))


def _counts(target: Path, options: str, query: str) -> list[int]:
    """What a file answers, if it can, and as far as that can be believed."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_read_only(target, options)) as db:
        return [n for (n,) in db.execute(query) if isinstance(n, int) and n < _BELIEVED]
    return []


def _put_aside(target: Path) -> Path | None:
    """Keep the earlier file and its log under another name; the file stays in place, too.

    Without its log the file is refused if it needs one, so a process that dies here leaves nothing
    that could be taken for a whole store and is none.
    """
    if not target.exists():
        aside = None
    else:
        names = (target.with_name(f"{target.name}.before-restore-{n}") for n in range(1, 10**6))
        aside = next(name for name in names if not os.path.lexists(name))
        os.link(target, aside)
    log = Path(f"{target}-wal")
    if log.exists():
        if aside is None:
            log.unlink()
        else:
            log.rename(f"{aside}-wal")
    Path(f"{target}-shm").unlink(missing_ok=True)
    return aside


@contextlib.contextmanager
def _draft(target: Path, outcome: str) -> Iterator[Path]:
    """An empty file beside the target, for its owner's eyes only, gone at the end.

    `outcome` is what came of it where it cannot be written.
    """
    draft = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise uncopied(target, error, outcome) from error
    try:
        yield draft
    except (sqlite3.Error, OSError) as error:
        raise uncopied(target, error, outcome) from error
    finally:
        for name in (draft, f"{draft}-journal", f"{draft}-wal", f"{draft}-shm"):
            Path(name).unlink(missing_ok=True)


def _put(draft: Path, target: Path) -> None:
    """Give the draft its name, for good."""
    sync(draft)
    os.replace(draft, target)
    sync(target.parent)


def _read_only(path: Path, options: str = _UNTOUCHED) -> sqlite3.Connection:
    """Open it without writing to it; as it is without its log, unless other options are given."""
    return sqlite3.connect(f"file:{quote(str(path))}?{options}", uri=True, isolation_level=None)


def _is_ours(path: Path) -> bool:
    """Whether the file is empty or says that it is a store of ours."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        start = file.read(72)
        return not start or start[68:72] == APPLICATION.to_bytes(4, "big")
    return False
