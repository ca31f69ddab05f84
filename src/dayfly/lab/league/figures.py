"""What the report of the league draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dayfly.lab.drawing import INK, STYLES, Drawn, drawn
from dayfly.lab.league.outcome import Outcome
from dayfly.lab.league.play import League
from dayfly.lab.league.table import (
    ORACLE,
    OURS,
    STEADY,
    CellTable,
    Line,
    cell_name,
    ratio,
    short_name,
)
from dayfly.model import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Days that a point of a curve averages over.
_WEEK = 7


def overview(league: League, tables: Sequence[CellTable]) -> Drawn:
    """All cells of a scenario: who catches which share of what the oracle catches."""
    name, with_oracle = tables[0].scenario.name, ORACLE in league.policies

    def draw(axes: Axes) -> None:
        for place, table in enumerate(tables):
            found = {
                line.policy: ratio(league, table.cell, line.policy, ORACLE, _share)
                if with_oracle
                else line.share
                for line in table.lines
                if line.policy != ORACLE
            }
            shares = [one.mean for one in found.values()]
            axes.plot(shares, np.full(len(shares), place), "|", color=INK, alpha=0.35)
            for line, label, style in _named(table):
                if line.policy in found:
                    one = found[line.policy]
                    axes.errorbar(
                        one.mean,
                        place,
                        xerr=one.half_width,
                        **{**style, "linestyle": "none"},
                        label=label.partition(":")[0] if place == 0 else None,
                    )
        if with_oracle:
            axes.axvline(1.0, color=INK, linewidth=1.0)
        axes.set_yticks(range(len(tables)), [short_name(table.cell) for table in tables])
        axes.set_ylim(len(tables) - 0.4, -0.6)
        what = "what the oracle catches" if with_oracle else "the value published"
        axes.set(xlabel=f"value caught from the start on, of {what}", xlim=(0, None))
        axes.xaxis.set_major_formatter(_percent)
        axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.4, 1.0))

    return drawn(
        f"overview-{name}",
        f"{name}: every policy in every cell",
        "Cumulative from a cold start; cells are half-life × visits per epoch. Small marks are all"
        " other policies; the best field rule and the best rival may be others in each cell. Bars"
        " are 95 % intervals over seeds.",
        draw,
        size=(7.4, 1.2 + 0.32 * len(tables)),
    )


def curves(league: League, table: CellTable) -> Drawn:
    """How the share of the value published grows with what was learned."""

    def draw(axes: Axes) -> None:
        for line, label, style in _named(table):
            days, share = _weekly(league, table, line.policy)
            axes.plot(days, share, **{**style, "marker": None}, label=label)
        axes.set(xlabel="day since crawling started", ylabel="share of value", ylim=(0, None))
        axes.yaxis.set_major_formatter(_percent)
        axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.45, 1.0))

    return drawn(
        f"curves-{_anchor(table)}",
        f"{table.scenario.name}, {cell_name(table.cell)}: from a cold start",
        "Share caught of what was published, by day of publication, mean of the week around it.",
        draw,
        size=(7.4, 3.0),
    )


def trade(table: CellTable) -> Drawn:
    """Items lost to the window against value missed."""

    def draw(axes: Axes) -> None:
        axes.plot(
            [line.lost for line in table.lines],
            [1 - line.share.mean for line in table.lines],
            "o",
            color=INK,
            alpha=0.35,
            markersize=3,
        )
        for line, label, style in _named(table):
            marker = style["marker"] or "|"
            axes.plot(
                line.lost, 1 - line.share.mean, marker=marker, linestyle="none",
                color=style["color"], label=label,
            )  # fmt: skip
        axes.set(xlabel="items lost to the window", ylabel="value missed")
        axes.yaxis.set_major_formatter(_percent)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.45, 1.0))

    return drawn(
        f"trade-{_anchor(table)}",
        f"{table.scenario.name}, {cell_name(table.cell)}: items lost against value missed",
        "Left and down is better. Who visits the busiest sources for fear of losing items misses"
        " what fades elsewhere; small marks are all other policies.",
        draw,
        size=(7.4, 3.0),
    )


def _named(table: CellTable) -> Iterator[tuple[Line, str, dict[str, Any]]]:
    """The policies that stand out, with what they are called and how they are drawn."""
    oracle: dict[str, Any] = {"color": INK, "linestyle": "-", "marker": None, "linewidth": 1.0}
    for line, label, style in (
        (table.line(ORACLE), ORACLE, oracle),
        (table.line(OURS), OURS, STYLES[0]),
        (table.line(STEADY), STEADY, STYLES[3]),
        (table.best("rival"), "best rival", STYLES[1]),
        (table.best("field"), "best field rule", STYLES[2]),
    ):
        if line is not None:
            own = label if line.policy == label else f"{label}: {line.policy}"
            yield line, own, dict(style)


def _weekly(league: League, table: CellTable, policy: str) -> tuple[Array, Array]:
    outcomes = league.outcomes[table.cell, policy].values()
    value = np.sum([outcome.value_by_day for outcome in outcomes], axis=0)
    published = np.sum([outcome.published_by_day for outcome in outcomes], axis=0)
    width = min(_WEEK, len(value))
    caught, all_ = (np.convolve(one, np.ones(width), "valid") for one in (value, published))
    days: Array = np.arange(len(caught), dtype=np.float64) + width / 2
    share: Array = (caught / np.maximum(all_, 1e-300)).astype(np.float64)
    return days, share


def _share(outcome: Outcome) -> float:
    return outcome.share


def _anchor(table: CellTable) -> str:
    cell = table.cell
    return f"{cell.scenario}-{cell.half_life:g}s-{cell.budget:g}".replace(".", "_")


def _percent(x: float, _: float) -> str:
    return f"{100 * x:.0f} %"
