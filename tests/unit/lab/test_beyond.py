"""The gap that decisions make, with start and end accounted for."""

import numpy as np
import pytest

from dayfly.index import relax
from dayfly.lab.beyond import budget_point, gap, gaps, random_fleet, stock
from dayfly.lab.table1 import TABLE_ONE
from dayfly.policies import Random, RoundRobin, Whittle, exact_optimum
from dayfly.simulate import simulate


@pytest.mark.parametrize("epochs", [1, 2, 3, 50])
def test_an_optimal_policy_has_no_gap_wherever_the_run_is_cut(epochs):
    best = relax(TABLE_ONE, 1, 1.0)
    assert gap(TABLE_ONE, Whittle(), 1, best, epochs=epochs, burn_in=9) == pytest.approx(
        0, abs=1e-12
    )


def test_over_whole_cycles_the_gap_is_what_the_average_says():
    best = relax(TABLE_ONE, 2, 1.0)
    found = gap(TABLE_ONE, Whittle(), 2, best, epochs=7 * 9, burn_in=100)
    assert found == pytest.approx(1 - exact_optimum(TABLE_ONE, 2.0).value / best.bound, abs=1e-10)


@pytest.mark.parametrize("policy", [Whittle(), RoundRobin(), Random()])
def test_no_policy_has_a_negative_gap_even_in_short_runs_from_any_start(policy):
    for seed in range(6):
        print("seed", seed)
        fleet = random_fleet(12, np.random.default_rng(seed))
        best = relax(fleet, 3, 1.0)
        for burn_in in (0, 4):
            # The purse may carry one crawl over, which is worth at most one price.
            carried = best.price / (5 * best.bound)
            assert gap(fleet, policy, 3, best, epochs=5, burn_in=burn_in) > -carried - 1e-12


def test_sources_just_crawled_are_worth_nothing_more_and_older_ones_never_less():
    fleet = random_fleet(50, np.random.default_rng(1))
    best = relax(fleet, 10, 1.0)
    assert stock(fleet, np.ones(50), best) == pytest.approx(0.0, abs=1e-9 * best.bound)
    worth = [stock(fleet, np.full(50, float(k)), best) for k in range(1, 40)]
    assert (np.diff(worth) > -1e-9 * best.bound).all()


def test_gaps_are_reproducible_and_whittle_has_the_smallest():
    found = gaps(30, 2, epochs=40, burn_in=40)
    assert found == gaps(30, 2, epochs=40, burn_in=40)
    assert 0 < found["whittle"] < found["static"] < found["greedy"]


def test_the_budget_curve_ends_where_everything_is_crawled():
    full = budget_point(1.0, n=20)
    assert full == {name: pytest.approx(1.0) for name in full}
    half = budget_point(0.5, n=20)
    assert half["round_robin"] < half["greedy"] < half["whittle"] <= half["bound"] * 1.001


def test_a_long_run_without_correction_tends_to_the_same_gap():
    fleet = random_fleet(30, np.random.default_rng(4))
    best = relax(fleet, 6, 1.0)
    run = simulate(fleet, RoundRobin(), 6, 1000, burn_in=100)
    found = gap(fleet, RoundRobin(), 6, best, epochs=1000, burn_in=100)
    assert found == pytest.approx(1 - run.share, abs=1e-3)
