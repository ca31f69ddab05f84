"""`dayfly reproduce`: the papers' numbers and figures in one command."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from dayfly.cli.options import json_option
from dayfly.cli.output import print_line, print_table

if TYPE_CHECKING:
    from dayfly.lab import Effort, Row, Study

#: Where the report goes if nobody says.
_FOLDER = "reproduce"


@click.command()
@click.option(
    "--out",
    metavar="DIR",
    help=f"Folder for the report.  [default: {_FOLDER}; none with --json]",
)
@json_option
@click.option("--quick", is_flag=True, help="Fewer seeds and epochs: wide intervals, seconds.")
def reproduce(out: str | None, as_json: bool, quick: bool) -> None:
    """Measure every number of the papers, draw every figure, and say where they err.

    Writes report.html, which needs nothing else, rows.csv and rows.json. Ends with 1 if a row does
    not come out right.
    """
    from dayfly.errors import MissingExtra
    from dayfly.lab import FULL, QUICK, check_folder, to_json, write_report
    from dayfly.lab.drawing import available

    folder = out if out is not None or as_json else _FOLDER
    if folder is not None:
        check_folder(folder)
    study = _measured(QUICK if quick else FULL, with_figures=folder is not None)
    missing = None if available() else str(MissingExtra("drawing figures", "figures"))
    page = write_report(study, folder, without_figures=missing) if folder is not None else None
    if as_json:
        click.echo(to_json(study.rows).decode(), nl=False)
        if quick:
            click.echo("dayfly: a quick run, with wide intervals", err=True)
    else:
        _show(study)
        if missing is not None:
            print_line(f"Without figures: {missing}")
        print_line(f"Report: {page}")
    if study.disagreeing:
        raise click.exceptions.Exit(1)


def _measured(effort: Effort, *, with_figures: bool) -> Study:
    """Run it; on a terminal with a bar, in a pipe in silence."""
    from dayfly.lab import reproduce as run

    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if not sys.stderr.isatty():
        return run(effort, with_figures=with_figures, workers=workers or 1)
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("Reproducing the papers", total=None)
        return run(
            effort,
            with_figures=with_figures,
            workers=workers or 1,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


def _show(study: Study) -> None:
    from dayfly.lab.rows import show

    def line(row: Row) -> tuple[str, ...]:
        interval = f"± {row.half_width:.2f}" if row.half_width > 0 else ""
        right, ours, bound = (show(row, number) for number in (row.expected, row.ours, row.bound))
        verdict = "yes" if row.agrees else "NO"
        return row.id, row.printed_as, right, ours, interval, bound, verdict

    effort, wrong = study.effort, study.disagreeing
    print_table(
        ("row", "printed", "right", "ours", "95 %", "bound", "ours right?"), map(line, study.rows)
    )
    print_line()
    if effort.quick:
        print_line("Quick run: fewer seeds and epochs than the papers need, so wide intervals.")
    print_line(
        f"{len(study.rows) - len(wrong)} of {len(study.rows)} rows come out right"
        f" ({effort.seeds} seeds × {effort.epochs:,} epochs where chance plays a part)."
    )
    if wrong:
        print_line("Not right: " + ", ".join(row.id for row in wrong))
