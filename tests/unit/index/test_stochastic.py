"""The stochastic index against a public exact solver, simulation, and Theorem 1."""

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dayfly.errors import BadInput
from dayfly.index.law import EpochLaw
from dayfly.index.literal import literal_index
from dayfly.index.stochastic import grid, scalar_state, thresholds
from dayfly.model import Fleet

LAWS = ["constant", "exponential", "epoch_exponential"]


def theorem_1(x, alpha):
    """[J, Theorem 1] in units of u*, and x above u*."""
    if x >= 1:
        return x
    eta = np.ceil(np.log(1 - x) / np.log(alpha) - 1e-12)
    return eta * ((1 - alpha) * x - (1 - alpha)) + 1 - alpha**eta


def referee(law, top, n, seed):
    """Indices of the discretised arm by markovianbandit, the arm built from simulated epochs."""
    errors, state = np.geterr(), np.random.get_state()  # noqa: NPY002
    import markovianbandit

    np.seterr(**errors)
    x = np.linspace(0.0, top, n)
    drawn = law.sample(np.random.default_rng(seed), 20_000)

    def row(start):
        place = np.minimum((start + drawn) / x[1], n - 1)
        left = np.minimum(place.astype(int), n - 2)
        share = place - left
        weight = np.bincount(left, 1 - share, n) + np.bincount(left + 1, share, n)
        return weight / weight.sum()

    passive = np.array([row(law.retention * start) for start in x])
    active = np.tile(row(0.0), (n, 1))
    arm = markovianbandit.restless_bandit_from_P0P1_R0R1(passive, active, np.zeros(n), x)
    with np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        found = arm.whittle_indices(check_indexability=False)
    np.random.set_state(state)  # noqa: NPY002
    return x, np.asarray(found)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("arrival", "decay"), [(4.0, 0.4), (30.0, 0.7), (250.0, 0.7)])
def test_the_index_is_that_of_the_discretised_arm(law, arrival, decay):
    seed = 5
    print("seed", seed)
    one = EpochLaw(arrival=arrival, decay=decay, epoch=1.0, law=law)
    ceiling = arrival / decay
    top = 6.0 * ceiling if law == "epoch_exponential" else (1 + 4 / np.sqrt(ceiling)) * ceiling
    states, expected = referee(one, top, 240, seed)
    found = thresholds(one, 400).index_at(states)
    # The last states know nothing of what lies above them.
    inner = states < 0.75 * top
    assert found[inner] == pytest.approx(expected[inner], abs=6e-3 * ceiling)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("where", [0.2, 0.45, 0.6, 0.9, 1.0, 1.3])
def test_all_thresholds_at_once_are_the_equations_of_the_paper_one_by_one(law, where):
    one = EpochLaw(arrival=60.0, decay=0.5, epoch=1.0, worth=0.3, law=law)
    x = where * 60 * 0.3 / 0.5
    found = thresholds(one, 600).index_at(np.array([x]))[0]
    assert found == pytest.approx(literal_index(one, x), abs=5e-4 * 60 * 0.3 / 0.5)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("where", [0.6, 1.1])
def test_reward_and_activity_are_those_of_a_simulated_threshold_policy(law, where):
    seed = 11
    print("seed", seed)
    one = EpochLaw(arrival=20.0, decay=0.6, epoch=1.0, law=law)
    solved = thresholds(one, 800)
    row = int(np.argmin(np.abs(solved.state - where * 20 / 0.6)))
    threshold = solved.state[row]
    rng = np.random.default_rng(seed)
    x = one.sample(rng, 4000)
    reward, crawls = [], []
    for epoch in range(120):
        due = x >= threshold
        if epoch >= 20:
            reward.append(x[due].sum() / len(x))
            crawls.append(due.mean())
        x = np.where(due, 0.0, one.retention * x) + one.sample(rng, len(x))
    # A threshold on a grid is blurred by half a cell; so are its reward and activity.
    low, high = solved.activity[row + 1], solved.activity[row - 1]
    assert low - 0.004 < np.mean(crawls) < high + 0.004
    low, high = solved.reward[[row - 1, row + 1]].min(), solved.reward[[row - 1, row + 1]].max()
    assert low - 0.01 * one.mean < np.mean(reward) < high + 0.01 * one.mean


@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.8])
def test_without_noise_the_index_is_theorem_1_at_recurrent_states(alpha):
    """Many items of little worth: the variance goes to 0."""
    decay = -np.log(alpha)
    for k in (1, 2, 3):
        x = 1 - alpha**k
        gaps = []
        for arrival in (1e3, 1e5, 1e7):
            one = EpochLaw(arrival=arrival, decay=decay, epoch=1.0, worth=decay / arrival)
            gaps.append(abs(thresholds(one, 800).index_at(np.array([x]))[0] - theorem_1(x, alpha)))
        assert gaps[-1] < 1e-3
        assert gaps[-1] <= gaps[0]


