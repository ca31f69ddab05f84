"""The tables of the league: each policy's means over seeds, and how far ours is ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dayfly import learn
from dayfly.lab.league.outcome import Outcome
from dayfly.lab.league.play import League
from dayfly.lab.league.scenarios import Cell, Scenario
from dayfly.lab.rows import interval
from dayfly.model import Array
from dayfly.policies.field import FIELD, RIVALS
from dayfly.units import show_duration

#: Ours, the same without a sense of time, and who knows the true mean rates.
OURS, STEADY, ORACLE = "dayfly", "dayfly.steady", "oracle"

#: One number of an outcome.
Figure = Callable[[Outcome], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean over seeds with its 95 % confidence interval; without width where there is one."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, sample: Array) -> Mean:
        """From one number per seed."""
        if len(sample) < 2:
            mean = float(sample[0])
            return cls(mean=mean, low=mean, high=mean)
        mean, low, high = interval(sample)
        return cls(mean=mean, low=low, high=high)

    @property
    def half_width(self) -> float:
        """Half of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A policy in a cell. Shares are of the value published."""

    policy: str
    #: learner, rival, field, oracle or plain.
    kind: str
    #: Seeds that were played.
    seeds: int
    #: From the start on, and over the last days.
    share: Mean
    settled: Mean
    #: `settled` as a share of the oracle's; None if that did not play.
    oracle_share: Mean | None
    #: `share` as a share of what no rule can exceed that knows mean rates; None if nobody knows.
    bound_share: Mean | None
    items: float
    caught: float
    lost: float
    #: NaN where nothing was caught.
    delay_mean_s: float
    delay_p95_s: float
    crawls: float
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """How much larger the share of ours is than that of the best of some others."""

    over: str
    kind: str
    by: Mean


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTable:
    """One cell."""

    scenario: Scenario
    cell: Cell
    #: Best share first.
    lines: Sequence[Line]
    #: Of ours over the best field rule and the best rival; empty without ours.
    margins: Sequence[Margin]

    def line(self, policy: str) -> Line | None:
        """The line of a policy, if it played."""
        return next((line for line in self.lines if line.policy == policy), None)

    def parted(self, shown: int) -> tuple[list[Line], list[Line]]:
        """So many of the best with all learners and the oracle, and all others."""
        kept = [
            place < shown or line.kind in ("learner", "oracle")
            for place, line in enumerate(self.lines)
        ]
        pairs = list(zip(self.lines, kept, strict=True))
        return [line for line, keep in pairs if keep], [line for line, keep in pairs if not keep]

    def best(self, kind: str) -> Line | None:
        """The best of a kind, if one played."""
        return next((line for line in self.lines if line.kind == kind), None)


def kind_of(policy: str) -> str:
    """Which sort of policy this is."""
    learners: dict[str, Any] = getattr(learn, "LEARNERS", {})
    for kind, names in (("learner", learners), ("rival", RIVALS), ("field", FIELD)):
        if policy in names:
            return kind
    return "oracle" if policy == ORACLE else "plain"


def tables(league: League) -> list[CellTable]:
    """All cells in the order of playing."""
    return [
        _table(league, scenario, cell) for scenario in league.scenarios for cell in scenario.cells
    ]


def cell_name(cell: Cell) -> str:
    """A cell in words.

    >>> cell_name(Cell(scenario="news-v1", budget=20, epoch=900.0, half_life=21600.0))
    'half-life 6h, 20 per 15min'
    """
    return (
        f"half-life {show_duration(cell.half_life)}, {cell.budget:g} per"
        f" {show_duration(cell.epoch)}"
    )


def short_name(cell: Cell) -> str:
    """A cell in few letters: half-life and visits per epoch.

    >>> short_name(Cell(scenario="news-v1", budget=20, epoch=900.0, half_life=21600.0))
    '6h × 20'
    """
    return f"{show_duration(cell.half_life)} × {cell.budget:g}"


def sample(league: League, cell: Cell, policy: str, figure: Figure) -> Array:
    """A figure of a policy, one number per seed played."""
    outcomes = league.outcomes[cell, policy]
    return np.array([figure(outcomes[seed]) for seed in sorted(outcomes)])


def settled(scenario: Scenario) -> Figure:
    """The share caught of what was published on the last days."""
    return lambda outcome: outcome.share_of(slice(-scenario.settled_days, None))


def ratio(league: League, cell: Cell, over: str, under: str, figure: Figure) -> Mean:
    """A figure of one policy as a share of another's, seed by seed."""
    return Mean.of(sample(league, cell, over, figure) / sample(league, cell, under, figure))


def difference(league: League, cell: Cell, more: str, less: str, figure: Figure) -> Mean:
    """How much larger a figure of one policy is than another's, seed by seed.

    Of a drawn scenario a seed is the same world for both. Of a recorded one it is chance alone, and
    who draws nothing has one number for all seeds.
    """
    return Mean.of(sample(league, cell, more, figure) - sample(league, cell, less, figure))


def _table(league: League, scenario: Scenario, cell: Cell) -> CellTable:
    lines = [_line(league, scenario, cell, policy) for policy in league.policies]
    lines.sort(key=lambda line: (-line.share.mean, league.policies.index(line.policy)))
    table = CellTable(scenario=scenario, cell=cell, lines=lines, margins=())
    margins = []
    for kind in ("field", "rival"):
        other = table.best(kind)
        if other is not None and table.line(OURS) is not None:
            by = difference(league, cell, OURS, other.policy, lambda outcome: outcome.share)
            margins.append(Margin(over=other.policy, kind=kind, by=by))
    return CellTable(scenario=scenario, cell=cell, lines=lines, margins=margins)


def _line(league: League, scenario: Scenario, cell: Cell, policy: str) -> Line:
    def mean(figure: Figure) -> float:
        return float(sample(league, cell, policy, figure).mean())

    shares = sample(league, cell, policy, lambda outcome: outcome.share)
    # Entered seed by seed, as the shares are.
    bounds = np.array([bound for (at, _), bound in league.bounds.items() if at == cell])
    return Line(
        policy=policy,
        kind=kind_of(policy),
        seeds=len(shares),
        share=Mean.of(shares),
        settled=Mean.of(sample(league, cell, policy, settled(scenario))),
        oracle_share=ratio(league, cell, policy, ORACLE, settled(scenario))
        if ORACLE in league.policies
        else None,
        bound_share=Mean.of(shares / bounds) if len(bounds) else None,
        items=mean(lambda outcome: outcome.items),
        caught=mean(lambda outcome: outcome.caught),
        lost=mean(lambda outcome: outcome.lost),
        delay_mean_s=mean(lambda outcome: _number(outcome.delay_mean_s)),
        delay_p95_s=mean(lambda outcome: _number(outcome.delay_p95_s)),
        crawls=mean(lambda outcome: outcome.crawls),
        cpu_s=mean(lambda outcome: outcome.cpu_s),
    )


def _number(x: float | None) -> float:
    return np.nan if x is None else x
