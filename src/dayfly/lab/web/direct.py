"""The way into the simulated web without sockets: what `fetch.Web` would bring back.

Everything above the socket stays as it is: robots, hints, reading, storing. What a hostile site
does to a socket comes back as the error that it ends with, after the time that it takes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

from dayfly.fetch.errors import FetchError
from dayfly.fetch.web import Answer, Web
from dayfly.lab.web.answers import Manner, Said
from dayfly.lab.web.server import SimulatedWeb

#: How a visit ends that meets a manner, and after how many seconds.
_ENDS = {
    Manner.SILENT: ("timeout", "first byte", 10.0),
    Manner.RESET: ("cut short", "connection lost", 0.0),
    Manner.CUT: ("cut short", "", 0.0),
    Manner.DRIP: ("timeout", "total", 30.0),
    Manner.ENDLESS: ("too large", "", 0.0),
}


class DirectWeb(Web):
    """Asks a simulated web in the same process."""

    def __init__(self, web: SimulatedWeb) -> None:
        super().__init__(agent="")
        self._web = web

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] = {},
        secrets: Mapping[str, str] = {},
        max_redirects: int = 10,
        body_of: Container[int] = (200,),
        before: Callable[[str], Awaitable[Any]] | None = None,
        **_: Any,
    ) -> Answer:
        """The answer at the end of all redirects, or the error that a real visit ends with."""
        from multidict import CIMultiDict, CIMultiDictProxy

        asked = {name.lower(): value for name, value in headers.items()}
        moved, for_good, took = "", True, 0.0
        for _hop in range(max_redirects + 1):
            said = self._said(url, asked)
            if said.manner != Manner.WHOLE:
                kind, detail, seconds = _ENDS[said.manner]
                await self._web.clock.sleep(seconds)
                raise FetchError(kind, detail)
            if said.delay:
                await self._web.clock.sleep(said.delay)
                took += said.delay
            if said.headers.get("Content-Encoding"):
                # Nobody asked for it: it is a bomb.
                raise FetchError("too large")
            if said.status not in (301, 302):
                return Answer(
                    status=said.status,
                    url=url,
                    moved=moved,
                    headers=CIMultiDictProxy(CIMultiDict(said.headers)),
                    body=said.body if said.status in body_of else b"",
                    wire_bytes=len(said.body),
                    took_s=took,
                )
            url = urljoin(url, said.headers["Location"])
            if before is not None:
                await before(url)
            for_good = for_good and said.status == 301
            moved = url if for_good else moved
        raise FetchError("redirects", "too many")

    def _said(self, url: str, headers: dict[str, str]) -> Said:
        parts = urlsplit(url)
        return self._web.answer(parts.hostname or "", parts.path, headers)
