"""Whittle against the bound that no policy beats, and against the exact optimum of small fleets."""

import numpy as np
import pytest

from dayfly.index import relax
from dayfly.model import Fleet
from dayfly.policies import Exact, Whittle, exact_optimum
from dayfly.simulate import play, simulate

pytestmark = pytest.mark.acceptance

BURN_IN, EPOCHS = 300, 1000


def random_fleet(rng: np.random.Generator, n: int) -> Fleet:
    """Heterogeneous: rates and half-lives over two orders of magnitude, costs .5, 1 and 2."""
    return Fleet(
        arrival=10 ** rng.uniform(-1, 1, n),
        decay=10 ** rng.uniform(-2, 0, n),
        worth=rng.uniform(0.1, 1.0, n),
        cost=rng.choice([0.5, 1.0, 2.0], n),
    )


@pytest.mark.parametrize("continuous", [False, True], ids=["slotted", "continuous"])
def test_whittle_reaches_99_8_percent_of_the_bound_on_fifteen_random_fleets(continuous):
    shares = []
    for seed in range(15):
        rng = np.random.default_rng([seed, int(continuous), 2024])
        n = round(10 ** rng.uniform(np.log10(50), 3))
        fleet = random_fleet(rng, n)
        budget = float(rng.uniform(0.05, 0.3) * n)
        u = fleet.harvest.value(np.ones(n))  # [J]: every source was crawled one epoch ago
        steps = play(fleet, Whittle(), budget, BURN_IN + EPOCHS, continuous=continuous, start=u)
        rewards = np.array([step.reward for step in steps])
        bound = relax(fleet, budget, None if continuous else 1.0).bound
        share = rewards[BURN_IN:].mean() / bound
        print(f"seed {seed}: {n} sources, budget {budget:.1f}, {100 * share:.3f} % of the bound")
        assert share <= 1.001, "after the burn-in a run may live on what it found, but not so well"
        # From X = u there is less to find than in the long run: no stretch from there beats it.
        so_far = np.cumsum(rewards) / np.arange(1, len(rewards) + 1)
        assert so_far.max() <= bound
        shares.append(share)
    print(f"mean {100 * np.mean(shares):.3f} %, least {100 * np.min(shares):.3f} %")
    assert np.mean(shares) >= 0.998


@pytest.mark.parametrize("costs", [(1.0,), (1.0, 2.0)], ids=["unit", "unequal"])
def test_the_exact_optimum_lies_between_whittle_and_the_bound(costs):
    seeds, ratios = range(25), []
    for seed in seeds:
        rng = np.random.default_rng([seed, len(costs)])
        n = int(rng.integers(3, 5))
        fleet = Fleet(
            arrival=10 ** rng.uniform(-0.5, 0.5, n),
            decay=rng.uniform(0.35, 1.2, n),
            cost=rng.choice(costs, n),
        )
        budget = float(rng.integers(1, n)) if len(costs) == 1 else float(rng.integers(2, 2 * n - 2))
        best = exact_optimum(fleet, budget)
        bound = relax(fleet, budget, 1.0).bound
        assert best.value <= best.upper <= bound * (1 + 1e-9)
        assert best.upper <= best.value * (1 + 1e-6), "certified to a millionth"
        # Over a finite run anyone may gain what waits at the sources, and no more.
        slack = float(fleet.harvest.value(np.full(n, np.inf)).sum()) / 1500
        whittle, exact = (
            simulate(fleet, policy, budget, 1500, burn_in=200, burst=0.0).mean
            for policy in (Whittle(), Exact())
        )
        assert max(whittle, exact) <= best.upper + slack
        assert exact >= best.value - slack, "the exact policy earns its value"
        ratios.append(whittle / best.value)
        print(f"seed {seed}: {n} sources, budget {budget:g}: whittle {100 * ratios[-1]:.3f} %")
    print(f"whittle earns {100 * np.mean(ratios):.3f} % of the optimum, at least {min(ratios):.4f}")
    assert np.mean(ratios) > 0.97
