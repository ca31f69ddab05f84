"""Feeds that show only their newest items, against mpmath and against a simulated feed."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dayfly.model import Fleet, check_harvest

mp.mp.dps = 60
EXACT = 1e-11


class Curve:
    """One windowed source in sixty digits; sums of Poisson probabilities, no recurrence of ours."""

    def __init__(self, arrival, decay, worth, window, lifetime=mp.inf):
        self.arrival, self.decay, self.worth = mp.mpf(arrival), mp.mpf(decay), mp.mpf(worth)
        self.window, self.lifetime = window, lifetime

    def value(self, t):
        # f = ξ Σ_j (Λ/s)^j P(j, sτ), P(j, x) = 1 − e^(−x) Σ_{i<j} x^i/i! from its upper tail.
        t = min(mp.mpf(t), mp.mpf(self.lifetime))
        s = self.arrival + self.decay
        x, q = s * t, self.arrival / s
        tails, above = [], mp.mpf(0)
        for probability in reversed(poisson(x, self.window)):
            above += probability
            tails.append(above)
        tails.reverse()  # tails[j] = P(j, x)
        return self.worth * sum(q**j * tails[j] for j in range(1, self.window + 1))

    def slope(self, t):
        if t >= self.lifetime:
            return mp.mpf(0)
        t = mp.mpf(t)
        visible = fewer(self.arrival * t, self.window)
        return self.worth * self.arrival * mp.exp(-self.decay * t) * visible

    def index(self, t):
        return self.value(t) - mp.mpf(t) * self.slope(t)

    def bend(self, t, epoch):
        gain = self.value(mp.mpf(t) + mp.mpf(epoch)) - self.value(t)
        return mp.mpf(epoch) * self.slope(t) - gain


def poisson(x, most):
    """Pr[Poisson(x) = i] for i up to `most`, and all of what lies above added to the last."""
    each = [mp.exp(-x)]
    for i in range(1, most + 1):
        each.append(each[-1] * x / i)
    if x < most + 1:  # the tail by its own series; the complement would cancel
        term, tail, i = each[-1], mp.mpf(0), most
        while term > mp.mpf(10) ** -70 * (tail + each[-1]) and term > 0:
            i += 1
            term = term * x / i
            tail += term
    else:
        tail = 1 - sum(each)
    each[-1] += tail
    return each


def fewer(x, k):
    """Pr[Poisson(x) < k]."""
    term = total = mp.mpf(1)
    for i in range(1, k):
        term = term * x / i
        total += term
    return mp.exp(-x) * total


exponents = st.tuples(
    st.floats(-6, 6),  # arrival
    st.floats(-6, 6),  # decay
    st.floats(-3, 3),  # worth
    st.floats(-12, 3),  # decay · age
    st.floats(-1, 6),  # age / epoch
)


def assert_exact(window, drawn, life=None):
    arrival, decay, worth, load, k = (10.0**e for e in drawn)
    age, epoch = load / decay, load / decay / k
    lifetime = np.inf if life is None else age * 10.0**life
    fleet = Fleet(arrival=[arrival], decay=decay, worth=worth, window=window, lifetime=lifetime)
    curve = Curve(arrival, decay, worth, window, lifetime)
    ages = np.array([age])
    for name in ("value", "slope", "index"):
        found, exact = getattr(fleet.harvest, name)(ages)[0], getattr(curve, name)(age)
        miss = abs(mp.mpf(float(found)) - exact)
        assert miss <= EXACT * exact + mp.mpf("1e-290"), f"{name}: {found} for {float(exact)}"
    bend, exact, k = fleet.harvest.bend(ages, epoch)[0], curve.bend(age, epoch), mp.mpf(age) / epoch
    index = curve.index(age) + k * exact
    assert abs(k * (mp.mpf(float(bend)) - exact)) <= EXACT * index + mp.mpf("1e-290")
    assert bend >= 0


@pytest.mark.parametrize("window", [1, 20])
def test_exact(window):
    given(exponents)(settings(max_examples=60, deadline=None)(lambda d: assert_exact(window, d)))()


def test_exact_with_a_long_window():
    given(exponents)(settings(max_examples=15, deadline=None)(lambda d: assert_exact(200, d)))()


@pytest.mark.parametrize("window", [1, 20])
def test_exact_with_a_lifetime(window):
    @given(exponents, st.floats(-1, 2))
    @settings(max_examples=40, deadline=None)
    def exact(drawn, life):
        assert_exact(window, drawn, life)

    exact()


def rows(n, seed):
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    arrival, decay = 10.0 ** rng.uniform(-6, 6, n), 10.0 ** rng.uniform(-6, 6, n)
    return arrival, decay, 10.0 ** rng.uniform(-12, 1, n) / decay


@pytest.mark.parametrize("window", [1, 20, 200])
def test_age_at_inverts_the_index(window):
    arrival, decay, age = rows(40, seed=window)
    harvest = Fleet(arrival=arrival, decay=decay, window=window).harvest
    price = harvest.index(age)
    due = harvest.age_at(price)
    np.testing.assert_allclose(harvest.index(due), price, rtol=EXACT)
    younger = harvest.index(due * (1 - 1e-6))
    assert (younger <= price * (1 + 1e-12)).all()  # no younger age is worth more than that


def test_a_price_inside_the_jump_at_the_lifetime_waits_for_it():
    harvest = Fleet(arrival=np.full(3, 2.0), decay=0.1, window=20, lifetime=3.0).harvest
    before = harvest.index(np.full(3, 3.0 - 1e-9))
    whole = harvest.value(np.full(3, 3.0))
    price = np.array([before[0] * 0.9, (before + whole)[0] / 2, whole[0] * 1.01])
    due = harvest.age_at(price)
    assert due[0] < 3.0
    assert due[1:].tolist() == [3.0, np.inf]


@pytest.mark.parametrize("window", [1, 20, 200])
def test_older_is_never_worth_less(window):
    arrival, decay, _ = rows(8, seed=window)
    harvest = Fleet(arrival=arrival, decay=decay, window=window).harvest
    ages = [*np.geomspace(1e-9, 1e9, 60), np.inf]
    for method in (harvest.value, harvest.index):
        found = np.array([method(np.full(8, age)) for age in ages])
        assert (np.diff(found, axis=0) >= -1e-12 * found[-1]).all()


def test_a_wide_window_is_no_window():
    age = np.array([0.0, 1e-6, 1.0, 5.0, 30.0])
    wide = Fleet(arrival=np.full(5, 2.0), decay=0.3, window=400).harvest
    none = Fleet(arrival=np.full(5, 2.0), decay=0.3).harvest
    for name in ("value", "slope", "index"):
        found, expected = getattr(wide, name)(age), getattr(none, name)(age)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-300)


def test_a_full_feed_of_items_that_never_fade_holds_its_window():
    harvest = Fleet(arrival=[3.0], decay=0.0, window=20, worth=2.0).harvest
    assert harvest.value(np.array([1e6]))[0] == pytest.approx(40.0)
    assert harvest.index(np.array([np.inf]))[0] == pytest.approx(40.0)
    check_harvest(harvest, [5.0])


def test_windows_of_many_lengths_stand_side_by_side():
    window = np.array([1, 7, 20, 200, 3])
    together = Fleet(arrival=np.full(5, 2.0), decay=0.1, window=window).harvest
    for age in (0.5, 9.0, np.inf):
        alone = [
            Fleet(arrival=[2.0], decay=0.1, window=int(k)).harvest.index(np.array([age]))[0]
            for k in window
        ]
        np.testing.assert_allclose(together.index(np.full(5, age)), alone, rtol=1e-12)


@pytest.mark.parametrize(
    ("window", "lifetime"), [(1, np.inf), (5, np.inf), (5, 2.0), (20, np.inf), (20, 6.0)]
)
def test_the_harvest_is_the_mean_of_a_simulated_feed(window, lifetime):
    """Items arrive at random, fade, expire and are pushed out; what a crawl finds is their sum."""
    seed, n = 7, 40_000
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    arrival, decay, worth, age = 3.0, 0.2, 1.5, 4.0
    # Ages of the newest items, from gaps between arrivals seen backwards from the crawl.
    ages = np.cumsum(rng.exponential(1 / arrival, (n, window)), axis=1)
    there = (ages <= age) & (ages <= lifetime)
    found = worth * np.where(there, np.exp(-decay * ages), 0.0).sum(axis=1)
    expected = Fleet(
        arrival=[arrival], decay=decay, worth=worth, window=window, lifetime=lifetime
    ).harvest.value(np.array([age]))[0]
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(n)
