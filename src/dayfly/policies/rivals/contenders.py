"""Research rules as contenders: they learn rates by counting, and run at the same budget.

Each visits every source once first, in row order, and then spends 5 % of its budget on whoever was
unseen longest. Without this a rule that never visits what it believes worthless would be a straw
man; with it even the plainest of them catches most of what can be caught.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dayfly.index import relax
from dayfly.model import Array, Fleet, Rows, Visits
from dayfly.policies.contender import Contest
from dayfly.policies.rivals.rates import Rates
from dayfly.policies.rivals.solve import azar, harmonic, proportional, square_root
from dayfly.policies.select import top

#: Share of the budget for the longest unseen.
_UNSEEN = 0.05
#: How often rates are solved anew where that takes a search, in seconds: once a day.
_DAY = 86_400.0

#: Crawls per epoch for each source, from the contest and the learned rates.
Solve = Callable[[Contest, Rates], Array]


class Rival:
    """Takes the most urgent sources, after a first round and beside the longest unseen."""

    def __init__(self, contest: Contest) -> None:
        self.contest = contest
        self.rates = Rates(contest.sources, contest.window)
        self.last = np.full(contest.sources, -np.inf)
        self.unspent = 0.0

    def urgency(self, age: Array, now: float) -> Array:
        """How much sooner than others each source is to be visited."""
        raise NotImplementedError

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """Sources never seen, then some of the longest unseen, then the most urgent."""
        never: Rows = np.flatnonzero(np.isinf(self.last))[:k]
        if len(never) == k:
            return never
        age = np.where(np.isinf(self.last), 0.0, now - self.last)
        left = k - len(never)
        self.unspent += _UNSEEN * left
        share = int(self.unspent)
        self.unspent -= share
        taken = np.zeros(len(age), dtype=bool)
        taken[never] = True
        longest = top(np.where(taken, -np.inf, age), min(share, len(age) - len(never)))
        taken[longest] = True
        urgent = np.where(taken, -np.inf, self.urgency(age, now))
        rest = top(urgent, min(left - len(longest), len(age) - int(taken.sum())))
        return np.concatenate([never, longest, rest])

    def observe(self, visits: Visits) -> None:
        """Counts what was seen."""
        self.rates.learn(visits)
        self.last[visits.row] = visits.time


class Uniform(Rival):
    """Round robin: whoever waited longest."""

    def urgency(self, age: Array, now: float) -> Array:
        """The age."""
        return age


class Proportional(Rival):
    """Crawl rates ∝ value published, most overdue first: weight times age."""

    def urgency(self, age: Array, now: float) -> Array:
        """Age times rate."""
        return age * proportional(self.rates.weight, self.contest.budget)


class SquareRoot(Rival):
    """Crawl rates ∝ √(value published), most overdue first (Sia, Cho and Cho, 2007)."""

    def urgency(self, age: Array, now: float) -> Array:
        """Age times rate."""
        return age * square_root(self.rates.weight, self.contest.budget)


class Greedy(Rival):
    """Largest expected harvest now."""

    def urgency(self, age: Array, now: float) -> Array:
        """What is expected to wait, Λξ(1 − e^(−μτ)); the common factor 1/μ is left out."""
        waiting: Array = -np.expm1(-self.contest.decay * age)
        return self.rates.weight * waiting


class Daily(Rival):
    """Fixed crawl rates, solved anew once a day and run most overdue first.

    Who has rate 0 comes after all others, the longest unseen first.
    """

    def __init__(self, contest: Contest, solve: Solve) -> None:
        super().__init__(contest)
        self.solve, self.next = solve, -np.inf
        self.rate: Array = np.empty(0)

    def urgency(self, age: Array, now: float) -> Array:
        """Age times rate."""
        if now >= self.next:
            self.rate, self.next = self.solve(self.contest, self.rates), now + _DAY
        return np.where(self.rate > 0, age * self.rate, -1.0 / (1.0 + age))


def solve_lefortier(contest: Contest, rates: Rates) -> Array:
    """The best fixed periods for what fades (Lefortier et al., 2013)."""
    fleet = Fleet(arrival=rates.arrival, decay=contest.decay, worth=rates.worth)
    return relax(fleet, contest.budget, contest.epoch, threads=1).rate


def _value_and_fading(contest: Contest, rates: Rates) -> tuple[Array, Array]:
    """Importance and change rate of a source, for rules that keep copies fresh; per epoch.

    Importance is the value published, Λξ. The change rate is that at which news fades: crawled at
    random times at rate ρ a source yields Λξ·ρ/(ρ + μ), which is the objective of these rules with
    D = μ. With D = Λ, the other reading, each of them is the proportional rule, above its floor.
    """
    weight = rates.weight * contest.epoch
    return weight, np.full(len(weight), contest.decay * contest.epoch)


def solve_azar(contest: Contest, rates: Rates) -> Array:
    """Azar et al. (2018)."""
    return azar(*_value_and_fading(contest, rates), contest.budget)


def solve_harmonic(contest: Contest, rates: Rates) -> Array:
    """LambdaCrawl (Kolobov et al., 2019)."""
    return harmonic(*_value_and_fading(contest, rates), contest.budget)


def solve_binary(contest: Contest, rates: Rates) -> Array:
    """BinaryLambdaCrawl (Kolobov et al., 2019): Azar's rates above a floor of 0.4 R/N."""
    least = 0.4 * contest.budget / contest.sources
    return azar(*_value_and_fading(contest, rates), contest.budget, least)
