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

    The lock is on PATH.lock, which is taken away at the end. If it stays behind, because its holder
    was killed, it means nothing by itself: the kernel has taken the lock back.
    """
    process = os.getpid()
    name = f"{os.path.realpath(path)}.lock"
    descriptor = _locked(path, name)
    try:
        # For those who come second. A full disk need not take it: that is told by who writes more.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{process}\n".encode(), 0)
        yield
    finally:
        if os.getpid() == process:
            with contextlib.suppress(OSError):
                # While it is still held: whoever has it open sees that it is no longer the one.
                if _is_at(name, descriptor):
                    os.unlink(name)
            _release(descriptor)


def _locked(path: str | os.PathLike[str], name: str) -> int:
    """The descriptor of a lock that is held, and that others find under this name."""
    while True:
        try:
            descriptor = os.open(name, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError as error:
            raise StoreError(f"{path}: its folder is not there; make it first") from error
        except OSError as error:
            said = f"{path} cannot be locked: {name}: {error.strerror or error}"
            raise StoreError(said) from error
        _held.add(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(name, descriptor):
                return descriptor
            _release(descriptor)  # the owner before us took it away after we had opened it
        except BlockingIOError:
            said = f"{path} is owned by {_holder(descriptor)}"
            _release(descriptor)
            raise StoreError(said) from None
        except OSError as error:
            _release(descriptor)
            raise StoreError(f"{path} cannot be locked: {error.strerror or error}") from error
        except BaseException:  # Ctrl-C: nobody would be left to give it back
            _release(descriptor)
            raise


def _is_at(name: str, descriptor: int) -> bool:
    """Whether this open file is the one of this name."""
    try:
        return os.path.samestat(os.lstat(name), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _release(descriptor: int) -> None:
    _held.discard(descriptor)
    with contextlib.suppress(OSError):
        # A child that was forked just now has not closed its own yet.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _holder(descriptor: int) -> str:
    """Who wrote into the lock; it may be about to."""
    said = os.pread(descriptor, 20, 0).strip()
    return f"process {int(said)}" if said.isdigit() else "another process"
