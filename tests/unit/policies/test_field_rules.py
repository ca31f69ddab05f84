"""Worked values of the field rules, in minutes, and the rules on what polls see."""

import numpy as np
import pytest

from dayfly.policies.field import Polls
from dayfly.policies.field.archive import Archive
from dayfly.policies.field.crawlers import (
    NEWS_CRAWL,
    STORM_CRAWLER,
    MediaCloud,
    Nutch,
    StormCrawler,
    media_cloud,
    nutch,
)
from dayfly.policies.field.readers import (
    AutoTTL,
    ClockGrid,
    CommaFeed,
    EntryFrequency,
    FeedIo,
    GoRead,
    NewsBlur,
    autottl,
    commafeed,
    commafeed_error,
    feed_io,
    feedhq,
    feedhq_errors,
    miniflux_entry_frequency,
    miniflux_round_robin,
    newsblur,
    newsblur_jitter,
)

HOUR, DAY = 60.0, 1440.0


def polls(*documents, time=0.0, gap=60.0, new=None):
    """One poll per document; a document is the ages of its items in minutes."""
    shown = [np.sort(time - np.asarray(ages, dtype=float)) for ages in documents]
    size = [len(times) for times in shown]
    n = len(documents)
    return Polls(
        row=np.arange(n),
        time=np.full(n, time),
        gap=np.full(n, gap),
        start=np.concatenate([[0], np.cumsum(size)]),
        published=np.concatenate([*shown, np.empty(0)]),
        new=np.array(size if new is None else new),
    )


def every(gap, count=20, newest=0.0):
    return newest + gap * np.arange(count)


# B2, B3: Miniflux


def test_b2_is_an_hour_or_the_hint_up_to_a_day():
    hints = np.array([0.0, 30.0, 300.0, 5000.0])
    assert miniflux_round_robin(hints).tolist() == [60, 60, 300, 1440]


@pytest.mark.parametrize(
    ("gap", "minutes"), [(6 * HOUR, 360), (24 * HOUR, 1440), (5.0, 5), (1.0, 5), (50 * HOUR, 1440)]
)
def test_b3_polls_once_per_mean_gap(gap, minutes):
    found = EntryFrequency(1).after(polls(every(gap), gap=np.inf))
    assert found == pytest.approx([minutes])


def test_b3_without_two_items_in_a_week_waits_a_day():
    found = EntryFrequency(3).after(polls([60.0], [60.0, 8 * DAY], [], gap=np.inf))
    assert found.tolist() == [1440, 1440, 1440]


def test_b3_factor_and_hint():
    week, span = np.array([28]), np.array([27 * 360.0])
    assert miniflux_entry_frequency(week, span, factor=4.0).tolist() == [90]
    assert miniflux_entry_frequency(week, span, hint=10 * HOUR).tolist() == [600]


def test_b3_items_of_one_instant_ask_for_the_least():
    assert miniflux_entry_frequency(np.array([5]), np.array([0.0])).tolist() == [5]


# B4: CommaFeed


@pytest.mark.parametrize(
    ("gap", "newest", "minutes"),
    [
        (30.0, 2 * HOUR, 15),
        (6 * HOUR, 2 * HOUR, 60),
        (30.0, 8 * DAY, 60),
        (30.0, 15 * DAY, 120),
        (30.0, 31 * DAY, 240),
        (2.0, 0.0, 5),
    ],
)
def test_b4_takes_half_the_mean_gap_and_backs_off_when_idle(gap, newest, minutes):
    assert CommaFeed().after(polls(every(gap, newest=newest))) == pytest.approx([minutes])


def test_b4_knows_nothing_of_empty_and_single_documents():
    assert CommaFeed().after(polls([], [60.0])).tolist() == [240, 240]


def test_b4_max_age_and_errors():
    assert commafeed(np.array([120.0]), np.array([30.0]), max_age=12 * HOUR).tolist() == [240]
    assert [commafeed_error(count) for count in (1, 2, 3, 4, 6, 9)] == [5, 5, 60, 120, 240, 240]


# B5: NewsBlur


@pytest.mark.parametrize(
    ("stories", "weight", "silent", "minutes"),
    [
        (45, 12, 0, 6),
        (45, 2, 0, 15),
        (45, 1, 0, 45),
        (15, 2, 0, 30),
        (15, 1, 0, 180),
        (29, 2, 0, 2),
        (0, 2, 0, 240),
        (0, 0.1, 60 * DAY, 2880),
        (0, 0.1, np.inf, 1440),
    ],
)
def test_b5_tiers(stories, weight, silent, minutes):
    found = newsblur(np.array([stories]), weight, np.array([silent]))
    assert found == pytest.approx([minutes])


