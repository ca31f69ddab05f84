"""The socket beside the database: who may speak, how much, and what happens to nonsense."""

import asyncio
import contextlib
import json
import os
import socket
import stat
import threading
import time

import pytest

from dayfly.errors import BadInput, DayflyError, StoreError
from dayfly.serve import Office, Remote, StillHouse, owner, reach, remote, serving, taken, wire
from dayfly.serve.vocabulary import plain_listing
from dayfly.store import MemoryStore, SqliteStore

from .conftest import listing


@contextlib.contextmanager
def served(db, answer):
    """A server on a thread of its own, as if it were another process."""
    ready, done = threading.Event(), threading.Event()
    failed = []

    async def main():
        async with serving(db, answer):
            ready.set()
            await asyncio.to_thread(done.wait)

    def run():
        try:
            asyncio.run(main())
        except BaseException as error:
            failed.append(error)
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait(10)
    try:
        if failed:
            raise failed[0]
        yield
    finally:
        done.set()
        thread.join(20)
        assert not thread.is_alive()


async def echo(what, arguments):
    return {"what": what, "with": dict(arguments)}


def talk(db, *lines: bytes) -> list[dict]:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(20)
        channel.connect(os.fspath(wire.beside(db, ".sock")))
        answers = []
        with channel.makefile("rb") as file:
            for line in lines:
                channel.sendall(line)
                answer = file.readline()
                if not answer:
                    break
                answers.append(json.loads(answer))
        return answers


def test_one_request_per_line_and_only_for_the_owner(tmp_path):
    db = tmp_path / "d.db"
    with served(db, echo):
        path = tmp_path / "d.db.sock"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with remote.answering(db) as office:
            assert office.ask("items", limit=3) == {"what": "items", "with": {"limit": 3}}
            assert office.ask("stats") == {"what": "stats", "with": {}}
    assert not path.exists()
    assert remote.answering(db) is None


@pytest.mark.parametrize(
    "nonsense",
    [
        b"hello\n",
        b"\n",
        b"\xff\xfe\n",
        b'{"ask": 1}\n',
        b'{"ask": "x", "more": 1}\n',
        b'{"ask": "x", "with": []}\n',
        b"[" * 10_000 + b"]" * 10_000 + b"\n",
        b'{"ask": "x", "with": {"a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}}\n",
    ],
    ids=range(8),
)
def test_A08_nonsense_is_an_error_and_the_next_request_is_answered(tmp_path, nonsense):
    with served(tmp_path / "d.db", echo):
        first, second = talk(tmp_path / "d.db", nonsense, b'{"ask": "x"}\n')
    assert first["kind"] == "BadInput"
    assert "not a request" in first["error"]
    assert second == {"answer": {"what": "x", "with": {}}}


def test_A08_a_request_that_is_too_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(owner, "MOST_ASKED", 1000)
    with served(tmp_path / "d.db", echo):
        (told,) = talk(tmp_path / "d.db", b"x" * 5000 + b"\n")
        assert "at most 1000 bytes" in told["error"]
        assert len(talk(tmp_path / "d.db", b'{"ask": "x"}\n')) == 1


def test_A08_who_is_silent_is_sent_away_and_who_comes_too_many_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(owner, "_SILENCE", 0.2)
    monkeypatch.setattr(owner, "_CALLERS", 2)
    with served(tmp_path / "d.db", echo), contextlib.ExitStack() as stack:
        path = os.fspath(tmp_path / "d.db.sock")
        silent = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(3)]
        for channel in silent:
            channel.settimeout(20)
            channel.connect(path)
        told = [channel.recv(1000) for channel in silent]
        assert sum(b"too many callers" in said for said in told) == 1
        assert sum(said == b"" for said in told) == 2
        assert len(talk(tmp_path / "d.db", b'{"ask": "x"}\n')) == 1


