"""Index policies, and the price that finds itself."""

import numpy as np
import pytest

from dayfly.index import relax, stochastic_index, whittle_index, whittle_index_at
from dayfly.model import Fleet
from dayfly.policies import DualDescent, StochasticWhittle, Threshold, Whittle
from dayfly.policies.base import View
from dayfly.policies.whittle import patience
from dayfly.simulate import play, simulate

TABLE_I = Fleet(arrival=250, decay=[0.7, 0.35, 0.7, 0.21], worth=[1, 0.7, 0.2, 0.08])
RNG = np.random.default_rng(0)


def view_of(fleet, age, epoch=1.0, pace=1.0, **more):
    return View(
        fleet=fleet, now=0.0, age=np.asarray(age, dtype=float), epoch=epoch, pace=pace, **more
    )


@pytest.mark.parametrize("epoch", [None, 1.0])
def test_sources_that_are_seen_go_by_state_and_the_others_by_age(epoch):
    seed = 3
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for _ in range(30):
        n = 12
        fleet = Fleet(arrival=rng.random(n), decay=rng.random(n), cost=rng.choice([1.0, 2.0], n))
        age = rng.integers(1, 9, n) * 1.0
        state = fleet.harvest.value(age) * rng.uniform(0, 3, n)
        state[rng.random(n) < 0.5] = np.nan
        score = []
        for row in range(n):
            one = fleet.take([row])
            by_age = whittle_index(one, age[row], epoch)[0]
            seen = not np.isnan(state[row])
            score.append(whittle_index_at(one, state[row], epoch)[0] if seen else by_age)
        pace = 0.3 * n
        view = view_of(fleet, age, epoch, pace, state=state, full=float(rng.random()))
        least = patience(view) * relax(fleet, pace).price if epoch is None else -np.inf
        chosen, left = [], 6.0
        for row in sorted(range(n), key=lambda r: (-score[r], r)):
            if score[row] >= least and fleet.cost[row] <= left:
                chosen.append(row)
                left -= fleet.cost[row]
        assert Whittle().choose(view, 6.0, RNG).tolist() == chosen


def test_the_stochastic_index_decides_where_a_state_is_seen():
    state = np.array([150.0, np.nan, 60.0, 80.0])
    view = view_of(TABLE_I, [2, 2, 3, 9], state=state)
    policy = StochasticWhittle("epoch_exponential")
    index = stochastic_index(TABLE_I, np.nan_to_num(state), 1.0, "epoch_exponential")
    index[1] = whittle_index(TABLE_I, 2.0, 1.0)[1]
    assert policy.choose(view, 4.0, RNG).tolist() == np.argsort(-index).tolist()
    blind = view_of(TABLE_I, [2, 2, 3, 9])
    same = Whittle().choose(blind, 2.0, RNG).tolist()
    assert policy.choose(blind, 2.0, RNG).tolist() == same


def test_the_threshold_crawls_exactly_whose_index_reaches_the_price():
    for price in (None, 0.0, 20.0, 200.0, 1e9):
        at = relax(TABLE_I, 2.0, 1.0).price if price is None else price
        for age in ([1, 1, 1, 1], [1, 2, 3, 4], [4, 4, 40, 40]):
            index = whittle_index(TABLE_I, age, 1.0)
            rows = Threshold(price).choose(view_of(TABLE_I, age, pace=2.0), np.inf, RNG)
            assert sorted(rows.tolist()) == np.flatnonzero(index >= at).tolist()
            assert (np.diff(index[rows]) <= 0).all(), "best first"
            few = Threshold(price).choose(view_of(TABLE_I, age, pace=2.0), 1.0, RNG)
            assert few.tolist() == rows[:1].tolist()


def test_the_relaxed_control_earns_the_bound_and_spends_the_budget_on_average():
    """Table I, M = 1: any price of the plateau crawls sources 1 and 2 every second epoch."""
    run = simulate(TABLE_I, Threshold(), 1.0, 400, burn_in=50, soft=True)
    assert run.mean == pytest.approx(run.bound, rel=1e-9)
    assert run.spent == pytest.approx(1.0)
    assert run.violations == 200, "both at once, every second epoch"


