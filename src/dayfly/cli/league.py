"""`dayfly league`: every policy in every scenario at equal budget."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from dayfly.cli.options import json_option
from dayfly.cli.output import print_json, print_line, print_table

if TYPE_CHECKING:
    from dayfly.lab.league import Scenario
    from dayfly.lab.league.play import League, Progress
    from dayfly.lab.league.table import CellTable
    from dayfly.lab.trials import TrialRow

#: Lines of a cell on the screen, beside learners and oracle; the report has them all.
_SHOWN = 12
_COLUMNS = ("policy", "kind", "value", "last days", "of oracle", "of bound", "lost", "seeds")
#: Seeds if nobody says, in full and for a quick look.
_SEEDS, _QUICK_SEEDS = 10, 3
#: Goes all sources in turn, as b0_cycle does; one of them is enough.
_TWIN = "round_robin"


@click.command()
@click.argument("scenarios", metavar="[SCENARIO]...", nargs=-1)
@click.option(
    "--policies",
    metavar="NAME,NAME,…",
    help="Who takes part.  [default: everybody]",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    metavar="N",
    help=f"Seeds for who draws, and worlds of a drawn scenario.  [default: {_SEEDS};"
    f" {_QUICK_SEEDS} with --quick]",
)
@click.option(
    "--out",
    metavar="DIR",
    help="Folder for the report: report.html, league.json, league.csv.",
)
@click.option(
    "--cache",
    metavar="DIR",
    help="Folder where outcomes are kept.  [default: in the user's cache]",
)
@json_option
@click.option("--quick", is_flag=True, help="Few sources, few days, one cell of each scenario.")
def league(
    scenarios: tuple[str, ...],
    policies: str | None,
    seeds: int | None,
    out: str | None,
    cache: str | None,
    as_json: bool,
    quick: bool,
) -> None:
    """Let every policy play every scenario at equal budget: all scenarios, or those named.

    \b
    news-v1      90 days of 6,626 publishers          recorded
    social-v1    120 days of 1,134 accounts           recorded
    forums-v1    120 days of 471 forums, by score     recorded
    poisson-v1   at random                            drawn
    diurnal-v1   each with its time of day            drawn
    bursty-v1    in bursts                            drawn
    drift-v1     rates move                           drawn
    deaths-v1    sources fall silent and wake up      drawn

    Recorded ones are read from the folder that DAYFLY_DATA names; one that nobody asked for by name
    is left out if its file is not there. Whatever is finished is kept, so that a run which was
    interrupted goes on where it was, and only what has changed is played again. Ends with 0 whether
    or not every aim is reached; the last line says.
    """
    from dayfly.errors import MissingExtra
    from dayfly.lab import check_folder
    from dayfly.lab.drawing import available
    from dayfly.lab.jobs import cores
    from dayfly.lab.league import Cache, default_folder, play_league
    from dayfly.lab.league.document import document
    from dayfly.lab.league.report import write_league
    from dayfly.lab.league.table import tables
    from dayfly.lab.league.verdicts import verdicts

    found = _scenarios(scenarios, quick)
    names = _policies(policies)
    if out is not None:
        check_folder(out)
    with _bar() as progress:
        played = play_league(
            found,
            names,
            seeds=seeds or (_QUICK_SEEDS if quick else _SEEDS),
            cache=Cache(cache or default_folder()),
            workers=cores(),
            progress=progress,
        )
    cells = tables(played)
    rows = verdicts(played, cells)
    page = None if out is None else write_league(played, cells, rows, out)
    if as_json:
        print_json(document(played, cells, rows))
        return
    for table in cells:
        _show(table)
    _show_verdicts(played, rows)
    if page is not None and not available():
        print_line(f"Without figures: {MissingExtra('drawing figures', 'figures')}")
    if page is not None:
        print_line(f"Report: {page}")


def _scenarios(names: tuple[str, ...], quick: bool) -> list[Scenario]:
    from dayfly.errors import UnknownName
    from dayfly.lab.data import data_folder
    from dayfly.lab.league import SCENARIOS, find_scenario

    if not names:
        folder = data_folder()
        for name, one in SCENARIOS.items():
            if one.drawn or (folder / one.file).exists():
                names += (name,)
            else:
                said = f"dayfly: {name} is left out: {one.file} is not in {folder}"
                click.echo(said, err=True)
    try:
        return [find_scenario(name, quick=quick) for name in dict.fromkeys(names)]
    except UnknownName as error:
        raise click.BadParameter(str(error), param_hint="'SCENARIO'") from None


def _policies(text: str | None) -> list[str]:
    from dayfly.errors import UnknownName
    from dayfly.simulate import contenders

    known = contenders()
    if text is None:
        return [name for name in known if name != _TWIN]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise click.BadParameter("names nobody", param_hint="'--policies'")
    for name in names:
        if name not in known:
            raise click.BadParameter(
                str(UnknownName("policy", name, known)), param_hint="'--policies'"
            )
    return list(dict.fromkeys(names))


@contextlib.contextmanager
def _bar() -> Iterator[Progress]:
    """On a terminal a bar, in a pipe silence."""
    if not sys.stderr.isatty():
        yield lambda done, total: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("Reading traces", total=None)
        yield lambda done, total: bar.update(
            task, description="Playing", completed=done, total=total
        )


def _show(table: CellTable) -> None:
    from dayfly.lab.league.report import columns_of, show_mean
    from dayfly.lab.league.table import cell_name

    shown, left = table.parted(_SHOWN)

    heads, rows = columns_of(table, shown, _COLUMNS)
    print_line(f"{table.scenario.name}: {cell_name(table.cell)}")
    print_line()
    print_table(heads, rows, texts=2)
    if left:
        print_line(
            f"{len(left)} others, the best of them {left[0].policy}: {show_mean(left[0].share)}."
        )
    for margin in table.margins:
        by = margin.by
        width = f" ± {100 * by.half_width:.2f}" if by.half_width > 0 else ""
        more = "more" if by.mean >= 0 else "less"
        what = "field rule" if margin.kind == "field" else "rival"
        print_line(
            f"dayfly catches {100 * abs(by.mean):.2f}{width} points {more} than the best {what},"
            f" {margin.over}."
        )
    print_line()


def _show_verdicts(league: League, rows: Sequence[TrialRow]) -> None:
    from dayfly.lab.league.report import show_figure

    size = " Quick look: few sources, few days." if league.quick else ""
    if not rows:
        print_line(f"dayfly did not play: there is nothing to judge.{size}")
        return
    print_table(
        ("what", "figure", "aim", "reached?"),
        (
            (
                row.name,
                show_figure(row),
                row.aim,
                {True: "yes", False: "NO", None: ""}[row.ok],
            )
            for row in rows
        ),
    )
    for row in rows:
        if row.note and "missed" in row.name:
            print_line(f"{row.name.split(':')[0]}: {row.note}.")
    judged = [row for row in rows if row.ok is not None]
    missed = sum(not row.ok for row in judged)
    print_line()
    reached = f"Aims reached: {len(judged) - missed} of {len(judged)}."
    print_line((reached if judged else "These cells have no aims.") + size)
