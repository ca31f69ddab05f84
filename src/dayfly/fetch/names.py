"""Names become addresses: once for each connection, and all of the answer is checked.

A name that answers with one forbidden address is refused as a whole: what comes first is up to
whoever runs the name, and may differ the next time. An empty answer is a failure, not a permission.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Sequence
from typing import Protocol

from dayfly.fetch.errors import FetchError
from dayfly.fetch.guard import Guard
from dayfly.fetch.urls import is_literal

#: Addresses of one name that are tried.
TRIED = 4
#: Look-ups under way at the same time.
_PARALLEL = 128


class Names(Protocol):
    """Looks names up."""

    async def resolve(self, host: str) -> Sequence[str]:
        """All addresses of a host; raises OSError where there are none."""
        ...


class SystemNames:
    """The system's own look-up, each in a thread that nobody waits for at the end.

    A look-up cannot be called off. One that hangs keeps its thread until the system gives up,
    while its visit has long ended with the deadline.
    """

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(_PARALLEL)

    async def resolve(self, host: str) -> Sequence[str]:
        """All addresses of a host."""
        loop = asyncio.get_running_loop()
        await self._slots.acquire()
        answer: asyncio.Future[list[str]] = loop.create_future()

        def settle(found: list[str] | OSError) -> None:
            self._slots.release()
            if answer.done():
                return
            if isinstance(found, OSError):
                answer.set_exception(found)
            else:
                answer.set_result(found)

        def look_up() -> None:
            found: list[str] | OSError
            try:
                records = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
                found = [str(record[4][0]) for record in records]
            except OSError as error:
                found = error
            except ValueError as error:  # a name that cannot be encoded
                found = OSError(str(error))
            with contextlib.suppress(RuntimeError):  # the crawl may be over
                loop.call_soon_threadsafe(settle, found)

        try:
            threading.Thread(target=look_up, name="dayfly-names", daemon=True).start()
        except RuntimeError as error:  # no more threads
            self._slots.release()
            raise OSError(str(error)) from None
        return await answer


async def addresses(
    host: str, port: int, *, names: Names, guard: Guard, deadline: float
) -> Sequence[str]:
    """The addresses to dial for a host, all of them permitted, at most `TRIED`."""
    if is_literal(host):
        guard.check(host, port)
        return (host,)
    try:
        async with asyncio.timeout(deadline):
            found = await names.resolve(host)
    except TimeoutError:
        raise FetchError("timeout", "dns") from None
    except OSError:
        raise FetchError("dns", "no address for this name") from None
    if not found:
        raise FetchError("dns", "no address for this name")
    unique = list(dict.fromkeys(found))
    for address in unique:
        guard.check(address, port)
    return unique[:TRIED]
