"""The index by age and phase, against value iteration and against the index without rhythm."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.index import whittle_index
from dayfly.index.phased import Phased
from dayfly.model import Fleet

DAY = 24


def diurnal(height: float = 1.0) -> np.ndarray:
    s = np.exp(height * np.cos(2 * np.pi * np.arange(DAY) / DAY))
    return s / s.mean()


def value_iteration(profile, decay, price, longest, sweeps=6000):
    """A second way: (phase, age) as states of a chain, damped so that it does not oscillate."""
    n, keeps, adds = len(profile), np.exp(-decay), -np.expm1(-decay) / decay
    waits = np.zeros((n, longest + 1))  # at phase h, age k
    for k in range(1, longest + 1):
        for h in range(n):
            waits[h, k] = keeps * waits[(h - 1) % n, k - 1] + adds * profile[(h - 1) % n]
    v, gain = np.zeros((n, longest + 1)), 0.0
    older = np.minimum(np.arange(longest + 1) + 1, longest)
    for _ in range(sweeps):
        ahead = np.roll(v, -1, axis=0)
        crawl = waits - price + ahead[:, 1][:, None]
        rest = ahead[:, older]
        new = 0.5 * v + 0.5 * np.maximum(crawl, rest)
        gain = 2 * (new - v)[0, 1]
        v = new - new[0, 1]
    ahead = np.roll(v, -1, axis=0)
    return gain, waits - price + ahead[:, 1][:, None] - ahead[:, older], waits


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_gain_and_choice_are_those_of_value_iteration(share):
    profile, decay = diurnal(), 0.15
    table = Phased.of(profile, decay)
    place = int(np.argmin(np.abs(table.price - share * table.full.max())))
    price = float(table.price[place])
    gain, advantage, waits = value_iteration(profile, decay, price, longest=120)
    assert table.gain[place] == pytest.approx(gain, rel=1e-4)
    # Crawl where the threshold is reached, and nowhere else, but for what the blur decides.
    for phase in range(DAY):
        reached = waits[phase, 1:80] >= table.threshold[phase, place]
        clear = np.abs(advantage[phase, 1:80]) > 0.05 * price
        assert (reached == (advantage[phase, 1:80] > 0))[clear].all()


def test_the_threshold_rises_with_the_price():
    for height in (0.3, 1.5):
        table = Phased.of(diurnal(height), 0.05)
        assert (np.diff(table.threshold, axis=1) >= 0).all()
        assert (np.diff(table.gain) < 0).all()


@pytest.mark.parametrize("decay", [0.03, 0.7])
def test_a_flat_profile_changes_nothing(decay):
    table = Phased.of(np.full(DAY, 3.0), decay)
    age = np.array([0.0, 1.0, 2.5, 7.0, 40.0, 900.0])
    np.testing.assert_array_equal(table.factor(5.3, age), 1.0)
    # Between two prices of its table the index is interpolated.
    plain = whittle_index(
        Fleet(arrival=np.ones(4), decay=decay), [9.0, 30.0, 60.0, 90.0], epoch=1.0
    )
    mine = table.index(3, table.state(3, np.array([9, 30, 60, 90])))
    np.testing.assert_allclose(mine, plain, rtol=0.02)


def test_a_shifted_profile_has_a_shifted_table():
    one, two = Phased.of(diurnal(), 0.1), Phased.of(np.roll(diurnal(), 5), 0.1)
    np.testing.assert_allclose(two.threshold, np.roll(one.threshold, 5, axis=0), rtol=1e-6)
    np.testing.assert_allclose(two.factor(11.5, [3.0, 30.0]), one.factor(6.5, [3.0, 30.0]), 1e-6)


def test_what_waits_is_what_a_recursion_says():
    table = Phased.of(diurnal(), 0.2)
    waits, keeps, adds = 0.0, np.exp(-0.2), -np.expm1(-0.2) / 0.2
    for cell in range(7, 7 + 30):
        waits = keeps * waits + adds * table.profile[cell % DAY]
    assert table.state(37 % DAY, np.array([30]))[0] == pytest.approx(waits)


def test_following_the_thresholds_earns_the_gain():
    table = Phased.of(diurnal(1.5), 0.1)
    place = 20
    waits, earned, cells = 0.0, 0.0, 40_000
    keeps, adds = np.exp(-0.1), -np.expm1(-0.1) / 0.1
    for cell in range(cells):
        waits = keeps * waits + adds * table.profile[cell % DAY]
        if waits >= table.threshold[(cell + 1) % DAY, place] * (1 - 1e-9):
            earned, waits = earned + waits - table.price[place], 0.0
    assert earned / cells == pytest.approx(table.gain[place], rel=0.01)


def test_bad_profiles_are_refused():
    for profile in ([1.0], [0.0, 0.0], [1.0, -1.0], [1.0, np.nan], [[1.0, 2.0]]):
        with pytest.raises(BadInput, match="profile"):
            Phased.of(profile, 0.1)
    with pytest.raises(BadInput, match="decay"):
        Phased.of([1.0, 2.0], 0.0)
