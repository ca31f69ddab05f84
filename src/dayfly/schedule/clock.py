"""Time as something that is handed in: real or moved by hand."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What time it is, and how to wait."""

    def now(self) -> float:
        """POSIX seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Come back after this many seconds of this clock."""
        ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> float:
        """POSIX seconds."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait in real time."""
        await asyncio.sleep(seconds)


class ManualClock:
    """Time that passes only when somebody sleeps: days in a moment, the same every time."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now

    def now(self) -> float:
        """POSIX seconds."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Let time pass at once; others get their turn."""
        self._now += max(seconds, 0.0)
        await asyncio.sleep(0)
