"""LSPE(0): its pieces against finite differences, its thresholds against the index, its range."""

import itertools

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.index import whittle_index_at
from dayfly.lab.table1 import TABLE_ONE
from dayfly.learn.lspe import (
    Choices,
    basis,
    exact_thresholds,
    lspe,
    mean_state,
    probability,
    score_of,
)
from dayfly.model import Fleet

KAPPA = 2.0


def log_probability(x, q, active):
    z = KAPPA * (x - (q * basis(x)).sum(axis=2) - 0.5)
    return -np.logaddexp(0.0, np.where(active, -z, z)).sum(axis=1)


def test_the_score_8_is_the_gradient_of_log_p():
    seed = 4
    print("seed", seed)
    rng = np.random.default_rng(seed)
    x, q = rng.uniform(0, 3, (6, 4)), rng.normal(0, 0.2, (6, 4, 3))
    active = rng.random((6, 4)) < 0.5
    f = probability(x, (q * basis(x)).sum(axis=2), KAPPA)
    found = score_of(f, active, basis(x), KAPPA)
    for i, j in itertools.product(range(4), range(3)):
        step = np.zeros_like(q)
        step[:, i, j] = 1e-6
        slope = log_probability(x, q + step, active) - log_probability(x, q - step, active)
        np.testing.assert_allclose(found[:, i, j], slope / 2e-6, rtol=1e-5, atol=1e-6)


class Chain:
    """Two sources whose age stops at 4: a chain of 16 states that can be solved."""

    top = 4
    fleet = Fleet(arrival=[1.5, 1.0], decay=[0.7, 0.3])

    def __init__(self, q):
        self.ages = list(itertools.product(range(1, self.top + 1), repeat=2))
        self.x = mean_state(self.fleet, np.array(self.ages, dtype=float))
        self.f = probability(self.x, (q * basis(self.x)).sum(axis=2), KAPPA)
        self.moves = [
            (s, np.array(active), self.after(ages, active), self.chance(s, active))
            for s, ages in enumerate(self.ages)
            for active in itertools.product((False, True), repeat=2)
        ]
        n = len(self.ages)
        matrix, reward = np.zeros((n, n)), np.zeros(n)
        for s, active, then, chance in self.moves:
            matrix[s, then] += chance
            reward[s] += chance * self.x[s, active].sum()
        system = np.vstack([matrix.T - np.eye(n), np.ones(n)])
        self.law = np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0]
        self.beta = float(self.law @ reward)
        value = np.linalg.lstsq(
            np.vstack([np.eye(n) - matrix, self.law]),
            np.append(reward - self.beta, 0.0),
            rcond=None,
        )
        self.value = value[0]

    def after(self, ages, active):
        then = tuple(
            1 if crawled else min(age + 1, self.top)
            for age, crawled in zip(ages, active, strict=True)
        )
        return self.ages.index(then)

    def chance(self, s, active):
        return float(np.prod(np.where(active, self.f[s], 1 - self.f[s])))


def test_the_gradient_7_is_that_of_the_average_reward():
    """With the crawled reward, which depends on the action, r − β joins V(y) in (7)."""
    seed = 8
    print("seed", seed)
    q = np.random.default_rng(seed).normal(0, 0.3, (1, 2, 3))
    chain, found = Chain(q), np.zeros((2, 3))
    for s, active, then, chance in chain.moves:
        score = score_of(chain.f[s], active, basis(chain.x[s : s + 1])[0], KAPPA)
        paid = chain.x[s, active].sum() + chain.value[then]
        found += chain.law[s] * chance * score * paid
    for i, j in itertools.product(range(2), range(3)):
        step = np.zeros_like(q)
        step[0, i, j] = 1e-5
        slope = (Chain(q + step).beta - Chain(q - step).beta) / 2e-5
        assert found[i, j] == pytest.approx(slope, rel=1e-5, abs=1e-7)


def test_the_exact_thresholds_make_the_whittle_policy():
    seed = 2
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for _ in range(50):
        state = TABLE_ONE.harvest.value(rng.integers(1, 9, 4).astype(float))
        best = int(np.argmax(whittle_index_at(TABLE_ONE, state, 1.0)))
        active = state >= exact_thresholds(TABLE_ONE, state) - 1e-9
        assert np.flatnonzero(active).tolist() == [best]


@pytest.mark.parametrize("age", [1, 2, 3, 5])
def test_the_mean_harvest_of_items_that_expire_is_the_corrected_one(age):
    """Every item drawn: older than 2 epochs it is gone, and a crawl took what came before it."""
    seed = 6
    print("seed", seed)
    rng = np.random.default_rng(seed)
    fleet = Fleet(arrival=5.0, decay=0.4, lifetime=2.0)
    items = rng.poisson(5.0 * age, 20_000)
    ages = rng.random(int(items.sum())) * age
    seen = np.exp(-0.4 * ages)[ages < 2.0].sum() / 20_000
    right, printed = (
        mean_state(fleet, np.array([float(age)]), printed=how)[0] for how in (False, True)
    )
    assert seen == pytest.approx(right, rel=0.02)
    assert printed < 0.9 * right


def test_without_expiry_both_readings_of_lifetimes_are_the_papers_recursion():
    x = mean_state(TABLE_ONE, np.ones(4))
    alpha, u = np.exp(-TABLE_ONE.decay), x
    for age in range(2, 6):
        x = alpha * x + u
        for printed in (False, True):
            found = mean_state(TABLE_ONE, np.full(4, float(age)), printed=printed)
            np.testing.assert_allclose(found, x, rtol=1e-12)


def test_plausible_readings_end_far_below_the_index():
    runs = lspe(
        TABLE_ONE,
        [Choices(), Choices(printed_reward=True), Choices(drawn=False), Choices(unit=1.0)],
        steps=1500,
    )
    assert (runs.reward < 0.85 * 260.39 * np.maximum(runs.crawls, 1)).all()
    assert (runs.reward > 30).all()
    assert runs.crawls[2] == 1.0
    low, high = mean_state(TABLE_ONE, np.ones(4)), mean_state(TABLE_ONE, np.full(4, np.inf))
    assert (runs.learned >= low - 1e-9).all()
    assert (runs.learned <= high + 1e-9).all()


def test_sharper_decisions_engage_fewer_arms():
    """[L]: κ controls the number of engaged arms."""
    crawls = lspe(TABLE_ONE, [Choices(sharpness=k) for k in (0.5, 1.0, 2.0)], steps=1000).crawls
    assert crawls[0] > crawls[1] > crawls[2]


def test_runs_repeat_with_the_seed_and_do_not_touch_each_other():
    alone = lspe(TABLE_ONE, [Choices(drawn=False)], steps=100, seed=3)
    beside = lspe(TABLE_ONE, [Choices(), Choices(drawn=False)], steps=100, seed=3)
    again = lspe(TABLE_ONE, [Choices(), Choices(drawn=False)], steps=100, seed=3)
    assert beside.reward.tolist() == again.reward.tolist()
    assert alone.reward[0] == pytest.approx(beside.reward[1])


@pytest.mark.parametrize(
    "wrong", [{"choices": []}, {"steps": 0}, {"budget": 4}, {"budget": 0}], ids=str
)
def test_what_cannot_be_run_is_refused(wrong):
    given = {"choices": [Choices()], "steps": 10, "budget": 1, **wrong}
    with pytest.raises(BadInput):
        lspe(TABLE_ONE, **given)