@pytest.mark.parametrize(("budget", "step"), [(1.0, 1.0), (2.0, 1.0), (3.0, 0.5)])
def test_dual_descent_finds_the_price_and_spends_the_budget(budget, step):
    """p ← max(0, p + b_k(ΣC v − M)) [J 22 corrected] ends in the optimal prices."""
    policy = DualDescent(step=step)
    epochs = 6_000
    spent = [step.spent for step in play(TABLE_I, policy, budget, epochs, soft=True)]
    low, high = relax(TABLE_I, budget, 1.0).price_range
    near = 0.02 * high
    assert low - near <= policy.price <= high + near
    assert np.mean(spent[epochs // 2 :]) == pytest.approx(budget, rel=5e-3)


def test_dual_descent_by_the_continuous_threshold_ends_at_another_price():
    """[J 21] differentiates the continuous profit: on the lattice it is a different policy."""
    policy = DualDescent(step=1.0, continuous_threshold=True)
    spent = [step.spent for step in play(TABLE_I, policy, 2.0, 6_000, soft=True)]
    assert np.mean(spent[3000:]) == pytest.approx(2.0, rel=5e-3)
    # Each source is crawled where the continuous index of its waiting value reaches the price.
    index = whittle_index_at(TABLE_I, TABLE_I.harvest.value(np.full(4, 3.0)))
    rows = DualDescent(price=30.0, continuous_threshold=True).choose(
        view_of(TABLE_I, [3, 3, 3, 3]), np.inf, RNG
    )
    assert sorted(rows.tolist()) == np.flatnonzero(index >= 30.0).tolist()


def test_dual_descent_takes_states_where_they_are_seen():
    state = np.array([np.nan, 300.0, np.nan, 0.0])
    for continuous in (False, True):
        policy = DualDescent(price=40.0, continuous_threshold=continuous)
        rows = policy.choose(view_of(TABLE_I, [3, 1, 1, 9], state=state), np.inf, RNG)
        assert sorted(rows.tolist()) == [0, 1]


def test_in_continuous_time_only_those_near_the_price_are_crawled():
    fleet = Fleet(arrival=[1.0, 1.0], decay=0.5)
    price = relax(fleet, 0.5).price
    due = fleet.harvest.age_at(np.full(2, price))[0]
    # The fuller the purse, the less is asked for; when it overflows, nothing is.
    for share, full, wanted in (
        (0.95, 0.0, []),
        (1.1, 0.0, [0, 1]),
        (0.9, 0.5, []),
        (0.99, 0.5, [0, 1]),
        (0.1, 1.0, [0, 1]),
    ):
        view = view_of(fleet, [share * due] * 2, None, 0.5, full=full)
        assert Whittle().choose(view, 5.0, RNG).tolist() == wanted, (share, full)


@pytest.mark.parametrize("budget", [0.3, 1.0, 1.5])
def test_an_epoch_that_cannot_pay_for_the_dear_saves_up_for_them(budget):
    """Filled with whoever fits, the budget would go to the cheap for ever: a quarter is lost."""
    rng = np.random.default_rng([0, 9])
    n = 50
    fleet = Fleet(
        arrival=10 ** rng.uniform(-1, 1, n), decay=10 ** rng.uniform(-2, 0, n),
        worth=rng.uniform(0.1, 1, n), cost=rng.choice([0.5, 1, 2], n),
    )  # fmt: skip
    run = simulate(fleet, Whittle(), budget, 700, burn_in=300)
    assert run.share > 0.97
    assert run.spent == pytest.approx(budget, rel=0.01)
    assert run.crawls[fleet.cost == 2].sum() > 0
    # What cannot be carried over cannot be saved: then the budget is filled, as it always was.
    hard = simulate(fleet, Whittle(), budget, 100, burst=0.0)
    assert hard.crawls[fleet.cost > budget].sum() == 0
    assert (hard.crawls.sum() > 0) == (budget >= 0.5)


def test_a_budget_that_pays_for_everybody_is_filled():
    """Slotted time takes what fits, however low its index, as the papers do."""
    fleet = Fleet(arrival=[9.0, 1e-6, 1e-6], decay=0.5, cost=[1.0, 2.0, 1.0])
    view = view_of(fleet, [1, 1, 1], pace=4.0)
    assert Whittle().choose(view, 4.0, RNG).tolist() == [0, 2, 1]
    # Nor is anything saved for someone dear whom nobody would crawl.
    assert Whittle().choose(view_of(fleet, [1, 1, 1], pace=1.0), 2.0, RNG).tolist() == [0, 2]
