"""The report: one HTML page that needs nothing else, and the rows as CSV and JSON."""

from __future__ import annotations

import html
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from dayfly import __version__
from dayfly.errors import BadInput
from dayfly.lab.drawing import Drawn
from dayfly.lab.page import STYLE
from dayfly.lab.rows import Row, show, to_csv, to_json
from dayfly.lab.study import Study
from dayfly.lab.table1 import EPOCH, TABLE_ONE, ceiling, first_state

#: Rows of the report by the start of their id: heading, and what it is about.
SECTIONS = {
    "tcns.det.": ("Deterministic model", "[J §IX]: everything happens as expected; 1,000 epochs."),
    "tcns.poisson.": ("Poisson arrivals", "[J §IX]: every item of a source is worth the same."),
    "tcns.epoch_exponential.": (
        "Exponential worth, one draw per source and epoch",
        "The only reading that gives numbers like those of [J] and [S].",
    ),
    "tcns.item_exponential.": (
        "Exponential worth, one draw per item",
        "What the text of [J] describes; it prints no number that fits.",
    ),
    "cdc.": ("Conference paper", "[C], and the same number in [S]."),
    "slides.": ("Slides", "[S]: stochastic setting, M = 1."),
    "allerton.": ("Learning paper", "[L]: one crawl per step, averages from the first step on."),
}

_PAPERS = (
    ("J", "Avrachenkov, Borkar: Whittle Index Policy for Crawling Ephemeral Content. IEEE "
     "Transactions on Control of Network Systems 5(1), 2018."),
    ("C", "The same, IEEE Conference on Decision and Control, 2015."),
    ("S", "The same, slides, Journées MAS, Grenoble 2016."),
    ("L", "The same: A learning algorithm for the Whittle index policy for scheduling web "
     "crawlers. Allerton Conference, 2019."),
)  # fmt: skip


