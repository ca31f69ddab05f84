"""Which rhythm a source follows."""

import numpy as np

from dayfly.estimate.family import SHIFTS, Family, stronger, wave

DAYS = 30.0


def drawn(seed, n, strength):
    """Counts and exposure of sources that peak at even hours."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    shift = rng.choice(SHIFTS, n)
    profile = np.exp(strength * wave(24))
    blocks = np.array([np.roll(profile, by).reshape(6, 4).mean(axis=1) for by in shift])
    exposure = rng.uniform(0.5, 1.0, (n, 6)) * DAYS
    return rng.poisson(blocks / blocks.mean(axis=1, keepdims=True) * exposure), exposure, shift


def test_each_source_gets_its_own_hours_whatever_the_time_seen():
    count, exposure, shift = drawn(41, 200, 1.5)
    family = Family(stronger(wave(24)))
    assert family.fit(count, exposure)
    found, by = family.nearest(count, exposure)
    assert (found >= 0).mean() > 0.95
    off = (by - shift + 12) % 24 - 12
    assert np.median(np.abs(off)) <= 2


def test_what_a_sample_of_the_fleet_shows_holds_for_the_others():
    count, exposure, _ = drawn(42, 400, 1.5)
    whole, part = Family(stronger(wave(24))), Family(stronger(wave(24)))
    whole.fit(count, exposure)
    part.fit(count[::4], exposure[::4])
    same = whole.nearest(count, exposure)[1] == part.nearest(count, exposure)[1]
    assert same.mean() > 0.8


def test_none_is_claimed_where_there_is_none_or_nothing_was_seen():
    count, exposure, _ = drawn(43, 200, 0.0)
    family = Family(stronger(wave(24)))
    assert not family.fit(count, exposure)
    assert (family.nearest(count, exposure)[0] == -1).all()
    assert not family.fit(0 * count, exposure)


def test_bursts_are_less_evidence_than_their_number():
    count, exposure, _ = drawn(44, 20, 0.6)
    family = Family(stronger(wave(24)))
    assert family.fit(count, exposure)
    assert not family.fit(count, exposure, burst=16.0)
