"""One process owns a file: a lock that dies with its owner."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from dayfly.errors import StoreError

#: Descriptors of locks that this process holds.
_held: set[int] = set()


def _let_go() -> None:
    """Close them in a forked child: it would keep the lock when its parent is dead."""
    for descriptor in _held:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_let_go)


@contextlib.contextmanager
def owned(path: str | os.PathLike[str]) -> Iterator[None]:
    """Own the store at this path during the block; whoever comes second is told who was first.

    The lock is on PATH.lock. The file stays behind and means nothing by itself: the kernel takes
    the lock back when its holder ends, however it ends.
    """
    process = os.getpid()
    name = f"{os.path.realpath(path)}.lock"
    try:
        descriptor = os.open(name, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StoreError(f"{path} cannot be locked: {name}: {error.strerror or error}") from error
    _held.add(descriptor)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{path} is owned by {_holder(descriptor)}") from None
        except OSError as error:
            raise StoreError(f"{path} cannot be locked: {error.strerror or error}") from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{process}\n".encode(), 0)
        yield
    finally:
        if os.getpid() == process:
            _held.discard(descriptor)
            with contextlib.suppress(OSError):
                # A child that was forked just now has not closed its own yet.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _holder(descriptor: int) -> str:
    """Who wrote into the lock; it may be about to."""
    said = os.pread(descriptor, 20, 0).strip()
    return f"process {int(said)}" if said.isdigit() else "another process"
