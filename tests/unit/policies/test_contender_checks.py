"""The check passes every contender of ours and catches every way of being wrong that it names."""

import numpy as np
import pytest

from dayfly.policies.contender_checks import check_contender
from dayfly.policies.field import FIELD
from dayfly.policies.rivals import RIVALS


@pytest.mark.parametrize("name", [*FIELD, *RIVALS])
def test_our_contenders_pass(name):
    check_contender((FIELD | RIVALS)[name])


class First:
    """Right in everything: always the first k rows."""

    def __init__(self, contest):
        self.sources = contest.sources

    def choose(self, now, k, rng):
        return np.arange(min(k, self.sources))

    def observe(self, visits):
        pass


class TooMany(First):
    def choose(self, now, k, rng):
        return np.arange(min(k + 1, self.sources))


class Twice(First):
    def choose(self, now, k, rng):
        return np.zeros(k, dtype=np.int64)


class Outside(First):
    def choose(self, now, k, rng):
        return np.full(min(k, 1), self.sources)


class NoArray(First):
    def choose(self, now, k, rng):
        return list(range(min(k, self.sources)))


class Fractions(First):
    def choose(self, now, k, rng):
        return np.arange(min(k, self.sources), dtype=float)


class Pairs(First):
    def choose(self, now, k, rng):
        return np.zeros((0, 2), dtype=np.int64)


class OtherDice(First):
    dice = np.random.default_rng(3)

    def choose(self, now, k, rng):
        return self.dice.permutation(self.sources)[:k]


class Spoils(First):
    def observe(self, visits):
        visits.published[:] = 0.0


def test_a_plain_one_passes():
    check_contender(First)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (TooMany, "where 3 were to be had"),
        (Twice, "chose a row twice"),
        (Outside, "must lie between 0 and"),
        (NoArray, "must be an array, not list"),
        (Fractions, "must be whole numbers"),
        (Pairs, "must have one dimension"),
        (OtherDice, "two contests alike, two answers"),
        (Spoils, "observe changed visits.published"),
    ],
)
def test_it_says_what_is_wrong(wrong, says):
    with pytest.raises(AssertionError, match=says):
        check_contender(wrong)
