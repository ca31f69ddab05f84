"""What the simulated web served: its own witness of who was asked for what, and when."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TextIO

from dayfly.lab.web.answers import CRAWL_DELAY, Said
from dayfly.lab.web.plan import Plan
from dayfly.lab.web.sites import Habit
from dayfly.schedule.manners import Rules


@dataclass(frozen=True, slots=True)
class Served:
    """One request and what came of it."""

    #: Seconds of the web's time.
    time: float
    host: int
    path: str
    status: int
    #: The source, -1 if the request was about none, and the numbers of the items shown.
    row: int
    first: int
    last: int
    #: Seconds for which the answer asked to be left alone.
    retry_after: int


class Log:
    """Keeps what was served in memory, or appends it to a file, or counts alone."""

    def __init__(self, path: Path | None = None, *, keep: bool = True) -> None:
        self.served: list[Served] = []
        self._keep = keep and path is None
        self._file: TextIO | None = None if path is None else path.open("a", encoding="utf-8")
        self.requests = 0

    def note(self, time: float, host: int, path: str, said: Said) -> None:
        """Remember this request."""
        self.requests += 1
        if not self._keep and self._file is None:
            return
        one = Served(
            time, host, path, said.status, said.row, said.first, said.last, said.retry_after
        )
        if self._file is not None:
            self._file.write(json.dumps(astuple(one)) + "\n")
            self._file.flush()
        else:
            self.served.append(one)

    def close(self) -> None:
        """End the file, if there is one."""
        if self._file is not None:
            self._file.close()


def read_log(path: Path) -> Iterator[Served]:
    """What a log file says, oldest first."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield Served(*json.loads(line))


@dataclass(frozen=True, slots=True, kw_only=True)
class Early:
    """A request that came before it was welcome."""

    served: Served
    #: Seconds since the request that it came too soon after, and what was asked for.
    after: float
    least: float
    #: "minimum interval", "host spacing" or "Retry-After".
    rule: str


def early_polls(
    served: Iterable[Served], plan: Plan, rules: Rules, *, slack: float = 0.0
) -> list[Early]:
    """Requests for documents that came too early, as the web saw it.

    A redirect is followed at once, within the visit that met it, and robots.txt is asked for
    between visits: neither is a visit of its own. Where a kept connection dies, HTTP clients ask
    once more at once, as they may: sites that hang up are left out.

    Parameters
    ----------
    slack
        Seconds by which requests may differ from when they were sent, where time runs fast.
    """
    visited: dict[int, float] = {}
    of_host: dict[int, float] = {}
    told: dict[int, tuple[float, float]] = {}
    found = []

    def check(one: Served, since: float | None, least: float, rule: str) -> None:
        if since is not None and one.time - since < least - slack:
            found.append(Early(served=one, after=one.time - since, least=least, rule=rule))

    for one in served:
        site = plan.sites[one.row]
        if one.row < 0 or one.path != site.path or site.habit == Habit.RESET:
            continue
        delay = CRAWL_DELAY if site.robots == "delay" else 0.0
        check(one, visited.get(one.row), rules.min_interval, "minimum interval")
        check(one, of_host.get(one.host), max(rules.host_spacing, delay), "host spacing")
        since, asked = told.get(one.host, (None, 0.0))
        check(one, since, asked, "Retry-After")
        visited[one.row] = of_host[one.host] = one.time
        if one.retry_after:
            told[one.host] = (one.time, float(one.retry_after))
    return found
