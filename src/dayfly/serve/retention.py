"""What is old is forgotten, a little at a time, once a day."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dayfly.serve.house import House
from dayfly.store import Store

_DAY = 86400.0
#: What is dropped at once: an hour's worth, so that the crawl does not wait; and a breath between.
_STEP, _STEPS, _BREATH = 3600.0, 48, 0.2
#: Seconds after the start until the first time.
_FIRST = 300.0


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
            await self.once()
            await self._sleep(_DAY)

    async def once(self) -> tuple[int, int]:
        """Forget what is old by now; how many items and visits."""
        now = self._house.now()
        items = visits = 0
        for step in reversed(range(_STEPS)):
            before = now - step * _STEP

            def forget(store: Store, before: float = before) -> tuple[int, int]:
                return store.forget(
                    items_before=before - self._keep_items,
                    visits_before=before - self._keep_visits,
                    fence=self._fence,
                )

            dropped = await self._house.with_store(forget)
            items, visits = items + dropped[0], visits + dropped[1]
            await self._sleep(_BREATH)
        return items, visits
