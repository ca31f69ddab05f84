"""Cold starts: what learners earn that know nothing, averaged from the first step on.

Table I with one crawl per step: our learner from rewards alone, beside Q-learning of the index and
LSPE(0) with all that [L] leaves open. Then a large unequal fleet, with rewards or with dates,
beside the oracle on the same arrivals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dayfly.index import relax
from dayfly.lab import allerton, cold
from dayfly.lab.drawing import STYLES
from dayfly.lab.table1 import EPOCH, TABLE_ONE
from dayfly.lab.trials.base import Draw, Progress, Trial, TrialRow
from dayfly.model import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 0
#: What our learner should reach of the bound on Table I, by steps from the first on.
AIMS = {100: 0.94, 1000: 0.99, 10_000: 0.997}
#: What it should reach of the oracle on a fleet, and from which to which visit per source.
AIM, STRETCH = 0.97, (20, 40)
#: Items per source and epoch: the fleet that the aim is about, and one where news is rare.
FLEETS = {"": 1.0, ", rare news": 0.1}


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is run."""

    seeds: int = 10
    steps: int = 10_000
    sources: int = 1000


FULL = Effort()
QUICK = Effort(seeds=3, steps=1000, sources=200)


def run(
    *, quick: bool = False, progress: Progress | None = None, effort: Effort | None = None
) -> Trial:
    """Let every learner start from nothing."""
    effort = effort or (QUICK if quick else FULL)
    seeds = range(SEED, SEED + effort.seeds)
    done, total = 0, 3 + len(FLEETS) * len(seeds)

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    bound = relax(TABLE_ONE, 1, EPOCH).bound
    series: dict[str, Array] = {}
    rows: list[TrialRow] = []
    measures = {"our learner": allerton.measure_ours, "Q-learning": allerton.measure_q}
    for name, measure in measures.items():
        earned = measure(seeds, effort.steps) / bound
        rows += _table_one(name, earned, aims=AIMS if measure is allerton.measure_ours else {})
        series[f"{name}: share of the bound so far"] = _so_far(earned)
        tick()
    rows += _lspe(effort.steps, bound)
    tick()
    for suffix, arrival in FLEETS.items():
        found = []
        for seed in seeds:
            lesson = cold.rounds(
                list(cold.SIGHTS), sources=effort.sources, seed=seed, arrival=arrival
            )
            found.append(lesson)
            tick()
        for sight in cold.SIGHTS:
            rows.append(_fleet(f"{sight}{suffix}", sight, found, effort, held=not suffix))
            ours, best = (np.sum([one[key] for one in found], axis=0) for key in (sight, "oracle"))
            series[f"{sight}{suffix}: share of the oracle by round"] = ours / best
    return Trial(
        name="learning",
        question="How soon does a learner that knows nothing earn what can be earned?",
        rows=rows,
        series=series,
        seed=SEED,
        figure=_figure(series),
    )


def _table_one(name: str, earned: Array, *, aims: dict[int, float]) -> list[TrialRow]:
    """Shares of the bound over the first steps; the spread is that of single runs."""
    rows = []
    for steps in (after for after in allerton.AFTER if after <= len(earned)):
        runs = earned[:steps].mean(axis=0)
        mean, aim = float(runs.mean()), aims.get(steps)
        rows.append(
            TrialRow(
                name=f"Table I, {name}, first {steps:,} steps ± {100 * runs.std(ddof=1):.2f}",
                value=mean, unit="%",
                aim="" if aim is None else f"≥ {100 * aim:.4g} %",
                ok=None if aim is None else mean >= aim,
            )
        )  # fmt: skip
    return rows


def _lspe(steps: int, bound: float) -> list[TrialRow]:
    """The range of LSPE(0), and what one choice alone changes."""
    runs, choices = allerton.measure_lspe(SEED, steps), allerton.open_choices()
    plain = allerton.readings()
    groups = {"plain readings": range(plain)}
    for number, change in enumerate(allerton.ASIDE, 1):
        what = ", ".join(f"{name} {value:g}" for name, value in change.items())
        groups[what] = range(number * plain, (number + 1) * plain)
    assert len(choices) == plain * (1 + len(allerton.ASIDE))
    rows = []
    for what, which in groups.items():
        reward, crawls = runs.reward[list(which)], runs.crawls[list(which)]
        rows.append(
            TrialRow(
                name=f"Table I, LSPE(0), {what}: {reward.min():.0f} to {reward.max():.0f} at "
                f"{crawls.min():.2f} to {crawls.max():.2f} crawls per step",
                value=float(reward.mean()) / bound, unit="%",
                note="[L] prints 160, with one crawl per step on average; the bound for one crawl "
                f"per step is {bound:.2f}",
            )
        )  # fmt: skip
    off = np.abs(runs.learned[:plain] - runs.exact[:plain]) / runs.exact[:plain]
    rows.append(
        TrialRow(
            name="Table I, LSPE(0), learned thresholds off the exact ones, median",
            value=float(np.median(off)), unit="%",
        )
    )  # fmt: skip
    return rows


def _fleet(
    name: str, sight: str, found: Sequence[dict[str, Array]], effort: Effort, *, held: bool
) -> TrialRow:
    first, last = STRETCH
    runs = np.array(
        [one[sight][first:last].sum() / one["oracle"][first:last].sum() for one in found]
    )
    mean = float(runs.mean())
    return TrialRow(
        name=f"{effort.sources:,} sources, {name}, visits {first} to {last} "
        f"± {100 * runs.std(ddof=1):.2f}",
        value=mean, unit="%",
        aim=f"≥ {100 * AIM:.0f} %" if held else "",
        ok=mean >= AIM if held else None,
        note="share of what the Whittle policy earns that knows the truth, on the same arrivals",
    )  # fmt: skip


def _so_far(earned: Array) -> Array:
    """Mean over runs and steps up to each step."""
    steps = np.arange(1, len(earned) + 1)
    return np.asarray(np.cumsum(earned.mean(axis=1)) / steps)


def _figure(series: dict[str, Array]) -> Draw:
    def draw(figure: Figure) -> None:
        figure.set_size_inches(9.0, 4.0)
        small, large = figure.subplots(1, 2)
        looks = iter([*STYLES, *STYLES])
        for name, column in series.items():
            label, what = name.split(": ")
            style = {key: value for key, value in next(looks).items() if key != "marker"}
            axes = small if what.endswith("so far") else large
            axes.plot(np.arange(1, len(column) + 1), 100 * column, **style, label=label)
        small.set(xscale="log", xlabel="step", ylabel="share of the bound so far, %",
                  title="Table I, one crawl per step", ylim=(40, 101))  # fmt: skip
        large.set(xlabel="visits per source on average", ylabel="share of the oracle, %",
                  title="an unequal fleet", ylim=(60, 105))  # fmt: skip
        small.legend()
        large.legend()

    return draw
