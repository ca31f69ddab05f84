"""Many runs of one small fleet at once, every policy on the same arrivals.

`dayfly.simulate` plays one run and takes any policy. The papers' stochastic rows need 40 runs of
10,000 epochs for six policies and three laws; here the runs advance together, one array operation
for all of them, and a policy is a score: the sources with the largest scores are crawled, ties to
the lower row. Each run has its own stream of random numbers, so how runs are grouped changes
nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from dayfly.errors import BadInput
from dayfly.index import AnyLaw, draw, stochastic_index
from dayfly.lab.forms import FORMS, Form
from dayfly.lab.table1 import ceiling, first_state
from dayfly.model import Array, Fleet, Mask

#: score(fleet, state, age) -> one number per row of the fleet.
Score: TypeAlias = Callable[[Fleet, Array, Array], Array]

#: Epochs drawn at once: a run's items of so many epochs stay in the cache.
CHUNK = 200
#: Cells and reach, in u*, of a tabulated index; cells of .001 u* add less than the table's error.
CELLS, REACH = 12 << 10, 12.0


class Lane:
    """One policy in many runs, side by side; rows of the fleet repeat, run after run.

    Parameters
    ----------
    fleet
        Plain ephemeral sources of cost 1.
    score
        Who comes first.
    budget
        Crawls per epoch and run.
    runs
        How many.
    """

    def __init__(self, fleet: Fleet, score: Score, budget: int, runs: int, epoch: float) -> None:
        if (fleet.cost != 1).any():
            raise BadInput("runs side by side count crawls: every cost must be 1")
        self.score, self.budget, self.epoch = score, budget, epoch
        self.shape = (runs, len(fleet))
        self.fleet = tiled(fleet, runs)
        self.state = np.tile(first_state(fleet, epoch), runs)
        self.age = np.full(len(self.state), epoch)
        self.fade = np.exp(-self.fleet.decay * epoch)

    def step(self, fresh: Array) -> tuple[Array, Mask]:
        """Decide, crawl, and let an epoch pass that adds `fresh`; rewards per run, who was crawled.

        [J 23]: X ← αX + U, or U after a crawl.
        """
        score = self.score(self.fleet, self.state, self.age).reshape(self.shape)
        crawled = best(score, self.budget)
        flat = crawled.reshape(-1)
        rewards = np.where(crawled, self.state.reshape(self.shape), 0.0).sum(axis=1)
        self.state = np.where(flat, 0.0, self.state * self.fade) + fresh.reshape(-1)
        self.age = np.where(flat, 0.0, self.age) + self.epoch
        return rewards, crawled


def compare(
    fleet: Fleet,
    scores: Mapping[str, Score],
    budget: int,
    law: AnyLaw,
    *,
    seeds: Sequence[int],
    epochs: int,
    epoch: float = 1.0,
) -> dict[str, Array]:
    """Mean reward per epoch of every policy in every run, all on the same arrivals.

    Examples
    --------
    >>> from dayfly.lab.table1 import TABLE_ONE
    >>> found = compare(TABLE_ONE, {"greedy": by_harvest}, 1, "constant", seeds=[1, 2], epochs=500)
    >>> found["greedy"].round(1)
    array([260.9, 259.6])
    """
    lanes = {name: Lane(fleet, score, budget, len(seeds), epoch) for name, score in scores.items()}
    total = {name: np.zeros(len(seeds)) for name in scores}
    for fresh in arrivals(fleet, law, seeds=seeds, epochs=epochs, epoch=epoch):
        for name, lane in lanes.items():
            for added in fresh:
                total[name] += lane.step(added)[0]
    return {name: earned / epochs for name, earned in total.items()}


def arrivals(
    fleet: Fleet, law: AnyLaw, *, seeds: Sequence[int], epochs: int, epoch: float = 1.0
) -> Iterator[Array]:
    """What every epoch adds in every run, in chunks of shape (epochs, runs, sources)."""
    streams = [np.random.default_rng([seed, 0]) for seed in seeds]
    for start in range(0, epochs, CHUNK):
        length = min(CHUNK, epochs - start)
        long = tiled(fleet, length)
        drawn = [
            draw(rng, long.arrival, long.decay, long.worth, epoch, law).reshape(length, len(fleet))
            for rng in streams
        ]
        yield np.stack(drawn, axis=1)


def best(score: Array, m: int) -> Mask:
    """The m largest scores of every line, ties to the lower column.

    >>> best(np.array([[1., 3., 3., 2.]]), 1)
    array([[False,  True, False, False]])
    """
    if m == 1:
        order = np.argmax(score, axis=1)[:, None]
    else:  # of the negative: turning an ascending order round would turn ties round as well
        order = np.argsort(-score, axis=1, kind="stable")[:, :m]
    chosen = np.zeros(score.shape, dtype=np.bool_)
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen


def tiled(fleet: Fleet, times: int) -> Fleet:
    """The same sources over and over."""
    columns = (fleet.arrival, fleet.decay, fleet.worth)
    arrival, decay, worth = (np.tile(column, times) for column in columns)
    return Fleet(arrival=arrival, decay=decay, worth=worth)


def by_age(fleet: Fleet, state: Array, age: Array) -> Array:  # noqa: ARG001
    """Round robin: whoever waited longest."""
    return age


def by_harvest(fleet: Fleet, state: Array, age: Array) -> Array:  # noqa: ARG001
    """The papers' greedy rule: largest expected harvest by age [J §IX]."""
    return fleet.harvest.value(age)


def by_form(form: Form, epoch: float = 1.0) -> Score:
    """An index of the state that is seen."""
    return lambda fleet, state, age: form(fleet, state, epoch)  # noqa: ARG005


@functools.lru_cache(maxsize=8)
def by_stochastic_index(fleet: Fleet, law: AnyLaw, epoch: float = 1.0) -> Score:
    """`stochastic_index`, looked up: it is asked for the same few sources a million times."""
    top = ceiling(fleet)
    state = np.linspace(0.0, REACH, CELLS + 1)[:, None] * top
    index = stochastic_index(tiled(fleet, CELLS + 1), state.reshape(-1), epoch, law)
    gain = (index.reshape(state.shape) - state).T.copy()
    rows = np.arange(len(fleet))

    def score(fleet: Fleet, state: Array, age: Array) -> Array:  # noqa: ARG001
        place = state.reshape(-1, len(rows)) * (CELLS / REACH / top)
        cell = np.minimum(place.astype(np.int64), CELLS - 1)
        left = gain[rows, cell]
        between = left + (place - cell) * (gain[rows, cell + 1] - left)
        return state + np.where(place < CELLS, between, 0.0).reshape(-1)

    return score


def paper_scores(fleet: Fleet, law: AnyLaw, epoch: float = 1.0) -> dict[str, Score]:
    """The policies of the papers' stochastic comparison, and the forms they may have used."""
    return {
        "round_robin": by_age,
        "greedy": by_harvest,
        **{name: by_form(form, epoch) for name, form in FORMS.items()},
        "whittle_stochastic": by_stochastic_index(fleet, law, epoch),
    }
