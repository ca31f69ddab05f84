"""The best few of millions are those that scoring everything would give."""

import numpy as np
import pytest

from dayfly.index import whittle_index
from dayfly.model import Fleet
from dayfly.policies import Whittle, shortlist, top
from dayfly.policies.base import View
from dayfly.policies.shortlist import best


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(shortlist, "_LARGE", 500)
    monkeypatch.setattr(shortlist, "_SAMPLE", 200)


def fleets(seed):
    rng = np.random.default_rng(seed)
    n = 4000
    arrival, decay = 10 ** rng.uniform(-3, 1, n), 10 ** rng.uniform(-3, 1, n)
    yield Fleet(arrival=arrival, decay=decay, cost=rng.choice([0.5, 2.0], n))
    yield Fleet(arrival=np.round(arrival, 1), decay=np.ceil(decay))  # many ties
    yield Fleet(arrival=arrival, decay=np.where(rng.random(n) < 0.1, 0.0, decay))
    yield Fleet(arrival=arrival, decay=decay, lifetime=rng.uniform(1, 9, n))
    yield Fleet(arrival=arrival, decay=decay, kind="freshness")
    yield Fleet(arrival=arrival, decay=decay, slow_share=0.2, slow_decay=1e-3, kind="two_phase")
    yield Fleet(arrival=arrival, decay=decay, kind=["ephemeral", "freshness"] * (n // 2))
    yield Fleet(arrival=0.0, decay=decay)


@pytest.mark.parametrize("epoch", [None, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_best_is_top_of_the_whole_index(small, epoch, seed):
    print("seed", seed)
    rng = np.random.default_rng([seed, 9])
    for number, fleet in enumerate(fleets(seed)):
        for age in (rng.integers(1, 9, len(fleet)) * 0.5, 10 ** rng.uniform(-3, 3, len(fleet))):
            age[rng.random(len(fleet)) < 0.01] = np.inf
            for m in (0, 1, 7, 400, 3000, 9999):
                right = top(whittle_index(fleet, age, epoch), m)
                assert best(fleet, age, m, epoch).tolist() == right.tolist(), (number, m)


def test_a_misleading_sample_costs_time_but_not_truth(small):
    n = 4000
    arrival = np.full(n, 1e-3)
    arrival[:: n // 200] = 1.0
    fleet = Fleet(arrival=arrival, decay=1.0)
    for values in (fleet, Fleet(arrival=1.001 - arrival, decay=1.0)):
        found = best(values, np.ones(n), 300, 1.0)
        assert found.tolist() == top(whittle_index(values, 1.0, 1.0), 300).tolist()


@pytest.mark.parametrize("budget", [-3.0, 0.0, 0.5, 40.0, 4e4])
def test_the_policy_takes_the_same_rows_by_either_way(monkeypatch, budget):
    rng = np.random.default_rng(2)
    n = 4000
    fleet = Fleet(arrival=rng.random(n), decay=rng.random(n), cost=0.5)
    view = View(fleet=fleet, now=0.0, age=rng.integers(1, 9, n) * 1.0, epoch=1.0, pace=10.0)
    plain = Whittle().choose(view, budget, rng)
    monkeypatch.setattr(shortlist, "_LARGE", 500)
    monkeypatch.setattr(shortlist, "_SAMPLE", 200)
    assert Whittle().choose(view, budget, rng).tolist() == plain.tolist()
