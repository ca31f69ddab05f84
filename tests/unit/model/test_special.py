"""The special functions against mpmath, with sixty digits."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dayfly.model.special import (
    knee,
    lag,
    rise,
    rise_inverse,
    rise_inverse_below,
    saturation,
)

mp.mp.dps = 60

EXACT = {
    rise: lambda x: 1 - mp.exp(-x) * (1 + x),
    lag: lambda x: x - 1 + mp.exp(-x),
    saturation: lambda x: 1 - mp.exp(-x),
    knee: lambda x: x + (1 - x) * mp.log(1 - x),
    rise_inverse: lambda y: -1 - mp.lambertw((y - 1) / mp.e, -1).real,  # [J §VII], branch −1
}
#: `rise` and its inverse are evaluated by the million: just above their power series they give up
#: a digit for speed.
TOLERANCE = {rise: 1e-12, lag: 1e-13, saturation: 1e-13, knee: 1e-13, rise_inverse: 1e-12}


def error(function, x):
    """Largest error of a function over some arguments, relative to the exact value."""
    x = np.asarray(x, dtype=float)
    worst = 0.0
    for found, at in zip(function(x.copy()).tolist(), x.tolist(), strict=True):
        exact = EXACT[function](mp.mpf(at))
        worst = max(worst, float(abs(mp.mpf(found) - exact) / abs(exact)))
    return worst


@pytest.mark.parametrize("function", [rise, lag, saturation])
def test_exact_over_fifteen_orders_of_magnitude(function):
    seams = [0.03 * (1 - 1e-9), 0.03, 0.1 * (1 - 1e-9), 0.1, 0.1 * (1 + 1e-9), 700.0, 701.0]
    assert error(function, [*np.geomspace(1e-12, 1e3, 300), *seams]) < TOLERANCE[function]


@pytest.mark.parametrize("function", [knee, rise_inverse])
def test_exact_over_the_open_unit_interval(function):
    low, high = np.geomspace(1e-24, 0.5, 200), 1 - np.geomspace(1e-15, 0.5, 100)
    assert error(function, [*low, *high]) < TOLERANCE[function]


@given(st.floats(-12, 3))
@settings(max_examples=100, deadline=None)
def test_exact_wherever_one_looks(exponent):
    x = [10.0**exponent]
    assert error(rise, x) < TOLERANCE[rise]
    assert error(lag, x) < TOLERANCE[lag]
    assert error(saturation, x) < TOLERANCE[saturation]


@given(st.floats(1e-24, 1 - 1e-15))
@settings(max_examples=100, deadline=None)
def test_exact_wherever_one_looks_between_0_and_1(y):
    assert error(knee, [y]) < TOLERANCE[knee]
    assert error(rise_inverse, [y]) < TOLERANCE[rise_inverse]


@given(st.lists(st.floats(0, 1e4), min_size=2, max_size=20))
@settings(max_examples=50, deadline=None)
def test_rise_never_falls_beyond_rounding(xs):
    y = rise(np.sort(np.array(xs)))
    assert (np.diff(y) >= -1e-15).all()


def test_ends():
    inf = np.inf
    assert rise(np.array([0.0, inf])).tolist() == [0.0, 1.0]
    assert lag(np.array([0.0, inf])).tolist() == [0.0, inf]
    assert saturation(np.array([0.0, inf])).tolist() == [0.0, 1.0]
    assert knee(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]
    assert rise_inverse(np.array([-0.5, 0.0, 1.0, 2.0])).tolist() == [0.0, 0.0, inf, inf]
    assert np.isnan(rise_inverse(np.array([np.nan])))


def test_arguments_are_left_alone():
    for function in EXACT:
        x = np.array([1e-9, 0.05, 0.5])
        function(x)
        assert x.tolist() == [1e-9, 0.05, 0.5]


def test_the_quick_inverse_is_never_above_and_close_below():
    y = np.concatenate([
        np.logspace(-30, -3, 2000), np.linspace(0, 1, 50_001), 1 - np.logspace(-16, -2, 2000),
    ])  # fmt: skip
    quick, right = rise_inverse_below(y), rise_inverse(y)
    assert (quick <= right).all()
    known = (right > 0) & np.isfinite(right)
    assert (quick[known] >= right[known] * (1 - 2e-4)).all()
    assert np.isinf(quick[np.isinf(right)]).all()
