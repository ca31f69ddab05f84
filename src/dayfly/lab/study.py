"""Everything that `dayfly reproduce` measures, as jobs that may run side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from dayfly.lab import allerton, beyond, drawing, figures
from dayfly.lab.drawing import Drawn
from dayfly.lab.jobs import Job, run_jobs
from dayfly.lab.papers import LAWS, LONG, measure_law, paper_rows
from dayfly.lab.rows import Row
from dayfly.model import Array

#: Called with how many jobs are done, of how many.
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is run."""

    seeds: int = 40
    epochs: int = LONG
    #: Fleet sizes and how many fleets of each, for the gap.
    sizes: dict[int, int] = field(default_factory=lambda: dict(beyond.SIZES))
    budgets: tuple[float, ...] = beyond.BUDGETS
    quick: bool = False

    @property
    def steps(self) -> int:
        """Steps of a learner: where it ends depends on them, so a quick run has as many."""
        return LONG if self.epochs >= QUICK.epochs else self.epochs

    @property
    def lessons(self) -> int:
        """Runs of our learner."""
        return min(self.seeds, _LESSONS)

    @property
    def attempts(self) -> int:
        """Runs of LSPE(0), each of which is one run per reading of the paper."""
        return 2 if self.quick else 4


FULL = Effort()
#: For a first look and for tests: the same rows with wider intervals.
QUICK = Effort(
    seeds=8,
    epochs=2000,
    sizes={10: 3, 100: 2, 1000: 1},
    budgets=(0.05, 0.2, 0.5, 1.0),
    quick=True,
)

#: Seeds that advance together in one job.
_TOGETHER = 20
#: Runs of our learner.
_LESSONS = 20


@dataclass(frozen=True, kw_only=True)
class Study:
    """What was measured and drawn."""

    rows: list[Row]
    #: Empty where figures were not asked for or cannot be drawn.
    papers: list[Drawn]
    beyond: list[Drawn]
    effort: Effort

    @property
    def disagreeing(self) -> list[Row]:
        """The rows that do not come out right."""
        return [row for row in self.rows if not row.agrees]


def reproduce(
    effort: Effort = FULL,
    *,
    with_figures: bool = True,
    workers: int = 1,
    progress: Progress = lambda done, total: None,  # noqa: ARG005
) -> Study:
    """Measure every row, and draw every figure if that is asked for and matplotlib is there.

    Parameters
    ----------
    effort
        How many seeds and epochs, and how far the figures beyond the papers go.
    workers
        Processes to use; with 1 nothing is started. A script that asks for more needs the usual
        `if __name__ == "__main__":`.

    Examples
    --------
    >>> from dayfly.lab.study import Effort
    >>> study = reproduce(Effort(seeds=2, epochs=200), with_figures=False)
    >>> study.rows[1].id, round(study.rows[1].ours, 4), study.rows[1].agrees
    ('tcns.det.m1.whittle', 260.3006, True)
    """
    draw = with_figures and drawing.available()
    found: dict[tuple[Any, ...], Any] = {}
    jobs = _jobs(effort, with_beyond=draw)
    progress(0, len(jobs))
    for name, result in run_jobs(jobs, workers):
        found[name] = result
        progress(len(found), len(jobs))
    samples = {case: _joined(found, case) for case in LAWS}
    rows = paper_rows(samples, effort.epochs) + allerton.learning_rows(
        [found["lspe", seed] for seed in range(effort.attempts)],
        found["ours", 0],
        samples["epoch_exponential"]["whittle_slides"],
        effort.epochs,
    )
    if not draw:
        return Study(rows=rows, papers=[], beyond=[], effort=effort)
    gap = {n: found["gap", n] for n in effort.sizes}
    budget = {share: found["budget", share] for share in effort.budgets}
    return Study(
        rows=rows,
        papers=figures.paper_figures(rows),
        beyond=[beyond.gap_figure(gap), beyond.budget_figure(budget)],
        effort=effort,
    )


def _jobs(effort: Effort, *, with_beyond: bool) -> list[Job[tuple[Any, ...]]]:
    """The long ones first, so that all workers finish together."""
    groups = [
        tuple(range(start, min(start + _TOGETHER, effort.seeds)))
        for start in range(0, effort.seeds, _TOGETHER)
    ]
    jobs: list[Job[tuple[Any, ...]]] = [
        ((case, number), measure_law, (case, seeds, effort.epochs))
        for case in LAWS
        for number, seeds in enumerate(groups)
    ]
    jobs += [
        # One seed tries everything that may be read into the paper, the others the plain readings.
        (
            ("lspe", seed),
            allerton.measure_lspe,
            (seed, effort.steps, seed == 0 and not effort.quick),
        )
        for seed in range(effort.attempts)
    ]
    jobs.append((("ours", 0), allerton.measure_ours, (tuple(range(effort.lessons)), effort.steps)))
    if with_beyond:
        jobs += [
            (("gap", n), beyond.gaps, (n, effort.sizes[n])) for n in sorted(effort.sizes)[::-1]
        ]
        jobs += [(("budget", share), beyond.budget_point, (share,)) for share in effort.budgets]
    return jobs


def _joined(found: dict[tuple[Any, ...], Any], case: str) -> dict[str, Array]:
    """The groups of seeds of one case, in order."""
    groups = [found[name] for name in sorted(name for name in found if name[0] == case)]
    return {policy: np.concatenate([group[policy] for group in groups]) for policy in groups[0]}
