"""What hosts and groups allow, and that the quick way to ask gives the slow way's answer."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.schedule.limits import Houses, Limits, Purses
from dayfly.schedule.purse import Purse

HOSTS = ["", "a", "b", "c"]


def houses(epoch=None, **limits) -> Houses:
    found = Houses(Limits(**limits), epoch)
    found.grow(HOSTS, [""], 2.0, 0.0)
    return found


@pytest.mark.parametrize("seed", range(50))
@pytest.mark.parametrize("epoch", [None, 1.0])
def test_serving_by_columns_is_admitting_one_by_one(seed, epoch):
    """Where nobody is passed over for the budget: crawls may overdraw, or cost the same."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    cost = rng.choice([0.5, 1.0, 2.0], n) if epoch is None else np.ones(n)
    host = rng.integers(0, 4, n)
    found = houses(
        epoch, spacing={"a": 5.0}, parallel={"b": 2},
        host_budget={"c": float(rng.choice([0.01, 0.05, 3.0]))},
    )  # fmt: skip
    purse = Purse(1e9, 0.0, epoch=epoch, burst=None, dearest=2.0)
    slow = found.admit(
        host, np.zeros(n, int), cost, np.ones(n), n, purse, lambda left: 0.0, 0.0
    )  # fmt: skip
    assert found.serve(host, cost, 0.0).tolist() == slow, f"seed {seed}"


def test_a_host_has_its_manners():
    found = houses(spacing=10.0, parallel=1)
    a, none = np.array([1]), np.array([0])
    assert found.ready(a, none, np.ones(1), 5.0)[0][0] <= 5.0
    found.take(a, none, np.ones(1), 5.0)
    assert found.ready(a, none, np.ones(1), 6.0)[0][0] == np.inf  # one is under way
    assert found.back(a) == []
    assert found.ready(a, none, np.ones(1), 6.0)[0][0] == 15.0
    assert found.ready(np.array([0]), none, np.ones(1), 6.0)[0][0] <= 6.0  # nobody in particular


def test_a_purse_may_be_overdrawn_and_then_waits():
    purses = Purses({"a": 0.5}, None)
    purses.grow(HOSTS, 2.0, 0.0)
    a = np.array([1])
    assert purses.amount(a, 0.0)[0] == 30.0
    purses.spend(a, np.array([31.0]), 0.0)
    assert purses.ready(a, np.ones(1), 0.0)[0] == pytest.approx(2.0, abs=1e-6)
    assert purses.amount(a, 1000.0)[0] == 30.0
    assert purses.amount(a, 0.0)[0] == -1.0  # asking changes nothing


@pytest.mark.parametrize("limits", [{"spacing": -1.0}, {"parallel": 0}, {"host_budget": {"a": -1}}])
def test_nonsense_is_refused(limits):
    with pytest.raises(BadInput, match=next(iter(limits))):
        Limits(**limits)
