"""What the league has to show, figure by figure beside its aim."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dayfly.lab.league.outcome import Outcome
from dayfly.lab.league.play import League
from dayfly.lab.league.table import (
    ORACLE,
    OURS,
    STEADY,
    CellTable,
    Mean,
    difference,
    ratio,
    sample,
    short_name,
)
from dayfly.lab.trials import TrialRow
from dayfly.policies.field import FIELD, RIVALS

_DAY = 86400.0
#: Of what the oracle catches over the last days of the news, by budget.
_SETTLED = {5.0: 0.93, 20.0: 0.985, 80.0: 0.985}
#: Where items get lost to the window, and where there is a rhythm that may help.
_WINDOW = ("social-v1", "bursty-v1")
_RHYTHM = ("news-v1", "social-v1", "diurnal-v1")
#: Visits per source on average between which a learner should have found out, and its aim.
_VISITS, _FOUND_OUT = (20, 40), 0.97


def verdicts(league: League, tables: Sequence[CellTable]) -> list[TrialRow]:
    """All figures that have something to show, in the order of the cells; none without ours."""
    if OURS not in league.policies:
        return []
    rows = list[TrialRow]()
    for table in tables:
        rows += _margins(table)
        rows += _oracle(table)
        rows += _learning(league, table)
        rows += _window(league, table)
        rows += _rhythm(league, table)
    return rows


def _name(table: CellTable, what: str) -> str:
    return f"{table.scenario.name} {short_name(table.cell)}: {what}"


def _margins(table: CellTable) -> Iterator[TrialRow]:
    """Above every field rule and rival: the least margin decides."""
    if not table.margins:
        return
    least = min(table.margins, key=lambda margin: margin.by.mean)
    recorded = not table.scenario.drawn
    others = "; ".join(f"{_points(one.by)} over {one.over}" for one in table.margins)
    yield TrialRow(
        name=_name(table, f"margin over {_whom(table)}"),
        value=100 * least.by.mean,
        unit="points",
        aim="> 0" if recorded else "",
        ok=least.by.mean > 0 if recorded else None,
        note=f"share of the value published, in points: {others}",
    )


def _whom(table: CellTable) -> str:
    """Whom the margin is over; "every" is said only where all of them played."""
    played = sum(line.kind in ("field", "rival") for line in table.lines)
    if played == len(FIELD) + len(RIVALS):
        return "every field rule and rival"
    return f"the field rules and rivals that played ({played})"


def _oracle(table: CellTable) -> Iterator[TrialRow]:
    line = table.line(OURS)
    if line is None or line.oracle_share is None or table.scenario.drawn:
        return
    aim = None
    if table.scenario.name == "news-v1" and not table.scenario.quick:
        aim = _SETTLED.get(table.cell.budget)
    found = line.oracle_share.mean
    yield TrialRow(
        name=_name(table, f"last {table.scenario.settled_days} days, of {ORACLE}"),
        value=found,
        unit="%",
        aim=f"≥ {100 * aim:g} %" if aim else "",
        ok=found >= aim if aim else None,
    )


def _learning(league: League, table: CellTable) -> Iterator[TrialRow]:
    """Share of the oracle while a source has been visited so many times on average."""
    if table.scenario.name != "poisson-v1" or ORACLE not in league.policies:
        return
    per_day = table.cell.budget * _DAY / table.cell.epoch / league.sources[table.scenario.name]
    first, last = math.ceil(_VISITS[0] / per_day), math.floor(_VISITS[1] / per_day)
    if last > table.scenario.days - table.scenario.history_days:
        return

    def caught(outcome: Outcome) -> float:
        return outcome.share_of(slice(first, last))

    found = ratio(league, table.cell, OURS, ORACLE, caught).mean
    yield TrialRow(
        name=_name(table, f"between {_VISITS[0]} and {_VISITS[1]} visits, of {ORACLE}"),
        value=found,
        unit="%",
        aim=f"≥ {100 * _FOUND_OUT:g} %",
        ok=found >= _FOUND_OUT,
        note=f"visits per source on average; days {first} to {last} of the contest",
    )


def _window(league: League, table: CellTable) -> Iterator[TrialRow]:
    """Value missed and items lost, beside the field rule that is best at each."""
    ours, best = table.line(OURS), table.best("field")
    if table.scenario.name not in _WINDOW or ours is None or best is None:
        return
    fewest = min((line for line in table.lines if line.kind == "field"), key=lambda one: one.lost)
    ahead = difference(league, table.cell, OURS, best.policy, lambda outcome: outcome.share)
    yield TrialRow(
        name=_name(table, "value missed, less than by any field rule"),
        value=100 * ahead.mean,
        unit="points",
        aim="> 0",
        ok=ahead.mean > 0,
        note=(
            f"missed: {1 - ours.share.mean:.1%} by {OURS}, {1 - best.share.mean:.1%} by"
            f" {best.policy}; items lost to the window: {ours.lost:,.0f} and {best.lost:,.0f};"
            f" fewest of all field rules: {fewest.lost:,.0f} by {fewest.policy}, which misses"
            f" {1 - fewest.share.mean:.1%}"
        ),
    )


def _rhythm(league: League, table: CellTable) -> Iterator[TrialRow]:
    if table.scenario.name not in _RHYTHM or STEADY not in league.policies:
        return
    gain = difference(league, table.cell, OURS, STEADY, lambda outcome: outcome.share)
    relative = sample(league, table.cell, STEADY, lambda outcome: outcome.share).mean()
    yield TrialRow(
        name=_name(table, f"{OURS} minus {STEADY}"),
        value=100 * gain.mean,
        unit="points",
        aim="≥ 0",
        ok=gain.mean >= 0,
        note=f"{_points(gain)}, which is {gain.mean / relative:+.2%} of what {STEADY} catches",
    )


def _points(by: Mean) -> str:
    width = f" ± {100 * by.half_width:.2f}" if by.half_width > 0 else ""
    return f"{100 * by.mean:+.2f}{width}"
