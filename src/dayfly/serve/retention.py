"""What is old is forgotten, a little at a time, once a day."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable

from dayfly.serve.house import House
from dayfly.store import Store

_DAY = 86400.0
#: Seconds between two portions: whoever waits for the store gets his turn, and the crawl hardly
#: notices.
_BREATH = 0.2
#: Seconds after the start until the first time.
_FIRST = 300.0
#: Seconds for which a run that ends waits for it.
_LAST_WORDS = 1.0


class Retention:
    """Drops items and visits that are older than the operator wants to keep."""

    def __init__(
        self,
        house: House,
        keep_items: float,
        keep_visits: float,
        fence: int,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._house, self._fence, self._sleep = house, fence, sleep
        self._keep_items, self._keep_visits = keep_items, keep_visits

    async def run(self) -> None:
        """Once a day for ever; cancel it to stop."""
        await self._sleep(_FIRST)
        while True:
            await self._forget(math.inf)
            await self._sleep(_DAY)

    async def once(self) -> None:
        """Forget what can be forgotten in a moment; the rest is for the next time."""
        await self._forget(_LAST_WORDS)

    async def _forget(self, most: float) -> None:
        """Drop what is old by now, for so many seconds at most."""
        now, begun = self._house.now(), time.monotonic()

        def forget(store: Store) -> tuple[int, int, int]:
            return store.forget(
                items_before=now - self._keep_items,
                visits_before=now - self._keep_visits,
                fence=self._fence,
            )

        while any(await self._house.with_store(forget)):
            if time.monotonic() - begun >= most:
                return
            await self._sleep(_BREATH)
