"""The learning schemes (32) and (33)–(36): printed they miss the index, corrected they find it."""

import numpy as np
import pytest

from dayfly.errors import UnknownName
from dayfly.index.law import EpochLaw
from dayfly.index.learned import approximate, two_time_scales
from dayfly.index.literal import literal_index

CEILING = 250 / 0.7
STEPS = 6000


def source_1(law):
    return EpochLaw(arrival=250, decay=0.7, epoch=1.0, law=law)


def settled(path):
    """Mean of the last third, and a standard error from its blocks (neighbours hang together)."""
    blocks = path[-len(path) // 3 :][: 8 * (len(path) // 24)].reshape(8, -1).mean(axis=1)
    return blocks.mean(), max(blocks.std(ddof=1), 0.002 * CEILING)


@pytest.mark.parametrize("scheme", [approximate, two_time_scales])
@pytest.mark.parametrize(("law", "where"), [("constant", 0.6), ("epoch_exponential", 0.9)])
def test_corrected_schemes_find_the_index_of_the_solver(scheme, law, where):
    seed = 17
    print("seed", seed)
    one = source_1(law)
    path = scheme(one, where * CEILING, np.random.default_rng(seed), steps=STEPS)
    mean, error = settled(path)
    assert mean == pytest.approx(literal_index(one, where * CEILING), abs=4 * error)
    assert path.shape == (STEPS + 1,)
    assert path[0] == where * CEILING


def test_the_printed_approximation_finds_the_printed_number():
    one = source_1("epoch_exponential")
    path = approximate(
        one, 0.45 * CEILING, np.random.default_rng(2), steps=10 * STEPS, normalisation="printed"
    )
    mean, error = settled(path)
    assert mean == pytest.approx(literal_index(one, 0.45 * CEILING, "printed"), abs=4 * error)
    assert mean < literal_index(one, 0.45 * CEILING) - 4 * error


def test_the_printed_two_time_scales_end_far_above_the_index():
    """Theory: 321 where 124.3 is right (source 1, Poisson, .6 u*)."""
    one = source_1("constant")
    path = two_time_scales(
        one, 0.6 * CEILING, np.random.default_rng(2), steps=STEPS, normalisation="printed"
    )
    mean, _ = settled(path)
    assert mean == pytest.approx(321, rel=0.02)


def test_without_damping_the_iteration_oscillates_where_the_cycle_is_periodic():
    one = source_1("constant")
    path = two_time_scales(one, 0.6 * CEILING, np.random.default_rng(2), steps=300, damping=1.0)
    assert np.abs(path).max() > 100 * CEILING


@pytest.mark.parametrize("scheme", [approximate, two_time_scales])
def test_cost_divides_and_a_seed_repeats_the_path(scheme):
    one = source_1("exponential")
    a, b = (
        scheme(one, 200.0, np.random.default_rng(1), steps=50, points=40, cost=cost)
        for cost in (1.0, 4.0)
    )
    assert b == pytest.approx(a / 4)


@pytest.mark.parametrize("scheme", [approximate, two_time_scales])
def test_an_unknown_normalisation_is_refused(scheme):
    with pytest.raises(UnknownName, match="normalisation"):
        scheme(source_1("constant"), 200.0, np.random.default_rng(1), normalisation="best")
