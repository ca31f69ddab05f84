"""Items that expire before they fade: waiting costs nothing until just then."""

import numpy as np
import pytest

from dayfly import Fleet, relax


@pytest.mark.parametrize("decay", [0.0, 1e-300])
def test_the_price_is_zero_when_everything_is_caught_before_it_expires(decay):
    best = relax(Fleet(arrival=56, decay=decay, lifetime=4.85), 0.332)
    assert best.price == 0
    assert best.bound == pytest.approx(56)
    assert best.rate == pytest.approx(1 / 4.85)
    assert best.slack == pytest.approx(0.332 - 1 / 4.85)


def test_slotted_it_is_the_last_epoch_before_expiry():
    best = relax(Fleet(arrival=[0.35, 22], decay=[0, 3.97], cost=2, lifetime=[4.09, np.inf]), 4, 1)
    assert best.rate == pytest.approx([0.25, 1.0])


@pytest.mark.parametrize("epoch", [None, 1.0])
def test_random_fleets_spend_the_budget_or_all_they_can(epoch):
    seed = 20261116
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for _ in range(100):
        n = rng.integers(1, 6)
        fleet = Fleet(
            arrival=rng.lognormal(0, 2, n),
            decay=np.where(rng.random(n) < 0.5, 0.0, rng.lognormal(0, 2, n)),
            lifetime=np.where(rng.random(n) < 0.6, rng.uniform(0.3, 8, n), np.inf),
            cost=rng.choice([0.5, 1.0, 2.0], n),
        )
        budget = rng.uniform(0.01, 3)
        best = relax(fleet, budget, epoch)
        spent = float(fleet.cost @ best.rate)
        assert np.isfinite(best.bound)
        if best.price == 0:
            assert spent + best.slack == pytest.approx(budget)
        else:
            assert spent == pytest.approx(budget, rel=1e-9)
