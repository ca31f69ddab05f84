"""What a live crawl remembers of the time of day."""

import numpy as np
import pytest

from dayfly.estimate.crawls import as_visits
from dayfly.estimate.daytime import (
    NUMBERS,
    after,
    counts,
    exposures,
    no_hours,
    packed,
    unpacked,
)
from dayfly.model import Crawl, Item, Status

HOUR, DAY = 3600.0, 86400.0
MIDNIGHT = 19_000 * DAY
REACH = 87 * DAY


def seen(hours, now, last, published, *, visible=None):
    """What is remembered of one source after a visit."""
    known = [now - date for date in published if date is not None]
    crawl = Crawl(
        row=0, time=now, status=Status.CHANGED if published else Status.UNCHANGED,
        items=tuple(Item(key=str(n), published=date) for n, date in enumerate(published)),
        visible=len(published) if visible is None else visible, oldest_s=max(known, default=None),
    )  # fmt: skip
    before = np.array([last])
    return after(hours, as_visits([crawl], before), np.array([now]), before, REACH)


def test_items_and_time_are_counted_in_their_blocks_of_the_day():
    first = [MIDNIGHT + h * HOUR for h in (3, 4.5, 5)]
    hours = seen(no_hours(1), MIDNIGHT + 6 * HOUR, -np.inf, first)
    assert counts(hours)[0].tolist() == [0, 2, 0, 0, 0, 0], "the oldest only opens it"
    assert exposures(hours)[0] / HOUR == pytest.approx([1, 2, 0, 0, 0, 0])
    hours = seen(hours, MIDNIGHT + 13 * HOUR, MIDNIGHT + 6 * HOUR, [MIDNIGHT + 9 * HOUR], visible=3)
    assert counts(hours)[0] == pytest.approx([0, 2, 1, 0, 0, 0], rel=1e-2)
    assert exposures(hours)[0] / HOUR == pytest.approx([1, 4, 4, 1, 0, 0], rel=1e-2)


def test_an_item_whose_date_cannot_be_says_nothing_about_hours():
    """Without a date, from the future, from before the last visit: midnight, most often."""
    last, now = MIDNIGHT + 10 * HOUR, MIDNIGHT + 22 * HOUR
    for date in (None, now + 9.0, MIDNIGHT, 0.0):
        hours = seen(no_hours(1), now, last, [date], visible=4)
        assert counts(hours).sum() == pytest.approx(1.0)
        rate = counts(hours)[0] / np.maximum(exposures(hours)[0], 1.0)
        assert rate[2:] == pytest.approx(1 / (12 * HOUR), rel=1e-5), "the same at all hours"


def test_a_feed_that_dates_to_the_day_has_no_hours():
    """Midnight in some time zone, twenty days of it in a first visit, two items on some days."""
    local = MIDNIGHT + 5 * HOUR
    days = [local - DAY * n for n in range(1, 21)]
    hours = seen(no_hours(1), MIDNIGHT + 9 * HOUR, -np.inf, [*days, *days[::3]])
    rate = counts(hours)[0] / exposures(hours)[0] * DAY
    assert rate == pytest.approx(26 / 20, rel=0.1)


def test_evidence_fades_and_a_first_visit_reaches_back_no_further():
    hours = seen(no_hours(1), MIDNIGHT, -np.inf, [MIDNIGHT - 2000 * DAY, MIDNIGHT - 1800.0])
    assert counts(hours).sum() == 1
    assert exposures(hours).sum() == pytest.approx(REACH)
    later = seen(hours, MIDNIGHT + REACH, MIDNIGHT, [], visible=2)
    assert counts(later) == pytest.approx(counts(hours) / np.e)
    # A clock that was set back takes nothing away and adds nothing.
    assert seen(hours, MIDNIGHT - HOUR, MIDNIGHT, [], visible=2).tolist() == hours.tolist()


def test_pairs_survive_as_numbers_that_can_be_stored():
    seed = 51
    print("seed", seed)
    rng = np.random.default_rng(seed)
    hours = (10 ** rng.uniform(-9, 9, (1000, 12))).astype("<f4")
    hours[rng.random(hours.shape) < 0.3] = 0.0
    numbers = packed(hours)
    assert numbers.shape == (1000, NUMBERS)
    assert np.isfinite(numbers).all()
    kept = [tuple(row) for row in numbers.tolist()]
    assert unpacked(kept).tobytes() == hours.tobytes()
    assert packed(no_hours(1)).tolist() == [[0.0] * NUMBERS]


def test_many_are_each_as_alone():
    seed = 52
    print("seed", seed)
    rng = np.random.default_rng(seed)
    last = MIDNIGHT - rng.uniform(0, 3 * DAY, 30)
    now = MIDNIGHT + rng.uniform(0, DAY, 30)
    crawls = [
        Crawl(
            row=row, time=now[row], status=Status.CHANGED, visible=row % 5 + 2, oldest_s=4 * DAY,
            items=tuple(
                Item(key=str(n), published=now[row] - rng.uniform(-HOUR, 4 * DAY))
                for n in range(row % 5)
            ),
        )
        for row in range(30)
    ]  # fmt: skip
    hours = (10 ** rng.uniform(0, 3, (30, 12))).astype("<f4")
    together = after(hours, as_visits(crawls, last), now, last, REACH)
    for row, crawl in enumerate(crawls):
        some = slice(row, row + 1)
        alone = after(hours[some], as_visits([crawl], last[some]), now[some], last[some], REACH)
        assert alone.tobytes() == together[some].tobytes()
