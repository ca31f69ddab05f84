"""What one epoch adds to a source, simulated and computed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dayfly.errors import BadInput
from dayfly.index import law as module
from dayfly.index.law import EpochLaw, WorthLaw, draw, worth_law


def gamma_worth(rng, size):
    """Relative worths with mean 1 and variance 2."""
    return rng.gamma(0.5, 2.0, size)


SHARED = WorthLaw(shape="sampled", sampler=gamma_worth, shared=True)
LAWS = ["constant", "exponential", "epoch_exponential", gamma_worth, SHARED]
CASES = [(0.3, 0.7), (3.0, 0.0), (20.0, 2.5), (250.0, 0.7)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("arrival", "decay"), CASES)
def test_mean_and_variance_are_those_of_simulated_epochs(law, arrival, decay):
    seed = 7
    print("seed", seed)
    one = EpochLaw(arrival=arrival, decay=decay, epoch=1.0, worth=0.4, law=law)
    drawn = one.sample(np.random.default_rng(seed), 20_000)
    error = drawn.std() / np.sqrt(len(drawn))
    assert drawn.mean() == pytest.approx(one.mean, abs=4.5 * error)
    squares = np.square(drawn - one.mean)
    assert squares.mean() == pytest.approx(
        one.variance, abs=4.5 * squares.std() / np.sqrt(len(drawn))
    )


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("arrival", "decay"), CASES)
def test_the_computed_law_is_the_simulated_one(law, arrival, decay):
    """E(t − U)⁺ for all t determines a law."""
    seed = 8
    print("seed", seed)
    one = EpochLaw(arrival=arrival, decay=decay, epoch=1.0, worth=0.4, law=law)
    drawn = one.sample(np.random.default_rng(seed), 20_000)
    for t in np.quantile(drawn, [0.05, 0.3, 0.6, 0.9, 0.99]) + 1e-3:
        short = np.maximum(t - drawn, 0.0)
        error = short.std() / np.sqrt(len(drawn))
        computed = one.lattice.shortfall(np.array([t]))[0]
        assert computed == pytest.approx(
            short.mean(), abs=4.5 * error + 2e-4 * np.sqrt(one.variance)
        )


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("count", [1e-3, 0.1, 30.0, 1e4, 1e6])
@pytest.mark.parametrize("decay", [0.0, 0.05, 5.0])
def test_mean_and_variance_survive_the_lattice_from_rare_to_countless_items(law, count, decay):
    one = EpochLaw(arrival=count, decay=decay, epoch=1.0, worth=2.0, law=law)
    lattice = one.lattice
    mean = lattice.points @ lattice.weight
    assert lattice.weight.sum() == pytest.approx(1.0, abs=1e-12)
    assert mean == pytest.approx(one.mean, rel=1e-5)
    assert lattice.weight @ np.square(lattice.points - mean) == pytest.approx(
        one.variance, rel=3e-3
    )


def test_items_that_do_not_fade_make_a_poisson_law():
    one = EpochLaw(arrival=3.0, decay=0.0, epoch=1.0, worth=2.0)
    weight = np.exp(-3.0)
    for k in range(12):
        near = np.abs(one.lattice.points - 2.0 * k) < 1e-9
        assert one.lattice.weight[near].sum() == pytest.approx(weight, abs=1e-12)
        weight *= 3.0 / (k + 1)


@pytest.mark.parametrize("count", [0.5, 30.0, 5000.0])
def test_exponential_worths_have_their_closed_characteristic_function(count):
    """((1 − iθwα)/(1 − iθw))^(ν/L)."""
    decay, worth = 0.7, 1.5
    one = EpochLaw(arrival=count, decay=decay, epoch=1.0, worth=worth, law="exponential")
    for theta in np.array([0.05, 0.3, 1.0]) / np.sqrt(one.variance + worth**2):
        exact = ((1 - 1j * theta * worth * np.exp(-decay)) / (1 - 1j * theta * worth)) ** (
            count / decay
        )
        found = one.lattice.weight @ np.exp(1j * theta * one.lattice.points)
        assert abs(found - exact) < 1e-4


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("count", [1e-3, 1.0, 250.0, 1e6])
@pytest.mark.parametrize("n", [2, 40])
def test_atoms_are_a_law_with_exactly_the_mean(law, count, n):
    one = EpochLaw(arrival=count, decay=0.7, epoch=1.0, worth=0.3, law=law)
    points, weights = one.atoms(n)
    assert len(points) <= n
    assert (points >= 0).all()
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert points @ weights == pytest.approx(one.mean, rel=1e-13)
    if n == 40:
        assert weights @ np.square(points - one.mean) == pytest.approx(one.variance, rel=1e-2)


def test_an_epoch_without_arrivals_is_an_atom_at_zero():
    points, weights = EpochLaw(arrival=1.5, decay=0.3, epoch=1.0).atoms(30)
    assert points[0] == 0
    assert weights[0] == pytest.approx(np.exp(-1.5), rel=1e-9)


@given(
    count=st.floats(1e-3, 1e4),
    decay=st.floats(0, 8),
    worth=st.floats(1e-3, 1e3),
    law=st.sampled_from(["constant", "exponential", "epoch_exponential"]),
)
@settings(max_examples=60, deadline=None)
def test_shortfall_is_convex_between_zero_and_its_limits(count, decay, worth, law):
    one = EpochLaw(arrival=count, decay=decay, epoch=1.0, worth=worth, law=law)
    t = np.linspace(0, 4 * (one.mean + np.sqrt(one.variance)), 80)
    short = one.lattice.shortfall(t)
    slope = np.diff(short) / np.diff(t)
    assert (np.diff(slope) > -1e-6).all()
    assert (short >= t - one.mean - 1e-6 * one.mean - 1e-9 * worth).all()
    assert (short <= t).all()


def test_a_short_lifetime_leaves_only_the_last_items():
    one = EpochLaw(arrival=40.0, decay=0.5, epoch=2.0, lifetime=0.25)
    drawn = one.sample(np.random.default_rng(3), 20_000)
    assert one.mean == pytest.approx(40 / 0.5 * (1 - np.exp(-0.125)))
    assert drawn.mean() == pytest.approx(one.mean, abs=4.5 * drawn.std() / np.sqrt(len(drawn)))
    assert one.retention == 0.0


def test_a_lifetime_longer_than_the_epoch_has_no_scalar_state():
    one = EpochLaw(arrival=40.0, decay=0.5, epoch=2.0, lifetime=3.0)
    with pytest.raises(BadInput, match="no state of one number"):
        _ = one.retention


def test_drawing_in_blocks_changes_nothing(monkeypatch):
    """A block may end in the middle of a source, or hold many."""
    arrival = np.array([0.0, 3.0, 500.0, 0.5, 2.0, 0.0, 1200.0])
    whole = draw(np.random.default_rng(1), arrival, 0.7, 2.0, 1.5)
    monkeypatch.setattr(module, "BLOCK", 37)
    pieces = draw(np.random.default_rng(1), arrival, 0.7, 2.0, 1.5)
    assert pieces == pytest.approx(whole, rel=1e-12)
    assert (whole[[0, 5]] == 0).all()


def test_without_fading_a_draw_counts_items():
    counts = draw(np.random.default_rng(2), np.full(5000, 12.0), 0.0, 1.0, 1.0)
    assert (counts == np.rint(counts)).all()
    assert counts.mean() == pytest.approx(12.0, abs=4.5 * np.sqrt(12 / 5000))
    assert counts.var() == pytest.approx(12.0, rel=0.1)


def test_columns_of_a_draw_belong_to_their_sources():
    arrival, decay = np.array([10.0, 400.0]), np.array([2.0, 0.1])
    rng = np.random.default_rng(4)
    drawn = np.array(
        [draw(rng, arrival, decay, [1.0, 3.0], 1.0, "exponential") for _ in range(4000)]
    )
    for row in range(2):
        one = EpochLaw(
            arrival=arrival[row], decay=decay[row], epoch=1.0, worth=[1.0, 3.0][row],
            law="exponential",
        )  # fmt: skip
        error = np.sqrt(one.variance / len(drawn))
        assert drawn[:, row].mean() == pytest.approx(one.mean, abs=4.5 * error)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.08


def test_no_sources_draw_nothing():
    assert draw(np.random.default_rng(0), np.empty(0), 1.0, 1.0, 1.0).shape == (0,)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"arrival": -1.0}, "arrival"),
        ({"decay": np.nan}, "decay"),
        ({"epoch": 0.0}, "epoch"),
        ({"lifetime": 0.0}, "lifetime"),
        ({"law": "exponental"}, "did you mean 'exponential'"),
        ({"law": WorthLaw(shape="sampled")}, "sampler"),
    ],
)
def test_bad_laws_say_what_is_wrong(wrong, message):
    with pytest.raises(BadInput, match=message):
        EpochLaw(**{"arrival": 1.0, "decay": 1.0, "epoch": 1.0, **wrong})


def test_a_sampler_must_have_mean_one():
    with pytest.raises(BadInput, match="mean 1"):
        _ = EpochLaw(
            arrival=1, decay=1, epoch=1, law=lambda rng, n: rng.gamma(2.0, 1.0, n)
        ).variance


def test_a_sampler_must_return_worths():
    law = worth_law(lambda rng, n: -rng.random(n))
    with pytest.raises(BadInput, match="none negative"):
        law.draw(np.random.default_rng(0), 5)