def test_b5_counts_what_it_has_stored_not_what_the_window_shows():
    rule = NewsBlur(1, weight=1.0)
    rule.after(polls(every(HOUR), time=0.0, gap=np.inf))
    found = rule.after(polls(every(HOUR), time=20 * HOUR, gap=20 * HOUR))
    assert found.tolist() == [45]
    month = NewsBlur(1, weight=1.0)
    month.after(polls(every(HOUR), time=0.0, gap=np.inf))
    assert month.after(polls(every(HOUR), time=31 * DAY, new=[0])).tolist() == [240]


def test_b5_adds_a_quarter_at_most_or_as_much_again_when_fast():
    rng = np.random.default_rng(1)
    added = newsblur_jitter(np.repeat([5.0, 100.0], 2000), rng).reshape(2, -1)
    assert 5 <= added[0].min() < 5.1
    assert 9.9 < added[0].max() <= 10
    assert 100 <= added[1].min() < 100.1
    assert 124.9 < added[1].max() <= 125


# B6: Nutch


def test_b6_worked_values():
    assert nutch(np.array([1000.0]), np.array([True]), np.array([0.0]))[1].tolist() == [800]
    interval, due = nutch(np.full(2, 1000.0), np.full(2, False), np.array([500.0, 2000.0]))
    assert interval.tolist() == [1400, 2000]
    assert due == pytest.approx([1250, 1400])


def test_b6_remembers_interval_and_last_change():
    rule = Nutch(1)
    assert rule.after(polls([1.0], time=0.0, gap=np.inf)).tolist() == [1440]
    assert rule.after(polls([1.0], time=1440.0, gap=1440.0)) == pytest.approx([1152])
    found = rule.after(polls([1.0], time=2592.0, gap=1152.0, new=[0]))
    assert found == pytest.approx([1.4 * 1152 - 0.3 * 1152])


# B7, B8: StormCrawler and Common Crawl news


def steps(storm, changed):
    """Polls until the interval stays, and the interval."""
    interval, count = np.array([storm.start]), 0
    while True:
        longer = storm.next(interval, np.array([changed]))
        if longer == interval:
            return count, float(interval[0])
        interval, count = longer, count + 1


def test_b7_worked_values():
    yes_no = np.array([True, False])
    assert STORM_CRAWLER.next(np.full(2, 1440.0), yes_no).tolist() == [750, 2160]
    assert steps(STORM_CRAWLER, True) == (11, 60)
    assert steps(STORM_CRAWLER, False) == (7, 20_160)


def test_b8_worked_values():
    yes_no = np.array([True, False])
    assert NEWS_CRAWL.next(np.full(2, 720.0), yes_no).tolist() == [594, 1080]
    assert steps(NEWS_CRAWL, False) == (13, 129_600)


def test_b7_first_fetch_has_nothing_to_compare_with():
    rule = StormCrawler(1, STORM_CRAWLER)
    assert rule.after(polls([1.0], gap=np.inf)).tolist() == [1440]
    assert rule.after(polls([1.0])).tolist() == [750]
    assert rule.after(polls([1.0], new=[0])).tolist() == [1125]


# B9: Media Cloud


def test_b9_worked_values():
    rule = MediaCloud(3)
    document = every(10.0)
    start = rule.after(polls(document, document, document, gap=np.inf))
    assert start.tolist() == [360, 360, 360]
    found = rule.after(polls(document, document, document, new=[18, 10, 4]))
    assert found.tolist() == [300, 360, 370]
    above = media_cloud(np.array([1000.0]), np.array([0.1]), np.array([0.0]))
    assert above.tolist() == [360]


def test_b9_bounds_and_long_silence():
    known, fresh = np.array([1.0]), np.array([0.0])
    assert media_cloud(np.array([500.0]), known, np.array([32 * DAY])).tolist() == [560]
    assert media_cloud(np.array([500.0]), known, np.array([np.nan])).tolist() == [560]
    assert media_cloud(np.array([1435.0]), known, np.array([0.0])).tolist() == [1440]
    assert media_cloud(np.array([40.0]), fresh, np.array([0.0])).tolist() == [10]


def test_b9_empty_document_counts_as_unchanged():
    rule = MediaCloud(1)
    rule.after(polls([], gap=np.inf))
    assert rule.after(polls([])).tolist() == [420]


# B10: AutoTTL


def test_b10_worked_values():
    found = autottl(np.array([100, 10]), np.array([29 * DAY, 20 * DAY]))
    assert found.astype(int).tolist() == [417, 1440]


