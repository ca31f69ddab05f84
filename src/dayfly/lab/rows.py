"""One number of the papers: what they print, what is right, and what we get."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dayfly.model import Array

#: What the JSON of a row holds, in this order; the CSV adds whether we agree.
KEYS = ("id", "printed", "expected", "ours", "low", "high", "bound", "note")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number."""

    id: str
    #: What the paper prints; None where it prints nothing.
    printed: float | None
    #: What is right, from outside this run.
    expected: float
    #: What this run gives.
    ours: float
    #: 95 % confidence interval; equal to `ours` where nothing is random.
    low: float
    high: float
    #: What no policy can exceed with the same budget and information; None where that is no value.
    bound: float | None
    #: One sentence where printed and right differ, or where a reader would wonder.
    note: str | None
    #: How far `ours` may lie from `expected`.
    tolerance: float
    #: `printed` with the digits that the paper prints.
    printed_as: str = "–"

    @property
    def agrees(self) -> bool:
        """Whether we get what is right."""
        return abs(self.ours - self.expected) <= self.tolerance

    @property
    def half_width(self) -> float:
        """Half of the confidence interval; 0 where nothing is random."""
        return (self.high - self.low) / 2

    @property
    def is_share(self) -> bool:
        """A share of epochs rather than a value per epoch."""
        return self.id.endswith("violations")

    def plain(self) -> dict[str, Any]:
        """The row in the words of the JSON."""
        return {key: getattr(self, key) for key in KEYS}


def interval(sample: Array) -> tuple[float, float, float]:
    """Mean of independent runs, and the 95 % confidence interval around it (Student's t).

    >>> import numpy as np
    >>> [round(x, 3) for x in interval(np.array([1., 2., 3., 4.]))]
    [2.5, 0.446, 4.554]
    """
    from scipy.special import stdtrit

    mean, error = float(sample.mean()), standard_error(sample)
    reach = float(stdtrit(len(sample) - 1, 0.975)) * error
    return mean, mean - reach, mean + reach


def standard_error(sample: Array) -> float:
    """Of the mean of independent runs."""
    return float(sample.std(ddof=1)) / math.sqrt(len(sample))


def show(row: Row, number: float | None) -> str:
    """A number of this row for people: as many digits as it deserves."""
    if number is None:
        return "–"
    if row.is_share:
        return f"{number:.1%}".replace("%", " %")
    return f"{number:.4f}" if row.tolerance <= 1e-3 else f"{number:.2f}"


def to_csv(rows: Sequence[Row]) -> str:
    """One line per row, with a last column that says whether we agree."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*KEYS, "agrees"])
    for row in rows:
        cells = ["" if value is None else value for value in row.plain().values()]
        writer.writerow([*cells, "yes" if row.agrees else "no"])
    return out.getvalue()


def to_json(rows: Sequence[Row]) -> bytes:
    """`{"rows": [...]}`, one row per line."""
    import msgspec

    lines = b",\n".join(msgspec.json.encode(row.plain()) for row in rows)
    return b'{"rows": [\n' + lines + b"\n]}\n"
