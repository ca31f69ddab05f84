"""The exact optimum of small fleets, by policy iteration over all combinations of ages.

The mean-field world is deterministic: a state is one age per source, an action a set of sources
that the budget affords, and the best long-run average is the best cycle. Ages are cut at a cap;
counting the harvest there once as f(cap) and once as f(∞) brackets the truth, and the cap grows
until the two agree.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.model import Array, Fleet, Rows
from dayfly.policies.base import View
from dayfly.policies.whittle import Whittle

_MOST_STATES = 1_500_000
_MOST_SOURCES = 6
#: Gains closer than this (relative) are the same gain.
_SAME = 1e-10

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best long-run average per epoch, between two certified ends."""

    #: What the best cycle found really earns.
    value: float
    #: No policy earns more; equals `value` up to rounding unless the fleet was too large.
    upper: float
    #: Longest age told apart, per source.
    cap: tuple[int, ...]
    #: Sources to crawl, one action per combination of ages.
    actions: tuple[Rows, ...]
    choice: Ints

    def at(self, age: Array, epoch: float) -> Rows:
        """The rows that an optimal policy crawls at these ages."""
        k = np.where(np.isfinite(age), np.rint(age / epoch), max(self.cap))
        k = np.clip(k, 1, self.cap).astype(np.int64) - 1
        return self.actions[int(self.choice[np.ravel_multi_index(tuple(k), self.cap)])]


@functools.lru_cache(maxsize=8)
def exact_optimum(fleet: Fleet, budget: float, epoch: float = 1.0) -> Optimum:
    """The best that any policy can do with a hard budget per epoch and nothing carried over.

    >>> table = Fleet(arrival=250, decay=[.7, .35, .7, .21], worth=[1, .7, .2, .08])
    >>> round(exact_optimum(table, 2.0).value, 4)
    337.7745
    """
    if len(fleet) > _MOST_SOURCES or not len(fleet):
        raise BadInput(f"the exact optimum is for 1 to {_MOST_SOURCES} sources, got {len(fleet)}")
    actions = _maximal_actions(fleet.cost, budget)
    reach = 0.9
    while True:
        cap = _caps(fleet, epoch, reach)
        value, choice = _solve(fleet, epoch, cap, actions, at_cap=False)
        upper, _ = _solve(fleet, epoch, cap, actions, at_cap=True)
        reach = 1.0 - (1.0 - reach) / 8.0
        larger = float(np.prod(_caps(fleet, epoch, reach)))
        if upper <= value * (1 + 10 * _SAME) or larger > _MOST_STATES or reach > 1 - 1e-12:
            return Optimum(value, max(upper, value), cap, actions, choice)


@dataclass(frozen=True)
class Exact:
    """Plays the exact optimum of a small fleet; for checks, and as the last word."""

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """The rows of an optimal cycle."""
        if view.epoch is None:
            raise BadInput("the exact optimum is for slotted time; give an epoch")
        rows = exact_optimum(view.fleet, view.pace, view.epoch).at(view.age, view.epoch)
        fits = float(view.fleet.cost[rows].sum()) <= budget * (1 + 1e-9)
        if fits and (view.allowed is None or view.allowed[rows].all()):
            return rows
        # Away from its own problem (someone may not be crawled) it has no table to follow.
        return Whittle().choose(view, budget, rng)


def _maximal_actions(cost: Array, budget: float) -> tuple[Rows, ...]:
    """Sets that the budget affords and that leave nothing affordable out.

    Crawling one more source for free never hurts: f is subadditive, f(k) + f(j) ≥ f(k + j).
    """
    n = len(cost)
    limit = budget * (1 + 1e-9)
    sets = [
        np.array(rows, dtype=np.int64)
        for size in range(n + 1)
        for rows in itertools.combinations(range(n), size)
        if cost[list(rows)].sum() <= limit
    ]
    left = [[i for i in range(n) if i not in set(rows.tolist())] for rows in sets]
    return tuple(
        rows
        for rows, others in zip(sets, left, strict=True)
        if all(cost[rows].sum() + cost[other] > limit for other in others)
    )


