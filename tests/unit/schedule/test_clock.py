import asyncio

from dayfly.schedule import ManualClock, SystemClock


def test_a_manual_clock_moves_only_when_somebody_sleeps():
    clock = ManualClock(100.0)
    assert clock.now() == 100.0
    asyncio.run(clock.sleep(2.5))
    asyncio.run(clock.sleep(-1.0))
    assert clock.now() == 102.5


def test_others_get_their_turn_while_one_sleeps():
    clock = ManualClock()
    order = []

    async def one(name: str) -> None:
        for _ in range(2):
            order.append(name)
            await clock.sleep(1.0)

    async def both() -> None:
        await asyncio.gather(one("a"), one("b"))

    asyncio.run(both())
    assert order == ["a", "b", "a", "b"]


def test_the_system_clock_goes_forward():
    clock = SystemClock()
    before = clock.now()
    asyncio.run(clock.sleep(0.001))
    assert clock.now() > before
