"""A lesson: a contender that knows nothing plays in a world whose truth is known.

The world is that of the papers: slotted time, Poisson arrivals, and at the first decision one
epoch's news waits everywhere [J: X = u]. The contender is told what its visits found and nothing
else, with or without the dates of items. All contenders of one seed meet the same arrivals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dayfly.errors import BadInput
from dayfly.model import Array, Fleet, Mask, Rows, Visits
from dayfly.policies import Contender, Contest
from dayfly.simulate.waiting import plain

#: Items that have faded to e^−30 are gone: nobody could tell.
_FADED = 30.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Lesson:
    """What a contender earned, and whom it visited."""

    #: Reward of each epoch.
    rewards: Array
    #: Visits to each source.
    visits: Rows


class Shop:
    """The items of one epoch after another, as they wait at the sources; oldest first."""

    def __init__(self, fleet: Fleet, epoch: float, seed: int) -> None:
        wrong = np.flatnonzero(~plain(fleet))
        if len(wrong):
            raise BadInput(f"source {fleet.id[int(wrong[0])]!r}: a lesson needs plain sources")
        self.fleet, self.epoch = fleet, epoch
        self.rng = np.random.default_rng([seed, 0])
        self.row: Rows = np.empty(0, dtype=np.int64)
        self.time = np.empty(0)

    def open(self, now: float) -> None:
        """Add what came in the epoch that ends now."""
        counts = self.rng.poisson(self.fleet.arrival * self.epoch)
        row = np.repeat(np.arange(len(self.fleet)), counts)
        time = now - self.epoch * self.rng.random(len(row))
        left = self.fleet.decay[self.row] * (now - self.time) < _FADED
        self.row = np.concatenate([self.row[left], row])
        self.time = np.concatenate([self.time[left], time])

    def sell(self, rows: Rows, now: float) -> tuple[Rows, Array, Array]:
        """Take what waits at these rows: whose item, when published, worth now; sorted."""
        wanted: Mask = np.zeros(len(self.fleet), dtype=np.bool_)
        wanted[rows] = True
        taken = wanted[self.row]
        row, time = self.row[taken], self.time[taken]
        self.row, self.time = self.row[~taken], self.time[~taken]
        order = np.lexsort((time, row))
        row, time = row[order], time[order]
        value = self.fleet.worth[row] * np.exp(-self.fleet.decay[row] * (now - time))
        return row, time, value


def teach(
    fleet: Fleet,
    make: Callable[[Contest], Contender],
    budget: int,
    epochs: int,
    *,
    epoch: float = 1.0,
    dated: bool = False,
    seed: int = 0,
) -> Lesson:
    """Let a contender play for so many epochs; reproducible bit for bit from the seed.

    Parameters
    ----------
    fleet
        The truth: plain ephemeral sources of cost 1.
    make
        Makes the contender; it is told how many sources there are, the epoch and the budget.
    budget
        Visits per epoch.
    dated
        Whether visits show when each of their items was published.

    Examples
    --------
    >>> from dayfly.learn.rewards import RewardLearner
    >>> fleet = Fleet(arrival=250, decay=[.7, .35, .7, .21], worth=[1, .7, .2, .08])
    >>> lesson = teach(fleet, RewardLearner, budget=1, epochs=100, seed=1)
    >>> bool(lesson.rewards.mean() > 0.94 * 260.39)
    True
    """
    if budget < 1 or epochs < 1 or not epoch > 0:
        raise BadInput(f"budget, epochs and epoch must be positive: {budget}, {epochs}, {epoch}")
    n = len(fleet)
    # Nobody is told how fast news fades here: it differs, and is for the contender to find out.
    contest = Contest(
        sources=n, start=-epoch, epoch=epoch, budget=float(budget), decay=float("nan"),
        window=None, span=epochs * epoch,
    )  # fmt: skip
    contender, rng = make(contest), np.random.default_rng([seed, 1])
    shop, last = Shop(fleet, epoch, seed), np.full(n, -np.inf)
    rewards, visits = np.zeros(epochs), np.zeros(n, dtype=np.int64)
    for number in range(epochs):
        now = number * epoch
        shop.open(now)
        rows = np.asarray(contender.choose(now, budget, rng), dtype=np.int64)
        if len(rows) > budget or len(np.unique(rows)) < len(rows):
            raise BadInput(f"{type(contender).__name__} chose a row twice, or too many")
        owner, time, value = shop.sell(rows, now)
        found: Array = np.bincount(owner, value, n).astype(np.float64)
        rewards[number] = found.sum()
        visits[rows] += 1
        count = np.bincount(owner, minlength=n)[rows]
        shown = time[_in_order(owner, rows, n)] if dated else np.empty(0)
        contender.observe(
            Visits(
                time=now, row=rows, gap=now - last[rows],
                start=np.concatenate([[0], np.cumsum(count if dated else 0 * count)]),
                published=shown, worth=np.ones(len(shown)),
                new=count if dated else 0 * count, value=found[rows],
            )
        )  # fmt: skip
        last[rows] = now
    return Lesson(rewards=rewards, visits=visits)


def _in_order(owner: Rows, rows: Rows, n: int) -> Rows:
    """The items, sorted by owner, in the order in which their owners were visited."""
    place = np.zeros(n, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    return np.argsort(place[owner], kind="stable")
