"""The budget is never overdrawn, and what is not spent waits within the burst."""

import math

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.schedule.purse import Purse


def continuous(budget: float = 2.0, burst: float | None = 10.0, dearest: float = 1.0) -> Purse:
    return Purse(budget, 0.0, epoch=None, burst=burst, dearest=dearest)


def test_it_fills_steadily_up_to_its_burst():
    purse = continuous()
    assert purse.left(0.0) == 10.0
    purse.spend(9.0)
    assert purse.left(1.5) == pytest.approx(4.0)
    assert purse.left(1000.0) == 10.0


def test_an_epoch_brings_its_budget_once():
    purse = Purse(3.0, 0.0, epoch=60.0, burst=None, dearest=2.0)
    assert purse.left(0.0) == 3.0
    purse.spend(2.0)
    assert purse.left(59.0) == 1.0
    assert purse.left(60.0) == 4.0  # what did not fit waits for the next income
    assert purse.left(61.0) == 4.0
    assert purse.left(600.0) == 5.0  # one epoch's budget and one crawl


def test_never_more_is_spent_than_came_in():
    """Over any stretch of time at most one burst and the income of that stretch."""
    seed = 3
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for epoch in (None, 7.0):
        purse = Purse(1.3, 0.0, epoch=epoch, burst=6.0, dearest=2.0)
        spent, times = [], np.cumsum(rng.exponential(2.0, 2000))
        for now in times:
            purse.left(now)
            cost = rng.uniform(0.1, 2.0)
            spent.append(cost if purse.affords(cost) else 0.0)
            purse.spend(spent[-1])
        total = np.concatenate([[0.0], np.cumsum(spent)])
        income = 1.3 / (epoch or 1.0)
        # Largest excess over the income of any stretch, by a running minimum.
        level = total[1:] - income * times
        floor = np.minimum.accumulate(total[:-1] - income * times)
        slack = 1.3 if epoch else 0.0  # an epoch's income comes at its start
        assert (level - floor).max() <= 6.0 + slack + 1e-6


def test_small_change_adds_up_in_spite_of_rounding():
    purse = continuous(budget=0.1, burst=1.0)
    purse.spend(1.0)
    for now in range(1, 11):
        purse.left(float(now))
    assert purse.affords(1.0)


def test_a_clock_that_was_set_back_brings_nothing_and_does_not_stop_the_income():
    purse = continuous()
    purse.spend(10.0)
    assert purse.left(-3600.0) == 0.0
    assert purse.left(-3599.0) == pytest.approx(2.0)


def test_it_knows_when_something_can_be_afforded():
    purse = continuous()
    purse.spend(10.0)
    assert purse.ready(3.0, 0.0) == pytest.approx(1.5)
    assert purse.ready(0.0, 0.0) == 0.0
    slotted = Purse(1.0, 0.0, epoch=60.0, burst=5.0, dearest=3.0)
    assert slotted.ready(3.0, 10.0) == 120.0
    assert Purse(0.0, 0.0, epoch=None, burst=None, dearest=1.0).ready(1.0, 5.0) == math.inf


def test_a_budget_of_nothing_affords_nothing():
    for epoch in (None, 60.0):
        purse = Purse(0.0, 0.0, epoch=epoch, burst=None, dearest=1.0)
        purse.left(1e9)
        assert not purse.affords(0.5)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"budget": -1.0}, "budget"),
        ({"budget": math.nan}, "budget"),
        ({"burst": 0.5}, "more than the burst"),
    ],
)
def test_nonsense_is_refused(changes, what):
    with pytest.raises(BadInput, match=what):
        continuous(**changes)
    with pytest.raises(BadInput, match="epoch"):
        Purse(1.0, 0.0, epoch=0.0, burst=None, dearest=1.0)
