"""`dayfly demo`: a web of 300 feeds on this machine, crawled for real while you watch."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

import click

from dayfly.cli.output import as_typed, print_line, print_table, show_number, show_share
from dayfly.units import show_duration

if TYPE_CHECKING:
    from dayfly.cli.demo_crawl import Outcome
    from dayfly.cli.live import LiveView
    from dayfly.schedule import Loop, News

#: In a pipe one line is printed per so many seconds of the demonstration's time.
_LINE_EVERY = 6 * 3600.0
#: Frames of the live view per real second.
_FRAMES = 2.0
_NEXT = {
    "run feeds.opml --budget 60/min --contact YOUR_PAGE": "crawl your own feeds (or a list, CSV)",
    "run feeds.opml --budget 60/min --dry-run": "what the next hour would bring, and why",
    "plan examples/feeds.csv --budget 60/day": "a visiting plan for any other crawler",
    "league bursty-v1 --quick": "every rule of the field on a drawn trace",
    "trial crawl --quick": "this web for days, with the truth beside it",
}


@click.command()
@click.option(
    "--seconds", type=click.FloatRange(0.5, 600), default=60, show_default=True, help="Real time."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Decides what is published.")
def demo(seconds: float, seed: int) -> None:
    """Crawl a simulated web on this machine; no network is needed.

    Some 300 sites on loopback publish RSS, Atom, JSON Feed and sitemaps. Among them are slow,
    failing, malformed and hostile ones, some close their doors by robots.txt, some say 429. The
    crawler, its database and the connections are the real ones; only time runs faster, an hour per
    second. It starts knowing nothing about the feeds but how fast their news fade.
    """
    from dayfly.cli import demo_crawl

    budget = f"{demo_crawl.BUDGET * 3600:g} visits per hour"
    print_line(
        f"A web of {demo_crawl.FEEDS} feeds on loopback, {budget} for all of them,"
        f" {show_duration(seconds * demo_crawl.SPEED)} in {show_duration(seconds)}."
    )
    try:
        outcome = asyncio.run(_watched(seconds, seed, budget))
    except KeyboardInterrupt:
        print_line("Stopped. Nothing was left behind.")
        raise click.exceptions.Exit(130) from None
    _show(outcome)
    print_line("Next:")
    for arguments, what in _NEXT.items():
        print_line(f"  {as_typed()} {arguments:<{max(map(len, _NEXT))}}   {what}")


async def _watched(seconds: float, seed: int, budget: str) -> Outcome:
    """Run it: on a terminal with the live view, in a pipe with a line now and then."""
    from dayfly.cli.demo_crawl import crawl_demo

    watcher = _View(budget) if sys.stdout.isatty() else _Lines()
    try:
        return await crawl_demo(seconds, seed, watcher)
    finally:
        await watcher.end()


class _Lines:
    """A line for every quarter of a day."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def begin(self, loop: Loop) -> None:
        """Look on from now on."""
        self._task = asyncio.ensure_future(self._look(loop))

    def tell(self, news: News) -> None:
        """Single visits are not for people."""

    async def end(self) -> None:
        """Look away."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _look(self, loop: Loop) -> None:
        said = 0.0
        while True:
            # By the wall: whoever sleeps by the demonstration's clock takes part in it.
            await asyncio.sleep(0.1)
            counts = loop.counters
            ran = loop.clock.now() - counts.since
            if ran < said + _LINE_EVERY:
                continue
            said += _LINE_EVERY
            print_line(
                f"{show_duration(said)}:"
                f" {counts.visits:,} visits, {counts.items:,} items,"
                f" {counts.failed + counts.refused:,} failed or refused"
            )


class _View(_Lines):
    """The live view of `dayfly run`."""

    def __init__(self, budget: str) -> None:
        super().__init__()
        self._title = f"dayfly demo · {budget} · Ctrl-C ends"
        self._view: LiveView | None = None

    def begin(self, loop: Loop) -> None:
        """Draw from now on."""
        from dayfly.cli.live import LiveView
        from dayfly.cli.options import rate

        budget = rate(f"{loop.scheduler.budget * 3600:g}/h")
        # What comes next is looked up for every frame: half an hour passes between two of them.
        self._view = LiveView(loop, self._title, budget, real=lambda: 60 * time.monotonic())
        super().begin(loop)

    def tell(self, news: News) -> None:
        """Something to show."""
        if self._view is not None:
            self._view.tell(news)

    async def _look(self, loop: Loop) -> None:
        from dayfly.cli.live import screen

        assert self._view is not None
        with screen(self._view) as live:
            while True:
                live.refresh()
                await asyncio.sleep(1.0 / _FRAMES)


def _show(outcome: Outcome) -> None:
    """What everybody caught of the same arrivals, beside what can be caught at all."""
    from dayfly.cli.demo_crawl import RULES

    published, bound = float(outcome.score.published.sum()), outcome.bound
    scores = {"Dayfly": outcome.score}
    scores |= {what: outcome.rules[name] for name, what in RULES.items()}
    rows = [("at most, with all rates known", "", show_number(bound * published),
             show_share(bound), "")]  # fmt: skip
    for name, score in sorted(scores.items(), key=lambda pair: -pair[1].share):
        value = float(score.value.sum())
        rows.append(
            (name, f"{score.visits:,}", show_number(value), show_share(score.share),
             show_share(score.share / bound))
        )  # fmt: skip
    print_line()
    print_table(("who", "visits", "value caught", "of published", "of the bound"), rows)
    asked, known = sum(outcome.answers.values()), outcome.answers[304]
    _lines(
        f"""
{published:,.0f} items were published meanwhile, each worth 1 when new; that halves with each
half-life that an item waits to be seen. What was there before counts for nobody. The rules are
replayed on the same arrivals with the same budget, and no visit of theirs ever fails.
The web saw {asked:,} requests for documents: {show_share(known / max(asked, 1))} were answered 304
(you have it already), {outcome.trespasses} went where robots.txt says no, {outcome.early} came
before they were welcome.
"""
    )


def _lines(text: str) -> None:
    for line in text.split("\n"):
        print_line(line)