@pytest.mark.parametrize("leaves", [False, True], ids=["stays", "says that it is done"])
def test_A08_who_does_not_read_is_let_go_of_with_all_that_was_for_him(
    tmp_path, monkeypatch, leaves
):
    monkeypatch.setattr(owner, "_READING", 0.2)
    size = 60_000 if leaves else 4 << 20  # below and above what may wait unread

    answered = []

    async def long(what, arguments):
        answered.append(arguments["who"])
        return "x" * size

    def let_go(before):
        files = len(os.listdir("/proc/self/fd"))
        return len(set(answered)) == 5 and len(asyncio.all_tasks()) == 1 and files <= before + 5

    async def main():
        async with serving(tmp_path / "d.db", long):
            before = len(os.listdir("/proc/self/fd"))
            with contextlib.ExitStack() as stack:
                for who in range(5):
                    channel = stack.enter_context(socket.socket(socket.AF_UNIX))
                    channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
                    channel.connect(os.fspath(tmp_path / "d.db.sock"))
                    channel.sendall(b'{"ask": "x", "with": {"who": %d}}\n' % who * 9)
                    if leaves:
                        channel.shutdown(socket.SHUT_WR)
                for _ in range(500):
                    await asyncio.sleep(0.01)
                    if let_go(before):
                        return True
        return False

    assert asyncio.run(main())


def test_an_error_arrives_as_the_same_kind_and_an_accident_as_a_plain_one(tmp_path):
    async def failing(what, arguments):
        raise {"bad": BadInput("so bad"), "store": StoreError("no store")}.get(what) or KeyError(
            what
        )

    with served(tmp_path / "d.db", failing), remote.answering(tmp_path / "d.db") as office:
        with pytest.raises(BadInput, match="so bad"):
            office.ask("bad")
        with pytest.raises(StoreError, match="no store"):
            office.ask("store")
        with pytest.raises(DayflyError, match="internal error: KeyError"):
            office.ask("boom")


def test_what_cannot_be_said_in_json_is_an_error_and_not_the_end(tmp_path):
    async def odd(what, arguments):
        return {"surrogate": "\ud800"} if what == "odd" else {"infinite": float("inf")}

    with served(tmp_path / "d.db", odd), remote.answering(tmp_path / "d.db") as office:
        with pytest.raises(DayflyError, match="internal error"):
            office.ask("odd")
        assert office.ask("even") == {"infinite": None}


def test_what_is_no_text_is_told_before_it_is_sent(tmp_path):
    with served(tmp_path / "d.db", echo), remote.answering(tmp_path / "d.db") as office:
        with pytest.raises(BadInput, match=r"b\\udcfe\.db' is not UTF-8") as error:
            office.ask("backup", path="/x/" + os.fsdecode(b"b\xfe.db"))
        str(error.value).encode()
        with pytest.raises(BadInput, match="is not UTF-8"):
            office.ask("sources.add", sources=[{"id": "\udcfe"}])
        assert office.ask("x")["what"] == "x"


def test_long_lists_travel_in_portions(tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "_PORTION", 2)
    office = Office(StillHouse(MemoryStore()))
    asked = []

    async def answer(what, arguments):
        asked.append(what)
        if what == "sources.list":
            arguments = {"limit": 2} | dict(arguments)
        return await office.answer(what, arguments)

    with served(tmp_path / "d.db", answer), remote.answering(tmp_path / "d.db") as far:
        plain = [plain_listing(listing(number)) for number in range(5)]
        told = far.ask("sources.add", sources=plain)
        assert told == {"added": 5, "known": 0, "rows": [0, 1, 2, 3, 4]}
        assert far.ask("sources.add", sources=[]) == {"added": 0, "known": 0, "rows": []}
        assert len(far.ask("sources.list")["sources"]) == 5
    assert asked == ["sources.add"] * 4 + ["sources.list"] * 3


def test_a_crawler_that_goes_away_is_told(tmp_path):
    async def slow(what, arguments):
        await asyncio.sleep(60)

    server = contextlib.ExitStack()
    server.enter_context(served(tmp_path / "d.db", slow))
    with remote.answering(tmp_path / "d.db") as far:
        end = threading.Timer(0.3, server.close)
        end.start()
        with pytest.raises(StoreError, match="went away"):
            far.ask("x")
        end.join()


