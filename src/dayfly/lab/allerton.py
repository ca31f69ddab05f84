"""The learning paper [L], measured: LSPE(0) as a range, Q-learning, and our learner beside them.

All on Table I with one crawl per step, averages from the first step on. LSPE(0) runs in the mean
dynamics of [L]; the others know nothing and see the reward of each visit, Poisson arrivals and
constant worth. Many runs advance together: a run's sources are rows of one long fleet.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from dayfly.estimate.rewards import rewarded
from dayfly.index import relax, stochastic_bound
from dayfly.lab.batch import arrivals, best, tiled
from dayfly.lab.papers import LONG, SHORT, measured_row
from dayfly.lab.reference import LEARNING
from dayfly.lab.rows import Row
from dayfly.lab.table1 import EPOCH, TABLE_ONE, first_state
from dayfly.learn.lspe import Choices, LspeRuns, lspe
from dayfly.learn.qlearning import BLIND, IndexQLearner
from dayfly.learn.rewards import RewardLearner
from dayfly.model import Array, Fleet, Visits
from dayfly.policies import Contest, Whittle
from dayfly.simulate import simulate

#: After so many steps averages are taken; all from the first step on.
AFTER = (100, 1000, 10_000)
#: What [L] leaves open, tried in all combinations, with both rewards.
OPEN = {
    "gain": (0.1, 0.5),
    "start": (0.0, 0.5),
    "printed_reward": (False, True),
}
#: And how the arms are picked, what the state is counted in, δ and κ, one at a time.
ASIDE: tuple[Mapping[str, float | bool], ...] = (
    {"drawn": False},
    {"unit": 1.0},
    {"ridge": 1.0},
    {"sharpness": 0.5},
    {"sharpness": 1.0},
    {"sharpness": 8.0},
)


class Scored(Protocol):
    """A learner whose runs can be played side by side."""

    def score(self, now: float) -> Array:
        """Who comes first."""
        ...

    def observe(self, visits: Visits) -> None:
        """What the visits just chosen saw."""
        ...


def side_by_side(
    learner: Scored, fleet: Fleet, *, seeds: Sequence[int], epochs: int, blind: float = 0.0
) -> Array:
    """Reward of every epoch and run, one crawl per run and epoch; shape (epochs, runs).

    The learner has one row for every source of every run, run after run. With `blind` it picks
    any source that often instead of the best one.
    """
    runs, n = len(seeds), len(fleet)
    long, rng = tiled(fleet, runs), np.random.default_rng([*seeds, 1])
    fade, state = np.exp(-long.decay * EPOCH), np.tile(first_state(fleet), runs)
    last, first = np.full(runs * n, -np.inf), np.arange(runs) * n
    earned, number = np.zeros((epochs, runs)), 0
    for chunk in arrivals(fleet, "constant", seeds=seeds, epochs=epochs, epoch=EPOCH):
        for fresh in chunk:
            now = number * EPOCH
            pick = np.argmax(best(learner.score(now).reshape(runs, n), 1), axis=1)
            if blind:
                lost = rng.random(runs) < blind
                pick = np.where(lost, rng.integers(n, size=runs), pick)
            rows = first + pick
            earned[number] = state[rows]
            learner.observe(rewarded(now, rows, now - last[rows], state[rows]))
            last[rows], state[rows] = now, 0.0
            state = state * fade + fresh.reshape(-1)
            number += 1
    return earned


def _contest(runs: int) -> Contest:
    """All runs as one contest, with a crawl for each."""
    return Contest(
        sources=runs * len(TABLE_ONE), start=-EPOCH, epoch=EPOCH, budget=float(runs),
        decay=math.nan, window=None, span=math.nan,
    )  # fmt: skip


def measure_ours(seeds: Sequence[int], epochs: int) -> Array:
    """Our learner on Table I, from rewards; shape (epochs, runs)."""
    learner = RewardLearner(_contest(len(seeds)), together=False)
    return side_by_side(learner, TABLE_ONE, seeds=seeds, epochs=epochs)


def measure_q(seeds: Sequence[int], epochs: int) -> Array:
    """Q-learning of the index on Table I; shape (epochs, runs)."""
    learner = IndexQLearner(_contest(len(seeds)))
    return side_by_side(learner, TABLE_ONE, seeds=seeds, epochs=epochs, blind=BLIND)


def open_choices() -> list[Choices]:
    """The combinations of what [L] leaves open, then those that differ in one thing more."""
    combined = [
        Choices(**dict(zip(OPEN, values, strict=True)))  # type: ignore[arg-type]
        for values in itertools.product(*OPEN.values())
    ]
    return combined + [
        replace(one, **change)  # type: ignore[arg-type]
        for change in ASIDE
        for one in combined
    ]


def measure_lspe(seed: int, epochs: int, all_choices: bool = True) -> LspeRuns:
    """LSPE(0) for every choice, or only for the plain readings of [L]."""
    choices = open_choices() if all_choices else open_choices()[: readings()]
    return lspe(TABLE_ONE, choices, steps=epochs, seed=seed)


def readings() -> int:
    """How many of `open_choices` are plain readings of [L]: the combinations, which come first."""
    return math.prod(len(values) for values in OPEN.values())


def learning_rows(found: Sequence[LspeRuns], ours: Array, whittle: Array, epochs: int) -> list[Row]:
    """The rows of [L].

    Parameters
    ----------
    found
        What `measure_lspe` found, one for each seed; at least two.
    ours
        What `measure_ours` found.
    whittle
        Mean reward of the slides' form with one draw per epoch, one number per run of `epochs`.
    """
    plain = readings()
    runs = np.array([one.reward[:plain].mean() for one in found])
    reward = np.concatenate([one.reward for one in found])
    crawls = np.concatenate([one.crawls for one in found])
    spent = float(np.mean([one.crawls[:plain].mean() for one in found]))
    settled = simulate(TABLE_ONE, Whittle(), 1, SHORT).mean
    bound = relax(TABLE_ONE, 1, EPOCH).bound
    return [
        measured_row(
            "allerton.lspe", LEARNING["allerton.lspe"], runs,
            relax(TABLE_ONE, max(spent, 1.0), EPOCH).bound, LONG,
            plain=f"{plain}", low=f"{reward.min():.0f}", high=f"{reward.max():.0f}",
            fewest=f"{crawls.min():.1f}", most=f"{crawls.max():.1f}",
        ),
        measured_row(
            "allerton.whittle", LEARNING["allerton.whittle"], whittle,
            stochastic_bound(TABLE_ONE, 1, EPOCH, "epoch_exponential"), epochs,
            deterministic=f"{settled:.2f}",
        ),
        measured_row(
            "allerton.ours", LEARNING["allerton.ours"], ours.mean(axis=0), bound, LONG,
            steps=f"{len(ours):,}", first=f"{ours[:100].mean():.1f}",
            then=f"{ours[:1000].mean():.1f}",
        ),
    ]  # fmt: skip
