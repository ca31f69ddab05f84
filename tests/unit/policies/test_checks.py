"""The check passes every policy of ours and catches every way of being wrong that it names."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.model import Fleet
from dayfly.policies import NAMES, Polite, Random, RoundRobin, Whittle, make
from dayfly.testing import check_policy

THREE = Fleet(arrival=[2.0, 3.0, 1.0], decay=[0.5, 0.3, 0.8])


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"dual_descent", "exact"}))
def test_our_policies_pass(name):
    # dual_descent carries its price from call to call: the same question has another answer later.
    check_policy(make(name))


def test_the_exact_optimum_passes_on_a_fleet_it_is_made_for():
    check_policy(make("exact"), THREE)


@pytest.mark.parametrize("inner", [Whittle(), Random()])
def test_polite_passes_around_others(inner):
    check_policy(Polite(inner, per_host=2, spacing=0.5))


class Wrong(RoundRobin):
    """Right in everything but one thing."""

    def choose(self, view, budget, rng):
        return self.spoil(super().choose(view, budget, rng), view, rng)


class OverBudget(Wrong):
    def spoil(self, rows, view, rng):
        rest = np.setdiff1d(np.arange(len(view.fleet)), rows)
        if view.allowed is not None:
            rest = rest[view.allowed[rest]]
        return np.concatenate([rows, rest[:1]])


class Repeats(Wrong):
    def spoil(self, rows, view, rng):
        return np.concatenate([rows[:1], rows[:1]]) if len(rows) > 1 else rows


class ChangesAge(Wrong):
    def spoil(self, rows, view, rng):
        view.age[rows] = 0.0
        return rows


class ChangesState(Wrong):
    def spoil(self, rows, view, rng):
        if view.state is not None:
            np.nan_to_num(view.state, copy=False)
        return rows


class ChangesAllowed(Wrong):
    def spoil(self, rows, view, rng):
        if view.allowed is not None:
            view.allowed[:] = True
        return rows


class Floats(Wrong):
    def spoil(self, rows, view, rng):
        return rows.astype(float)


class Lists(Wrong):
    def spoil(self, rows, view, rng):
        return rows.tolist()


class Negative(Wrong):
    def spoil(self, rows, view, rng):
        return rows - len(view.fleet)


class Outside(Wrong):
    def spoil(self, rows, view, rng):
        return rows + 1


class Forgets(Wrong):
    def __init__(self):
        self.calls = 0

    def spoil(self, rows, view, rng):
        self.calls += 1
        return rows[: self.calls % 3]


class Undisciplined(Wrong):
    def spoil(self, rows, view, rng):
        return np.random.default_rng().permutation(rows)


class EvenRows(Wrong):
    def spoil(self, rows, view, rng):
        return rows[rows % 2 == 0]


class Refuses(Wrong):
    def spoil(self, rows, view, rng):
        raise BadInput("not today")


class IgnoresAllowed:
    def choose(self, view, budget, rng):
        rows = np.argsort(-view.age, kind="stable")
        return rows[np.cumsum(view.fleet.cost[rows]) <= budget]


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (OverBudget(), "spent"),
        (Repeats(), "twice"),
        (ChangesAge(), r"view\.age"),
        (ChangesState(), r"view\.state"),
        (ChangesAllowed(), r"view\.allowed"),
        (Floats(), "whole numbers"),
        (Lists(), "array"),
        (Negative(), "between 0 and"),
        (Outside(), "between 0 and"),
        (Forgets(), "two answers"),
        (Undisciplined(), "two answers"),
        (EvenRows(), "order of the rows"),
        (IgnoresAllowed(), "may not be crawled"),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_broken_policies_are_caught_with_a_sentence(policy, sentence, seed):
    with pytest.raises(AssertionError, match=sentence):
        check_policy(policy, seed=seed)


def test_a_policy_may_refuse_continuous_time_but_not_everything():
    class Slotted(RoundRobin):
        def choose(self, view, budget, rng):
            if view.epoch is None:
                raise BadInput("slotted time only")
            return super().choose(view, budget, rng)

    check_policy(Slotted())
    with pytest.raises(BadInput, match="not today"):
        check_policy(Refuses())


def test_a_fleet_of_ones_own_is_used():
    class Picky(RoundRobin):
        def choose(self, view, budget, rng):
            assert view.fleet.arrival[0] in (2.0, 3.0, 1.0)
            return super().choose(view, budget, rng)

    check_policy(Picky(), THREE)
    check_policy(Whittle(), Fleet(arrival=np.ones(5), decay=1.0))  # all alike: ties everywhere