def _caps(fleet: Fleet, epoch: float, reach: float) -> tuple[int, ...]:
    """Ages until each source has gathered `reach` of all it ever will."""
    ceiling = fleet.harvest.value(np.full(len(fleet), np.inf))
    if not np.isfinite(ceiling).all():
        raise BadInput("the exact optimum needs sources whose items fade or expire")
    age = fleet.harvest.age_of(reach * ceiling)
    return tuple(int(k) for k in np.clip(np.ceil(age / epoch), 2, 10_000))


def _solve(
    fleet: Fleet, epoch: float, cap: tuple[int, ...], actions: tuple[Rows, ...], *, at_cap: bool
) -> tuple[float, Ints]:
    """Howard's policy iteration for the best cycle; the optimal gain is one number for all states,
    because every state can be reached from every other by waiting and crawling."""
    ages = np.stack([k.ravel() for k in np.indices(cap)])  # age − 1, shape (n, states)
    harvest = np.stack(
        [_harvests(fleet, i, epoch, most, at_cap)[ages[i]] for i, most in enumerate(cap)]
    )
    older = np.minimum(ages + 1, np.array(cap)[:, None] - 1)
    nexts, rewards = [], []
    for rows in actions:
        then = older.copy()
        then[rows] = 0
        nexts.append(np.ravel_multi_index(tuple(then), cap))
        rewards.append(harvest[rows].sum(axis=0) if len(rows) else np.zeros(ages.shape[1]))
    reward, following = np.stack(rewards), np.stack(nexts)
    choice = np.argmax(reward, axis=0)
    states = np.arange(ages.shape[1])
    for _ in range(200):
        gain, bias = _evaluate(following[choice, states], reward[choice, states])
        scale = _SAME * max(float(np.abs(gain).max()), 1e-300)
        # First towards better cycles, then faster within one [Puterman, §9.2].
        offered = gain[following]
        best = offered.max(axis=0)
        score = np.where(offered >= best - scale, reward + bias[following], -np.inf)
        now = np.take_along_axis(score, choice[None], axis=0)[0]
        better = np.argmax(score, axis=0)
        improved = np.take_along_axis(score, better[None], axis=0)[0] > now + 10 * scale
        if not improved.any():
            break
        choice = np.where(improved, better, choice)
    return float(gain.max()), choice


def _harvests(fleet: Fleet, row: int, epoch: float, cap: int, at_cap: bool) -> Array:
    curves = fleet.take([row]).harvest
    values = np.array([float(curves.value(np.array([k * epoch]))[0]) for k in range(1, cap + 1)])
    if at_cap:
        values[-1] = float(curves.value(np.array([np.inf]))[0])
    return values


def _evaluate(following: Ints, reward: Array) -> tuple[Array, Array]:
    """Average reward of the cycle that each state runs into, and its bias relative to it."""
    n = len(following)
    jump = following
    for _ in range(int(np.ceil(np.log2(n))) + 1):
        jump = jump[jump]
    gain = np.zeros(n)
    anchor = np.full(n, -1)
    for start in np.unique(jump):
        if anchor[start] >= 0:
            continue
        cycle = [int(start)]
        while following[cycle[-1]] != start:
            cycle.append(int(following[cycle[-1]]))
        gain[cycle] = reward[cycle].mean()
        anchor[cycle] = start
    gain, end = gain[jump], anchor[jump]
    # Walk to the anchor of the cycle, adding up what exceeds the average; anchors stand still.
    states = np.arange(n)
    step = np.where(states == end, states, following)
    bias = np.where(states == end, 0.0, reward - gain)
    while True:
        bias = bias + bias[step]
        ahead = step[step]
        if np.array_equal(ahead, step):
            return gain, bias
        step = ahead