def test_b10_bounds():
    rule = AutoTTL(4)
    found = rule.after(polls(every(10.0), [5.0], [], every(40 * DAY), gap=np.inf))
    assert found.tolist() == [60, 1440, 1440, 1440]


# B11: feed-io


def test_b11_worked_value():
    found = feed_io(np.array([60.0]), np.array([240.0]), np.array([180.0]))
    assert found == pytest.approx([138])


def test_b11_on_documents():
    # Gaps of 1 h and 5 h: mean = median 3 h.
    found = FeedIo().after(polls([30.0, 90.0, 390.0], every(DAY, newest=9 * DAY), [], [60.0]))
    assert found == pytest.approx([1.1 * 180 - 30, 1440, 1440, 60])


def test_b11_takes_the_larger_gap_when_the_smaller_has_passed_and_then_an_hour():
    silent = np.array([150.0, 300.0])
    found = feed_io(silent, np.full(2, 240.0), np.full(2, 120.0))
    assert found == pytest.approx([1.1 * 240 - 150, 60])


# B12: goread


def test_b12_follows_the_times_between_finds():
    rule = GoRead(1)
    assert rule.after(polls([1.0], time=0.0, gap=np.inf)).tolist() == [180]
    assert rule.after(polls([1.0], time=200.0)).tolist() == [100]
    assert rule.after(polls([1.0], time=300.0)).tolist() == [(200 - 0.25 * 100) / 2]
    assert rule.after(polls([1.0], time=400.0, new=[0])).tolist() == [87.5]
    assert rule.after(polls([1.0], time=900.0, new=[0])).tolist() == [300]
    assert rule.after(polls([1.0], time=9000.0, new=[0])).tolist() == [720]


def test_b12_starts_with_three_hours_that_grow_while_nothing_is_found():
    rule = GoRead(1)
    found = [rule.after(polls([], time=t)).tolist() for t in (0.0, 180.0, 500.0, 9000.0)]
    assert found == [[180], [180], [250], [720]]


# B13: reader


def test_b13_goes_to_the_next_full_hour():
    morning = 10 * HOUR + 17
    assert ClockGrid().after(polls([], time=DAY + morning)).tolist() == [43]
    assert ClockGrid().after(polls([], time=DAY)).tolist() == [60]


def test_b13_weeks_begin_on_monday():
    assert ClockGrid(7 * DAY).after(polls([], time=5 * DAY)).tolist() == [6 * DAY]


# B14: FeedHQ


def test_b14_worked_values():
    assert feedhq(np.array([1, 2, 3, 10])).round().tolist() == [60, 170, 312, 1897]


def test_b14_counts_errors():
    assert feedhq_errors(1, failed=True) == 2
    assert feedhq_errors(10, failed=True) == 10
    assert feedhq_errors(7, failed=False) == 1
    assert feedhq_errors(1, failed=False, push=True) == 3


# What the rules look at


def test_gaps_of_documents_as_numpy_sees_them():
    rng = np.random.default_rng(5)
    print("seed 5")
    documents = [rng.uniform(0, 1000, size) for size in rng.integers(0, 9, 40)]
    seen = polls(*documents)
    for ages, mean, median in zip(documents, seen.mean_gap, seen.median_gap, strict=True):
        gaps = np.diff(np.sort(ages))
        expected = (np.mean(gaps), np.median(gaps)) if len(gaps) else (np.nan, np.nan)
        assert (mean, median) == pytest.approx(expected, nan_ok=True)


def test_an_archive_keeps_the_newest():
    rng = np.random.default_rng(6)
    print("seed 6")
    archive, kept = Archive(3, size=10), [np.empty(0)] * 3
    for time in range(0, 3000, 100):
        fresh = [rng.uniform(0, 100, size) for size in rng.integers(0, 14, 3)]
        # Some of what the documents show had been seen before.
        old = [list(rng.uniform(100, 150, size)) for size in rng.integers(0, 3, 3)]
        shown = [[*ages, *before] for ages, before in zip(fresh, old, strict=True)]
        seen = polls(*shown, time=float(time), new=[len(ages) for ages in fresh])
        archive.add(seen)
        kept = [np.sort([*a, *(time - b)])[-10:] for a, b in zip(kept, fresh, strict=True)]
        count, span = archive.within(seen.row, seen.time, 120.0)
        for row, times in enumerate(kept):
            recent = times[times > time - 120]
            assert count[row] == len(recent)
            assert span[row] == pytest.approx(np.ptp(recent) if len(recent) else 0)
