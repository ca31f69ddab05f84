"""Harvest curves against mpmath: f, f′, γ, the bend of an epoch, and the way back from a price."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dayfly.model import Ephemeral, Fleet, Harvest, TwoPhase, check_harvest

mp.mp.dps = 60
#: Relative error that a curve may have, over decay·age from 1e-12 to 1e3.
EXACT = 1e-11


class Curve:
    """One source in sixty digits, by the textbook formulas that cancel in floating point."""

    def __init__(self, *phases, lifetime=mp.inf):
        self.phases = [(mp.mpf(income), mp.mpf(decay)) for income, decay in phases]
        self.lifetime = lifetime

    def value(self, t):
        t = min(mp.mpf(t), mp.mpf(self.lifetime))
        return sum(a * t if d == 0 else a / d * (1 - mp.exp(-d * t)) for a, d in self.phases)

    def slope(self, t):
        if t >= self.lifetime:
            return mp.mpf(0)
        return sum(a * mp.exp(-d * mp.mpf(t)) for a, d in self.phases)

    def index(self, t):
        return self.value(t) - mp.mpf(t) * self.slope(t)

    def bend(self, t, epoch):
        gain = self.value(mp.mpf(t) + mp.mpf(epoch)) - self.value(t)
        return mp.mpf(epoch) * self.slope(t) - gain


def assert_exact(harvest: Harvest, curves, ages, epoch):
    """Every method of some curves against sixty digits; `epoch` is the same for all rows."""
    ages = np.asarray(ages, dtype=float)
    found = {name: getattr(harvest, name)(ages) for name in ("value", "slope", "index")}
    bend = harvest.bend(ages, epoch)
    for row, (curve, t) in enumerate(zip(curves, ages.tolist(), strict=True)):
        for name, column in found.items():
            assert_close(column[row], getattr(curve, name)(t), f"{name}, row {row}, age {t}")
        k = mp.mpf(t) / mp.mpf(epoch)
        index = curve.index(t) + k * curve.bend(t, epoch)
        miss = abs(k * (mp.mpf(float(bend[row])) - curve.bend(t, epoch)))
        assert miss <= EXACT * index, f"bend, row {row}, age {t}, epoch {epoch}"
        assert bend[row] >= 0


def assert_close(found, exact, what):
    # e^(−1000) is no floating-point number: what underflows may be 0.
    assert abs(mp.mpf(float(found)) - exact) <= EXACT * abs(exact) + mp.mpf("1e-290"), what


exponents = st.tuples(
    st.floats(-6, 6),  # arrival
    st.floats(-6, 6),  # decay
    st.floats(-3, 3),  # worth
    st.floats(-12, 3),  # decay · age
    st.floats(-1, 6),  # age / epoch
)


def magnitudes(drawn):
    arrival, decay, worth, load, k = (10.0**e for e in drawn)
    return arrival, decay, worth, load / decay, load / decay / k


@given(exponents)
@settings(max_examples=150, deadline=None)
def test_ephemeral_is_exact(drawn):
    arrival, decay, worth, age, epoch = magnitudes(drawn)
    fleet = Fleet(arrival=[arrival], decay=decay, worth=worth)
    assert_exact(fleet.harvest, [Curve((arrival * worth, decay))], [age], epoch)


@given(exponents)
@settings(max_examples=50, deadline=None)
def test_freshness_has_the_same_curve(drawn):
    arrival, decay, worth, age, epoch = magnitudes(drawn)
    fleet = Fleet(arrival=[arrival], decay=decay, worth=worth, kind="freshness")
    assert_exact(fleet.harvest, [Curve((arrival * worth, decay))], [age], epoch)


@given(exponents, st.floats(-1, 2))
@settings(max_examples=150, deadline=None)
def test_lifetime_is_exact(drawn, life):
    arrival, decay, worth, age, epoch = magnitudes(drawn)
    lifetime = age * 10.0**life
    fleet = Fleet(arrival=[arrival], decay=decay, worth=worth, lifetime=lifetime)
    curve = Curve((arrival * worth, decay), lifetime=lifetime)
    assert_exact(fleet.harvest, [curve], [age], epoch)


@given(exponents, st.integers(1, 50), st.integers(1, 50))
@settings(max_examples=100, deadline=None)
def test_a_lifetime_on_the_lattice_is_exact(drawn, k, epochs):
    """The epoch that ends where items expire must not be decided by the rounding of its end."""
    arrival, decay, worth, age, _ = magnitudes(drawn)
    epoch = age / k
    fleet = Fleet(arrival=[arrival], decay=decay, worth=worth, lifetime=epoch * epochs)
    curve = Curve((arrival * worth, decay), lifetime=epoch * epochs)
    assert_exact(fleet.harvest, [curve], [age], epoch)


@given(exponents, st.floats(0, 1), st.floats(-6, 0))
@settings(max_examples=150, deadline=None)
def test_two_phases_are_exact(drawn, share, slower):
    arrival, decay, worth, age, epoch = magnitudes(drawn)
    slow = decay * 10.0**slower
    fleet = Fleet(
        arrival=[arrival], decay=decay, worth=worth,
        kind="two_phase", slow_decay=slow, slow_share=share,
    )  # fmt: skip
    income = arrival * worth
    curve = Curve((income * (1 - share), decay), (income * share, slow))
    assert_exact(fleet.harvest, [curve], [age], epoch)


@pytest.mark.parametrize("lifetime", [np.inf, 50.0])
def test_no_decay_is_the_limit_of_little_decay(lifetime):
    ages = np.array([0.0, 1e-3, 1.0, 49.0, 50.0, 200.0])
    still = Fleet(arrival=np.full(6, 3.0), decay=0.0, lifetime=lifetime).harvest
    for decay in (1e-300, 1e-20, 1e-14):
        nearly = Fleet(arrival=np.full(6, 3.0), decay=decay, lifetime=lifetime).harvest
        for name in ("value", "slope", "index"):
            found, limit = getattr(nearly, name)(ages), getattr(still, name)(ages)
            np.testing.assert_allclose(found, limit, rtol=1e-11, atol=1e-8)
        np.testing.assert_allclose(nearly.bend(ages, 2.0), still.bend(ages, 2.0), atol=1e-8)
        price = np.array([0.0, 1.0, 149.0, 150.0 * (1 - 1e-9), 151.0, 1e9])
        due = np.array([0.0, 50.0, 50.0, 50.0, np.inf, np.inf])
        if np.isfinite(lifetime):
            np.testing.assert_allclose(nearly.age_at(price), still.age_at(price), rtol=1e-9)
            np.testing.assert_allclose(still.age_at(price), due)
        else:
            assert np.isinf(still.age_at(price)[1:]).all()


def test_items_that_never_fade_grow_for_ever():
    harvest = Fleet(arrival=[3.0], decay=0.0).harvest
    assert harvest.value(np.array([np.inf])) == [np.inf]
    assert harvest.index(np.array([1e9])) == [0.0]  # waiting loses nothing
    assert harvest.age_of(np.array([6.0])) == [2.0]


def test_the_index_jumps_at_the_lifetime():
    """Prices inside the jump make the lifetime the best age; above it, never."""
    harvest = Fleet(arrival=np.full(5, 2.0), decay=0.5, lifetime=3.0).harvest
    before = 2 / 0.5 * (1 - np.exp(-1.5) * 2.5)
    whole = 2 / 0.5 * (1 - np.exp(-1.5))
    price = np.array([before * 0.5, before * 1.0001, (before + whole) / 2, whole, whole * 1.0001])
    age = harvest.age_at(price)
    assert age[0] < 3.0
    assert age[1:].tolist() == [3.0, 3.0, 3.0, np.inf]
    np.testing.assert_allclose(harvest.index(np.full(5, 3.0)), whole, rtol=1e-15)
    np.testing.assert_allclose(harvest.index(np.full(5, 3.0 - 1e-12)), before, rtol=1e-9)


@given(exponents)
@settings(max_examples=150, deadline=None)
def test_age_at_inverts_the_index(drawn):
    arrival, decay, worth, age, _ = magnitudes(drawn)
    harvest = Fleet(arrival=[arrival], decay=decay, worth=worth).harvest
    price = harvest.index(np.array([age]))
    np.testing.assert_allclose(harvest.index(harvest.age_at(price)), price, rtol=EXACT)
    if decay * age < 20:  # beyond, the index is flat to the last bits
        np.testing.assert_allclose(harvest.age_at(price), age, rtol=1e-6)


@given(exponents, st.floats(0.01, 0.99), st.floats(-4, 0))
@settings(max_examples=50, deadline=None)
def test_age_at_inverts_the_index_of_two_phases(drawn, share, slower):
    arrival, decay, worth, age, _ = magnitudes(drawn)
    harvest = Fleet(
        arrival=[arrival], decay=decay, worth=worth,
        kind="two_phase", slow_decay=decay * 10.0**slower, slow_share=share,
    ).harvest  # fmt: skip
    price = harvest.index(np.array([age]))
    np.testing.assert_allclose(harvest.index(harvest.age_at(price)), price, rtol=EXACT)


@given(exponents, st.lists(st.floats(0, 10), min_size=2, max_size=10))
@settings(max_examples=100, deadline=None)
def test_older_is_never_worth_less(drawn, factors):
    arrival, decay, worth, age, _ = magnitudes(drawn)
    ages = np.sort(np.array([*factors, np.inf]) * age)
    for extra in ({}, {"lifetime": age}, {"kind": "freshness"}):
        harvest = Fleet(arrival=np.full(len(ages), arrival), decay=decay, worth=worth, **extra)
        for name in ("value", "index"):
            rise = np.diff(getattr(harvest.harvest, name)(ages))
            assert (rise >= -1e-14 * arrival * worth / decay).all()


@given(exponents)
@settings(max_examples=100, deadline=None)
def test_the_cheap_limit_is_never_below_the_index(drawn):
    arrival, decay, worth, age, epoch = magnitudes(drawn)
    harvest = Fleet(arrival=[arrival], decay=decay, worth=worth).harvest
    ages = np.array([age])
    limit = harvest.index_limit(ages, None)
    assert limit is not None
    assert limit[0] >= harvest.index(ages)[0] * (1 - 1e-9)
    slotted = harvest.index(ages) + age / epoch * harvest.bend(ages, epoch)
    assert harvest.index_limit(ages, epoch)[0] >= slotted[0] * (1 - 1e-9)


@given(exponents, st.floats(-0.5, 1.5))
@settings(max_examples=100, deadline=None)
def test_the_index_of_a_state_is_the_index_at_its_age(drawn, filled):
    arrival, decay, worth, _, _ = magnitudes(drawn)
    income = arrival * worth
    ceiling, state = income / decay, np.array([filled * income / decay])
    for harvest in (
        Fleet(arrival=[arrival], decay=decay, worth=worth).harvest,
        TwoPhase(
            Ephemeral(np.array([income / 2]), np.array([decay])),
            Ephemeral(np.array([income / 2]), np.array([decay])),
        ),
    ):
        found = harvest.index_at(state)[0]
        if filled >= 1:
            assert found == pytest.approx(state[0])
        elif filled <= 0:
            assert found == 0.0
        else:
            x = mp.mpf(filled)
            exact = (x + (1 - x) * mp.log(1 - x)) * mp.mpf(ceiling)
            assert float(found) == pytest.approx(float(exact), rel=1e-9, abs=1e-11 * ceiling)


def test_nothing_appears_nothing_waits():
    harvest = Fleet(arrival=[0.0, 0.0, 0.0], decay=[1.0, 0.0, 1.0], lifetime=[np.inf, np.inf, 2.0])
    ages = np.array([0.0, 5.0, np.inf])
    for name in ("value", "slope", "index"):
        assert getattr(harvest.harvest, name)(ages).tolist() == [0.0, 0.0, 0.0]
    assert harvest.harvest.age_at(np.ones(3)).tolist() == [np.inf] * 3
    assert harvest.harvest.age_at(np.zeros(3)).tolist() == [0.0] * 3
    assert harvest.harvest.age_of(np.zeros(3)).tolist() == [0.0] * 3


MIXED = Fleet(
    arrival=[1, 2, 3, 4, 5, 6, 0, 2],
    decay=[0.1, 0.0, 0.3, 0.1, 0.2, 2.0, 0.1, 0.5],
    worth=[1, 1, 2, 3, 1, 0.1, 1, 1],
    cost=[1, 2, 1, 1, 1, 1, 1, 0.5],
    lifetime=[np.inf, np.inf, 4, np.inf, np.inf, np.inf, np.inf, 6.0],
    window=[np.inf, np.inf, np.inf, 20, np.inf, np.inf, np.inf, 1],
    kind=["ephemeral"] * 4 + ["two_phase", "freshness", "ephemeral", "ephemeral"],
    slow_decay=[0, 0, 0, 0, 0.01, 0, 0, 0],
    slow_share=[0, 0, 0, 0, 0.4, 0, 0, 0],
)


@pytest.mark.parametrize(
    "name", ["value", "slope", "index", "bend", "slotted", "age_at", "age_of", "index_at"]
)
def test_what_a_row_is_worth_does_not_depend_on_who_stands_beside_it(name):
    # By no bit: the scheduler looks at a few, and must choose as if it had looked at all.
    rng = np.random.default_rng(8)
    drawn = rng.uniform(0.0, 9.0, (10, 8))
    rest = (0.7,) if name in ("bend", "slotted") else ()
    for given_ in (*np.full((8, 6), (0.0, 0.4, 3.9, 4.0, 7.0, np.inf)).T, *drawn):
        whole = getattr(MIXED.harvest, name)(given_, *rest)
        for rows in ([0], [1], [2], [3], [4], [5], [6], [7], [0, 2], [7, 3], [0, 1, 5], [4, 5, 6]):
            part = getattr(MIXED.take(rows).harvest, name)(given_[rows], *rest)
            assert part.tolist() == whole[rows].tolist(), f"rows {rows}, given {given_}"


def test_a_cut_of_a_mixed_fleet_is_its_rows():
    rows = np.array([5, 3, 0])
    ages = np.array([1.0, 2.0, 3.0])
    cut = MIXED.harvest[rows]
    np.testing.assert_allclose(cut.index(ages), MIXED.take(rows).harvest.index(ages), rtol=1e-13)
    with pytest.raises(IndexError, match="not repeated"):
        MIXED.harvest[np.array([1, 1])]


def test_every_kind_keeps_the_promises_of_a_harvest():
    check_harvest(MIXED.harvest, np.full(8, 3.0))
    for row in range(8):
        check_harvest(MIXED.take([row]).harvest, [3.0])


class Square(Harvest):
    """A user's own kind with the least there must be: items that are worth 1 − age/10."""

    def __init__(self, steep=1.0):
        self.steep = steep

    def value(self, age):
        t = np.minimum(age, 10.0)
        return t - t * t / 20

    def slope(self, age):
        return self.steep * np.maximum(1 - age / 10, 0.0)

    def _zeros(self):
        return np.zeros(2)


