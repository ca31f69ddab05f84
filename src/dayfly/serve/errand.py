"""One errand: everybody who is due now is visited once, and then the loop stops."""

from __future__ import annotations

import asyncio

from dayfly.schedule import Loop, News, Recorded
from dayfly.store import State

#: Reasons to wait that are over soon: not worth ending for.
_SOON = {"", "budget", "in flight", "host spacing", "host parallel", "host budget", "group budget"}
#: Seconds for which a host that was just visited may rest; one that asks for peace asks for longer.
_PATIENCE = 30.0
#: So few that wait for somebody else are looked at one by one, every so many seconds at least.
_FEW, _EVERY = 200, 1.0


class Errand:
    """Keeps the list of those who are still to be visited; nobody is visited twice."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        others = [source.row for source in loop.sources if not self._due(source.row)]
        if others:
            loop.scheduler.pause(others)
        self.left = {source.row for source in loop.sources} - set(others)
        if not self.left:
            loop.stop()

    def tell(self, news: News) -> None:
        """Visits that ended are off the list; when it is empty the loop stops."""
        if not isinstance(news, Recorded):
            return
        done = [crawl.row for crawl in news.crawls]
        self._loop.scheduler.pause(done)
        self.left.difference_update(done)
        self._look()

    async def run(self) -> None:
        """Look at the list now and then: somebody may remove or pause the last one on it."""
        while self.left:
            await asyncio.sleep(_EVERY)
            self._look()

    def _look(self) -> None:
        if len(self.left) <= _FEW:
            # Whose host asked for peace meanwhile is not waited for.
            self.left = {row for row in self.left if self._due(row)}
        if not self.left:
            self._loop.stop()

    def _due(self, row: int) -> bool:
        source = self._loop.sources[row]
        resting = source.not_before is not None and source.not_before > self._loop.clock.now()
        if resting or source.state is not State.ACTIVE:
            return False  # the quick way to the same answer, for most
        found = self._loop.explain(row)
        if found.held_by == "blocked host":
            rest = max(_PATIENCE, 2.0 * self._loop.rules.host_spacing)
            return found.until is not None and found.until - self._loop.clock.now() <= rest
        return found.held_by in _SOON
