"""The route of [J §VIII], as printed and corrected."""

import numpy as np
import pytest

from dayfly.errors import BadInput, UnknownName
from dayfly.index.law import EpochLaw
from dayfly.index.literal import Equations, literal_index

CEILING = 250 / 0.7


def source_1(law="constant"):
    return EpochLaw(arrival=250, decay=0.7, epoch=1.0, law=law)


def by_simulation(law, threshold, rng, n=20_000):
    """Cγ = η(x̌ − h)/y + H from simulated passages."""

    def passage(x):
        steps = np.zeros(len(x))
        below = x < threshold
        while below.any():
            x[below] = law.retention * x[below] + law.sample(rng, int(below.sum()))
            steps[below] += 1
            below = x < threshold
        return steps.mean(), x.mean()

    wait, found = passage(law.retention * threshold + law.sample(rng, n))
    first, harvest = passage(law.sample(rng, n))
    return (1 + first) * (threshold - found) / (1 + wait) + harvest


def test_the_printed_normalisation_misses_the_index():
    """Theory: 107.4 against 70.5, on a grid of 300 states."""
    one = source_1("epoch_exponential")
    right, printed = (literal_index(one, 0.45 * CEILING, how) for how in ("corrected", "printed"))
    assert right == pytest.approx(107.4, rel=0.011)
    assert printed == pytest.approx(70.5, rel=0.011)


@pytest.mark.parametrize("where", [0.45, 0.9])
def test_the_corrected_normalisation_agrees_with_simulated_passages(where):
    seed = 3
    print("seed", seed)
    one = EpochLaw(arrival=5, decay=0.7, epoch=1.0, law="epoch_exponential")
    threshold = where * 5 / 0.7
    rng = np.random.default_rng(seed)
    simulated = np.array([by_simulation(one, threshold, rng) for _ in range(12)])
    error = simulated.std(ddof=1) / np.sqrt(len(simulated))
    assert error < 0.01 * threshold
    assert literal_index(one, threshold) == pytest.approx(simulated.mean(), abs=4 * error)


def test_cost_divides():
    one = source_1()
    assert literal_index(one, 200.0, cost=4.0) == pytest.approx(literal_index(one, 200.0) / 4)


def test_the_value_function_meets_its_normalisation_and_is_continuous_at_its_index():
    one = source_1("epoch_exponential")
    threshold = 0.7 * CEILING
    price = literal_index(one, threshold)
    equations = Equations.at(one, threshold)
    gain = equations.gain(price)
    value = equations.value(price, gain)
    assert value[-1] == pytest.approx(threshold - gain, rel=1e-9)
    assert value[0] == pytest.approx(price - gain, rel=1e-9)  # ∫V dφ = 0
    assert (np.diff(value) > 0).all()
    printed = equations.gain(price, "printed")
    at_mean = np.interp(one.mean, equations.state, equations.value(price, printed))
    assert at_mean == pytest.approx(0.0, abs=1e-9 * threshold)


def test_bad_questions_are_refused():
    with pytest.raises(BadInput, match="threshold"):
        literal_index(source_1(), 0.0)
    with pytest.raises(UnknownName, match="did you mean 'printed'"):
        literal_index(source_1(), 100.0, "print")
