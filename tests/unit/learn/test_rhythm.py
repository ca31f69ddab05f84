"""A learner with rhythm: plain where there is none, better where there is one."""

from functools import partial

import numpy as np
import pytest

from dayfly.estimate.rhythm import hour_of_week
from dayfly.index.phased import Phased
from dayfly.learn import Dayfly
from dayfly.learn.rhythm import Rhythm
from dayfly.simulate.replay import replay
from dayfly.simulate.trace import Trace

HOUR, DAY = 3600.0, 86400.0
START = 4 * DAY


def trace(seed, height, n=40, days=12, per_day=8.0):
    rng = np.random.default_rng(seed)
    times, who = [], []
    for source in range(n):
        hour = np.arange(days * 24)
        wave = np.exp(height * np.cos(2 * np.pi * (hour - source * 7) / 24))
        count = rng.poisson(per_day / 24 * wave / wave.mean())
        times.append(START + HOUR * (np.repeat(hour, count) + rng.random(count.sum())))
        who.append(np.full(count.sum(), source))
    return Trace.from_columns(np.concatenate(who).tolist(), np.concatenate(times))


def share(world, **options):
    return replay(
        world, partial(Dayfly, **options), budget=1, epoch=900.0,
        decay=np.log(2) / (3 * HOUR), start=START,
    )  # fmt: skip


def test_without_rhythm_it_chooses_as_the_plain_learner_does():
    seed = 31
    print("seed", seed)
    world = trace(seed, 0.0, n=20, days=5)
    assert share(world).share == share(world, rhythm=False).share


def test_before_anything_is_known_there_is_no_factor():
    assert Rhythm(3, 0.0, 1e-4).factor(0.0, np.ones(3)) is None


@pytest.mark.acceptance
def test_with_rhythm_it_catches_more():
    seed = 32
    print("seed", seed)
    world = trace(seed, 1.5)
    assert share(world).share > 1.02 * share(world, rhythm=False).share


def bursts(seed, n=60, days=10):
    """Five items within minutes, at any time of any day."""
    rng = np.random.default_rng(seed)
    when = START + DAY * np.repeat(rng.random((n, 20)) * days, 5, axis=1)
    when += rng.random(when.shape) * 600
    return Trace.from_columns(np.repeat(np.arange(n), when.shape[1]).tolist(), when.ravel())


def test_bursts_are_not_taken_for_a_rhythm():
    seed = 33
    print("seed", seed)
    world = bursts(seed)
    assert share(world).share == share(world, rhythm=False).share


def test_the_factor_is_that_of_each_source_s_own_table():
    seed = 34
    print("seed", seed)
    rng = np.random.default_rng(seed)
    rhythm = Rhythm(3, 0.0, np.log(2) / (3 * HOUR))
    counts = np.array([[40, 2, 2, 2, 2, 40], [10] * 6, [2, 2, 40, 40, 2, 2]], dtype=float)
    rhythm.estimator.count_[:], rhythm.estimator.exposure_[:] = counts, 30 * DAY / 6
    rhythm.fit(30 * DAY, np.ones(3))
    found = rhythm.estimator.rhythms(np.ones(3))
    assert found.shape[0] >= 0 > found.shape[1]
    for now in rng.uniform(30 * DAY, 60 * DAY, 5):
        age = rng.uniform(0, 5 * DAY, 3)
        factor = rhythm.factor(now, age)
        assert factor[1] == 1
        for row in (0, 2):
            table = Phased.of(found.profiles[found.shape[row]], np.log(2) / 3)
            alone = table.factor(hour_of_week(now) - found.shift[row], age[row] / HOUR)
            assert factor[row] == pytest.approx(float(alone), rel=1e-12)
