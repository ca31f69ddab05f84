"""Time that runs fast, and waits for whoever is at work."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator

#: Behind its schedule time runs so much faster, until it has caught up.
_HURRY = 3.0


class PacedClock:
    """Passes `speed` times as fast as real time on the whole, and stands still during work.

    A visit takes no time of this clock, however slow the machine is that makes it: so what is
    caught hardly depends on who else is busy. What work takes is made up for between visits.

    Parameters
    ----------
    stride
        Seconds that pass at most between two looks at the clock: a machine may be busy elsewhere.
    """

    company_s = 0.001

    def __init__(self, speed: float, now: float, stride: float = 60.0) -> None:
        self._speed, self._now, self._stride = speed, now, stride
        self._at = time.monotonic()
        self._origin = self._at - now / speed
        self._busy = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def now(self) -> float:
        """POSIX seconds of the fast time."""
        at = time.monotonic()
        passed, self._at = at - self._at, at
        if not self._busy:
            behind = (at - self._origin) * self._speed - self._now
            self._now += max(min(passed * _HURRY * self._speed, self._stride, behind), 0.0)
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait for this long in the fast time."""
        until = self.now() + seconds
        while (left := until - self.now()) > 0.0:
            await self._idle.wait()
            await asyncio.sleep(min(left, self._stride) / self._speed / _HURRY)
        await asyncio.sleep(0)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Time stands still meanwhile."""
        self.now()
        self._busy += 1
        self._idle.clear()
        try:
            yield
        finally:
            self.now()
            self._busy -= 1
            if not self._busy:
                self._idle.set()


class Beside:
    """The same time for a web beside the crawler: its delays are real, or nobody would see them."""

    company_s = 0.0

    def __init__(self, clock: PacedClock, speed: float) -> None:
        self._clock, self._speed = clock, speed
        self.now, self.working = clock.now, clock.working

    async def sleep(self, seconds: float) -> None:
        """Wait in real time."""
        await asyncio.sleep(seconds / self._speed)
