"""The exact optimum against all periodic schedules, listed."""

import itertools

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.index import relax
from dayfly.model import Fleet
from dayfly.policies import Exact, Whittle, exact_optimum
from dayfly.policies.base import View
from dayfly.simulate import simulate

TABLE_I = Fleet(arrival=250, decay=[0.7, 0.35, 0.7, 0.21], worth=[1, 0.7, 0.2, 0.08])
RNG = np.random.default_rng(0)


def best_schedule(fleet, budget, epoch, longest):
    """Average of the best periodic schedule of at most this length, by trying them all."""
    n = len(fleet)
    sets = [
        s
        for size in range(n + 1)
        for s in itertools.combinations(range(n), size)
        if fleet.cost[list(s)].sum() <= budget * (1 + 1e-9)
    ]
    ages = epoch * np.arange(0, 2 * longest + 1)
    curve = [fleet.take([row]).harvest.value(ages[-1:]) for row in range(n)]  # shape only
    curve = [
        np.array([fleet.take([r]).harvest.value(np.array([a]))[0] for a in ages]) for r in range(n)
    ]
    best = 0.0
    for period in range(1, longest + 1):
        for schedule in itertools.product(sets, repeat=period):
            total = 0.0
            for row in range(n):
                at = [t for t, chosen in enumerate(schedule) if row in chosen]
                gaps = [
                    (b - a) % period or period for a, b in zip(at, at[1:] + at[:1], strict=True)
                ]
                total += sum(curve[row][gap] for gap in gaps)
            best = max(best, total / period)
    return best


@pytest.mark.parametrize("seed", range(10))
def test_no_periodic_schedule_is_better_and_one_is_as_good(seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    kind = ["ephemeral", str(rng.choice(["ephemeral", "two_phase"]))]
    fleet = Fleet(
        arrival=10 ** rng.uniform(-0.5, 0.5, 2),
        decay=rng.uniform(0.6, 2.0, 2),
        cost=rng.choice([1.0, 2.0], 2),
        slow_share=[0.0, 0.3 if kind[1] == "two_phase" else 0.0],
        slow_decay=[0.0, 0.3 if kind[1] == "two_phase" else 0.0],
        lifetime=[float(rng.choice([np.inf, 2.5])), np.inf],
        kind=kind,
    )
    budget = float(rng.choice([1.0, 2.0]))
    if budget < fleet.cost.min():
        budget = 2.0
    right = best_schedule(fleet, budget, 1.0, longest=8)
    found = exact_optimum(fleet, budget, 1.0)
    assert found.value == pytest.approx(right, rel=1e-9)
    assert found.upper == pytest.approx(found.value, rel=1e-6)


def test_table_1():
    two = exact_optimum(TABLE_I, 2.0)
    assert two.value == pytest.approx(337.7745, abs=5e-5)
    assert exact_optimum(TABLE_I, 1.0).value == pytest.approx(260.3899, abs=5e-5)
    run = simulate(TABLE_I, Exact(), 2.0, 7 * 60, burn_in=70, burst=0.0)
    assert run.mean == pytest.approx(two.value, rel=1e-9), "the policy earns what it promises"


def test_it_lies_between_whittle_and_the_bound():
    rng = np.random.default_rng(8)
    for _ in range(6):
        fleet = Fleet(
            arrival=10 ** rng.uniform(-0.5, 0.5, 3), decay=rng.uniform(0.3, 1.0, 3),
            cost=rng.choice([1.0, 2.0], 3),
        )  # fmt: skip
        best = exact_optimum(fleet, 2.0)
        whittle = simulate(fleet, Whittle(), 2.0, 840, burn_in=100, burst=0.0).mean
        bound = relax(fleet, 2.0, 1.0).bound
        assert whittle <= best.upper * (1 + 1e-3)
        assert best.value <= bound * (1 + 1e-9)


def test_sources_without_news_do_not_disturb():
    fleet = Fleet(arrival=[1.0, 0.0, 2.0], decay=[0.5, 0.5, 1.0])
    assert exact_optimum(fleet, 1.0).value == pytest.approx(
        exact_optimum(fleet.take([0, 2]), 1.0).value, rel=1e-9
    )


def test_a_budget_for_all_or_for_nobody():
    fleet = Fleet(arrival=[1.0, 2.0], decay=[0.5, 1.0])
    each = fleet.harvest.value(np.ones(2)).sum()
    assert exact_optimum(fleet, 2.0).value == pytest.approx(each)
    assert exact_optimum(fleet, 99.0).value == pytest.approx(each)
    assert exact_optimum(fleet, 0.5).value == 0


def test_it_says_where_it_does_not_apply():
    with pytest.raises(BadInput, match="1 to 6 sources"):
        exact_optimum(Fleet(arrival=np.ones(7), decay=1.0), 1.0)
    with pytest.raises(BadInput, match="fade"):
        exact_optimum(Fleet(arrival=[1.0, 1.0], decay=[1.0, 0.0]), 1.0)
    view = View(fleet=TABLE_I, now=0.0, age=np.ones(4), epoch=None, pace=1.0)
    with pytest.raises(BadInput, match="slotted"):
        Exact().choose(view, 1.0, RNG)
