"""What hosts and groups allow, and that the quick way to ask gives the slow way's answer."""

from operator import attrgetter

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.schedule.limits import Houses, Limits
from dayfly.schedule.purse import Purse
from dayfly.schedule.purses import Purses

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
    assert found.back(a).tolist() == []
    assert found.ready(a, none, np.ones(1), 6.0)[0][0] == 15.0
    assert found.ready(np.array([0]), none, np.ones(1), 6.0)[0][0] <= 6.0  # nobody in particular


def test_who_waited_at_two_hosts_is_told_once():
    found = houses(parallel=1)
    found.waiting = {0: {5}, 1: {5, 3}}
    assert found.back(np.array([0, 1])).tolist() == [3, 5]


def test_a_purse_may_be_overdrawn_and_then_waits():
    purses = Purses({"a": 0.5}, None)
    purses.grow(HOSTS, 2.0, 0.0)
    a = np.array([1])
    assert purses.amount(a, 0.0)[0] == 30.0
    purses.spend(a, np.array([31.0]), 0.0)
    assert purses.ready(a, np.ones(1), 0.0)[0] == pytest.approx(2.0, abs=1e-6)
    assert purses.amount(a, 1000.0)[0] == 30.0
    assert purses.amount(a, 0.0)[0] == -1.0  # asking changes nothing


@pytest.mark.parametrize("epoch", [None, 60.0])
def test_names_that_come_one_by_one_are_as_if_all_had_come_at_once(epoch):
    names = ["", *(f"h{number}" for number in range(300))]
    limits = Limits(
        spacing={"h7": 3.0}, parallel={"h9": 2}, host_budget={"h11": 0.5}, group_budget=0.25
    )
    once, slowly = Houses(limits, epoch), Houses(limits, epoch)
    once.grow(names, names, 2.0, 5.0)
    columns = []
    for many in range(1, len(names) + 1):
        slowly.grow(names[:many], names[:many], 2.0, 5.0)
        columns.append((slowly.next_at, slowly.purses.left))
    for part in ("", "purses.", "group_purses."):
        kept = (
            ("rate", "burst", "left", "filled_at")
            if part
            else ("spacing", "parallel", "next_at", "blocked")
        )
        for name in kept:
            one, other = (attrgetter(part + name)(these)[: len(names)] for these in (once, slowly))
            assert one.tolist() == other.tolist(), part + name
    # A column is copied now and then, not for every name.
    for which in zip(*columns, strict=True):
        assert len({id(column) for column in which}) < 10


def test_new_names_do_not_touch_what_the_others_have_left():
    purses = Purses(0.5, None)
    purses.grow(HOSTS, 2.0, 0.0)
    purses.spend(np.array([1]), np.array([10.0]), 0.0)
    purses.grow([*HOSTS, "d"], 2.0, 4.0)
    assert purses.amount(np.array([1, 4]), 4.0).tolist() == [22.0, 30.0]
    # A dearer crawl makes room; what came in before found the old purses.
    purses.grow([*HOSTS, "d"], 40.0, 100.0)
    assert purses.amount(np.array([1, 4]), 100.0).tolist() == [30.0, 30.0]
    assert purses.amount(np.array([1, 4]), 110.0).tolist() == [35.0, 35.0]


@pytest.mark.parametrize(
    "limits",
    [
        {"spacing": -1.0},
        {"parallel": 0},
        {"host_budget": {"a": -1}},
        {"spacing": "5"},
        {"parallel": {"a": None}},
        {"group_budget": [1.0, 2.0]},
        {"host_budget": {1: 5.0}},
    ],
)
def test_nonsense_is_refused(limits):
    with pytest.raises(BadInput, match=next(iter(limits))):
        Limits(**limits)
