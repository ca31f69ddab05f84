"""The closed forms against fifty-digit arithmetic, written a second time from the definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dayfly.errors import BadInput
from dayfly.index import whittle_index, whittle_index_at
from dayfly.model import Fleet, Source

mp.dps = 70
TABLE_I = Fleet(arrival=250, decay=[0.7, 0.35, 0.7, 0.21], worth=[1, 0.7, 0.2, 0.08])
KINDS = ("ephemeral", "lifetime", "window", "window+lifetime", "two_phase", "freshness")


# ------------------------------------------------------------------ the second implementation
def faded(income, decay, age):
    return income * age if decay == 0 else income * (1 - mp.exp(-decay * age)) / decay


def harvest(s: Source, age):
    """f(τ): what a crawl at this age brings, from the definition of the kind."""
    age = min(mpf(age), mpf(s.lifetime))
    arrival, worth, decay = mpf(s.arrival), mpf(s.worth), mpf(s.decay)
    if s.kind == "two_phase":
        slow = mpf(s.slow_share)
        fast = faded(arrival * worth * (1 - slow), decay, age)
        return fast + faded(arrival * worth * slow, mpf(s.slow_decay), age)
    if np.isinf(s.window):
        return faded(arrival * worth, decay, age)
    # An item of age a is there if it came and fewer than K came after it.
    rate = arrival + decay
    return worth * sum(
        (arrival / rate) ** j * mp.gammainc(j, 0, rate * age, regularized=True)
        for j in range(1, int(s.window) + 1)
    )


def growth(s: Source, age):
    """f′(τ)."""
    age = mpf(age)
    if age >= s.lifetime:
        return mpf(0)
    income = mpf(s.arrival) * mpf(s.worth)
    if s.kind == "two_phase":
        slow = mpf(s.slow_share)
        fast = income * (1 - slow) * mp.exp(-mpf(s.decay) * age)
        return fast + income * slow * mp.exp(-mpf(s.slow_decay) * age)
    found = income * mp.exp(-mpf(s.decay) * age)
    if np.isfinite(s.window):
        found *= mp.gammainc(int(s.window), mpf(s.arrival) * age, mp.inf, regularized=True)
    return found


def index(s: Source, age, epoch=None):
    """γ(τ) = f − τf′, slotted f_k − k(f_{k+1} − f_k), per cost."""
    age = mpf(age)
    if epoch is None:
        return (harvest(s, age) - age * growth(s, age)) / mpf(s.cost)
    now, then = harvest(s, age), harvest(s, age + mpf(epoch))
    return (now - age / mpf(epoch) * (then - now)) / mpf(s.cost)


def theorem_1(s: Source, x, epoch):
    """[J, Theorem 1] for 0 < x < u*."""
    x, decay = mpf(x), mpf(s.decay)
    alpha = mp.exp(-decay * mpf(epoch))
    ceiling = mpf(s.arrival) * mpf(s.worth) / decay
    u = ceiling * (1 - alpha)
    eta = mp.ceil(mp.log(1 - x / ceiling) / mp.log(alpha))
    return (eta * ((1 - alpha) * x - u) + u * (1 - alpha**eta) / (1 - alpha)) / mpf(s.cost)


# ------------------------------------------------------------------ fleets
def random_fleet(kind: str, n: int, rng: np.random.Generator, filled=(-12, 3)):
    """Rates over twelve orders of magnitude, and ages with decay·age over fifteen."""
    decay = 10 ** rng.uniform(-6, 6, n)
    arrival, worth = 10 ** rng.uniform(-6, 6, n), 10 ** rng.uniform(-3, 3, n)
    cost = rng.choice([0.5, 1.0, 2.0, 7.0], n)
    age = 10 ** rng.uniform(*filled, n) / decay
    columns = {"arrival": arrival, "decay": decay, "worth": worth, "cost": cost}
    if "window" in kind:
        columns["window"] = rng.choice([1, 2, 5, 20, 60], n)
    if "lifetime" in kind:
        columns["lifetime"] = age * 10 ** rng.uniform(-1, 1, n)
    if kind == "two_phase":
        columns |= {"kind": kind, "slow_share": rng.uniform(0, 1, n)}
        columns["slow_decay"] = decay * 10 ** rng.uniform(-3, 0, n)
    if kind == "freshness":
        columns["kind"] = kind
    return Fleet(**columns), age


def worst(found, right):
    """Largest relative error; a right 0 must be 0."""
    return max(
        float(abs(mpf(float(f)) - r) / r) if r != 0 else float(abs(f))
        for f, r in zip(found, right, strict=True)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_continuous_index_is_right_to_eleven_digits(kind):
    seed = 11
    print("seed", seed)
    fleet, age = random_fleet(kind, 120, np.random.default_rng(seed))
    right = [index(s, a) for s, a in zip(fleet, age, strict=True)]
    assert worst(whittle_index(fleet, age), right) < 1e-11


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("longest", [1, 30, 10**6])
def test_slotted_index_is_right_to_eleven_digits(kind, longest):
    seed = 12
    print("seed", seed)
    rng = np.random.default_rng(seed)
    fleet, age = random_fleet(kind, 40, rng)
    # One epoch for all sources of a call, so each has a call of its own.
    for row, source in enumerate(fleet):
        epoch = float(age[row]) / rng.integers(1, longest + 1)
        at = np.rint(age[row] / epoch) * epoch
        alone = fleet.take([row])
        assert worst(whittle_index(alone, at, epoch), [index(source, at, epoch)]) < 1e-11


def test_window_harvest_of_the_reference_is_the_integral_that_defines_it():
    """f = ∫ ξΛ e^(−μt) Pr[fewer than K arrivals in t] dt: what the sums above must equal."""
    for s in (Source(arrival=3.0, decay=0.4, window=5), Source(arrival=0.2, decay=2.0, window=1)):
        for age in (0.1, 1.0, 6.0):
            right = mp.quad(lambda t, s=s: growth(s, t), mp.linspace(0, age, 9))
            assert abs(harvest(s, age) / right - 1) < mpf(10) ** -25


def test_lattice_form_is_x_k_minus_k_u_alpha_to_the_k():
    """[J]: γ_k = x_k − k·u·α^k with x_k = u*(1 − α^k)."""
    for row, s in enumerate(TABLE_I):
        alpha = np.exp(-s.decay)
        ceiling = s.arrival * s.worth / s.decay
        for k in range(1, 60):
            x_k = ceiling * (1 - alpha**k)
            right = x_k - k * ceiling * (1 - alpha) * alpha**k
            assert whittle_index(TABLE_I, float(k), 1.0)[row] == pytest.approx(right, rel=1e-11)
            by_state = whittle_index_at(TABLE_I, np.full(4, x_k), 1.0)[row]
            assert by_state == pytest.approx(right, rel=1e-11)


def test_theorem_1_holds_off_the_lattice_to_eleven_digits():
    seed = 13
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for _ in range(150):
        decay, arrival, worth = 10 ** rng.uniform(-6, 6, 3)
        epoch = float(10 ** rng.uniform(-5, 1.5) / decay)
        fleet = Fleet(arrival=arrival, decay=decay, worth=worth, cost=rng.choice([0.5, 2.0]))
        ceiling = arrival * worth / decay
        # From nearly empty to nearly full.
        share = rng.choice([10 ** rng.uniform(-12, 0), 1 - 10 ** rng.uniform(-6, 0)])
        x = share * ceiling
        if not 0 < x < ceiling * (1 - 1e-7):
            continue
        found = whittle_index_at(fleet, x, epoch)
        assert worst(found, [theorem_1(fleet[0], x, epoch)]) < 1e-11, (decay, epoch, share)


def test_continuous_index_by_state_is_right_to_eleven_digits():
    """γ = x + (u* − x) ln(1 − x/u*) for x < u*."""
    seed = 14
    print("seed", seed)
    rng = np.random.default_rng(seed)
    fleet, _ = random_fleet("ephemeral", 200, rng)
    ceiling = fleet.arrival * fleet.worth / fleet.decay
    x = ceiling * np.minimum(10 ** rng.uniform(-12, 0, 200), 1 - 1e-6)
    right = []
    for s, state in zip(fleet, x, strict=True):
        full, at = mpf(s.arrival) * mpf(s.worth) / mpf(s.decay), mpf(state)
        right.append((at + (full - at) * mp.log(1 - at / full)) / mpf(s.cost))
    assert worst(whittle_index_at(fleet, x), right) < 1e-11


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epoch", [None, 0.7])
def test_state_and_age_agree_where_the_state_is_what_the_age_predicts(kind, epoch):
    seed = 15
    print("seed", seed)
    rng = np.random.default_rng(seed)
    columns = {"arrival": rng.uniform(0.5, 3, 30), "decay": rng.uniform(0.05, 0.5, 30)}
    if "window" in kind:
        columns["window"] = rng.integers(1, 9, 30)
    if "lifetime" in kind:
        columns["lifetime"] = rng.uniform(20, 40, 30)
    if kind == "two_phase":
        columns |= {"kind": kind, "slow_share": 0.3, "slow_decay": 0.02}
    if kind == "freshness":
        columns["kind"] = kind
    fleet = Fleet(**columns)
    age = 0.7 * rng.integers(1, 20, 30)
    state = fleet.harvest.value(age)
    by_state, by_age = whittle_index_at(fleet, state, epoch), whittle_index(fleet, age, epoch)
    np.testing.assert_allclose(by_state, by_age, rtol=1e-10)


@pytest.mark.parametrize("kind", ["lifetime", "window", "two_phase"])
def test_slotted_index_by_state_is_linear_between_the_lattice_states_of_any_kind(kind):
    columns = {
        "lifetime": {"lifetime": 5.3},
        "window": {"window": 4},
        "two_phase": {"kind": "two_phase", "slow_share": 0.4, "slow_decay": 0.05},
    }[kind]
    fleet = Fleet(arrival=2.0, decay=0.4, **columns)
    s, epoch = fleet[0], 1.0
    for k in range(1, 6):
        low, high = harvest(s, (k - 1) * epoch), harvest(s, k * epoch)
        if high == low:
            break
        for share in (0.1, 0.5, 0.93):
            x = float(low + share * (high - low))
            right = (1 - share) * index(s, (k - 1) * epoch, epoch) + share * index(
                s, k * epoch, epoch
            )
            assert worst(whittle_index_at(fleet, x, epoch), [right]) < 1e-11


# ------------------------------------------------------------------ ends and limits
@pytest.mark.parametrize("epoch", [None, 1.0])
def test_nothing_waiting_is_worth_nothing_and_above_the_ceiling_it_is_all_worth_it(epoch):
    fleet = Fleet(arrival=2.0, decay=0.5, worth=3.0, cost=4.0)  # u* = 12
    for x in (-5.0, -0.0, 0.0):
        assert whittle_index_at(fleet, x, epoch)[0] == 0.0
    for x in (12.0, 12.5, 1e9):
        assert whittle_index_at(fleet, x, epoch)[0] == pytest.approx(x / 4)
    just_below = whittle_index_at(fleet, 12.0 * (1 - 1e-13), epoch)[0]
    assert just_below == pytest.approx(3.0, rel=1e-10), "continuous at the ceiling"


@pytest.mark.parametrize("epoch", [None, 1.0])
def test_ends_of_age(epoch):
    fleet = Fleet(
        arrival=[2.0, 2.0, 0.0, 0.0, 2.0, 2.0, 3.0, 4.0],
        decay=[0.5, 0.0, 0.5, 0.0, 0.5, 0.0, 0.5, 0.5],
        lifetime=[np.inf] * 4 + [3.0, 3.0, np.inf, np.inf],
        window=[np.inf] * 6 + [2.0, np.inf],
        kind=["ephemeral"] * 7 + ["freshness"],
        cost=2.0,
    )
    assert (whittle_index(fleet, 0.0, epoch) == 0).all(), "just crawled"
    never = whittle_index(fleet, np.inf, epoch)
    ceiling = fleet.harvest.value(np.full(8, np.inf))
    fading = [0, 2, 3, 4, 5, 6, 7]
    np.testing.assert_allclose(never[fading], ceiling[fading] / 2, err_msg="never crawled")
    # What never fades can wait: crawling it later loses nothing.
    assert whittle_index(fleet, 1.7, epoch)[1] == 0.0
    assert never[1] == 0.0


def test_continuous_time_is_the_limit_of_short_epochs():
    fleet, age = random_fleet("two_phase", 50, np.random.default_rng(3), filled=(-3, 1))
    limit = whittle_index(fleet, age)
    for row in range(50):
        near = whittle_index(fleet.take([row]), age[row], age[row] / 2**20)[0]
        assert near == pytest.approx(limit[row], rel=1e-5)
        assert near >= limit[row], "an epoch in which nothing can be done makes crawling dearer"


rates = st.floats(1e-6, 1e6)


@settings(deadline=None)
@given(rates, rates, st.floats(0, 1e8), st.floats(0, 1e8), st.sampled_from([None, 0.01, 1.0, 50.0]))
def test_index_is_monotone_in_age(arrival, decay, one, two, epoch):
    fleet = Fleet(
        arrival=arrival,
        decay=decay,
        lifetime=[np.inf, 3.0, np.inf, np.inf, np.inf],
        window=[np.inf, np.inf, 3, np.inf, np.inf],
        slow_share=[0, 0, 0, 0.3, 0],
        slow_decay=[0, 0, 0, decay / 50, 0],
        kind=["ephemeral"] * 3 + ["two_phase", "freshness"],
    )
    young, old = (whittle_index(fleet, age, epoch) for age in sorted((one, two)))
    assert (young >= 0).all()
    assert (young <= old * (1 + 1e-12)).all()


@settings(deadline=None)
@given(
    rates, rates, st.floats(-1, 1.5), st.floats(-1, 1.5), st.sampled_from([None, 1e-3, 1.0, 50.0])
)
def test_index_is_monotone_in_state(arrival, decay, one, two, epoch):
    fleet = Fleet(arrival=arrival, decay=decay)
    low, high = (
        whittle_index_at(fleet, share * arrival / decay, epoch)[0] for share in sorted((one, two))
    )
    assert 0 <= low <= high * (1 + 1e-12)


# ------------------------------------------------------------------ a referee
def test_lattice_index_agrees_with_a_general_solver_for_restless_arms():
    """The arm as a Markov chain: waiting moves k to k + 1, crawling pays f_k and moves to 1."""
    before = np.geterr()
    try:
        from markovianbandit import restless_bandit_from_P0P1_R0R1
    finally:
        np.seterr(**before)  # the package changes it when imported
    n = 20  # longer, neighbouring indices of a fast source differ by less than the solver resolves
    for row, s in enumerate(TABLE_I):
        wait, crawl = np.zeros((n, n)), np.zeros((n, n))
        wait[np.arange(n), np.minimum(np.arange(n) + 1, n - 1)] = 1
        crawl[:, 0] = 1
        pays = np.array([float(harvest(s, k)) for k in range(1, n + 1)])
        arm = restless_bandit_from_P0P1_R0R1(wait, crawl, np.zeros(n), pays)
        found = np.array([whittle_index(TABLE_I, float(k), 1.0)[row] for k in range(1, n + 1)])
        assert arm.is_indexable()
        # The last state of the cut chain waits for ever, so it is left out.
        np.testing.assert_allclose(
            np.asarray(arm.whittle_indices())[: n - 1], found[: n - 1], rtol=1e-9
        )


# ------------------------------------------------------------------ arguments
def test_wrong_arguments_are_named():
    for age in (-1.0, np.nan, [1.0, 2.0], [[1.0]], [1, 2, 3, -1e-9]):
        with pytest.raises(BadInput, match="age"):
            whittle_index(TABLE_I, age)
    for state in (np.nan, [1.0, 2.0]):
        with pytest.raises(BadInput, match="state"):
            whittle_index_at(TABLE_I, state)
    with pytest.raises(BadInput, match="threads"):
        whittle_index(TABLE_I, 1.0, threads=0)
    for epoch in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(BadInput, match="epoch"):
            whittle_index(TABLE_I, 1.0, epoch)
        with pytest.raises(BadInput, match="epoch"):
            whittle_index_at(TABLE_I, 1.0, epoch)


def test_inputs_are_left_alone_and_an_empty_fleet_has_no_index():
    age = np.array([1.0, 2.0, 3.0, 4.0])
    state = np.array([-1.0, 10.0, 1e9, 5.0])
    whittle_index(TABLE_I, age, 1.0)
    whittle_index_at(TABLE_I, state, 1.0)
    assert age.tolist() == [1, 2, 3, 4]
    assert state.tolist() == [-1, 10, 1e9, 5]
    empty = Fleet(arrival=[], decay=[])
    assert whittle_index(empty, 1.0).shape == (0,)
    assert whittle_index_at(empty, 1.0, 1.0).shape == (0,)
