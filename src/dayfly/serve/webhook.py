"""New items handed on to a web address: at least once each, in order, by the one way out.

What was delivered is a number in a small file beside the database; items are read from the store
by their numbers. So nothing waits in memory, a restart goes on where it stopped, and a receiver
that was down gets everything later, up to what retention has kept. A receiver that says nothing or
no is asked again after a second, two, four, … up to an hour. Where the number cannot be written,
nothing more is delivered until it can: the same items would be delivered again and again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec

from dayfly.errors import BadInput
from dayfly.files import replacing
from dayfly.serve.house import House
from dayfly.serve.items import items as read_items

#: Items in one message, and seconds between looks while there is nothing new.
PORTION, _LOOK = 100, 1.0
#: Seconds until the next try after a failure, at first and at most; doubled so often at most.
_FIRST, _LAST, _DOUBLED = 1.0, 3600.0, 12
#: After so many failures, a quarter of an hour, each is told: they are rare by then.
_AGAIN = 10


class Poster(Protocol):
    """What sends: `Web`, with the guard in it."""

    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> int:
        """Send something; the answer is the status."""
        ...


class Webhook:
    """Delivers items to one address.

    Parameters
    ----------
    tell
        Called with a sentence when deliveries begin to fail and when they work again.
    sleep
        How to wait.
    """

    def __init__(
        self,
        url: str,
        web: Poster,
        position: Path,
        *,
        tell: Callable[[str], None] = lambda _: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._url, self._web = url, web
        self._file, self._tell, self._sleep = position, tell, sleep
        self._failed = 0
        #: What was delivered and could not be noted.
        self._unnoted: int | None = None
        #: Whether the noted position was compared with this database.
        self._sure = False

    async def run(self, house: House) -> None:
        """Deliver for ever; cancel it to stop. What is under way is delivered again."""
        while True:
            await self.drain(house)
            doubled = min(self._failed - 1, _DOUBLED)
            await self._sleep(min(_FIRST * 2.0**doubled, _LAST) if self._failed else _LOOK)

    async def drain(self, house: House) -> None:
        """Deliver what there is, up to the first failure."""
        if self._unnoted is not None and not self._noted(self._unnoted):
            return
        last = await self._position(house)
        while (answer := await read_items(house, after=last, limit=PORTION))["items"]:
            if not await self._delivered(answer["items"]):
                return
            last = answer["last"]
            if not self._noted(last):
                return

    async def _delivered(self, items: list[dict[str, Any]]) -> bool:
        body = msgspec.json.encode({"items": items})
        try:
            status = await self._web.post(self._url, body, {"Content-Type": "application/json"})
            reason = "" if 200 <= status < 300 else f"http {status}"
        except asyncio.CancelledError:
            raise
        except Exception as error:  # Forbidden and FetchError are told, and so is anything else
            reason = str(error) or type(error).__name__
            if reason == "address is not public":
                reason += "; name it with allow in dayfly.toml, or --allow"
        return self._worked(reason)

    def _noted(self, last: int) -> bool:
        """Whether it could be written down that all up to here is delivered."""
        try:
            self._remember(last)
        except (OSError, BadInput) as error:
            self._unnoted = last
            return self._worked(f"{self._file}: cannot be written: {error}")
        if self._unnoted is not None:
            self._unnoted = None
            self._worked("")
        return True

    def _worked(self, reason: str) -> bool:
        """Whether there is no reason why it did not.

        The first failure of several is told, those that last, and the end of them.
        """
        if reason:
            self._failed += 1
            if self._failed == 1:
                self._tell(f"webhook: {reason}; items wait and are delivered later, in order")
            elif self._failed > _AGAIN:
                self._tell(f"webhook: {reason}, {self._failed} times in a row; items wait")
            return False
        if self._failed:
            self._tell(f"webhook: works again after {self._failed} failures")
        self._failed = 0
        return True

    async def _position(self, house: House) -> int:
        """Where deliveries stopped; a new webhook begins with what is seen from now on."""
        try:
            noted = int(self._file.read_text("ascii"))
        except FileNotFoundError:
            noted = None
        except ValueError:
            raise BadInput(
                f"{self._file}: holds no item number; delete it, and deliveries begin with what"
                " comes next"
            ) from None
        except OSError as error:
            raise BadInput(f"{self._file}: cannot be read: {error.strerror or error}") from None
        if noted is not None and (self._sure or await _reaches(house, noted)):
            self._sure = True
            return noted
        # An older database was put back, or old items have expired: beyond the last there is
        # nothing yet, and what comes there must not count as delivered.
        last = await _last(house)
        self._remember(last)
        self._sure = True
        return last

    def _remember(self, last: int) -> None:
        with replacing(self._file) as file:
            file.write(str(last).encode())


async def _reaches(house: House, number: int) -> bool:
    """Whether there are items with this number or a higher one."""
    return number <= 0 or bool((await read_items(house, after=number - 1, limit=1))["items"])


async def _last(house: House) -> int:
    """The number of the newest item."""
    last, more = 0, True
    while more:
        answer = await read_items(house, after=last)
        last, more = int(answer["last"]), answer["more"]
    return last
