"""`dayfly trial`: the scheduler put to the test, each figure beside what it aims at."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from dayfly.cli.options import json_option
from dayfly.cli.output import print_json, print_line, print_table, show_number

if TYPE_CHECKING:
    from dayfly.lab.trials import Progress, Trial, TrialRow


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--quick", is_flag=True, help="Smaller fleets and shorter runs.")
@click.option(
    "--out",
    metavar="DIR",
    help="Folder for a picture of each trial and trials.json.",
)
@json_option
def trial(names: tuple[str, ...], quick: bool, out: str | None, as_json: bool) -> None:
    """Put the scheduler to the test: all trials, or those named.

    \b
    large      a million sources, beside a scan of everybody on fewer
    hosts      most of the value on twenty hosts that allow little
    price      a budget that moves, visits that fail
    pressure   a consumer slower than the crawl
    learning   cold starts: nothing known, rewards or dates seen
    estimation rates of pages from a few change bits each
    rhythm     sources that wake and sleep, and pings
    crawl      the whole crawler in a simulated web, beside the truth
    corpus     two thousand recorded documents, beside feedparser

    Ends with 0 whether or not every aim is reached; the last line says.
    """
    from dayfly.errors import MissingExtra, UnknownName
    from dayfly.lab import check_folder
    from dayfly.lab.drawing import available
    from dayfly.lab.trials import NAMES, as_document, run_trial, write_trials

    for name in names:
        if name not in NAMES:
            raise click.BadParameter(str(UnknownName("trial", name, NAMES)), param_hint="'NAME'")
    if out is not None:
        if not available():
            raise MissingExtra("drawing figures", "figures")
        check_folder(out)
    trials: list[Trial] = []
    for name in dict.fromkeys(names or NAMES):
        with _bar(name) as progress:
            trials.append(run_trial(name, quick=quick, progress=progress))
        if not as_json:
            _show(trials[-1])
    if out is not None:
        write_trials(trials, out, quick=quick)
    if as_json:
        print_json({"quick": quick, "trials": [as_document(one) for one in trials]})
        return
    if out is not None:
        print_line(f"Pictures and trials.json: {out}")
    print_line(_verdict(trials, quick))


@contextlib.contextmanager
def _bar(name: str) -> Iterator[Progress | None]:
    """On a terminal a bar, in a pipe silence."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(f"Trial {name}", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _show(trial: Trial) -> None:
    notes = list(dict.fromkeys(row.note for row in trial.rows if row.note))

    def line(row: TrialRow) -> tuple[str, ...]:
        mark = f" [{notes.index(row.note) + 1}]" if row.note else ""
        reached = {True: "yes", False: "NO", None: ""}[row.ok]
        return row.name + mark, show_value(row), row.aim, reached

    print_line(f"{trial.name}: {trial.question} (seed {trial.seed})")
    print_line()
    print_table(("what", "figure", "aim", "reached?"), map(line, trial.rows))
    for number, note in enumerate(notes, 1):
        print_line(f"[{number}] {note}")
    print_line()


def show_value(row: TrialRow) -> str:
    """The figure of a row with its unit; shares to a thousandth of a percent.

    >>> from dayfly.lab.trials import TrialRow
    >>> show_value(TrialRow(name="a", value=0.99876, unit="%"))
    '99.876 %'
    >>> show_value(TrialRow(name="b", value=1234.5, unit="ms"))
    '1,234 ms'
    """
    if row.value != row.value:
        return "–"
    if row.unit == "%":
        return f"{100 * row.value:.3f} %"
    return f"{show_number(row.value)} {row.unit}".rstrip()


def _verdict(trials: Sequence[Trial], quick: bool) -> str:
    rows = [(trial, row) for trial in trials for row in trial.rows if row.ok is not None]
    missed = [f"{trial.name}: {row.name}" for trial, row in rows if not row.ok]
    size = " (quick run)" if quick else ""
    reached = f"Aims reached{size}: {len(rows) - len(missed)} of {len(rows)}."
    return f"{reached} MISSED: {'; '.join(missed)}" if missed else reached
