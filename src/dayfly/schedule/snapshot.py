"""The whole scheduler in one file, to stop and carry on as if nothing had happened."""

from __future__ import annotations

import os

from dayfly.errors import BadInput
from dayfly.schedule.fileformat import REMEDY, dayfly_version, read_snapshot, write_snapshot
from dayfly.schedule.scheduler import Scheduler

_Path = str | os.PathLike[str]


def save(scheduler: Scheduler, path: _Path) -> None:
    """Write all that decides what this scheduler does next; an older file there is replaced.

    Other threads wait until it is written: the columns are the scheduler's own, not copies.
    """
    with scheduler._lock:
        write_snapshot(path, *scheduler.state())


def load(path: _Path) -> Scheduler:
    """The scheduler that was saved here; it decides as the other would have, bit for bit."""
    meta, arrays = read_snapshot(path)
    try:
        return Scheduler.from_state(meta, arrays)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(
            f"{path}: is whole, but not the snapshot of a scheduler as this Dayfly"
            f" ({dayfly_version()}) knows it ({type(error).__name__}: {error}); {REMEDY}"
        ) from error
