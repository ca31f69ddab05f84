"""The stochastic index of a whole fleet, from a table."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.index.law import EpochLaw, WorthLaw
from dayfly.index.stochastic import thresholds
from dayfly.index.table import stochastic_index, table_of
from dayfly.index.whittle import whittle_index_at
from dayfly.model import Fleet

LAWS = ["constant", "exponential", "epoch_exponential"]


def gap(law, fade, count, reach=2.5):
    """Largest difference to a direct solution over the states, in units of u*."""
    ceiling = count / fade
    one = EpochLaw(arrival=count, decay=fade, epoch=1.0, law=law)
    spread = np.sqrt(one.variance / (1 - one.retention**2)) / ceiling
    states = np.concatenate((np.linspace(0.01, reach, 150), 1 + np.linspace(-3, 3, 40) * spread))
    states = np.abs(states) * ceiling
    fleet = Fleet(arrival=np.full(len(states), count), decay=fade)
    direct = thresholds(one, 700).index_at(states)
    return np.abs(stochastic_index(fleet, states, 1.0, law) - direct).max() / ceiling


@pytest.mark.parametrize("law", LAWS)
def test_within_a_thousandth_of_direct_solutions_off_the_nodes(law):
    """The range of the benchmark: α from .3 to .95, 1 to 1000 items per epoch."""
    seed = 21
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for _ in range(15):
        fade, count = -np.log(rng.uniform(0.3, 0.95)), np.exp(rng.uniform(0, np.log(1000)))
        assert gap(law, fade, count) < 1e-3, (fade, count)


@pytest.mark.parametrize("law", LAWS)
def test_close_also_far_outside_that_range(law):
    """Slow and fast fading, rare and countless items."""
    seed = 22
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for low, high, few, many in (
        (0.95, 0.999, 0.05, 10), (0.01, 0.3, 0.3, 300), (0.3, 0.95, 0.01, 1), (0.3, 0.95, 1e3, 1e6),
    ):  # fmt: skip
        for _ in range(2):
            fade = -np.log(rng.uniform(low, high))
            count = np.exp(rng.uniform(np.log(few), np.log(many)))
            assert gap(law, fade, count) < 4e-3, (fade, count)


def test_a_sampler_and_a_shared_sampler_have_tables_too():
    def uniform(rng, size):
        return 2 * rng.random(size)

    for law in (uniform, WorthLaw(shape="sampled", sampler=uniform, shared=True)):
        assert gap(law, 0.6, 40.0) < 1e-3


def test_countless_items_leave_the_deterministic_index():
    """Beyond 1e8 items alive the noise is left out: it would change less than a thousandth."""
    fade = 0.5
    states = np.linspace(0.01, 1.5, 300)
    gaps = []
    for alive in (1e4, 1e6, 0.9e8, 1.1e8):
        fleet = Fleet(arrival=np.full(300, alive * fade), decay=fade, worth=1 / alive)
        found = stochastic_index(fleet, states, 1.0)
        gaps.append(np.abs(found - whittle_index_at(fleet, states, 1.0)).max())
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-3
    assert gaps[3] == 0


def test_with_one_draw_per_epoch_noise_never_vanishes():
    fleet = Fleet(arrival=[1e5, 1e9], decay=0.5, worth=[1e-5, 1e-9])
    a, b = stochastic_index(fleet, 0.7 * 2, 1.0, "epoch_exponential")
    assert a == pytest.approx(b, abs=1e-3)
    assert abs(a - whittle_index_at(fleet, 0.7 * 2, 1.0)[0]) > 0.02


def test_cost_divides_and_worth_scales():
    fleet = Fleet(arrival=30, decay=0.4, worth=[1, 1, 5], cost=[1, 4, 1])
    found = stochastic_index(fleet, [50.0, 50.0, 250.0], 1.0)
    assert found[1] == pytest.approx(found[0] / 4)
    assert found[2] == pytest.approx(5 * found[0])


def test_it_grows_with_the_state_from_zero_to_the_state_itself():
    states = np.concatenate(([-3.0, 0.0], np.geomspace(1e-6, 1e6, 400)))
    for law in LAWS:
        fleet = Fleet(arrival=np.full(len(states), 8.0), decay=0.3, cost=2.0)
        found = stochastic_index(fleet, states, 1.0, law)
        assert (found[:2] == 0).all()
        assert (np.diff(found) >= -1e-3 * 8 / 0.3).all()
        assert found[-1] == pytest.approx(1e6 / 2, rel=1e-6)


def test_sources_without_a_scalar_state_keep_the_deterministic_index():
    fleet = Fleet(
        arrival=[5, 5, 5, 5, 0, 5], decay=[0.2, 0.2, 0.2, 0.0, 0.2, 0.2],
        window=[np.inf, 4, np.inf, np.inf, np.inf, np.inf],
        lifetime=[np.inf, np.inf, 3, np.inf, np.inf, 0.5],
        kind=["two_phase", *["ephemeral"] * 5],
        slow_share=[0.3, 0, 0, 0, 0, 0], slow_decay=[0.01, 0, 0, 0, 0, 0],
    )  # fmt: skip
    found = stochastic_index(fleet, 2.0, 1.0)
    plain = whittle_index_at(fleet, 2.0, 1.0)
    assert found[:5] == pytest.approx(plain[:5])
    assert found[5] == 2.0  # expires within the epoch: what is there now is all there will be


def test_the_epoch_only_sets_the_unit_of_time():
    hours = Fleet(arrival=[6.0, 40.0], decay=[0.2, 0.7])
    seconds = Fleet(arrival=hours.arrival / 3600, decay=hours.decay / 3600)
    a = stochastic_index(hours, [20.0, 50.0], 0.5, "exponential")
    assert stochastic_index(seconds, [20.0, 50.0], 1800.0, "exponential") == pytest.approx(a)


def test_nodes_are_solved_once():
    fleet = Fleet(arrival=[6.0, 40.0, 300.0], decay=[0.2, 0.7, 0.4])
    stochastic_index(fleet, 20.0, 1.0)
    table = table_of(WorthLaw())
    nodes, number = table.place.shape[1], len(table.value)
    again = stochastic_index(fleet, 30.0, 1.0)
    assert (table.place.shape[1], len(table.value)) == (nodes, number)
    assert (again > 0).all()


def test_bad_questions_are_refused():
    fleet = Fleet(arrival=[6.0, 40.0], decay=0.2)
    with pytest.raises(BadInput, match="epoch"):
        stochastic_index(fleet, 1.0, None)
    with pytest.raises(BadInput, match="NaN"):
        stochastic_index(fleet, [1.0, np.nan], 1.0)
    with pytest.raises(BadInput, match="unknown worth law"):
        stochastic_index(fleet, 1.0, 1.0, "lognormal")
