"""A learner with rhythm: plain where there is none, better where there is one."""

from functools import partial

import numpy as np
import pytest

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
    plain, with_rhythm = share(world), share(world, rhythm=True)
    assert with_rhythm.share == plain.share


def test_before_anything_is_known_there_is_no_factor():
    assert Rhythm(3, 0.0, 1e-4).factor(0.0, np.ones(3)) is None


@pytest.mark.acceptance
def test_with_rhythm_it_catches_more():
    seed = 32
    print("seed", seed)
    world = trace(seed, 1.5)
    assert share(world, rhythm=True).share > 1.02 * share(world).share
