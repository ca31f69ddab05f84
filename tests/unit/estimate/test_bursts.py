"""Bursts, against the likelihood written out, a simulated source and its forecast."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.estimate.bursts import Hawkes, fit_bursts, log_likelihood


def simulate(rng, source, end):
    """Ogata's thinning."""
    times, now = [], 0.0
    while True:
        above = source.rate(np.array(times), now) + 1e-12
        now += rng.exponential(1 / above)
        if now > end:
            return np.array(times)
        if rng.random() * above < source.rate(np.array(times), now):
            times.append(now)


def test_the_likelihood_is_that_of_the_rate_integrated():
    source, time = Hawkes(base=0.5, jump=0.8, memory=2.0), np.array([0.3, 0.5, 0.9, 4.0])
    grid = np.linspace(0, 5, 200_001)
    rate = source.base + sum(
        source.jump * np.exp(-source.memory * np.maximum(grid - t, 0)) * (grid > t) for t in time
    )
    at = [source.rate(time[:i], t) for i, t in enumerate(time)]
    expected = np.log(at).sum() - np.trapezoid(rate, grid)
    assert log_likelihood(time, 0.0, 5.0, source) == pytest.approx(expected, abs=1e-3)


def test_a_simulated_source_is_found_again():
    seed = 12
    print("seed", seed)
    true = Hawkes(base=0.3, jump=1.4, memory=2.0)
    time = simulate(np.random.default_rng(seed), true, 700.0)
    found = fit_bursts(time, 0.0, 700.0)
    assert found.jump / found.memory == pytest.approx(0.7, abs=0.15)
    assert found.mean == pytest.approx(len(time) / 700.0, rel=0.15)


def test_the_forecast_solves_its_equation():
    source, decay, rate = Hawkes(base=0.5, jump=0.6, memory=1.5), 0.4, 3.0
    x, step = 0.0, 1e-4
    for n in range(20_000):
        mean = source.mean + (rate - source.mean) * np.exp(-(1.5 - 0.6) * (n + 0.5) * step)
        x += step * (mean - decay * x)
    assert source.harvest(2.0, decay=decay, rate=rate) == pytest.approx(x, rel=1e-3)
    equal = source.harvest([1.0], decay=0.9, rate=rate)  # both speeds alike
    assert equal == pytest.approx(source.harvest([1.0], decay=0.9001, rate=rate), rel=1e-3)


def test_bursts_that_never_end_are_refused():
    with pytest.raises(BadInput, match="never end"):
        Hawkes(base=1.0, jump=2.0, memory=1.0)
    with pytest.raises(BadInput, match="two items"):
        fit_bursts(np.array([1.0]), 0.0, 2.0)
