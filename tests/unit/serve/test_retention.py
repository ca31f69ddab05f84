"""What is old is forgotten in small steps, so that a crawl never waits for all of it."""

import asyncio

import pytest

from dayfly.serve import retention
from dayfly.serve.retention import Retention
from dayfly.store import MemoryStore


class Old(MemoryStore):
    """Holds this many portions of what is old."""

    def __init__(self, portions: int) -> None:
        super().__init__()
        self.portions, self.asked = portions, []

    def forget(self, *, items_before, visits_before, fence):
        self.asked.append((items_before, visits_before, fence))
        self.portions -= 1
        return (0, 2000, 0) if self.portions >= 0 else (0, 0, 0)


class House:
    """Counts how often the store is asked for."""

    def __init__(self, portions: int) -> None:
        self.store, self.jobs = Old(portions), 0

    def now(self):
        return 1e9

    async def with_store(self, work):
        self.jobs += 1
        return work(self.store)


class Naps:
    """Sleep that is only counted; the end comes with the first long one after the start."""

    def __init__(self) -> None:
        self.slept = []

    async def __call__(self, seconds):
        self.slept.append(seconds)
        if len(self.slept) > 1 and seconds > 60.0:
            raise asyncio.CancelledError


def forgotten(house, naps):
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(Retention(house, 100.0, 200.0, 7, sleep=naps).run())
    return naps.slept


def test_each_portion_is_a_job_of_its_own_with_a_breath_after_it():
    house = House(5)
    slept = forgotten(house, Naps())
    assert house.jobs == 6  # the sixth says that nothing is left
    assert set(house.store.asked) == {(1e9 - 100.0, 1e9 - 200.0, 7)}
    first, *breaths, day = slept
    assert (first, day) == (300.0, 86400.0)
    assert breaths == [retention._BREATH] * 5
    assert retention._BREATH > 0


def test_nothing_old_is_one_job():
    house = House(0)
    assert forgotten(house, Naps()) == [300.0, 86400.0]
    assert house.jobs == 1


def test_a_run_that_ends_waits_for_a_moment_and_not_for_all_of_it(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(retention.time, "monotonic", lambda: now[0])

    async def nap(seconds):
        now[0] += 0.5

    house = House(10**9)
    asyncio.run(Retention(house, 100.0, 200.0, 7, sleep=nap).once())
    assert 1 < house.jobs <= retention._LAST_WORDS / 0.5 + 1
    few = House(2)
    asyncio.run(Retention(few, 100.0, 200.0, 7, sleep=nap).once())
    assert few.jobs == 3
