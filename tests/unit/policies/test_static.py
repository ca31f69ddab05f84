"""Policies built on the relaxed problem, against the single-source problem solved directly."""

import numpy as np
import pytest

from dayfly.index import relax
from dayfly.model import Fleet
from dayfly.policies import Lagrangian, Static
from dayfly.policies.base import View
from dayfly.simulate import simulate

TABLE_I = Fleet(arrival=250, decay=[0.7, 0.35, 0.7, 0.21], worth=[1, 0.7, 0.2, 0.08])
RNG = np.random.default_rng(0)


def advantage_by_policy_iteration(pays, fee):
    """Q(k, crawl) − Q(k, wait) of one source as a Markov chain of ages 1 … K."""
    n = len(pays)
    crawl = np.ones(n, dtype=bool)
    older = np.minimum(np.arange(n) + 1, n - 1)
    while True:
        # h(k) + g = reward + h(next), h(0) = 0: n equations for h(1…), g.
        following = np.where(crawl, 0, older)
        reward = np.where(crawl, pays - fee, 0.0)
        system = np.eye(n)
        system[np.arange(n), following] -= 1.0
        system[:, 0] = 1.0  # h(0) = 0 leaves its column to g
        solved = np.linalg.solve(system, reward)
        h = solved.copy()
        h[0] = 0.0
        advantage = pays - fee + h[0] - h[older]
        better = advantage > 0
        if np.array_equal(better, crawl):
            return advantage
        crawl = better


@pytest.mark.parametrize("seed", range(8))
def test_lagrangian_advantage_is_that_of_dynamic_programming(seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    n, epoch = 5, float(rng.choice([0.5, 1.0, 2.0]))
    fleet = Fleet(
        arrival=rng.uniform(0.5, 2, n), decay=rng.uniform(0.1, 0.6, n), cost=rng.choice([1, 2.0], n)
    )
    pace = float(rng.uniform(0.2, 0.5) * fleet.cost.sum())
    best = relax(fleet, pace, epoch)
    rows = np.flatnonzero(best.rate > 0)  # who is never crawled has no cycle to solve
    assert len(rows) > 1
    long = 300
    ages = epoch * np.arange(1, long + 1)
    right = np.array(
        [
            advantage_by_policy_iteration(
                fleet.arrival[row] / fleet.decay[row] * -np.expm1(-fleet.decay[row] * ages),
                best.price * fleet.cost[row],
            )
            for row in rows
        ]
    )
    for k in range(1, 25):
        view = View(fleet=fleet, now=0.0, age=np.full(n, k * epoch), epoch=epoch, pace=pace)
        found = Lagrangian()._advantage(view)
        np.testing.assert_allclose(found[rows], right[:, k - 1], rtol=1e-6, atol=1e-8)


def test_a_source_not_worth_its_price_offers_the_loss_of_a_crawl():
    fleet = Fleet(arrival=[5.0, 0.01], decay=0.5)
    view = View(fleet=fleet, now=0.0, age=np.array([1.0, 4.0]), epoch=1.0, pace=0.4)
    price = relax(fleet, 0.4, 1.0).price
    waiting = 0.02 * -np.expm1(-2.0)
    assert Lagrangian()._advantage(view)[1] == pytest.approx(waiting - price)


@pytest.mark.parametrize("policy", [Lagrangian(), Static()])
@pytest.mark.parametrize("continuous", [False, True])
def test_both_come_close_to_the_bound(policy, continuous):
    rng = np.random.default_rng(4)
    n = 60
    fleet = Fleet(
        arrival=10 ** rng.uniform(-1, 1, n), decay=10 ** rng.uniform(-2, 0, n),
        cost=rng.choice([0.5, 1, 2], n),
    )  # fmt: skip
    # A short run may live on what waited at its beginning: only a long one is held to the bound.
    run = simulate(
        fleet, policy, 8.0, 150 if continuous else 1000, burn_in=200, continuous=continuous
    )
    assert run.share > 0.97
    assert continuous or run.share <= 1.001


@pytest.mark.parametrize("continuous", [False, True])
def test_static_keeps_the_periods_of_the_relaxed_problem(continuous):
    rng = np.random.default_rng(5)
    n = 40
    fleet = Fleet(arrival=rng.uniform(0.5, 2, n), decay=rng.uniform(0.02, 0.1, n))
    run = simulate(fleet, Static(), 6.0, 600, burn_in=200, continuous=continuous)
    best = relax(fleet, 6.0, None if continuous else 1.0)
    np.testing.assert_allclose(run.crawls / 600, best.rate, rtol=0.12, atol=0.004)
    assert (run.crawls[best.rate == 0] == 0).all()


def test_static_takes_the_most_overdue_first():
    best = relax(TABLE_I, 2.0, 1.0)
    for age in ([1, 3, 2, 9], [2, 1, 9, 1], [1, 1, 1, 30]):
        view = View(fleet=TABLE_I, now=0.0, age=np.array(age, dtype=float), epoch=1.0, pace=2.0)
        overdue = np.array(age) * best.rate
        assert Static().choose(view, 2.0, RNG).tolist() == np.argsort(-overdue)[:2].tolist()


def test_never_crawled_and_never_fading_are_handled():
    fleet = Fleet(
        arrival=[1.0, 1.0, 1.0, 0.0], decay=[0.5, 0.0, 0.5, 0.5],
        slow_share=[0, 0, 0.5, 0], kind=["ephemeral", "ephemeral", "two_phase", "ephemeral"],
    )  # fmt: skip
    for epoch in (None, 1.0):
        view = View(fleet=fleet, now=0.0, age=np.full(4, np.inf), epoch=epoch, pace=1.0)
        assert not np.isnan(Lagrangian()._advantage(view)).any()
        for policy in (Lagrangian(), Static()):
            assert 0 in policy.choose(view, 3.0, RNG)
