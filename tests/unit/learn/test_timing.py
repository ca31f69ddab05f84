"""When a source that publishes by the clock is due."""

import numpy as np
import pytest

from dayfly.estimate.daytime import no_hours
from dayfly.estimate.family import stronger, wave
from dayfly.index.phased import Phased
from dayfly.learn.score import AGES, between, due_ages
from dayfly.learn.timing import Timing
from dayfly.model.special import rise

HOUR, DAY = 3600.0, 86400.0
MIDNIGHT = 19_000 * DAY
#: A power of √2 per hour, so that the table is that of this very decay.
DECAY = 2.0**-3 / HOUR


def remembered(peaks, strength=1.5, items=60.0):
    """Sources that have published most at these hours; None at all of them alike."""
    hours = no_hours(len(peaks))
    hours[:, 1::2] = 20 * DAY / 6
    for row, peak in enumerate(peaks):
        profile = np.ones(24) if peak is None else np.exp(strength * np.roll(wave(24), peak))
        hours[row, 0::2] = items * profile.reshape(6, 4).mean(axis=1) / profile.mean()
    return hours


def fitted(peaks, **options):
    timing, n = Timing(len(peaks)), len(peaks)
    assert timing.fit(remembered(peaks, **options), np.ones(n), np.full(n, DECAY))
    return timing


def harvest(ceilings):
    return np.multiply.outer(np.asarray(ceilings, dtype=float), rise(DECAY * AGES))


def test_without_rhythm_nobody_is_due_by_the_hour():
    timing = Timing(3)
    assert not timing.fit(no_hours(3), np.ones(3), np.full(3, DECAY))
    assert not timing.fit(remembered([None] * 3), np.ones(3), np.full(3, DECAY))
    score = harvest([3.0] * 3)
    timing.balance(np.arange(3), score, score, 1.0, cost=np.ones(3), least=300.0)
    assert not len(timing.due(np.arange(3), np.full(3, MIDNIGHT), score, score, 1.0)[0])


def test_the_age_is_the_first_at_which_what_the_hour_makes_of_the_score_reaches_the_price():
    seed = 61
    print("seed", seed)
    rng = np.random.default_rng(seed)
    n = 24
    timing = fitted([0] * n)
    ceiling, since = 10 ** rng.uniform(0.1, 2, n), MIDNIGHT + rng.uniform(0, DAY, n)
    waits = harvest(ceiling)
    score = waits + 0.1 * (AGES / (AGES + DAY)) ** 2
    some, age, top = timing.due(np.arange(n), since, score, waits, 1.0)
    assert some.tolist() == list(range(n))
    assert (top >= score.max(axis=1)).all()
    table = Phased.of(stronger(wave(24))[-1], DECAY * HOUR)
    every = np.arange(60.0, 10 * DAY, 60.0)
    for row in range(n):
        factor = table.factor((since[row] + every) % DAY / HOUR, every / HOUR)
        plain = between(waits[row : row + 1], every[None])[0]
        path = between(score[row : row + 1], every[None])[0] + (factor - 1.0) * plain
        assert age[row] == pytest.approx(every[np.argmax(path >= 1.0)], rel=0.05, abs=120.0)


def test_who_publishes_at_night_is_visited_then_and_who_has_no_rhythm_is_left_alone():
    timing = fitted([0] * 30 + [None] * 5)
    rows = np.arange(35)
    score = harvest(np.full(35, 1.2))
    some, age, _ = timing.due(rows, np.full(35, MIDNIGHT + 9 * HOUR), score, score, 1.0)
    assert some.tolist() == list(range(30))
    hour = (9 + age / HOUR) % 24
    assert ((hour > 20) | (hour < 6)).all()
    assert due_ages(score, 1.0)[0] != pytest.approx(age[0], rel=0.05)


def test_where_all_sleep_at_the_same_time_the_others_are_visited_then():
    timing = fitted([12] * 30 + [None] * 5)
    rows, score = np.arange(35), harvest(np.full(35, 1.5))
    timing.balance(rows, score, score, 1.0, cost=np.ones(35), least=300.0)
    some, age, _ = timing.due(rows, np.full(35, MIDNIGHT + 12 * HOUR), score, score, 1.0)
    assert some.tolist() == list(range(35))
    hour = (12 + age[30:] / HOUR) % 24
    assert ((hour > 18) | (hour < 6)).all()


def test_there_is_no_tide_where_every_source_has_hours_of_its_own():
    peaks = [2 * (n % 12) for n in range(48)]
    timing, score = fitted(peaks), harvest(np.full(48, 3.0))
    timing.balance(np.arange(48), score, score, 1.0, cost=np.ones(48), least=300.0)
    assert timing._tide is None


def test_who_was_never_seen_who_is_due_late_and_whose_news_last_are_not_held_to_the_hour():
    timing, rows = fitted([0] * 4), np.arange(4)
    since = np.array([MIDNIGHT, -np.inf, MIDNIGHT, MIDNIGHT])
    score = harvest(np.full(4, 3.0))
    score[2] = 2.0 * AGES / AGES[-1]
    assert timing.due(rows, since, score, score, 1.0)[0].tolist() == [0, 3]
    lasting = np.array([DECAY, DECAY, DECAY, 0.0])
    assert timing.fit(remembered([0] * 4), np.ones(4), lasting)
    assert timing.due(rows, since, score, score, 1.0)[0].tolist() == [0]


def test_new_sources_have_no_rhythm_yet():
    timing = fitted([0] * 30)
    timing.add(2)
    rows, score = np.array([3, 30, 31]), harvest(np.full(3, 3.0))
    assert timing.due(rows, np.full(3, MIDNIGHT), score, score, 1.0)[0].tolist() == [0]
