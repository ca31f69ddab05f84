"""Q-learning of the index: right in the end, slow on the way."""

import numpy as np
import pytest

from dayfly.estimate.rewards import rewarded
from dayfly.index import whittle_index
from dayfly.learn.qlearning import AGES, IndexQLearner
from dayfly.model import Fleet
from dayfly.policies import Contest


def contest(sources):
    return Contest(
        sources=sources, start=-1.0, epoch=1.0, budget=1.0, decay=1.0, window=None, span=1.0
    )


def test_the_true_index_is_where_its_iteration_rests():
    """At the solution of the subsidised source no step moves anything: λ(k) = γ_k."""
    fleet = Fleet(arrival=10.0, decay=0.5)
    ages = np.arange(1.0, AGES + 1)
    many = fleet.take(np.zeros(AGES, dtype=np.int64))
    gamma, reward = whittle_index(many, ages, 1.0), many.harvest.value(ages)
    for k in range(AGES - 2):  # the last ages are told apart no more
        # Q of the relative value iteration with subsidy γ_k, damped; f(Q) is what it subtracts.
        q = np.zeros((AGES, 2))
        for _ in range(2000):
            ahead = q.max(axis=1)
            passive = gamma[k] + ahead[np.minimum(np.arange(AGES) + 1, AGES - 1)]
            target = np.stack([passive, reward + ahead[0]], axis=1) - q.mean()
            q += 0.1 * (target - q)
        assert q[k, 1] - q[k, 0] == pytest.approx(0.0, abs=1e-3), k


def test_it_learns_which_sources_are_worth_a_visit():
    seed = 1
    print("seed", seed)
    rng = np.random.default_rng(seed)
    fleet = Fleet(arrival=[30.0, 10.0, 3.0], decay=0.4)
    learner = IndexQLearner(contest(3))
    last, late = np.full(3, -1.0), np.zeros(3)
    for now in range(3000):
        rows = learner.choose(float(now), 1, rng)
        gap = now - last[rows]
        value = fleet.take(rows).harvest.value(gap)
        learner.observe(rewarded(now, rows, gap, value))
        last[rows] = now
        late[rows] += now >= 2000
    assert late[0] > late[1] > late[2], late


def test_it_takes_the_best_of_what_it_knows():
    learner = IndexQLearner(contest(3))
    learner.index[:, 0] = [1.0, 3.0, 2.0]
    rng = np.random.default_rng(0)
    chosen = [tuple(learner.choose(0.0, 2, rng)) for _ in range(200)]
    assert 0.8 < np.mean([one == (1, 2) for one in chosen]) < 1.0
