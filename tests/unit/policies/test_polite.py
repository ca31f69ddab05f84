"""Hosts are left in peace, and the budget goes elsewhere."""

import numpy as np
import pytest

from dayfly.model import Fleet
from dayfly.policies import Greedy, Polite, Random, RoundRobin, Whittle
from dayfly.policies.base import View
from dayfly.simulate import play

RNG = np.random.default_rng(0)


def random_fleet(rng, n=40, hosts=8):
    return Fleet(
        arrival=10 ** rng.uniform(-1, 1, n),
        decay=rng.uniform(0.1, 1, n),
        cost=rng.choice([0.5, 1, 2], n),
        host=[f"h{i}" for i in rng.integers(0, hosts, n)],
    )


@pytest.mark.parametrize("inner", [Whittle(), Greedy(), RoundRobin(), Random()])
@pytest.mark.parametrize(("per_host", "spacing"), [(1, 0.0), (2, 0.0), (1, 3.0), (3, 2.0)])
@pytest.mark.parametrize("continuous", [False, True])
def test_no_host_is_visited_too_much_or_too_soon(inner, per_host, spacing, continuous):
    seed = 6
    print("seed", seed)
    fleet = random_fleet(np.random.default_rng(seed))
    policy = Spy(Polite(inner, per_host, spacing))
    list(play(fleet, policy, 6.0, 60, continuous=continuous))
    for age, rows in policy.seen:
        visits = np.bincount(fleet.host_code[rows], minlength=len(fleet.hosts))
        assert visits.max(initial=0) <= per_host
        for host in np.flatnonzero(visits):
            assert age[fleet.host_code == host].min() >= spacing * (1 - 1e-9)
    assert sum(len(rows) for _, rows in policy.seen) > 50


class Spy:
    """Remembers what the inner policy saw and chose."""

    def __init__(self, policy):
        self.policy, self.seen = policy, []

    def choose(self, view, budget, rng):
        rows = self.policy.choose(view, budget, rng)
        self.seen.append((view.age.copy(), rows))
        return rows


def test_budget_held_back_from_one_host_goes_to_the_next_best_elsewhere():
    fleet = Fleet(arrival=[9.0, 8, 7, 2, 1], decay=1.0, host=list("aaabb"))
    view = View(fleet=fleet, now=0.0, age=np.ones(5), epoch=1.0, pace=2.0)
    assert Polite(Whittle()).choose(view, 3.0, RNG).tolist() == [0, 3]
    assert Polite(Whittle(), per_host=2).choose(view, 3.0, RNG).tolist() == [0, 1, 3]
    assert Polite(Whittle(), per_host=9).choose(view, 3.0, RNG).tolist() == [0, 1, 2]
    assert Polite(Whittle(), per_host=0).choose(view, 3.0, RNG).tolist() == []


def test_a_host_in_cool_down_is_passed_over():
    fleet = Fleet(arrival=[9.0, 8, 7], decay=1.0, host=list("aab"))
    age = np.array([5.0, 1.0, 5.0])
    view = View(fleet=fleet, now=0.0, age=age, epoch=1.0, pace=1.0)
    assert Polite(Whittle(), spacing=2.0).choose(view, 3.0, RNG).tolist() == [2]
    assert Polite(Whittle(), spacing=1.0).choose(view, 3.0, RNG).tolist() == [0, 2]


def test_who_may_not_be_crawled_stays_that_way():
    fleet = Fleet(arrival=[9.0, 8, 7], decay=1.0, host=list("aab"))
    allowed = np.array([False, True, True])
    view = View(fleet=fleet, now=0.0, age=np.ones(3), epoch=1.0, pace=1.0, allowed=allowed)
    assert Polite(Whittle()).choose(view, 3.0, RNG).tolist() == [1, 2]
    assert allowed.tolist() == [False, True, True]


def test_an_inner_policy_that_ignores_the_rules_is_not_asked_for_ever():
    class Stubborn:
        def choose(self, view, budget, rng):
            return np.array([0, 1])

    fleet = Fleet(arrival=[9.0, 8, 7], decay=1.0, host=list("aab"))
    view = View(fleet=fleet, now=0.0, age=np.ones(3), epoch=1.0, pace=1.0)
    assert Polite(Stubborn(), per_host=2).choose(view, 9.0, RNG).tolist() == [0, 1]
    assert Polite(Stubborn()).choose(view, 9.0, RNG).tolist() == [0]
