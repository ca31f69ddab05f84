"""Time that is handed in."""

import asyncio
import time

import pytest

from dayfly.schedule import FastClock, ManualClock, SystemClock
from dayfly.schedule.clock import nap

HOUR, YEAR = 3600.0, 365 * 86400.0


def test_a_manual_clock_moves_only_when_somebody_sleeps():
    clock = ManualClock(100.0)
    assert clock.now() == 100.0
    asyncio.run(clock.sleep(2.5))
    asyncio.run(clock.sleep(-1.0))
    assert clock.now() == 102.5


def test_sleepers_wake_in_the_order_of_time_and_then_of_falling_asleep():
    clock, order = ManualClock(), []

    async def one(name: str, *naps: float) -> None:
        for seconds in naps:
            await clock.sleep(seconds)
            order.append((name, clock.now()))

    async def all_of_them() -> None:
        await asyncio.gather(one("a", 3.0, 1.0), one("b", 1.0, 3.0), one("c", 4.0))

    asyncio.run(all_of_them())
    assert order == [("b", 1.0), ("a", 3.0), ("c", 4.0), ("b", 4.0), ("a", 4.0)]


def test_time_stands_still_while_anybody_works():
    clock, seen = ManualClock(), []

    async def work() -> None:
        with clock.working():
            for _ in range(50):
                await asyncio.sleep(0)
                seen.append(clock.now())
            await clock.sleep(5.0)  # who sleeps at work does not work
            seen.append(clock.now())

    async def both() -> None:
        await asyncio.gather(work(), clock.sleep(3.0))

    asyncio.run(both())
    assert seen == [0.0] * 50 + [5.0]


def test_a_nap_ends_when_somebody_wakes_the_sleeper():
    clock = ManualClock()

    async def napping() -> float:
        wake = asyncio.Event()

        async def alarm() -> None:
            await clock.sleep(2.0)
            wake.set()

        await asyncio.gather(nap(clock, 10.0, wake), alarm())
        woken = clock.now()
        await nap(clock, 1.0, asyncio.Event())
        assert clock.now() == woken + 1.0
        return woken

    assert asyncio.run(napping()) == 2.0


def test_the_system_clock_goes_forward():
    clock = SystemClock()
    first = clock.now()
    asyncio.run(clock.sleep(0.01))
    assert clock.now() > first
    assert clock.jumped() == 0.0


def test_a_fast_clock_runs_ahead():
    clock = FastClock(3600.0, start=1000.0)
    asyncio.run(clock.sleep(36.0))
    assert clock.now() >= 1036.0


def test_fast_clocks_of_one_origin_show_the_same_time():
    first = FastClock(1e6, start=1000.0)
    time.sleep(0.01)
    second = FastClock(1e6, start=1000.0, origin=first.origin)
    before, between, after = first.now(), second.now(), first.now()
    assert before <= between <= after


def test_D05_a_wall_that_falls_back_by_years_is_not_waited_for():
    machine = Machine()
    clock = SystemClock(lambda: machine.wall, lambda: machine.steady)
    for jump, astray in ((-HOUR, False), (10 * YEAR, False), (-10 * YEAR, True)):
        machine.passes(10.0, jump)
        clock.now()
        assert clock.astray is astray


class Machine:
    """A wall clock that can be set, and time that passes evenly."""

    def __init__(self) -> None:
        self.wall, self.steady = 1_800_000_000.0, 50.0

    def passes(self, seconds: float, jump: float = 0.0) -> None:
        self.wall += seconds + jump
        self.steady += seconds


@pytest.mark.parametrize("jump", [HOUR, -HOUR, 10 * YEAR, -10 * YEAR, 3.0, -3.0])
def test_D05_time_never_goes_back_and_leaps_only_ahead(jump):
    machine = Machine()
    clock = SystemClock(lambda: machine.wall, lambda: machine.steady)
    start = clock.now()
    machine.passes(10.0)
    assert clock.now() == start + 10.0
    machine.passes(10.0, jump)
    after = clock.now()
    if jump > 0:
        assert after == machine.wall
    else:
        assert start + 10.0 <= after <= start + 20.0
    assert clock.jumped() == (jump if abs(jump) > 5 else 0.0)
    assert clock.jumped() == 0.0
    last = after
    for _ in range(100):
        machine.passes(1.0)
        now = clock.now()
        assert last <= now <= last + 1.0 + 1e-6
        last = now
    assert clock.jumped() == 0.0, "one jump is told once"


def test_D05_an_hour_too_far_is_made_up_for_slowly():
    machine = Machine()
    clock = SystemClock(lambda: machine.wall, lambda: machine.steady)
    machine.passes(1.0, -HOUR)
    clock.now()
    for _ in range(11 * 60):
        machine.passes(60.0)
        clock.now()
    assert abs(clock.now() - machine.wall) <= 5.0


def test_D05_a_stepping_clock_gains_no_more_than_its_highest_step():
    machine = Machine()
    clock = SystemClock(lambda: machine.wall, lambda: machine.steady)
    start = clock.now()
    for _ in range(50):
        machine.passes(1.0, HOUR)
        clock.now()
        machine.passes(1.0, -HOUR)
        clock.now()
    assert clock.now() <= start + 100.0 + HOUR


def test_D05_a_machine_that_sleeps_wakes_up_at_the_right_time():
    """Where the time since boot does not count sleep, the wall does."""
    machine = Machine()
    clock = SystemClock(lambda: machine.wall, lambda: machine.steady)
    machine.passes(1.0, 8 * HOUR)
    assert clock.now() == machine.wall
