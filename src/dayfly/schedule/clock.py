"""Time as something that is handed in: real, faster than real, or moved by hand."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

#: A wall clock that is off by more than this was set, or stepped; less is corrected in silence.
JUMP_S = 5.0
#: Time that is ahead of the wall runs at this share of its pace, until the wall has caught up.
_SLOW = 0.9
#: If the wall is further behind than this, it would take more than a day to catch up.
_ASTRAY_S = 3 * 3600.0
#: Before time moved by hand goes on, all others have so many turns: one who wakes up may need a few
#: until it works or sleeps again.
_TURNS = 8


class Clock(Protocol):
    """What time it is, and how to wait."""

    #: Real seconds for which a writer may wait for more to write; infinite where nothing else
    #: happens until all visits have ended.
    company_s: float

    def now(self) -> float:
        """POSIX seconds; never less than it was before."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Come back after this many seconds of this clock."""
        ...

    def working(self) -> AbstractContextManager[None]:
        """Something is under way that takes no time where time is moved by hand."""
        ...


async def nap(clock: Clock, seconds: float, wake: asyncio.Event) -> None:
    """Sleep by this clock, but no longer than until somebody wakes us."""
    parts = [asyncio.ensure_future(clock.sleep(seconds)), asyncio.ensure_future(wake.wait())]
    try:
        await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for part in parts:
            part.cancel()
        await asyncio.gather(*parts, return_exceptions=True)


class SystemClock:
    """The machine's own time, at an even pace.

    A wall clock may be wrong and set right, in steps and by years; a machine may sleep. Schedules
    need a time that never goes back. So this one starts at the wall's time and runs at the pace of
    the time since boot (which counts the hours that a machine sleeps):

    * The wall leaps ahead: so do we. Who boots in 1970 is told the right time later, and what was
      written with it is history. Whoever spends a budget saves up no more than its burst meanwhile.
    * The wall falls back: we do not. We run a little slower until it has caught up, so that an hour
      is made up for in ten. All waits are kept; they become longer, never shorter.
    * It falls back by hours, because it was far ahead before: then dates of others mean nothing by
      our time, and we are `astray`. A crawl has to start anew.
    * A restart begins at the wall's time again, and reads what lies in the future as just now.

    Parameters
    ----------
    wall, steady
        Where the time comes from: POSIX seconds, and seconds that pass evenly.

    Examples
    --------
    >>> wall, steady = [1000.0], [0.0]
    >>> clock = SystemClock(lambda: wall[0], lambda: steady[0])
    >>> wall[0], steady[0] = 1010.0 - 3600.0, 10.0        # ten seconds later it is an hour earlier
    >>> clock.now(), clock.jumped()
    (1010.0, -3600.0)
    >>> wall[0], steady[0] = 1020.0 + 7200.0, 20.0        # and then two hours later
    >>> clock.now(), clock.jumped(), clock.jumped()
    (8220.0, 7200.0, 0.0)
    """

    company_s = 0.1

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] | None = None
    ) -> None:
        self._wall, self._steady = wall, steady or _since_boot
        self._time, self._at = wall(), self._steady()
        #: How far the wall was behind us when that was noted, and what was not yet told.
        self._behind, self._jump = 0.0, 0.0

    def now(self) -> float:
        """POSIX seconds; never less than it was before."""
        at = self._steady()
        passed, self._at = max(at - self._at, 0.0), at
        wall = self._wall()
        even = self._time + passed
        off = wall - even
        if off >= 0 or -off <= JUMP_S:
            if off > JUMP_S:
                self._jump += off
            self._time, self._behind = max(wall, self._time), 0.0
            return self._time
        if abs(-off - self._behind) > JUMP_S:
            self._jump += off + self._behind
        self._time += _SLOW * passed if self._behind else passed
        self._behind = self._time - wall
        return self._time

    def jumped(self) -> float:
        """By how many seconds the wall has leapt since this was asked last; 0 if it has not."""
        found, self._jump = self._jump, 0.0
        return found

    @property
    def astray(self) -> bool:
        """Whether the wall is so far behind that there is no waiting for it."""
        return self._behind > _ASTRAY_S

    async def sleep(self, seconds: float) -> None:
        """Wait in real time."""
        await asyncio.sleep(seconds)

    def working(self) -> AbstractContextManager[None]:
        """Real time does not wait."""
        return nullcontext()


def _since_boot() -> float:
    """Seconds that pass evenly, also while the machine sleeps, where the system can tell."""
    kind = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if kind is None else time.clock_gettime(kind)


class FastClock:
    """Time that runs faster than the wall clock by a factor: a week in minutes.

    Parameters
    ----------
    origin
        What the machine's monotonic clock read at `start`; by default it reads that now. Processes
        that share it have the same time, however long one of them took to ask for it.
    """

    company_s = 0.02

    def __init__(
        self, speed: float, start: float | None = None, origin: float | None = None
    ) -> None:
        self._speed = speed
        self._start = float(int(time.time())) if start is None else start
        self.origin = time.monotonic() if origin is None else origin

    def now(self) -> float:
        """POSIX seconds of the fast time."""
        return self._start + (time.monotonic() - self.origin) * self._speed

    async def sleep(self, seconds: float) -> None:
        """Wait for this long in the fast time."""
        await asyncio.sleep(max(seconds, 0.0) / self._speed)

    def working(self) -> AbstractContextManager[None]:
        """Fast time does not wait either."""
        return nullcontext()


class ManualClock:
    """Time that passes only when everybody sleeps: days in a moment, the same every time.

    It stands still while anybody is `working`, and then goes straight to the instant at which the
    first sleeper wakes up; of several at one instant the one who went to sleep first. Who sleeps
    while at work is not working meanwhile: so visits can be made to last.
    """

    company_s = float("inf")

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._number = 0
        self._turn_at: asyncio.Handle | None = None
        #: Who is working, and how often; who began may leave the end to somebody else.
        self._at_work: Counter[asyncio.Task[object] | None] = Counter()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """POSIX seconds."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Come back when time has come so far; others get their turn."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._number += 1
        heapq.heappush(self._sleepers, (self._now + max(seconds, 0.0), self._number, future))
        me = asyncio.current_task()
        work = self._at_work.pop(me, 0)
        try:
            self._soon(loop)
            await future
        finally:
            if work:
                self._at_work[me] = work

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Time stands still meanwhile."""
        me = asyncio.current_task()
        self._at_work[me] += 1
        try:
            yield
        finally:
            self._at_work[me] -= 1
            if not self._at_work[me]:
                del self._at_work[me]
            if self._sleepers:
                self._soon(asyncio.get_running_loop())

    def _soon(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let time pass when all who are awake have had their turn, several times over."""
        if self._turn_at is not None:
            self._turn_at.cancel()
        self._turn_at = loop.call_soon(self._turn, loop, _TURNS)

    def _turn(self, loop: asyncio.AbstractEventLoop, others: int) -> None:
        """If nobody works, let time pass until the next one wakes up."""
        self._turn_at = None
        if self._at_work:
            return
        if others:
            self._turn_at = loop.call_soon(self._turn, loop, others - 1)
            return
        while self._sleepers:
            wake, _, future = heapq.heappop(self._sleepers)
            if not future.done():  # else it gave up waiting
                self._now = max(wake, self._now)
                future.set_result(None)
                self._soon(loop)
                return
