"""What an operator should hear about at once: many sources at a time do the same odd thing."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from dayfly.model import Crawl, Status
from dayfly.store import StoredSource
from dayfly.store.standing import alarm

#: The last so many visits are looked at, and an alarm is given again after so long, in seconds.
_LOOKED, _AGAIN = 200, 3600.0
#: Fewer visits than this say nothing, and all sources are looked at no more often than this.
_CROWD, _PAUSE = 10, 60.0


#: How a refusal begins that is none: nobody could be asked for the rules.
NO_ROBOTS = "robots unreachable: "


class Alarms:
    """Sees visits and says what is odd about them as a whole."""

    def __init__(self) -> None:
        self._silent: deque[bool] = deque(maxlen=_LOOKED)
        self._looked = -_PAUSE
        self._given: dict[str, float] = {}

    def see(self, crawl: Crawl, sources: Sequence[StoredSource]) -> list[str]:
        """Alarms that this visit sets off."""
        found = []
        self._silent.append(_unreachable(crawl))
        if len(self._silent) >= 2 * _CROWD and sum(self._silent) > 0.8 * len(self._silent):
            share = sum(self._silent) / len(self._silent)
            found += self._give(
                "network",
                crawl.time,
                f"{share:.0%} of the last {len(self._silent)} visits reached nobody;"
                " is this machine's network down?",
            )
        if crawl.moved:
            found += self._see_move(crawl.time, sources)
        return found

    def _see_move(self, now: float, sources: Sequence[StoredSource]) -> list[str]:
        """A captive portal moves everybody to one place; asking takes a look at all sources."""
        if now < self._looked + _PAUSE:
            return []
        self._looked = now
        text = alarm(sources)
        return self._give("moved", now, text) if text else []

    def _give(self, name: str, now: float, text: str) -> list[str]:
        if now < self._given.get(name, -_AGAIN) + _AGAIN:
            return []
        self._given[name] = now
        return [text]


def _unreachable(crawl: Crawl) -> bool:
    """Whether nobody was there; a site whose robots.txt is not known is asked for that first."""
    reason = crawl.reason
    if crawl.status is Status.REFUSED and reason.startswith(NO_ROBOTS):
        reason = reason.removeprefix(NO_ROBOTS)
    elif crawl.status is not Status.FAILED:
        return False
    return reason.startswith(("dns", "connect", "timeout"))
