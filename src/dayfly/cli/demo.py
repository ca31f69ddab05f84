"""`dayfly demo`: three feeds crawled end to end in a few seconds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from dayfly.units import show_duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dayfly.cli.demo_crawl import Progress

#: In a pipe one line is printed per so many seconds of the demonstration's time.
_LINE_EVERY = 4 * 3600.0


@click.command()
@click.option(
    "--seconds", type=click.FloatRange(0.5, 600), default=10, show_default=True, help="Real time."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Decides what is published.")
def demo(seconds: float, seed: int) -> None:
    """Crawl three feeds on this machine and see what is learnt and caught.

    Feeds, fetcher, store, estimator and scheduler are the real ones; only time runs faster, two
    hours per second. The crawler starts with the same guess for all three feeds.
    """
    from rich.console import Console

    from dayfly.cli import demo_crawl

    console = Console()
    span = show_duration(seconds * demo_crawl.SPEED)
    console.print(
        f"Crawling three feeds for {span}, which take {show_duration(seconds)}."
        f" Budget: {demo_crawl.BUDGET * 3600:g} visits per hour in all.",
        highlight=False,
    )
    try:
        result = _watched(console, seconds, seed)
    except KeyboardInterrupt:
        console.print("Stopped. Nothing was left behind.")
        raise click.exceptions.Exit(130) from None
    console.print(_table(result, "What was learnt and caught"))
    share = sum(result.value_caught) / max(sum(result.value_published), 1e-300)
    console.print(
        f"Caught {share:.0%} of the published value with rates learnt on the way;"
        f" on average at most {demo_crawl.best_share():.0%} is possible with this budget.\n"
        "An item's value halves with each half-life that it waits to be seen.\n\n"
        "Next:\n"
        "  dayfly plan FLEET.csv --budget 60/min   a visiting plan for your own sources\n"
        "  dayfly reproduce                        the papers' numbers, checked",
        highlight=False,
        soft_wrap=True,
    )


def _watched(console: Console, seconds: float, seed: int) -> Progress:
    """Run it; on a terminal the table fills in place, in a pipe there is a line now and then."""
    from dayfly.cli.demo_crawl import crawl_demo

    if not console.is_terminal:
        return asyncio.run(crawl_demo(seconds, seed, _Lines(console)))
    from rich.live import Live

    with Live(console=console, refresh_per_second=8, transient=True) as live:

        def show(progress: Progress) -> None:
            live.update(_table(progress, f"After {show_duration(progress.elapsed)}"))

        return asyncio.run(crawl_demo(seconds, seed, show))


class _Lines:
    def __init__(self, console: Console) -> None:
        self._console, self._next = console, _LINE_EVERY

    def __call__(self, progress: Progress) -> None:
        """One line when it is time for one."""
        if progress.elapsed < self._next:
            return
        self._next += _LINE_EVERY
        self._console.print(
            f"{show_duration(progress.elapsed)}: {sum(progress.visits)} visits,"
            f" {sum(progress.caught)} of {sum(progress.published)} items",
            highlight=False,
        )


def _table(progress: Progress, title: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from dayfly.cli.demo_crawl import FEEDS

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for name in ("source", "half-life"):
        table.add_column(name, no_wrap=True)
    for name in ("true rate", "learnt rate", "visits", "items caught", "value caught"):
        table.add_column(name, justify="right", no_wrap=name == "items caught")
    for row, (name, _, rate, half_life, _) in enumerate(FEEDS):
        published = progress.value_published[row]
        table.add_row(
            name,
            show_duration(half_life),
            _hourly(rate),
            _hourly(progress.learnt[row]),
            str(progress.visits[row]),
            f"{progress.caught[row]} of {progress.published[row]}",
            f"{progress.value_caught[row] / published:.0%}" if published else "–",
        )
    return table


def _hourly(per_second: float) -> str:
    """All rates in one unit, so that true and learnt can be compared at a glance."""
    return f"{per_second * 3600:.2g}/h"
