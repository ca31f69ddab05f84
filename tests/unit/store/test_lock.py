"""Who owns a file."""

import contextlib
import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from dayfly.errors import StoreError
from dayfly.store import owned

HOLD = """
import sys, time
sys.path[:0] = sys.argv[2:]
from dayfly.store.lock import owned
with owned(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_D10_a_second_process_is_told_who_owns_the_file(tmp_path):
    path = tmp_path / "s.db"
    program = [sys.executable, "-c", HOLD, str(path), *sys.path]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(StoreError, match=f"owned by process {holder.pid}"), owned(path):
                raise AssertionError
        finally:
            holder.kill()
    assert holder.returncode == -signal.SIGKILL
    with owned(path):  # a lock dies with its holder, however that one died
        pass


def test_D04_one_process_cannot_own_a_file_twice(tmp_path):
    with owned(tmp_path / "s.db"):
        with pytest.raises(StoreError, match=f"process {os.getpid()}"), owned(tmp_path / "s.db"):
            raise AssertionError
        with owned(tmp_path / "other.db"):
            pass
    with owned(tmp_path / "s.db"):
        pass


def test_D11_a_forked_child_does_not_keep_the_lock(tmp_path):
    """The parent lets go, and the child, which inherited everything, is still there."""
    read, write = os.pipe()
    with owned(tmp_path / "s.db"):
        child = os.fork()
        if child == 0:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
    try:
        with owned(tmp_path / "s.db"):
            pass
    finally:
        os.close(read)
        os.close(write)
        os.waitpid(child, 0)


FORK = """
import os, sys, time
sys.path[:0] = sys.argv[2:]
from dayfly.store.lock import owned
with owned(sys.argv[1]):
    if os.fork() == 0:
        print(os.getpid(), flush=True)
    time.sleep(60)
    os._exit(0)
"""


def test_D11_a_forked_child_does_not_keep_the_lock_of_a_parent_that_was_killed(tmp_path):
    """The dead let go of nothing themselves: whoever inherited the open file would hold it."""
    path = tmp_path / "s.db"
    program = [sys.executable, "-c", FORK, str(path), *sys.path]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as holder:
        child = int(holder.stdout.readline())
        try:
            with pytest.raises(StoreError, match=f"process {holder.pid}"), owned(path):
                raise AssertionError
            holder.kill()
            holder.wait()
            os.kill(child, 0)  # it is still there
            with owned(path):
                pass
        finally:
            os.kill(child, signal.SIGKILL)


def test_D11_a_child_that_has_not_closed_its_own_yet_does_not_keep_the_lock(tmp_path):
    """Forked just now, it has the open file still, and with it whatever lock is on that."""
    from dayfly.store import lock

    with owned(tmp_path / "s.db"):
        (descriptor,) = lock._held
        childs = os.dup(descriptor)  # as a fork does
        os.link(tmp_path / "s.db.lock", tmp_path / "same file")
    try:
        with open(tmp_path / "same file") as opened_anew:
            fcntl.flock(opened_anew, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(childs)


def test_a_child_that_leaves_the_block_closes_nothing_of_its_own(tmp_path):
    with owned(tmp_path / "s.db"):
        child = os.fork()
        if child != 0:
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
        else:
            opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
    if child == 0:
        try:
            for descriptor in opened:
                os.fstat(descriptor)
        except OSError:
            os._exit(1)
        os._exit(0)


def test_one_of_many_threads_gets_it(tmp_path):
    got, refused = [], []
    start, end = threading.Barrier(8), threading.Event()

    def compete():
        start.wait()
        try:
            with owned(tmp_path / "s.db"):
                got.append(1)
                end.wait()
        except StoreError:
            refused.append(1)
        if len(refused) == 7:
            end.set()

    threads = [threading.Thread(target=compete) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(got), len(refused)) == (1, 7)


def test_the_lock_is_for_its_owner_only_and_follows_the_file(tmp_path):
    (tmp_path / "real.db").touch()
    (tmp_path / "link.db").symlink_to("real.db")
    with owned(tmp_path / "link.db"):
        assert stat.S_IMODE((tmp_path / "real.db.lock").stat().st_mode) == 0o600
        with pytest.raises(StoreError, match="owned"), owned(tmp_path / "real.db"):
            raise AssertionError
    with pytest.raises(StoreError, match="nowhere"), owned(tmp_path / "nowhere" / "s.db"):
        raise AssertionError


def test_a_lock_without_a_number_is_told_too(tmp_path):
    with owned(tmp_path / "s.db"):
        (tmp_path / "s.db.lock").write_bytes(b"\x1b[31mx")
        with pytest.raises(StoreError, match="owned by another process"), owned(tmp_path / "s.db"):
            raise AssertionError


def test_the_file_of_the_lock_is_taken_away_and_one_that_was_is_no_lock(tmp_path, monkeypatch):
    path, lock = tmp_path / "s.db", tmp_path / "s.db.lock"
    with owned(path):
        assert lock.exists()
    assert list(tmp_path.iterdir()) == []
    opened, flock = [], fcntl.flock

    def late(descriptor, how):
        """The owner before us leaves between our opening of the file and our locking it."""
        if how != fcntl.LOCK_UN:
            opened.append(descriptor)
            if len(opened) == 1:
                lock.unlink()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with owned(path):
        assert len(opened) == 2
        with pytest.raises(StoreError, match="is owned by"), owned(path):
            raise AssertionError
    assert list(tmp_path.iterdir()) == []


def test_D10_an_interrupt_while_locking_gives_the_lock_back(tmp_path, monkeypatch):
    from dayfly.store import lock

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(lock, "_is_at", interrupted)
        with pytest.raises(KeyboardInterrupt), owned(tmp_path / "s.db"):
            raise AssertionError
    with owned(tmp_path / "s.db"):
        pass


def test_D10_a_lock_is_no_way_to_write_into_another_file(tmp_path):
    """Whoever may write into the folder could lay a link there, and have its target emptied."""
    other = tmp_path / "other"
    other.write_text("kept")
    (tmp_path / "s.db.lock").symlink_to(other)
    with (
        pytest.raises(StoreError, match=r"cannot be locked: .*s\.db\.lock"),
        owned(tmp_path / "s.db"),
    ):
        raise AssertionError
    assert other.read_text() == "kept"


def test_D10_who_leaves_takes_only_the_own_lock_away(tmp_path):
    """Somebody tidied up the folder, and somebody else came."""
    path, lock = tmp_path / "s.db", tmp_path / "s.db.lock"
    with contextlib.ExitStack() as second:
        with owned(path):
            lock.unlink()
            second.enter_context(owned(path))
        assert lock.exists()
        with pytest.raises(StoreError, match="is owned by"), owned(path):
            raise AssertionError
    assert list(tmp_path.iterdir()) == []


def test_D10_where_nothing_can_be_locked_it_is_told_and_nothing_stays_open(tmp_path, monkeypatch):
    from dayfly.store import lock

    tried = []

    def no_locks(descriptor, how):
        tried.append(descriptor)
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", no_locks)
        with (
            pytest.raises(StoreError, match="cannot be locked: No locks"),
            owned(tmp_path / "s.db"),
        ):
            raise AssertionError
    assert not lock._held
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(tried[0])
    with owned(tmp_path / "s.db"):
        pass


def test_a_full_disk_is_no_reason_not_to_own_a_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "pwrite", full)
    with (
        owned(tmp_path / "s.db"),
        pytest.raises(StoreError, match="owned by another process"),
        owned(tmp_path / "s.db"),
    ):
        raise AssertionError
