"""Cold starts on a large, unequal fleet: how soon who knows nothing earns like an oracle.

Two kinds of sight. *Rewards*: each visit tells the total value of what it found, as in the papers.
*Dates*: it also shows when each item was published, but not what a single item is worth; rate,
worth and decay all have to be learned. The oracle is the Whittle policy with the true parameters,
on the same arrivals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dayfly.index import whittle_index
from dayfly.learn.dated import DatedLearner
from dayfly.learn.rewards import RewardLearner
from dayfly.model import Array, Fleet, Rows, Visits
from dayfly.policies import Contender, Contest
from dayfly.policies.select import top
from dayfly.simulate.lesson import teach

#: Visits per epoch, for every source, and visits per source that a lesson lasts on average.
SHARE, ROUNDS = 0.1, 40
#: By the name of what is seen: the learner, and whether items are dated.
SIGHTS: dict[str, tuple[Callable[[Contest], Contender], bool]] = {
    "rewards": (RewardLearner, False),
    "dates": (DatedLearner, True),
}


class Oracle:
    """The Whittle policy with the truth, as a contender."""

    def __init__(self, fleet: Fleet, contest: Contest) -> None:
        self.fleet, self.epoch = fleet, contest.epoch
        self.last = np.full(len(fleet), contest.start)

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The k rows with the largest index."""
        return top(whittle_index(self.fleet, now - self.last, self.epoch, threads=1), k)

    def observe(self, visits: Visits) -> None:
        """Nothing to learn but when."""
        self.last[visits.row] = visits.time


def unequal_fleet(n: int, seed: int, *, arrival: float = 1.0) -> Fleet:
    """Rates, decays and worths lognormal: medians 1 item and 10 % loss per epoch, and 1.

    >>> fleet = unequal_fleet(1000, 0)
    >>> [round(float(np.quantile(fleet.arrival, q)), 2) for q in (.05, .5, .95)]
    [0.2, 1.06, 4.9]
    """
    rng = np.random.default_rng([seed, 5])
    return Fleet(
        arrival=arrival * rng.lognormal(0.0, 1.0, n),
        decay=0.1 * rng.lognormal(0.0, 0.7, n),
        worth=rng.lognormal(0.0, 0.5, n),
    )


def rounds(
    sights: Sequence[str], *, sources: int, seed: int, arrival: float = 1.0
) -> dict[str, Array]:
    """Reward of each round of visits, one per source on average: the oracle's, then by sight."""
    fleet = unequal_fleet(sources, seed, arrival=arrival)
    budget = max(int(SHARE * sources), 1)
    epochs = ROUNDS * sources // budget
    best = teach(fleet, lambda contest: Oracle(fleet, contest), budget, epochs, seed=seed)
    found = {"oracle": _by_round(best.rewards)}
    for sight in sights:
        make, dated = SIGHTS[sight]
        lesson = teach(fleet, make, budget, epochs, dated=dated, seed=seed)
        found[sight] = _by_round(lesson.rewards)
    return found


def _by_round(rewards: Array) -> Array:
    return np.asarray(rewards.reshape(ROUNDS, -1).sum(axis=1))