@given(
    count=st.floats(0.3, 2000),
    fade=st.floats(0.1, 3),
    law=st.sampled_from(LAWS),
    worth=st.floats(1e-3, 1e3),
)
@settings(max_examples=30, deadline=None)
def test_the_index_grows_with_the_state_and_stays_below_it(count, fade, law, worth):
    one = EpochLaw(arrival=count, decay=fade, epoch=1.0, worth=worth, law=law)
    solved = thresholds(one, 150)
    ceiling = one.mean / (1 - one.retention)
    assert solved.index[0] == 0
    assert (np.diff(solved.index) > -1e-6 * ceiling).all()
    assert (solved.index <= solved.state * (1 + 1e-9) + 1e-6 * ceiling).all()
    assert (np.diff(solved.cycle) > -1e-9 * solved.cycle[1:]).all()
    # Far above the ceiling nothing is gained by waiting.
    assert solved.index[-1] == pytest.approx(solved.state[-1], rel=2e-2)


@given(scale=st.floats(1e-6, 1e6), law=st.sampled_from(LAWS))
@settings(max_examples=15, deadline=None)
def test_the_index_scales_with_worth(scale, law):
    one = EpochLaw(arrival=12, decay=0.6, epoch=1.0, law=law)
    other = EpochLaw(arrival=12, decay=0.6, epoch=1.0, worth=scale, law=law)
    a, b = thresholds(one, 80), thresholds(other, 80)
    assert b.index == pytest.approx(scale * a.index, rel=1e-6, abs=1e-9 * scale)


@pytest.mark.parametrize("law", LAWS)
def test_items_that_expire_within_the_epoch_leave_a_myopic_index(law):
    """Nothing of today is there tomorrow: crawl what is worth most now."""
    one = EpochLaw(arrival=12, decay=0.6, epoch=1.0, lifetime=0.7, law=law)
    solved = thresholds(one, 200)
    assert solved.index == pytest.approx(solved.state, abs=1e-6 * one.mean)


def test_a_discount_near_one_gives_the_average_index():
    one = EpochLaw(arrival=12, decay=0.6, epoch=1.0)
    average = thresholds(one, 200).index
    gaps = [np.abs(thresholds(one, 200, d).index - average)[:150].max() for d in (0.9, 0.99, 0.999)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.02 * one.mean


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.98])
def test_a_discounted_index_makes_both_actions_equal(discount):
    """Value iteration of [J 24] at the price that the solver finds."""
    one = EpochLaw(arrival=12, decay=0.6, epoch=1.0, law="exponential")
    x = grid(one, 120)
    solved = thresholds(one, x, discount)
    points, weights = one.atoms(300)
    ahead = one.retention * x[:, None] + points
    for k in (20, 50, 70):
        price, value = solved.index[k], np.zeros(len(x))
        for _ in range(400 if discount < 0.95 else 1500):
            beyond = np.maximum(ahead - x[-1], 0.0)
            passive = price + discount * ((np.interp(ahead, x, value) + beyond) @ weights)
            active = x + discount * (np.interp(points, x, value) @ weights)
            value = np.maximum(passive, active)
        assert passive[k] - active[k] == pytest.approx(0.0, abs=2e-3 * one.mean / 0.45)


def test_the_papers_source_1():
    one = EpochLaw(arrival=250, decay=0.7, epoch=1.0)
    ceiling = 250 / 0.7
    found = thresholds(one, 800).index_at(np.array([0.6]) * ceiling)[0]
    assert found == pytest.approx(124.3, rel=0.01)  # printed for a grid of 300 states
    assert found == pytest.approx(125.24, abs=0.02)


def test_only_some_sources_have_a_scalar_state():
    fleet = Fleet(
        arrival=1, decay=0.1, lifetime=[np.inf, 1, 3, np.inf, np.inf, np.inf],
        window=[np.inf, np.inf, np.inf, 5, np.inf, np.inf],
        kind=["ephemeral"] * 4 + ["freshness", "two_phase"],
    )  # fmt: skip
    assert list(scalar_state(fleet, 2.0)) == [True, True, False, False, False, False]


def test_bad_questions_are_refused():
    one = EpochLaw(arrival=12, decay=0.6, epoch=1.0)
    with pytest.raises(BadInput, match="discount"):
        thresholds(one, discount=1.5)
    with pytest.raises(BadInput, match="increase from 0"):
        thresholds(one, np.array([1.0, 2.0]))
    with pytest.raises(BadInput, match="never fade"):
        thresholds(EpochLaw(arrival=12, decay=0.0, epoch=1.0))
