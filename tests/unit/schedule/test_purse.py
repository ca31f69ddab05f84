"""The budget comes in at its pace, what is not spent waits within the burst, debts are paid."""

import math

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.schedule.purse import NEUTRAL, Purse


def continuous(budget: float = 2.0, burst: float | None = 10.0, dearest: float = 1.0) -> Purse:
    return Purse(budget, 0.0, epoch=None, burst=burst, dearest=dearest)


def test_it_starts_in_balance_and_fills_steadily_up_to_its_burst():
    purse = continuous()
    assert purse.left == NEUTRAL * 10.0
    assert purse.fill(1.5) == pytest.approx(3.0)
    assert purse.left == pytest.approx(4.0)
    purse.fill(1000.0)
    assert (purse.left, purse.full) == (10.0, 1.0)


def test_an_epoch_brings_its_budget_once():
    purse = Purse(3.0, 0.0, epoch=60.0, burst=None, dearest=2.0)
    assert purse.left == 3.0
    purse.spend(2.0)
    for now, left in ((59.0, 1.0), (60.0, 4.0), (61.0, 4.0), (600.0, 5.0)):
        purse.fill(now)
        assert purse.left == left  # what did not fit waits, up to one epoch's budget and one crawl


@pytest.mark.parametrize("epoch", [None, 7.0])
def test_never_more_is_spent_than_came_in(epoch):
    """Over any stretch of time at most one burst, the income of that stretch, and one crawl."""
    seed = 3
    rng = np.random.default_rng(seed)
    purse = Purse(1.3, 0.0, epoch=epoch, burst=6.0, dearest=2.0)
    spent, times = [], np.cumsum(rng.exponential(2.0, 2000))
    for now in times:
        purse.fill(now)
        cost = rng.uniform(0.1, 2.0)
        spent.append(cost if purse.affords(cost) else 0.0)
        purse.spend(spent[-1])
    total = np.concatenate([[0.0], np.cumsum(spent)])
    income = 1.3 / (epoch or 1.0)
    # Largest excess over the income of any stretch, by a running minimum.
    level = total[1:] - income * times
    floor = np.minimum.accumulate(total[:-1] - income * times)
    slack = 1.3 if epoch else 2.0  # an epoch's income comes at its start; else the last overdraws
    assert (level - floor).max() <= 6.0 + slack + 1e-6, f"seed {seed}"


def test_small_change_adds_up_in_spite_of_rounding():
    purse = Purse(0.1, 0.0, epoch=1.0, burst=1.0, dearest=1.0)
    purse.spend(purse.left)
    for now in range(1, 11):
        purse.fill(float(now))
    assert purse.affords(1.0)


def test_a_clock_that_was_set_back_brings_nothing():
    purse = continuous()
    purse.spend(purse.left)
    assert purse.fill(-3600.0) == 0.0
    assert purse.fill(1.0) == pytest.approx(2.0)


def test_a_share_of_the_budget():
    purse = continuous()
    purse.spend(purse.left)
    purse.share = 0.25
    assert purse.fill(4.0) == pytest.approx(2.0)
    assert purse.peek(1.0, 4.0) == 4.0


def test_in_continuous_time_the_last_may_overdraw():
    purse = continuous()
    purse.spend(purse.left - 1.5)
    assert purse.first(np.array([1.0, 1.0, 1.0])).tolist() == [0, 1]
    purse.spend(2.0)
    assert purse.left == -0.5
    assert not purse.open
    assert purse.peek(1.0, 0.0) == pytest.approx(0.25)


def test_in_slotted_time_a_crawl_must_fit_and_who_does_not_is_passed_over():
    purse = Purse(2.5, 0.0, epoch=1.0, burst=None, dearest=2.0)
    assert purse.first(np.array([1.0, 2.0, 1.0, 1.0, 0.5])).tolist() == [0, 2, 4]
    slotted = Purse(1.0, 0.0, epoch=60.0, burst=5.0, dearest=3.0)
    assert slotted.peek(3.0, 10.0) == 120.0


def test_asking_does_not_take_anything_in():
    purse = continuous()
    purse.spend(purse.left)
    assert purse.peek(1.0, 5.0) == 5.0
    assert purse.left == 0.0


def test_a_budget_of_nothing_affords_nothing():
    for epoch in (None, 60.0):
        purse = Purse(0.0, 0.0, epoch=epoch, burst=None, dearest=1.0)
        purse.fill(1e9)
        assert not purse.affords(0.5)
        assert purse.peek(1.0, 5.0) == math.inf


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
