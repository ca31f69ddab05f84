"""Decay and worth from event ages, against known truth and on recorded votes and shares."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.estimate.events import (
    DEFAULT_DECAY,
    EventEstimator,
    decay_from_mean,
    one_phase,
    two_phase,
)

HOUR = 3600.0


def truncated(rng, decay, window, n):
    return -np.log1p(-rng.random(n) * -np.expm1(-decay * window)) / decay


def test_the_mean_of_the_truncated_law_gives_its_decay():
    decay = np.array([1e-6, 0.1, 1.0, 30.0])
    mean = 1 / decay - 2.0 / np.expm1(decay * 2.0)
    np.testing.assert_allclose(decay_from_mean(mean, 2.0)[1:], decay[1:], rtol=1e-8)
    assert decay_from_mean([1.2], 2.0)[0] == 0.0  # events that grow with age do not fade


def test_one_phase_is_found():
    seed = 1
    print("seed", seed)
    ages = truncated(np.random.default_rng(seed), 0.5, 3.0, 20_000)
    assert one_phase(ages, 3.0).decay == pytest.approx(0.5, rel=0.1)


def test_two_phases_are_found_and_preferred():
    seed = 2
    print("seed", seed)
    rng = np.random.default_rng(seed)
    fast, slow = rng.exponential(1.0, 3_000), rng.exponential(10.0, 2_000)
    ages = np.concatenate([fast, slow])
    ages = ages[ages <= 30.0]
    found, single = two_phase(ages, 30.0), one_phase(ages, 30.0)
    assert found.decay == pytest.approx(1.0, rel=0.15)
    assert found.slow_decay == pytest.approx(0.1, rel=0.15)
    assert found.slow_share == pytest.approx(0.4, abs=0.05)
    assert found.log_likelihood > single.log_likelihood + 100
    left = 0.6 * np.exp(-found.half_life) + 0.4 * np.exp(-0.1 * found.half_life)
    assert left == pytest.approx(0.5, abs=0.03)


def test_sources_are_shrunk_towards_the_fleet():
    seed = 3
    print("seed", seed)
    rng = np.random.default_rng(seed)
    estimator = EventEstimator(3, window=48 * HOUR)
    assert estimator.decay().tolist() == [DEFAULT_DECAY] * 3
    assert estimator.worth().tolist() == [1.0] * 3
    ages = truncated(rng, 1 / HOUR, 48 * HOUR, 5000)
    estimator.learn(np.zeros(5000, int), ages, np.array([100, 0, 0]))
    estimator.learn(np.full(2, 1), np.array([HOUR, 90 * HOUR]), np.array([0, 2, 0]))
    decay = estimator.decay()
    assert decay[0] == pytest.approx(1 / HOUR, rel=0.05)
    assert decay[2] == pytest.approx(decay[0], rel=0.01)
    worth = estimator.worth()
    assert worth[0] == pytest.approx(50, rel=0.03)
    assert worth[1] < worth[2]


def test_nothing_to_fit_is_told():
    with pytest.raises(BadInput, match="default half-life"):
        one_phase(np.array([]), 1.0)
    with pytest.raises(BadInput, match="between 0 and the window"):
        two_phase(np.array([2.0]), 1.0)
    with pytest.raises(BadInput, match="window"):
        EventEstimator(1, window=0.0)


def data() -> Path:
    folder = Path(os.environ.get("DAYFLY_DATA", Path(__file__).parents[4] / "shared" / "data"))
    if not (folder / "social_feedback_palestine.csv.gz").exists():
        pytest.skip("no recorded data: set DAYFLY_DATA to the folder that holds it")
    return folder


def test_shares_of_news_fade_within_a_day():
    """Items of one platform, counted every 20 minutes for two days."""
    counts = np.zeros(143)
    with gzip.open(data() / "social_feedback_palestine.csv.gz", "rt") as file:
        for number, line in enumerate(csv.reader(file)):
            if number == 1500:
                break
            # Those that were watched from the first hour on.
            if number and float(line[4]) >= 0:
                counts += np.diff(np.maximum(np.array(line[2:], dtype=float), 0.0))
    ages = (np.arange(143) + 1.5) * 1200.0
    single, double = one_phase(ages, 48 * HOUR, counts), two_phase(ages, 48 * HOUR, counts)
    print("half-lives, h:", single.half_life / HOUR, double.half_life / HOUR)
    assert double.log_likelihood >= single.log_likelihood - 1e-6
    assert 1.0 < single.half_life / HOUR < 24.0
