"""Selection against a naive loop, with ties, odd costs and every shortcut forced."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dayfly.policies import fill_budget, select, top


def naive_order(score):
    return sorted(range(len(score)), key=lambda row: (-score[row], row))


def naive_fill(score, cost, budget, allowed=None, least=-np.inf):
    chosen, left = [], budget
    for row in naive_order(score):
        if score[row] < least or (allowed is not None and not allowed[row]):
            continue
        if left > 0 and cost[row] <= left * (1 + 1e-9):
            chosen.append(row)
            left -= cost[row]
    return chosen


# Few distinct values, so that ties are the rule.
scores = st.lists(st.sampled_from([-1.0, 0.0, 0.25, 1.0, 2.0, 3.5, np.inf]), max_size=60)
# Multiples of 1/8: sums are exact, so that the loop and the cumulative sums agree on what fits.
costs = st.sampled_from([0.125, 0.5, 1.0, 1.0, 2.0, 7.0])


@settings(deadline=None)
@given(scores, st.integers(0, 70))
def test_top_is_the_head_of_a_stable_sort(score, m):
    found = top(np.array(score), m)
    assert found.dtype == np.int64
    assert found.tolist() == naive_order(score)[:m]


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_top_through_a_sample_is_the_same(seed, m):
    rng = np.random.default_rng(seed)
    score = rng.choice([0.0, 1.0, 2.0, 3.0], 400) if seed % 2 else rng.random(400)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(select, "_LARGE", 100)
        patch.setattr(select, "_SAMPLE", 50)
        assert top(score, m).tolist() == naive_order(score)[:m]


def test_top_is_exact_where_the_sample_misleads(monkeypatch):
    """Every sampled score is high and nothing else is, or the other way round."""
    monkeypatch.setattr(select, "_LARGE", 100)
    monkeypatch.setattr(select, "_SAMPLE", 50)
    for sampled, others in ((1.0, 0.0), (0.0, 1.0)):
        score = np.full(400, others)
        score[:: 400 // 50] = sampled
        assert top(score, 45).tolist() == naive_order(score)[:45]


@settings(deadline=None)
@given(st.data(), scores, st.floats(0, 80))
def test_fill_budget_is_the_naive_loop(data, score, budget):
    n = len(score)
    budget = round(budget * 8) / 8
    cost = data.draw(st.lists(costs, min_size=n, max_size=n))
    allowed = data.draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n))
    least = data.draw(st.sampled_from([-np.inf, 0.0, 1.0]))
    mask = None if allowed is None else np.array(allowed, dtype=bool)
    found = fill_budget(np.array(score), np.array(cost), budget, mask, least)
    assert found.dtype == np.int64
    assert found.tolist() == naive_fill(score, cost, budget, allowed, least)


@pytest.mark.parametrize("seed", range(12))
def test_fill_budget_of_a_long_fleet_is_the_naive_loop(monkeypatch, seed):
    """More rows than are looked at first: who is passed over frees budget far down the list."""
    print("seed", seed)
    monkeypatch.setattr(select, "_LARGE", 300)
    monkeypatch.setattr(select, "_SAMPLE", 100)
    rng = np.random.default_rng(seed)
    n = 3000
    score = np.round(rng.random(n), 2)
    cost = rng.choice([0.125, 1.0, 64.0], n, p=[0.02, 0.5, 0.48])
    if seed % 3 == 0:  # the only cheap ones come last
        cost = np.where(score < 0.02, 0.125, 64.0)
    for budget in (0.0, 0.125, 3.0, 63.875, 500.0, 5000.125, 1e9, np.inf):
        assert fill_budget(score, cost, budget).tolist() == naive_fill(score, cost, budget)


@settings(deadline=None)
@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=30), st.floats(0, 50))
def test_any_costs_stay_within_the_budget_and_leave_nothing_affordable(cost, budget):
    cost = np.array(cost)
    rows = fill_budget(np.ones(len(cost)), cost, budget)
    spent = cost[rows].sum()
    assert spent <= budget * (1 + 1e-9)
    left = np.delete(cost, rows)
    assert (left > (budget - spent) * (1 - 1e-9) - 1e-12).all()


def test_equal_costs_buy_whole_crawls_in_spite_of_rounding():
    """Ten times 0.1 are affordable with 1.0, though 0.1 + … + 0.1 < 1 in floats."""
    for n in (3, 7, 10, 30, 1000):
        assert len(fill_budget(np.ones(2 * n), np.full(2 * n, 0.1), 0.1 * n)) == n
        assert len(fill_budget(np.ones(2 * n), np.full(2 * n, 1 / 3), n / 3)) == n


def test_nothing_is_chosen_of_nothing_or_for_nothing():
    empty = np.empty(0)
    for rows in (
        top(empty, 3),
        top(np.ones(3), 0),
        top(np.ones(3), -2),
        fill_budget(empty, empty, 5.0),
        fill_budget(np.ones(3), np.ones(3), 0.0),
        fill_budget(np.ones(3), np.ones(3), -1.0),
        fill_budget(np.ones(3), np.ones(3), 5.0, np.zeros(3, dtype=bool)),
        fill_budget(np.ones(3), np.ones(3), 5.0, least=2.0),
    ):
        assert rows.tolist() == []
        assert rows.dtype == np.int64


def test_inputs_are_left_alone():
    score, cost = np.array([1.0, 3.0, 2.0]), np.array([1.0, 2.0, 1.0])
    allowed = np.array([True, False, True])
    fill_budget(score, cost, 2.0, allowed, 0.5)
    assert (score.tolist(), cost.tolist()) == ([1, 3, 2], [1, 2, 1])
    assert allowed.tolist() == [True, False, True]
