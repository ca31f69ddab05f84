"""A process that dies between any two statements."""

import os
import random
import shutil
import signal
import time

import pytest
from msgspec.structs import replace
from tests.unit.store.making import KILLED, all_of, crawl, die, in_child, listing, opened, record

from dayfly.model import RobotsCopy
from dayfly.store import Event, Funds, SqliteStore


def some_crawls(store):
    return record(
        store,
        crawl(0, "old", "n1", "n2", time=20.0, host_not_before=90.0, crawl_delay=3.0),
        crawl(1, time=21.0),
        crawl(2, "n1", time=22.0),
    )


def some_robots():
    return [RobotsCopy(origin=f"http://{name}:80", outcome="absent") for name in "ab"]


def some_events():
    return [Event(row=row, key="old", time=3.0) for row in (0, 1)]


def some_funds():
    return Funds(time=19.0, left=2.5, markup=0.1)


def heavier(store):
    return [replace(source, weight=2.0, tags=("t",)) for source in store.sources()]


WORKS = {
    "own": lambda store, fence: store.own(),
    "add": lambda store, fence: store.add([listing("x"), listing("y")]),
    "change": lambda store, fence: store.change(heavier(store)),
    "claim": lambda store, fence: store.claim([0, 1, 2], 19.0, fence, some_funds()),
    "release": lambda store, fence: store.release([0, 2], fence),
    "record": lambda store, fence: store.record(some_crawls(store), fence),
    "keep_robots": lambda store, fence: store.keep_robots(some_robots(), fence),
    "add_events": lambda store, fence: store.add_events(some_events()),
    "forget": lambda store, fence: store.forget(items_before=9.0, visits_before=9.0, fence=fence),
}


def whole_state(path):
    """All that a store answers, who may write, and what is under way."""
    store = SqliteStore(path)
    assert store.check() == []
    found = all_of(store)
    fence = store.own()
    found |= {"fence": fence, "lost": store.lost(fence), "unseen": store.unseen(0, ["old", "n1"])}
    store.close()
    return found


@pytest.mark.parametrize("name", WORKS)
def test_D01_all_or_nothing_wherever_it_dies(quick_path, name):
    """Killed before and after every statement of every operation that writes."""
    store = opened(quick_path / "s.db", "a", "b", "c")
    store.claim([1, 2], 4.0, store.own())
    fence = store.own()
    store.record(record(store, crawl(0, "old", time=5.0)), fence)
    store.close()
    before = whole_state(shutil.copy(quick_path / "s.db", quick_path / "before.db"))
    shutil.copy(quick_path / "s.db", quick_path / "after.db")
    store = SqliteStore(quick_path / "after.db")
    WORKS[name](store, fence)
    store.close()
    after = whole_state(quick_path / "after.db")
    assert before != after

    outcomes = []
    for point in range(1, 200):
        path = shutil.copy(quick_path / "s.db", quick_path / f"{point}.db")

        def work(path=path, point=point):
            store = SqliteStore(path)
            seen = []

            def traced(statement):
                seen.append(statement)
                if len(seen) == point:
                    die()

            store._file.db.set_trace_callback(traced)
            WORKS[name](store, fence)
            if len(seen) + 1 == point:
                die()  # all is done, and nobody was told

        ended = in_child(work)
        if ended == 0:
            break
        assert ended == KILLED
        found = whole_state(path)
        assert found in (before, after), f"killed at statement {point}"
        outcomes.append(found == after)
    # Nothing until the last statement, the commit; and then everything.
    assert len(outcomes) > 3
    assert outcomes == [False] * (len(outcomes) - 1) + [True]


def write_and_tell(path, tell) -> None:
    """Record batch after batch, and tell of each when it is stored."""
    store = SqliteStore(path)
    fence = store.own()
    sources = store.sources()
    store.release(store.lost(fence), fence)
    n = sum(1 for _ in store.items()) // len(sources)
    while True:
        store.claim([0, 1, 2], float(n), fence)
        store.record(record(store, *[crawl(row, f"{n}", time=float(n)) for row in range(3)]), fence)
        n += 1
        os.write(tell, n.to_bytes(4, "big"))


@pytest.mark.parametrize("cycles", [5, pytest.param(100, marks=pytest.mark.acceptance)])
def test_D02_nothing_that_was_told_is_lost_when_it_is_killed_at_any_moment(quick_path, cycles):
    seed = 7
    print("seed", seed)
    rng = random.Random(seed)
    path = quick_path / "s.db"
    opened(path, "a", "b", "c").close()
    for _ in range(cycles):
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                write_and_tell(path, tell)
            finally:
                os._exit(70)
        os.close(tell)
        os.read(told, 4)  # it has begun
        time.sleep(rng.uniform(0.0, 0.1))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == KILLED
        heard = b""
        while more := os.read(told, 1 << 16):
            heard += more
        os.close(told)
        store = SqliteStore(path)
        assert store.check() == []
        items = list(store.items())
        n = len(items) // 3
        assert [(item.row, item.key) for item in items] == [
            (row, f"{k}") for k in range(n) for row in range(3)
        ], "whole batches, each item once"
        if heard:
            assert n - int.from_bytes(heard[-4:], "big") in (0, 1), "all that was told"
        assert {source.etag for source in store.sources()} == {f"{n - 1}"}
        store.close()
