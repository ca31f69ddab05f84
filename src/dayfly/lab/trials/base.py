"""A trial: a question about the scheduler, answered by figures beside what they aim at."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dayfly.errors import BadInput, MissingExtra
from dayfly.lab.report import replace_all
from dayfly.model import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Called with how many steps are done, of how many.
Progress: TypeAlias = Callable[[int, int], None]
#: Draws on an empty matplotlib figure, on as many axes as it likes.
Draw: TypeAlias = "Callable[[Figure], None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """One figure of a trial."""

    #: What was measured.
    name: str
    #: The figure; a share is a number around 1 with the unit "%".
    value: float
    #: What it counts in, such as "s" or "%"; empty for a plain number.
    unit: str = ""
    #: What it should be, in words such as "≥ 99 %"; empty for what only informs.
    aim: str = ""
    #: Whether the aim is reached; None where there is none.
    ok: bool | None = None
    #: A remark for the reader, if one is needed.
    note: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """What a trial asked and what came out."""

    #: Its name on the command line.
    name: str
    #: What it asks, in one sentence.
    question: str
    rows: Sequence[TrialRow]
    #: What it draws, as columns: name and unit to numbers.
    series: Mapping[str, Array] = field(default_factory=dict)
    #: Decides what is random: the same seed, the same figures.
    seed: int
    #: How to draw it; None if there is nothing to draw.
    figure: Draw | None = None

    @property
    def missed(self) -> list[TrialRow]:
        """The rows whose aim is not reached."""
        return [row for row in self.rows if row.ok is not None and not row.ok]


def as_document(trial: Trial, *, series: bool = False) -> dict[str, Any]:
    """A trial for programs; with `series` also the columns that it draws."""
    rows = [
        {
            "name": row.name,
            "value": float(row.value) if math.isfinite(row.value) else None,
            "unit": row.unit,
            "aim": row.aim,
            "ok": None if row.ok is None else bool(row.ok),  # numpy's is not for JSON
            "note": row.note,
        }
        for row in trial.rows
    ]
    found = {"trial": trial.name, "question": trial.question, "seed": trial.seed, "rows": rows}
    if series:
        found["series"] = {name: column.tolist() for name, column in trial.series.items()}
    return found


def write_trials(trials: Sequence[Trial], folder: str | Path, *, quick: bool) -> None:
    """Write trials.json and a picture of each trial; either all of them appear or none changes."""
    import msgspec

    document = {"quick": quick, "trials": [as_document(trial, series=True) for trial in trials]}
    files = {f"{trial.name}.png": to_png(trial) for trial in trials if trial.figure is not None}
    files["trials.json"] = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        replace_all(Path(folder), files)
    except OSError as error:
        raise BadInput(
            f"cannot write to {folder}: {error.strerror}; choose another with --out"
        ) from None


def to_png(trial: Trial, *, size: tuple[float, float] = (8.0, 4.5)) -> bytes:
    """The picture of a trial that has one, as a PNG file."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("drawing figures", "figures") from None
    from dayfly.lab.drawing import STYLE

    if trial.figure is None:
        raise ValueError(f"trial {trial.name} has nothing to draw")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        trial.figure(figure)
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=150, metadata={"Software": None})
    return out.getvalue()