def write_report(study: Study, folder: str | Path, *, without_figures: str | None = None) -> Path:
    """Write report.html, rows.csv and rows.json; either all of them appear or none changes.

    Parameters
    ----------
    without_figures
        Why there are no figures, if there are none.

    Returns
    -------
    the page.
    """
    folder = Path(folder)
    files = {
        "report.html": page(study, without_figures).encode(),
        "rows.csv": to_csv(study.rows).encode(),
        "rows.json": to_json(study.rows),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_all(folder, files)
    except OSError as error:
        raise BadInput(
            f"cannot write the report to {folder}: {error.strerror}; choose another with --out"
        ) from None
    return folder / "report.html"


def check_folder(folder: str | Path) -> None:
    """Refuse a folder that cannot be written, before the work rather than after it."""
    place = Path(folder).absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise BadInput(f"cannot write the report to {folder}; choose another with --out")


def page(study: Study, without_figures: str | None = None) -> str:
    """The whole report as one page."""
    wrong = study.disagreeing
    agree = len(study.rows) - len(wrong)
    verdict = f"{agree} of {len(study.rows)} rows come out right."
    if wrong:
        verdict += " Not right: " + ", ".join(row.id for row in wrong) + "."
    parts = [
        "<h1>The papers, reproduced</h1>",
        _quick(study),
        f'<p class="verdict {"wrong" if wrong else "right"}">{_text(verdict)}</p>',
        "<p>What four documents on crawling ephemeral content print, what is right, and what "
        "<code>dayfly reproduce</code> measures. Values are per epoch. The bound is what no "
        "policy can exceed with the same budget and information.</p>",
        "<dl>",
        *(f"<dt>[{key}]</dt><dd>{_text(title)}</dd>" for key, title in _PAPERS),
        "</dl>",
        _table_one(),
        "<h2>Numbers</h2>",
        *_sections(study.rows),
        "<h2>Figures of the papers</h2>",
        *_figures(study.papers, without_figures),
        "<h2>Beyond the papers</h2>",
        *_figures(study.beyond, without_figures),
        _how(study),
    ]
    body = "\n".join(part for part in parts if part)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        "<title>The papers, reproduced · Dayfly</title>\n"
        f"<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _sections(rows: Sequence[Row]) -> Iterable[str]:
    heads = ("row", "printed", "right", "ours", "bound", "", "note")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    for start, (title, about) in SECTIONS.items():
        kept = [row for row in rows if row.id.startswith(start)]
        yield f"<h3>{_text(title)}</h3><p>{_text(about)}</p>"
        lines = "\n".join(_line(row) for row in kept)
        yield (
            f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n'
            f"<tbody>{lines}</tbody></table></div>"
        )


def _line(row: Row) -> str:
    ours = show(row, row.ours)
    if row.half_width > 0:
        ours += f" ± {row.half_width:.2f}"
    mark = "✓" if row.agrees else "✗"
    said = "agrees with what is right" if row.agrees else "does not agree with what is right"
    numbers = (row.printed_as, show(row, row.expected), ours, show(row, row.bound))
    cells = "".join(f'<td class="number">{_text(number)}</td>' for number in numbers)
    return (
        f'<tr id="{row.id}"><th scope="row"><code>{row.id}</code></th>{cells}'
        f'<td class="{"right" if row.agrees else "wrong"}" title="{said}">{mark}</td>'
        f"<td>{_text(row.note or '')}</td></tr>"
    )


def _table_one() -> str:
    """[J, Table I], with what follows from it."""
    fleet = TABLE_ONE
    columns = {
        "ξ̄": fleet.worth,
        "μ": fleet.decay,
        "Λ": fleet.arrival,
        "half-life ln 2/μ": np.log(2) / fleet.decay,
        "α": np.exp(-fleet.decay * EPOCH),
        "u": first_state(fleet),
        "u*": ceiling(fleet),
    }
    head = "".join(f'<th scope="col">{name}</th>' for name in ("source", *columns))
    lines = "\n".join(
        f'<tr><th scope="row">{i + 1}</th>'
        + "".join(f'<td class="number">{column[i]:.4g}</td>' for column in columns.values())
        + "</tr>"
        for i in range(len(fleet))
    )
    return (
        "<h2>Table I</h2><p>The four sources of all papers (T = 1, every crawl costs 1), and what "
        "follows: α is what an epoch leaves of a value, u what it adds, u* what waits at a source "
        'that is never crawled.</p><div class="wide"><table class="narrow">'
        f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _figures(drawn: Sequence[Drawn], without: str | None) -> Iterable[str]:
    if not drawn:
        yield f"<p>{_text((without or 'not drawn') + '.')}</p>"
    for figure in drawn:
        title, caption = _text(figure.title), _text(figure.caption)
        yield (
            f'<figure id="{figure.name}">{figure.svg}'
            f"<figcaption><b>{title}.</b> {caption}</figcaption></figure>"
        )


def _quick(study: Study) -> str:
    if not study.effort.quick:
        return ""
    return (
        '<p class="quick"><b>Quick run.</b> Fewer seeds and epochs than the papers need: intervals '
        "are wide, and figures are coarse. Run <code>dayfly reproduce</code> without "
        "<code>--quick</code> for the real thing.</p>"
    )


def _how(study: Study) -> str:
    effort = study.effort
    seeds = f"0 to {effort.seeds - 1}"
    return (
        "<h2>How this was made</h2><p>"
        f"Stochastic rows: {effort.seeds} runs (seeds {seeds}) of {effort.epochs:,} epochs from "
        "X = u, every arrival drawn, all policies on the same arrivals; intervals are 95 % "
        "(Student's t). Rows agree if they lie within 0.001 of what is right (no chance), within "
        "three standard errors of the difference (chance), or within 0.2 % (solved on a grid). "
        f"Ties go to the lower row. Dayfly {_text(__version__)}, Python "
        f"{_text(platform.python_version())}, numpy {_text(np.__version__)}. The same rows are in "
        "<code>rows.csv</code> and <code>rows.json</code> beside this page; the errata page of the "
        "documentation tells the story behind the notes.</p>"
    )


def replace_all(folder: Path, files: dict[str, bytes]) -> None:
    """Write everything beside its place first, then move it there."""
    waiting = {folder / f".{name}.{os.getpid()}": folder / name for name in files}
    try:
        for draft, place in waiting.items():
            draft.write_bytes(files[place.name])
        for draft, place in waiting.items():
            draft.replace(place)
    finally:
        for draft in waiting:
            draft.unlink(missing_ok=True)


def _text(text: str) -> str:
    return html.escape(text)
