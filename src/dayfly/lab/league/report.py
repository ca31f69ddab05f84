"""The report of the league: one HTML page that needs nothing else, and all figures as JSON, CSV."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from dayfly import __version__
from dayfly.errors import BadInput
from dayfly.lab.drawing import Drawn, available
from dayfly.lab.league import figures
from dayfly.lab.league.document import as_csv, document
from dayfly.lab.league.play import League
from dayfly.lab.league.table import CellTable, Line, Mean, cell_name
from dayfly.lab.page import STYLE
from dayfly.lab.report import replace_all
from dayfly.lab.trials import TrialRow
from dayfly.units import show_duration

#: Lines of a cell that are shown at once, beside learners and oracle; the others unfold.
_SHOWN = 12
#: Where items lost to the window are of interest.
_TRADE = ("social-v1", "bursty-v1")
#: Columns of a cell's table.
HEADS = (
    "policy", "kind", "value", "last days", "of oracle", "of bound", "lost", "delay", "95 %",
    "crawls", "seeds", "CPU",
)  # fmt: skip


def write_league(
    league: League,
    tables: Sequence[CellTable],
    verdicts: Sequence[TrialRow],
    folder: str | Path,
) -> Path:
    """Write report.html, league.json and league.csv; either all of them appear or none changes."""
    found = document(league, tables, verdicts)
    files = {
        "report.html": page(league, tables, verdicts).encode(),
        "league.json": msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n",
        "league.csv": as_csv(found).encode(),
    }
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        replace_all(Path(folder), files)
    except OSError as error:
        raise BadInput(
            f"cannot write the report to {folder}: {error.strerror}; choose another with --out"
        ) from None
    return Path(folder) / "report.html"


def page(league: League, tables: Sequence[CellTable], verdicts: Sequence[TrialRow]) -> str:
    """The whole report as one page."""
    parts = ["<h1>The league of policies</h1>", _quick(league), *_verdicts(verdicts)]
    for scenario in league.scenarios:
        own = [table for table in tables if table.scenario is scenario]
        shows = "all" if scenario.window is None else f"its newest {scenario.window}"
        parts.append(f'<h2 id="{scenario.name}">{scenario.name}</h2>')
        size = (
            f" Here {league.sources[scenario.name]:,} of the sources, and"
            f" {scenario.days - scenario.history_days} days after {scenario.history_days}."
        )
        parts.append(
            f"<p>{_text(scenario.about)}{size if scenario.quick else ''} A source shows {shows}"
            " items.</p>"
        )
        if available():
            parts.append(_figure(figures.overview(league, own)))
        for table in own:
            parts += _table(league, table)
    parts.append(_how(league))
    body = "\n".join(part for part in parts if part)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        "<title>The league of policies · Dayfly</title>\n"
        f"<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def show_figure(row: TrialRow) -> str:
    """The figure of a verdict: a share in percent, or a difference of shares in points.

    >>> show_figure(TrialRow(name="a", value=0.98765, unit="%"))
    '98.77 %'
    >>> show_figure(TrialRow(name="b", value=1.234, unit="points"))
    '+1.23 points'
    """
    if math.isnan(row.value):
        return "–"
    return f"{100 * row.value:.2f} %" if row.unit == "%" else f"{row.value:+.2f} {row.unit}"


def show_mean(found: Mean | None) -> str:
    """A mean share with its interval.

    >>> show_mean(Mean(mean=0.5, low=0.49, high=0.51)), show_mean(None)
    ('50.00 ± 1.00 %', '–')
    """
    if found is None or math.isnan(found.mean):
        return "–"
    width = f" ± {100 * found.half_width:.2f}" if found.half_width > 0 else ""
    return f"{100 * found.mean:.2f}{width} %"


def columns_of(
    table: CellTable, lines: Sequence[Line], names: Sequence[str] = HEADS
) -> tuple[list[str], list[list[str]]]:
    """Headings and cells for people; the column of the bound only where there is one."""
    bounded = table.lines[0].bound_share is not None
    kept = [HEADS.index(name) for name in names if name != "of bound" or bounded]
    last = f"last {table.scenario.settled_days} days"
    heads = [last if HEADS[place] == "last days" else HEADS[place] for place in kept]
    return heads, [[_cells(line)[place] for place in kept] for line in lines]


def _cells(line: Line) -> tuple[str, ...]:
    return (
        line.policy,
        line.kind,
        show_mean(line.share),
        show_mean(line.settled),
        show_mean(line.oracle_share),
        show_mean(line.bound_share),
        f"{line.lost:,.0f}",
        _duration(line.delay_mean_s),
        _duration(line.delay_p95_s),
        f"{line.crawls:,.0f}",
        str(line.seeds),
        f"{line.cpu_s:.1f} s",
    )


def _verdicts(rows: Sequence[TrialRow]) -> Iterable[str]:
    judged = [row for row in rows if row.ok is not None]
    missed = sum(not row.ok for row in judged)
    if not rows:
        yield "<p>Ours did not play, so there is nothing to judge.</p>"
        return
    if judged:
        verdict = f"{len(judged) - missed} of {len(judged)} aims reached."
        yield f'<p class="verdict {"wrong" if missed else "right"}">{verdict}</p>'
    yield '<div class="wide"><table class="verdicts"><thead><tr><th scope="col">what</th>'
    yield '<th scope="col">figure</th><th scope="col">aim</th><th scope="col"></th>'
    yield '<th scope="col">note</th></tr></thead>'
    yield "<tbody>"
    for row in rows:
        mark = {True: "✓", False: "✗", None: ""}[row.ok]
        kind = {True: "right", False: "wrong", None: ""}[row.ok]
        yield (
            f'<tr><th scope="row" style="white-space: normal">{_text(row.name)}</th>'
            f'<td class="number">{show_figure(row)}</td>'
            f'<td class="number">{_text(row.aim)}</td><td class="{kind}">{mark}</td>'
            f"<td>{_text(row.note)}</td></tr>"
        )
    yield "</tbody></table></div>"


def _table(league: League, table: CellTable) -> Iterable[str]:
    yield f"<h3>{_text(table.scenario.name)}: {_text(cell_name(table.cell))}</h3>"
    margins = "; ".join(
        f"{margin.by.mean * 100:+.2f} points over {margin.over}" for margin in table.margins
    )
    yield f"<p>{_text(margins)}</p>" if margins else ""
    first, rest = table.parted(_SHOWN)
    for lines, opening, closing in (
        (first, "", ""),
        (rest, f"<details><summary>{len(rest)} others</summary>", "</details>"),
    ):
        if lines:
            heads, rows = columns_of(table, lines)
            head = "".join(f'<th scope="col">{name}</th>' for name in heads)
            body = "\n".join(map(_row, rows))
            yield (
                f'{opening}<div class="wide"><table class="narrow"><thead><tr>{head}</tr></thead>\n'
                f"<tbody>{body}</tbody></table></div>{closing}"
            )
    if available():
        yield _figure(figures.curves(league, table))
        if table.scenario.name in _TRADE:
            yield _figure(figures.trade(table))


def _row(cells: Sequence[str]) -> str:
    name, kind, *_ = cells
    strong = f"<b>{_text(name)}</b>" if kind == "learner" else _text(name)
    rest = "".join(f'<td class="number">{_text(cell)}</td>' for cell in cells[1:])
    return f'<tr><th scope="row">{strong}</th>{rest}</tr>'


def _figure(figure: Drawn) -> str:
    return (
        f'<figure id="{figure.name}">{figure.svg}<figcaption><b>{_text(figure.title)}.</b>'
        f" {_text(figure.caption)}</figcaption></figure>"
    )


def _quick(league: League) -> str:
    if not league.quick:
        return ""
    return (
        '<p class="quick"><b>Quick look.</b> A sample of the sources, few days, one cell of each'
        " scenario. Run <code>dayfly league</code> without <code>--quick</code> for the real thing."
        "</p>"
    )


def _how(league: League) -> str:
    return (
        "<h2>How this was made</h2><p>All policies crawl at the same budget from a cold start, and"
        " see what their own visits show. <i>value</i> is what was caught, each item at what it was"
        " worth when it was seen, of the worth of all that was published since the start."
        " <i>last days</i> is the same of what was published on the last days of the contest, and"
        " <i>of oracle</i> sets it beside the Whittle index with each source's true mean rate."
        " <i>of bound</i> is value beside what no rule can exceed that knows the true mean rates"
        " and ages alone. <i>lost</i> are items pushed out of a source's window unseen. Field rules"
        " run in their own order and, as <code>.scaled</code>, scaled to the budget. Intervals are"
        f" 95 % (Student's t) over {league.seeds} seeds: of a recorded scenario for those who draw,"
        " of a drawn one for all, each seed a world of its own. Dayfly"
        f" {_text(__version__)}, numpy {_text(np.__version__)}. The same figures are in"
        " <code>league.json</code> and <code>league.csv</code> beside this page.</p>"
    )


def _duration(seconds: float) -> str:
    return "–" if math.isnan(seconds) else show_duration(seconds)


def _text(text: str) -> str:
    return html.escape(text)
