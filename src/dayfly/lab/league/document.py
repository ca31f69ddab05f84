"""The league for programs: JSON in the words of the reference, and one CSV line per policy."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from dayfly.lab.league.play import League
from dayfly.lab.league.table import CellTable, Line
from dayfly.lab.trials import TrialRow


def document(
    league: League, tables: Sequence[CellTable], verdicts: Sequence[TrialRow]
) -> dict[str, Any]:
    """All that was found, in the words of the JSON."""
    return {
        "quick": league.quick,
        "n_seeds": league.seeds,
        "scenarios": [
            {
                "scenario": scenario.name,
                "about": scenario.about,
                "n_sources": league.sources[scenario.name],
                "days": scenario.days - scenario.history_days,
                "history_days": scenario.history_days,
                "settled_days": scenario.settled_days,
                "window": scenario.window,
            }
            for scenario in league.scenarios
        ],
        "cells": [_cell(table) for table in tables],
        "verdicts": [
            {
                "name": row.name,
                "value": _finite(row.value),
                "unit": row.unit,
                "aim": row.aim,
                "ok": row.ok,
                "note": row.note,
            }
            for row in verdicts
        ],
    }


def _cell(table: CellTable) -> dict[str, Any]:
    cell = table.cell
    return {
        "scenario": cell.scenario,
        "budget_per_s": float(f"{cell.budget / cell.epoch:.13g}"),
        "epoch_s": cell.epoch,
        "half_life_s": cell.half_life,
        "margins": [
            {
                "over": margin.over,
                "kind": margin.kind,
                "margin": margin.by.mean,
                "margin_low": margin.by.low,
                "margin_high": margin.by.high,
            }
            for margin in table.margins
        ],
        "policies": [_plain(line) for line in table.lines],
    }


def _plain(line: Line) -> dict[str, Any]:
    found: dict[str, Any] = {"policy": line.policy, "kind": line.kind, "n_seeds": line.seeds}
    means = {
        "share": line.share,
        "settled_share": line.settled,
        "oracle_share": line.oracle_share,
        "bound_share": line.bound_share,
    }
    for name, mean in means.items():
        found[name] = None if mean is None else _finite(mean.mean)
        found[f"{name}_low"] = None if mean is None else _finite(mean.low)
        found[f"{name}_high"] = None if mean is None else _finite(mean.high)
    for name in ("items", "caught", "lost", "delay_mean_s", "delay_p95_s", "crawls", "cpu_s"):
        found[name] = _finite(getattr(line, name))
    return found


def as_csv(found: dict[str, Any]) -> str:
    """One line per cell and policy."""
    out = io.StringIO()
    lines = [
        {
            **{key: cell[key] for key in ("scenario", "budget_per_s", "epoch_s", "half_life_s")},
            **one,
        }
        for cell in found["cells"]
        for one in cell["policies"]
    ]
    writer = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None
