"""Tabular Q-learning of the index, as Avrachenkov and Borkar propose it: a rival.

    Q(i,u;k) += a [ (1−u) λ(k) + u r + max_v Q(j,v;k) − f(Q(·;k)) − Q(i,u;k) ],  f the mean
    λ(k) += b ( Q(k,1;k) − Q(k,0;k) )

One table per reference state k; the states are ages in epochs, the last one for all older. λ(k) is
the index of age k. *Whittle index based Q-learning for restless bandits with average reward*,
Automatica 139, 2022. It needs no model and pays for that in steps: each table has to learn from
scratch what one curve with two parameters says for all ages.
"""

from __future__ import annotations

import math

import numpy as np

from dayfly.model import Array, Rows, Visits
from dayfly.policies import Contest
from dayfly.policies.select import top

#: Ages that are told apart; older sources count as this old.
AGES = 8
#: C and C′ of a = C/⌈ν/500⌉ and b = C′/(1 + ⌈n ln n/500⌉): the best of five pairs tried on Table I
#: over 10,000 steps. And how often rows are drawn blindly.
FAST, SLOW, BLIND = 0.1, 0.05, 0.1


class IndexQLearner:
    """A contender that learns the index of every age of every source by trial and error.

    A source that is passed over earns the subsidy and grows older, which needs no visit to know;
    so all tables learn in every epoch, and only the reward of a crawl has to be seen.

    Examples
    --------
    >>> from dayfly.estimate.rewards import rewarded
    >>> learner = IndexQLearner(Contest(sources=2, start=-1.0, epoch=1.0, budget=1.0, decay=1.0,
    ...                                 window=None, span=100.0))
    >>> rng = np.random.default_rng(0)
    >>> for now in range(500):
    ...     row = learner.choose(float(now), 1, rng)
    ...     learner.observe(rewarded(now, row, [1.0], [[5.0, 50.0][row[0]]]))
    >>> learner.index.shape, bool(learner.index[1, 0] > learner.index[0, 0])
    ((2, 8), True)
    """

    def __init__(self, contest: Contest) -> None:
        n = contest.sources
        #: λ(k), by source and reference age.
        self.index = np.zeros((n, AGES))
        #: Q by source, reference age, age and action; and how often each pair was seen.
        self.q = np.zeros((n, AGES, AGES, 2))
        self.seen = np.zeros((n, AGES, 2))
        self.age = np.zeros(n, dtype=np.int64)
        self.steps = 0

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The k rows with the largest index, or any k, one time in ten."""
        if rng.random() < BLIND:
            return np.sort(rng.permutation(len(self.age))[:k])
        return top(self.score(now), k)

    def score(self, now: float) -> Array:
        """The index of every source at its present age, as learned so far."""
        score: Array = self.index[np.arange(len(self.age)), self.age]
        return score

    def observe(self, visits: Visits) -> None:
        """One step of every table: those visited saw a reward, the others grew older."""
        n = len(self.age)
        rows, action, reward = np.arange(n), np.zeros(n, dtype=np.int64), np.zeros(n)
        action[visits.row], reward[visits.row] = 1, visits.value
        age = self.age
        later = np.where(action == 1, 0, np.minimum(age + 1, AGES - 1))
        self.seen[rows, age, action] += 1
        rate = FAST / np.ceil(self.seen[rows, age, action] / 500)
        q = self.q
        paid = np.where((action == 1)[:, None], reward[:, None], self.index)
        ahead = q[rows, :, later].max(axis=2) - q.mean(axis=(2, 3))
        old = q[rows, :, age, action]
        q[rows, :, age, action] = old + rate[:, None] * (paid + ahead - old)
        self.age, self.steps = later, self.steps + 1
        slow = SLOW / (1 + math.ceil(self.steps * math.log(self.steps) / 500))
        own = q[:, np.arange(AGES), np.arange(AGES)]
        self.index += slow * (own[:, :, 1] - own[:, :, 0])
