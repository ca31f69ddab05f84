"""When sources publish: exposure as it was, and the rhythm that simulated feeds have."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.estimate.rhythm import RhythmEstimator, hour_of_week
from dayfly.model import Visits

HOUR, DAY = 3600.0, 86400.0
MONDAY = 4 * DAY  # 1970-01-05


def visit(time, gap, published, new, row=0):
    return Visits(
        time=time, row=np.array([row]), gap=np.array([gap]), start=np.array([0, len(published)]),
        published=np.array(published, dtype=float), worth=np.ones(len(published)),
        new=np.array([new]), value=np.zeros(1),
    )  # fmt: skip


def test_the_week_begins_on_monday():
    assert hour_of_week(MONDAY) == 0.0
    assert hour_of_week(MONDAY + 26.5 * HOUR) == 26.5


def test_exposure_is_the_time_that_timestamps_speak_of():
    estimator = RhythmEstimator(1)
    # A first visit at 6:00 that shows three items: covered since the oldest, at 3:00.
    first = [MONDAY + h * HOUR for h in (3, 4.5, 5)]
    estimator.learn(visit(MONDAY + 6 * HOUR, np.inf, first, 3))
    np.testing.assert_allclose(estimator.exposure_[0] / HOUR, [1, 2, 0, 0, 0, 0])
    assert estimator.count_[0].tolist() == [0, 2, 0, 0, 0, 0]  # the oldest only opens it
    # One more by 13:00, and known ones below it: covered since the last visit.
    estimator.learn(visit(MONDAY + 13 * HOUR, 7 * HOUR, [*first[1:], MONDAY + 9 * HOUR], 1))
    np.testing.assert_allclose(estimator.exposure_[0] / HOUR, [1, 4, 4, 1, 0, 0])
    # A window full of new ones: nothing is known of the time before the oldest.
    late = [MONDAY + h * HOUR for h in (30, 31, 32)]
    estimator.learn(visit(MONDAY + 32 * HOUR, 19 * HOUR, late, 3))
    np.testing.assert_allclose(estimator.exposure_[0] / HOUR, [1, 6, 4, 1, 0, 0])


def test_dates_from_the_future_and_from_long_ago_do_no_harm():
    estimator = RhythmEstimator(1)
    estimator.learn(visit(MONDAY, np.inf, [MONDAY + DAY], 1))
    assert estimator.exposure_.sum() == 0
    estimator.learn(visit(MONDAY + HOUR, HOUR, [0.0, MONDAY + 0.5 * HOUR], 2))
    assert estimator.exposure_.sum() == pytest.approx(HOUR)
    estimator.learn(visit(MONDAY, 0.0, [MONDAY], 0))
    assert np.isfinite(estimator.profile()).all()


def feeds(seed, peaks, height, days, per_day):
    """Visits every three hours to sources that peak at these hours."""
    rng = np.random.default_rng(seed)
    estimator, n = RhythmEstimator(len(peaks)), len(peaks)
    estimator.answered_[:] = MONDAY
    hours = np.arange(24)
    wave = np.exp(height * np.cos(2 * np.pi * (hours + 0.5 - np.asarray(peaks)[:, None]) / 24))
    wave /= wave.mean(axis=1, keepdims=True)
    for step in range(days * 8):
        begin = MONDAY + step * 3 * HOUR
        new = rng.poisson(per_day / 24 * wave[:, (3 * step + np.arange(3)) % 24])
        parts = [
            np.sort(np.repeat(begin + np.arange(3) * HOUR, k) + HOUR * rng.random(k.sum()))
            for k in new
        ]
        start = np.concatenate([[0], np.cumsum([1 + len(part) for part in parts])])
        shown = np.concatenate([np.concatenate([[begin - 1], part]) for part in parts])
        estimator.learn(
            Visits(
                time=begin + 3 * HOUR, row=np.arange(n), gap=np.full(n, 3 * HOUR), start=start,
                published=shown, worth=np.ones(len(shown)), new=new.sum(axis=1), value=np.zeros(n),
            )
        )  # fmt: skip
    return estimator


def test_sources_with_peaks_of_their_own_are_told_apart():
    seed = 21
    print("seed", seed)
    peaks = np.arange(60) * 7 % 24
    found = feeds(seed, peaks, 1.5, days=14, per_day=10).rhythms()
    assert (found.shape >= 0).mean() > 0.9
    for row, peak in enumerate(peaks):
        if found.shape[row] >= 0:
            s = np.roll(found.profiles[found.shape[row]], found.shift[row])[:24]
            off = (np.argmax(s) - peak + 12) % 24 - 12
            assert abs(off) <= 4


def test_where_there_is_no_rhythm_none_is_claimed():
    seed = 22
    print("seed", seed)
    found = feeds(seed, np.zeros(60), 0.0, days=14, per_day=3).rhythms()
    assert (found.shape == -1).all()


def test_a_common_rhythm_reaches_a_source_that_hardly_speaks():
    seed = 23
    print("seed", seed)
    estimator = feeds(seed, np.full(60, 15), 1.5, days=14, per_day=6)
    estimator.count_[0] = 0.0
    found = estimator.rhythms()
    assert found.shape[0] >= 0
    assert abs(np.argmax(estimator.profile()[:24]) - 15) <= 2


def test_sources_are_counted_from_none():
    with pytest.raises(BadInput, match="sources"):
        RhythmEstimator(-1)