def test_a_stale_socket_is_replaced_by_the_owner_and_by_nobody_else(tmp_path):
    db, path = tmp_path / "d.db", tmp_path / "d.db.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.fspath(path))
    assert remote.answering(db) is None
    with reach(db, create=True) as office:
        office.ask("stats")
    assert path.exists()  # a command that only looks leaves it alone
    with taken(db, patience=0.0), served(db, echo):
        assert len(talk(db, b'{"ask": "x"}\n')) == 1


def test_what_is_no_socket_is_not_removed(tmp_path):
    (tmp_path / "d.db.sock").write_text("precious")
    with pytest.raises(BadInput, match="in the way"), served(tmp_path / "d.db", echo):
        pass
    assert (tmp_path / "d.db.sock").read_text() == "precious"


def test_a_path_too_long_for_a_socket_works_all_the_same(tmp_path):
    folder = tmp_path / ("d" * 100) / ("e" * 100)
    folder.mkdir(parents=True)
    db = folder / "d.db"
    with served(db, echo), remote.answering(db) as office:
        assert (folder / "d.db.sock").exists()
        assert office.ask("x")["what"] == "x"
    with pytest.raises(BadInput, match="use a shorter --db"):
        remote.answering(folder / ("f" * 120))


def test_two_names_of_one_file_have_one_socket(tmp_path):
    (tmp_path / "real.db").touch()
    (tmp_path / "link.db").symlink_to("real.db")
    with served(tmp_path / "link.db", echo), remote.answering(tmp_path / "real.db") as office:
        assert office.ask("x")["what"] == "x"


def test_reach_opens_the_file_itself_while_nobody_owns_it(tmp_path):
    db = tmp_path / "d.db"
    with pytest.raises(StoreError, match="no such database"), reach(db):
        pass
    assert not list(tmp_path.iterdir())
    with reach(db, create=True) as office:
        office.ask("sources.add", sources=[plain_listing(listing(1))])
        assert not isinstance(office, Remote)
    with reach(db) as office:
        assert office.ask("stats")["n_sources"] == 1


def test_reach_asks_the_owner_while_there_is_one(tmp_path):
    db = tmp_path / "d.db"
    SqliteStore(db).close()
    with taken(db, patience=0.0), served(db, echo), reach(db) as office:
        assert isinstance(office, Remote)
        assert office.ask("x")["what"] == "x"


def test_reach_waits_for_an_owner_that_does_not_answer_yet(tmp_path, monkeypatch):
    from dayfly.serve import office as module

    db = tmp_path / "d.db"
    SqliteStore(db).close()
    monkeypatch.setattr(module, "_PATIENCE", 0.3)
    with taken(db, patience=0.0), pytest.raises(StoreError, match="is owned by"), reach(db):
        pass
    monkeypatch.setattr(module, "_PATIENCE", 20.0)
    other = contextlib.ExitStack()
    other.enter_context(taken(db, patience=0.0))
    end = threading.Timer(0.3, other.close)
    end.start()
    with reach(db) as office:
        assert office.ask("stats")["n_sources"] == 0
    end.join()


def test_a_second_owner_is_told_what_to_do(tmp_path):
    db = tmp_path / "d.db"
    with (
        taken(db, patience=0.0),
        pytest.raises(StoreError, match=r"owned by .* use another --db"),
        taken(db, patience=0.2),
    ):
        pass


def test_D07_a_folder_that_cannot_be_written_is_told_at_once_and_for_what_it_is(tmp_path):
    nowhere = tmp_path / "none" / "d.db"
    begun = time.monotonic()
    with pytest.raises(StoreError, match="its folder is not there") as error, taken(nowhere):
        pass
    assert "stop that one" not in str(error.value)
    (tmp_path / "d.db").write_bytes(b"")
    (tmp_path / "d.db.lock").mkdir()
    with pytest.raises(StoreError, match="cannot be locked"), reach(tmp_path / "d.db"):
        pass
    assert time.monotonic() - begun < 4.0
