"""`dayfly replay`: a recorded trace against rules that start cold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import click
import numpy as np

from dayfly.cli import options
from dayfly.cli.options import Budget
from dayfly.cli.output import print_json, print_line, print_table, show_share
from dayfly.errors import BadInput, UnknownName
from dayfly.lab.traces import parse_time, read_trace
from dayfly.model import Array
from dayfly.simulate import Replay, Trace, contenders
from dayfly.simulate import replay as play_back
from dayfly.units import parse_duration, show_duration

_KEYS = (
    "policy", "share", "share_by_day", "items", "caught", "lost", "delay_mean_s", "delay_p95_s",
    "crawls", "seed",
)  # fmt: skip
_DEFAULT = ("dayfly", "proportional", "round_robin", "oracle")
_LEVELS = "▁▂▃▄▅▆▇█"
#: A curve is as wide as this at most.
_WIDEST = 60
_DAY = 86400.0


@click.command()
@click.argument("trace", metavar="TRACE.csv")
@click.option(
    "--budget",
    type=options.rate,
    required=True,
    help="Crawls per time, and how often they are decided: 20/15min.",
)
@click.option(
    "--half-life", type=options.duration, required=True, help="An item loses half its worth in: 6h."
)
@click.option(
    "--policy",
    "names",
    multiple=True,
    metavar="NAME",
    help="Who crawls; may be given several times.  [default: dayfly, proportional, round_robin,"
    " oracle]",
)
@click.option(
    "--start",
    default="0",
    metavar="DURATION|TIME",
    help="When crawling starts: 14d after the trace's first item, or 2020-11-17T00:00:00Z."
    "  [default: with the first item]",
)
@click.option(
    "--window",
    type=str,
    default="20",
    show_default=True,
    metavar="N|all",
    help="A source shows its newest N items.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Decides what the policies draw.",
)
@options.json_option
def replay(
    trace: str,
    budget: Budget,
    half_life: float,
    names: tuple[str, ...],
    start: str,
    window: str,
    seed: int,
    as_json: bool,
) -> None:
    """Play a recorded trace against policies that know nothing and see what their crawls reveal.

    TRACE.csv has one item per line: source, time (Unix seconds, or ISO 8601 with an offset), and if
    you like worth; in any order, also packed with gzip; - reads standard input.

    Items from before the start are history: a first visit shows them, and they earn nothing. oracle
    knows each source's mean rate beforehand.
    """
    names = _known(names)
    shows = _window(window)
    if budget.per_s == 0:
        raise click.BadParameter(
            "must be positive: without crawls nothing is caught", param_hint="'--budget'"
        )
    from_file = read_trace(trace)
    begin = _start(from_file, start)
    makers = contenders(from_file)
    runs: dict[str, Replay] = {}
    with _progress(names) as ticks:
        for name in names:
            runs[name] = play_back(
                from_file,
                makers[name],
                budget=budget.each(budget.period_s),
                epoch=budget.period_s,
                decay=math.log(2) / half_life,
                start=begin,
                window=shows,
                seed=seed,
                progress=ticks[name],
            )
    if as_json:
        documents = [_document(name, run) for name, run in runs.items()]
        print_json(documents[0] if len(documents) == 1 else {"policies": documents})
        return
    _show(runs)
    shown = "all" if shows is None else f"the newest {shows}"
    print_line(
        f"{len(from_file):,} sources, {len(from_file.time):,} items, of which"
        f" {next(iter(runs.values())).items:,} since the start; {budget.text}, half-life"
        f" {show_duration(half_life)}, a source shows {shown} items; seed {seed}."
    )
    for note in _notes(from_file, begin):
        print_line(f"Note: {note}")


def _known(names: tuple[str, ...]) -> tuple[str, ...]:
    known = contenders()
    for name in names:
        if name not in known:
            raise click.BadParameter(
                str(UnknownName("policy", name, known)), param_hint="'--policy'"
            )
    return tuple(dict.fromkeys(names)) or tuple(name for name in _DEFAULT if name in known)


def _window(text: str) -> int | None:
    if text == "all":
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise click.BadParameter(
            f"must be a whole number of at least 1, or all, got {text}", param_hint="'--window'"
        )
    return int(text)


def _start(trace: Trace, text: str) -> float:
    """When crawling starts: so long after the first item, or at the time given."""
    try:
        after = parse_duration(text)
        begin = trace.first + after
        if after < 0:
            raise click.BadParameter(f"must not be negative, got {text}", param_hint="'--start'")
    except BadInput:
        try:
            begin = parse_time(text)
        except BadInput as error:
            raise click.BadParameter(
                f"is neither a duration such as 14d nor a time: {error}", param_hint="'--start'"
            ) from None
    if not begin <= trace.last:
        raise click.BadParameter(
            f"{text} lies after the last item, which comes"
            f" {show_duration(trace.last - trace.first)} after the first",
            param_hint="'--start'",
        )
    return begin


def _document(name: str, run: Replay) -> dict[str, Any]:
    found = {"policy": name, **{field.name: getattr(run, field.name) for field in fields(run)}}
    return {
        key: one.tolist() if isinstance(one := found[key], np.ndarray) else one for key in _KEYS
    }


def _show(runs: dict[str, Replay]) -> None:
    rows = [
        [
            name,
            show_share(run.share),
            f"{run.caught:,}",
            f"{run.lost:,}",
            show_duration(run.delay_mean_s) if run.caught else "–",
            show_duration(run.delay_p95_s) if run.caught else "–",
            f"{run.crawls:,}",
        ]
        for name, run in runs.items()
    ]
    print_table(["policy", "value", "caught", "lost", "delay", "95 %", "crawls"], rows)
    print_line()
    width = max(map(len, runs))
    highest = max(float(np.nanmax(run.share_by_day)) for run in runs.values())
    days = len(next(iter(runs.values())).share_by_day)
    for name, run in runs.items():
        print_line(f"{name:<{width}}   {_curve(run.value_by_day, run.published_by_day, highest)}")
    print_line(
        f"{'':<{width}}   share of what was published on each of {days} days; the highest is"
        f" {show_share(highest)}"
    )
    print_line()


def _curve(value: Array, published: Array, highest: float) -> str:
    """Shares by day as one line of bars, some days to a bar where there are many."""
    bars = min(len(value), _WIDEST)
    cut = np.arange(bars) * len(value) // bars
    caught, all_ = np.add.reduceat(value, cut), np.add.reduceat(published, cut)
    level = caught / np.maximum(all_, 1e-300) / max(highest, 1e-300) * (len(_LEVELS) - 1)
    return "".join(
        _LEVELS[min(round(x), len(_LEVELS) - 1)] if there else " "
        for x, there in zip(level.tolist(), (all_ > 0).tolist(), strict=True)
    )


def _notes(trace: Trace, begin: float) -> Iterator[str]:
    """What a reader of the figures should know about the file."""
    same = (np.diff(trace.time) == 0) & (np.diff(trace.source) == 0)
    if same.any():
        yield (f"{int(same.sum()):,} items have the same source and time as another; each counts.")
    times = np.sort(trace.time[trace.time >= begin])
    gap = np.diff(times)
    if len(gap) and gap.max() > max(30 * _DAY, 0.5 * (times[-1] - times[0])):
        later = len(times) - 1 - int(gap.argmax())
        yield (
            f"nothing is published for {show_duration(float(gap.max()))}, and {later:,} items come"
            " after that; are their times right?"
        )


@contextmanager
def _progress(names: Sequence[str]) -> Iterator[dict[str, Callable[[int, int], None] | None]]:
    """A bar per policy on a terminal, gone when all is done; nothing in a pipe."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield dict.fromkeys(names)
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as bars:
        tasks = {name: bars.add_task(name, total=None) for name in names}

        def tick(name: str) -> Callable[[int, int], None]:
            return lambda done, total: bars.update(tasks[name], completed=done, total=total)

        yield {name: tick(name) for name in names}