def test_value_and_slope_suffice_for_a_kind_of_ones_own():
    harvest = Square()
    check_harvest(harvest, [3.0, 8.0])
    np.testing.assert_allclose(harvest.index(np.array([4.0, np.inf])), [16 / 20, 5.0])
    np.testing.assert_allclose(harvest.age_at(np.array([16 / 20, 6.0])), [4.0, np.inf])
    np.testing.assert_allclose(harvest.index_at(np.array([4 - 16 / 20, 7.0])), [16 / 20, 7.0])


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ({"value": lambda self, age: 1 + age}, "f\\(0\\) must be 0"),
        ({"steep": 1.01}, "slope\\(age\\) is more"),
        ({"steep": 0.9}, "slope\\(age\\) is less"),
        ({"value": lambda self, age: age**2, "slope": lambda self, age: 2 * age}, "concave"),
        ({"index": lambda self, age: age}, "index must be"),
        ({"bend": lambda self, age, epoch: 0 * age - 1}, "bend must be"),
        ({"bend": lambda self, age, epoch: 0 * age + 1}, "bend must be"),
        ({"age_at": lambda self, price: 0 * price + 99.0}, "youngest"),
        ({"age_at": lambda self, price: 0 * price}, "must reach the price"),
        ({"slope": lambda self, age: 0 * age + np.nan}, "slope must be a number"),
        ({"value": lambda self, age: 0 * age[:1]}, "shape"),
    ],
)
def test_a_broken_promise_is_named(broken, sentence):
    harvest = type("Broken", (Square,), broken)()
    harvest.steep = broken.get("steep", 1.0)
    with pytest.raises(AssertionError, match=sentence):
        check_harvest(harvest, [3.0, 8.0])
