"""A week in the simulated web: the whole crawler beside the truth, the field rules and the bound.

Robots, hints, readers, loop, learner and scheduler are the real ones; time is moved by hand, the
store is in memory, and what would go over a socket is handed over directly. The field rules are
replayed on the same arrivals with the same budget, and no visit of theirs ever fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dayfly.lab.jobs import Job, cores, run_jobs
from dayfly.lab.trials.base import Draw, Progress, Trial, TrialRow
from dayfly.lab.web.crawl import crawl_plan
from dayfly.lab.web.log import early_polls
from dayfly.lab.web.plan import Plan, draw_plan
from dayfly.lab.web.score import best_share, score_rule
from dayfly.model import Array
from dayfly.policies.field import FIELD
from dayfly.schedule.manners import Rules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED, _DAY = 1, 86400.0
#: Visits per second and source: one in five hours.
PACE = 1.0 / (5 * 3600.0)
#: What the crawler should reach of the same policy with the rates known, and how much of the
#: healthy sites' value should be left where so large a share of all sites is hostile.
AIM, LEFT, HOSTILE = 0.95, 0.95, 0.2
#: How the crawler is run.
_WAYS = ("learnt", "known", "hostile")


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is run."""

    sources: int = 300
    days: float = 7.0
    seeds: int = 3


FULL = Effort()
QUICK = Effort(sources=100, days=2.0)


def run(
    *, quick: bool = False, progress: Progress | None = None, effort: Effort | None = None
) -> Trial:
    """Crawl every week in every way."""
    effort = effort or (QUICK if quick else FULL)
    seeds = range(SEED, SEED + effort.seeds)
    jobs: list[Job[tuple[int, str]]] = [
        ((seed, way), play, (effort, seed, way)) for seed in seeds for way in (*_WAYS, "rules")
    ]
    found: dict[tuple[int, str], dict[str, float]] = {}
    for name, outcome in run_jobs(jobs, cores()):
        found[name] = outcome
        if progress is not None:
            progress(len(found), len(jobs))
    shares = {
        name: np.array([found[seed, "rules"][name] for seed in seeds])
        for name in found[SEED, "rules"]
    }
    for way in _WAYS:
        shares[way] = np.array([found[seed, way]["share"] for seed in seeds])
    early = sum(found[seed, way]["early"] for seed in seeds for way in _WAYS)
    return Trial(
        name="crawl",
        question="What does the whole crawler catch of a web whose truth is known?",
        rows=_rows(shares, early, effort),
        series=shares,
        seed=SEED,
        figure=_figure(shares),
    )


def play(effort: Effort, seed: int, way: str) -> dict[str, float]:
    """One week in one way, or all rules on it; shares of the value that readable sites publish."""
    hostile = HOSTILE if way == "hostile" else 0.0
    plan = draw_plan(effort.sources, seed=seed, span=effort.days * _DAY, hostile=hostile)
    budget = PACE * effort.sources
    if way == "rules":
        return _rules(plan, budget)
    score, log = asyncio.run(crawl_plan(plan, budget=budget, known=way == "known"))
    early = early_polls(log.served, plan, Rules())
    return {"share": score.share, "early": float(len(early))}


def _rules(plan: Plan, budget: float) -> dict[str, float]:
    found = {name: score_rule(plan, name, budget, plan.until).share for name in FIELD}
    return {"bound": best_share(plan, budget), **found}


def _rows(shares: dict[str, Array], early: float, effort: Effort) -> list[TrialRow]:
    learnt = shares["learnt"]
    best = max(FIELD, key=lambda name: float(shares[name].mean()))
    size = f"{effort.sources:,} sources, {effort.days:g} days"

    def row(name: str, runs: Array, aim: str = "", ok: bool | None = None) -> TrialRow:
        spread = f" ± {100 * runs.std(ddof=1):.2f}" if len(runs) > 1 else ""
        return TrialRow(
            name=name + spread, value=float(runs.mean()), unit="%", aim=aim, ok=ok,
            note=f"{size}, {len(runs)} seeds; ± is the spread of single seeds",
        )  # fmt: skip

    of_known, of_best = learnt / shares["known"], learnt / shares[best]
    left = shares["hostile"] / learnt
    return [
        row("value caught, of what was published", learnt),
        row("the same with the rates known from the start", shares["known"]),
        row("the bound", shares["bound"]),
        row(
            "caught, of the same policy with the rates known",
            of_known, f"≥ {100 * AIM:.0f} %", bool(of_known.mean() >= AIM),
        ),
        row(
            f"caught, of the best field rule ({best})",
            of_best, "> 100 % at every seed", bool((of_best > 1.0).all()),
        ),
        row("caught, of Miniflux's entry frequency as shipped",
            learnt / shares["b3_miniflux_entry_frequency"]),
        row("caught, of a fixed interval for all", learnt / shares["b1_fixed.scaled"]),
        row(
            f"left of it where {100 * HOSTILE:.0f} % of all sites are hostile",
            left, f"> {100 * LEFT:.0f} %", bool(left.mean() > LEFT),
        ),
        TrialRow(
            name="requests before they were welcome", value=early, aim="0", ok=early == 0,
            note="by the web's own log: minimum interval, host spacing, Crawl-delay, Retry-After",
        ),
    ]  # fmt: skip


def _figure(shares: dict[str, Array]) -> Draw:
    names: Sequence[str] = ["bound", "known", "learnt", "hostile"]
    rules = sorted(FIELD, key=lambda name: -float(shares[name].mean()))
    label = {"known": "Dayfly, rates known", "learnt": "Dayfly", "hostile": "Dayfly, 20 % hostile"}

    def draw(figure: Figure) -> None:
        figure.set_size_inches(7.0, 8.0)
        axes = figure.add_subplot()
        shown = [*names, *rules]
        values = [100 * float(shares[name].mean()) for name in shown]
        colors = ["C7"] + ["C0"] * 3 + ["C1"] * len(rules)
        axes.barh([label.get(name, name) for name in shown], values, color=colors)
        axes.invert_yaxis()
        axes.tick_params(axis="y", labelsize=7)
        axes.set(xlabel="caught, % of the value published", xlim=(0, 100))

    return draw
