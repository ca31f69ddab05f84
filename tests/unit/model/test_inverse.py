"""Ages from curves without a closed inverse."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dayfly.model.inverse import first_age, smooth_age


@given(st.floats(1e-6, 1e6), st.floats(1e-3, 1e3), st.floats(0.5, 3))
@settings(max_examples=100, deadline=None)
def test_inverts_a_power_wherever_the_search_starts(target, scale, power):
    found = first_age(lambda t: t**power, np.array([target]), np.array([scale]))
    np.testing.assert_allclose(found, target ** (1 / power), rtol=1e-12)


def test_a_target_that_is_never_reached_is_infinite():
    found = first_age(lambda t: 1 - np.exp(-t), np.array([0.5, 1.5]), np.ones(2))
    np.testing.assert_allclose(found, [np.log(2), np.inf])


def test_the_search_gives_up_at_2_to_the_60_typical_ages():
    assert first_age(np.sqrt, np.array([1e12]), np.ones(1)) == [np.inf]


def test_no_target_is_reached_at_once():
    assert first_age(lambda t: t, np.array([0.0, -1.0]), np.ones(2)).tolist() == [0.0, 0.0]


def test_finds_the_edge_of_a_jump():
    def step(t):
        return np.where(t >= 3.0, 10.0, t)

    found = first_age(step, np.array([2.0, 5.0, 10.0]), np.ones(3))
    np.testing.assert_allclose(found, [2.0, 3.0, 3.0], rtol=1e-15)


def test_rows_do_not_disturb_each_other():
    def curve(t):
        return -np.expm1(-t)

    targets, scales = np.array([1e-9, 0.3, 2.0, 0.999]), np.array([1.0, 1e6, 1.0, 1e-6])
    together = first_age(curve, targets, scales)
    alone = [first_age(curve, targets[i : i + 1], scales[i : i + 1])[0] for i in range(4)]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_one_target_serves_all_rows():
    np.testing.assert_allclose(first_age(lambda t: t, np.float64(4.0), np.ones(3)), 4.0)


def saturating(t):
    with np.errstate(invalid="ignore"):
        return -np.expm1(-t), np.exp(-t)


@given(st.floats(-30, -1e-9), st.floats(-12, 12))
@settings(max_examples=100, deadline=None)
def test_newton_inverts_a_curve_that_saturates_wherever_it_starts(log_share, log_start):
    share = np.exp(log_share)
    found = smooth_age(saturating, np.array([share]), np.array([10.0**log_start]))
    np.testing.assert_allclose(saturating(found)[0], share, rtol=1e-14)


def test_newton_knows_the_ends():
    targets = np.array([-1.0, 0.0, 0.5, 1.0, 1.5])
    found = smooth_age(saturating, targets, np.ones(5))
    assert found[:2].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(found[2], np.log(2), rtol=1e-15)
    np.testing.assert_allclose(saturating(found[3])[0], 1.0, rtol=2e-15)
    assert found[4] == np.inf
