"""The index under a discounted criterion [J 8]."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dayfly.errors import BadInput
from dayfly.index.discounted import discounted_index
from dayfly.index.law import EpochLaw
from dayfly.index.stochastic import thresholds
from dayfly.index.whittle import whittle_index
from dayfly.model import Fleet

FLEET = Fleet(
    arrival=[250, 3, 40, 8], decay=[0.7, 0.05, 0.3, 0.2], worth=[1, 2, 0.1, 1], cost=[1, 0.5, 2, 1],
    window=[np.inf, np.inf, 25, np.inf], lifetime=[np.inf, np.inf, np.inf, 4],
)  # fmt: skip


@pytest.mark.parametrize("discount", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_at_its_index_crawling_and_waiting_are_equally_good(discount, k):
    """Value iteration of [J 8] on the lattice of ages, source by source."""
    found = discounted_index(FLEET, 2.0 * k, 2.0, discount)
    ages = 120
    lattice = np.array([FLEET.harvest.value(np.full(4, 2.0 * (j + 1))) for j in range(ages)])
    for row in range(4):
        price = found[row] * FLEET.cost[row]
        value = np.zeros(ages)
        for _ in range(int(30 / (1 - discount)) + 50):
            passive = price + discount * np.append(value[1:], value[-1])
            active = lattice[:, row] + discount * value[0]
            value = np.maximum(passive, active)
        assert passive[k - 1] == pytest.approx(active[k - 1], rel=1e-9)


@given(k=st.integers(1, 40), row=st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_the_limit_of_patience_is_the_average_index(k, row):
    limit = whittle_index(FLEET, 1.0 * k, 1.0)[row]
    gaps = [
        discounted_index(FLEET, 1.0 * k, 1.0, 1 - 10.0**-power)[row] - limit
        for power in (2, 4, 6, 9)
    ]
    scale = FLEET.harvest.value(np.full(4, np.inf))[row] / FLEET.cost[row]
    assert gaps[0] >= gaps[1] >= gaps[2] >= -1e-9 * scale
    assert abs(gaps[3]) < 1e-6 * scale
    assert discounted_index(FLEET, 1.0 * k, 1.0, 1.0)[row] == limit


def test_it_grows_with_age_up_to_all_that_ever_waits():
    ages = [*range(1, 200), np.inf]
    found = np.array([discounted_index(FLEET, float(age), 1.0, 0.95) for age in ages])
    assert (np.diff(found, axis=0) >= -1e-12 * found[:-1]).all()
    endless = FLEET.harvest.value(np.full(4, np.inf)) / FLEET.cost
    assert found[-1] == pytest.approx(endless)


@pytest.mark.parametrize("discount", [0.5, 0.95])
def test_the_stochastic_arm_without_noise_is_the_lattice_arm(discount):
    """[J 24] with many items of little worth."""
    one = EpochLaw(arrival=1e7, decay=0.7, epoch=1.0, worth=1e-7)
    fleet = Fleet(arrival=1e7, decay=0.7, worth=1e-7)
    solved = thresholds(one, 800, discount)
    for k in (1, 2, 3):
        state = fleet.harvest.value(np.array([float(k)]))
        expected = discounted_index(fleet, float(k), 1.0, discount)
        assert solved.index_at(state) == pytest.approx(expected, abs=1.5e-3 / 0.7)


def test_bad_questions_are_refused():
    with pytest.raises(BadInput, match="discount"):
        discounted_index(FLEET, 1.0, 1.0, 0.0)
    with pytest.raises(BadInput, match="epoch"):
        discounted_index(FLEET, 1.0, None, 0.5)
