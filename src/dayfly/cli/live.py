"""The live view: what is caught, at what price, what comes next, and what goes wrong."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from dayfly.cli.database import show_instant, show_since
from dayfly.cli.options import Budget
from dayfly.cli.output import printable, show_number, show_share, show_times
from dayfly.model import Crawl
from dayfly.schedule import Loop, News, Notice, Recorded
from dayfly.schedule.writer import STOPPED
from dayfly.serve.rehearsal import Rehearsed, copied, rehearse
from dayfly.serve.vocabulary import shown_url
from dayfly.units import show_duration, show_part

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

#: What is "lately", in seconds; errors and next visits that are shown at most.
_LATELY, _ERRORS, _NEXT = 300.0, 4, 6
#: Real seconds between two looks ahead, and sources beyond which nobody looks: it takes a copy of
#: the whole scheduler.
_LOOK_EVERY, _LARGEST = 3.0, 20_000
#: How far to look ahead, in seconds.
_AHEAD = 60.0


def screen(view: LiveView) -> Live:
    """A terminal that shows the view until it is stopped, and then is as it was before.

    It is the alternate screen: where lines are drawn over each other instead, a terminal that is
    made narrower breaks them, and what is left over stays.
    """
    from rich.console import Console
    from rich.live import Live

    return Live(view, console=Console(), auto_refresh=False, screen=True)


class LiveView:
    """Draws a loop whenever it is asked to; tell it the news.

    Parameters
    ----------
    loop
        What is watched.
    title
        One line above everything.
    budget
        What may be spent, as it was typed.
    real
        The time of the wall, which decides how often to look ahead.
    """

    def __init__(
        self,
        loop: Loop,
        title: str = "",
        budget: Budget | None = None,
        *,
        real: Callable[[], float] = time.monotonic,
    ) -> None:
        self._loop, self._title, self._budget, self._real = loop, title, budget, real
        self._lately: deque[tuple[float, int, float, float]] = deque()
        self._errors: deque[tuple[float, str, str]] = deque(maxlen=_ERRORS)
        self._next: list[Rehearsed] = []
        self._looked = -_LOOK_EVERY
        #: Whether it was asked to end.
        self.stopping = False

    def tell(self, news: News) -> None:
        """Something happened."""
        if isinstance(news, Recorded):
            for crawl in news.crawls:
                self._see(crawl)
        elif isinstance(news, Notice):
            self._errors.append((news.time, news.kind, news.text))

    def alarm(self, text: str) -> None:
        """Something is odd as a whole."""
        self._errors.append((self._loop.clock.now(), "alarm", text))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._title:
            yield _text(self._title, "bold")
        yield self._facts()
        room = (options.max_height or 24) - 9
        if not self.stopping and (upcoming := self._upcoming()):
            yield _rows("next", upcoming[: max(room - 3, 1)])
        if self._errors and room > 4:
            yield _rows("trouble", self._troubles())

    def _see(self, crawl: Crawl) -> None:
        self._lately.append((crawl.time, len(crawl.items), crawl.value, crawl.cost))
        if not crawl.answered and crawl.reason != STOPPED:
            source = self._loop.sources[crawl.row]
            again = show_since(source.not_before, self._loop.clock.now())
            said = f"{crawl.reason}, again {again}" if source.not_before else crawl.reason
            self._errors.append((crawl.time, shown_url(source.name), said))

    def _facts(self) -> Table:
        from rich.table import Table

        loop, counts, now = self._loop, self._loop.counters, self._loop.clock.now()
        ran = max(now - counts.since, 1e-9)
        while self._lately and self._lately[0][0] < now - _LATELY:
            self._lately.popleft()
        span = min(_LATELY, ran)
        items = sum(entry[1] for entry in self._lately)
        value = sum(entry[2] for entry in self._lately)
        spent = sum(entry[3] for entry in self._lately)
        share = counts.value / counts.expected if counts.expected > 0 else float("nan")
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True, min_width=7)
        grid.add_column(no_wrap=True, overflow="ellipsis")
        caught = f"{show_number(value / span * 3600)}/h"
        if share <= 1.0:  # more than all: first visits have found what was there before
            caught += f" · {show_share(share)} of what was published, by our estimate"
        rows = [
            ("value", caught),
            ("items", f"{counts.items:,} new · {show_number(items / span * 60)}/min"),
            ("budget", self._used(spent / span)),
            ("price", show_number(loop.scheduler.price)),
            ("visits", _visits(counts.visits, counts.changed, counts.failed, counts.refused)),
            ("running", f"{show_duration(ran)} · {len(loop.under_way)} under way"),
        ]
        if self.stopping:
            rows.append(("ending", "visits under way may end, within ten seconds"))
        for name, what in rows:
            grid.add_row(name, _text(what))
        return grid

    def _used(self, spent: float) -> str:
        if self._budget is None:
            return show_part(spent, self._loop.scheduler.budget)
        return self._budget.part(spent)

    def _upcoming(self) -> list[tuple[str, str, str]]:
        now = self._loop.clock.now()
        if len(self._loop.sources) <= _LARGEST and self._real() >= self._looked + _LOOK_EVERY:
            self._looked = self._real()
            copy = copied(self._loop.scheduler)
            sources, rules = self._loop.sources, self._loop.rules
            self._next = rehearse(copy, now, _AHEAD, _NEXT, sources=sources, rules=rules)
        flying = set(self._loop.under_way)
        return [
            (
                f"{max(visit.time - now, 0.0):.0f}s",
                shown_url(self._loop.sources[visit.row].name),
                _why(visit),
            )
            for visit in self._next
            if visit.time >= now - 1.0 and visit.row not in flying
        ]

    def _troubles(self) -> list[tuple[str, str, str]]:
        now = self._loop.clock.now()
        return [(show_instant(at, now), name, said) for at, name, said in reversed(self._errors)]


def _visits(visits: int, changed: int, failed: int, refused: int) -> str:
    said = f"{visits:,}"
    if visits:
        said += f" · {changed / visits:.0%} with news"
    if failed:
        said += f" · {failed:,} failed"
    if refused:
        said += f" · {refused:,} refused"
    return said


def _why(visit: Rehearsed) -> str:
    if visit.why != "worth the price" or visit.index is None:
        return visit.why
    return show_times(visit.index, visit.price)


def _rows(title: str, rows: list[tuple[str, str, str]]) -> Table:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(style="dim", no_wrap=True, min_width=7)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(ratio=2, no_wrap=True, overflow="ellipsis")
    grid.add_column(ratio=3, no_wrap=True, overflow="ellipsis")
    for number, cells in enumerate(rows):
        grid.add_row(title if number == 0 else "", *(_text(cell) for cell in cells))
    return grid


def _text(text: str, style: str = "") -> Text:
    """What comes from outside is text, never markup and never a control character."""
    from rich.text import Text

    return Text(printable(text), style=style, no_wrap=True, overflow="ellipsis")
