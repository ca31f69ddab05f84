"""Rates from timestamps, against the likelihood written out and against a simulated feed."""

import math

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.estimate import ArrivalEstimator, Estimate, check_estimator
from dayfly.model import Crawl, Fleet, Item, Status


def visit(time: float, ages: list[float], *, visible: int | None = None, row: int = 0) -> Crawl:
    items = tuple(Item(key=f"{time - age}", published=time - age) for age in ages)
    return Crawl(
        row=row,
        time=time,
        status=Status.CHANGED if ages else Status.UNCHANGED,
        items=items,
        visible=len(ages) if visible is None else visible,
        oldest_s=max(ages, default=None),
    )


def learn(estimator: ArrivalEstimator, *crawls: Crawl) -> Estimate:
    for crawl in crawls:
        estimate = estimator.update(crawl)
        estimator.apply(estimate)
    return estimate


def test_it_keeps_the_promises_of_every_estimator():
    check_estimator(ArrivalEstimator)
    check_estimator(lambda fleet: ArrivalEstimator(fleet, prior_items=7.0))


def test_the_mean_is_that_of_the_likelihood_integrated_on_a_grid():
    """A full window says K items since the oldest; a part of one says n items since last time."""
    prior_items, guess = 2.0, 3.0
    estimator = ArrivalEstimator(Fleet(arrival=guess, decay=1.0), prior_items=prior_items)
    estimate = learn(
        estimator,
        visit(10.0, [0.1, 0.5, 1.2]),  # first visit: 3 items within 1.2
        visit(12.0, [0.3, 0.4, 0.9], visible=3),  # pushed out: 3 items within 0.9
        visit(13.0, [0.2], visible=3),  # one item within the gap of 1
        visit(16.0, [], visible=3),  # none within 3
    )
    rate = np.linspace(1e-6, 60.0, 400_001)
    log = (prior_items - 1) * np.log(rate) - rate * prior_items / guess
    for n, exposure in ((3, 1.2), (3, 0.9), (1, 1.0), (0, 3.0)):
        log += n * np.log(rate) - rate * exposure
    weight = np.exp(log - log.max())
    assert estimate.arrival == pytest.approx((rate * weight).sum() / weight.sum(), rel=1e-6)


def test_a_busy_feed_with_a_short_window_is_not_underestimated():
    """Visits so rare that the window overflows each time: K over the gap would be far too low."""
    seed = 20261116
    print("seed", seed)
    rng = np.random.default_rng(seed)
    true, window, gap, visits = 2.0, 10, 8.0, 400
    estimator = ArrivalEstimator(Fleet(arrival=0.1, decay=1.0))
    items = np.cumsum(rng.exponential(1 / true, int(true * gap * visits * 1.2)))
    last = 0.0
    for n in range(1, visits + 1):
        now = n * gap
        shown = items[items <= now][-window:]
        new = shown[shown > last]
        crawl = visit(now, list(now - new), visible=len(shown))
        estimate = learn(estimator, crawl)
        last = now
    spread = true / math.sqrt(window * visits)
    assert abs(estimate.arrival - true) < 4 * spread
    assert window / gap < 0.67 * true  # what the naive count would say


def test_draws_have_the_moments_of_the_belief():
    seed = 7
    print("seed", seed)
    estimator = ArrivalEstimator(Fleet(arrival=[1.0, 2.0], decay=1.0), prior_items=1.0)
    learn(estimator, visit(5.0, [0.5, 1.0, 2.0]), visit(6.0, [0.1], visible=3))
    rng = np.random.default_rng(seed)
    draws = np.array([estimator.sample(rng).arrival for _ in range(5_000)])
    shape, rate = 1.0 + 4, 1.0 + 2.0 + 1.0
    assert draws[:, 0].mean() == pytest.approx(shape / rate, rel=0.03)
    assert draws[:, 0].var() == pytest.approx(shape / rate**2, rel=0.1)
    assert draws[:, 1].mean() == pytest.approx(2.0, rel=0.06)  # the prior: never visited


def test_a_first_visit_without_dates_or_items_says_nothing():
    fleet = Fleet(arrival=0.25, decay=1.0)
    undated = Crawl(
        row=0, time=9.0, status=Status.CHANGED, items=(Item(key="a", published=None),), visible=1
    )
    for crawl in (undated, visit(9.0, [])):
        estimator = ArrivalEstimator(fleet)
        assert learn(estimator, crawl).arrival == 0.25
        # But from now on the gap is known.
        assert learn(estimator, visit(10.0, [], visible=1)).arrival < 0.25


def test_a_clock_that_was_set_back_adds_no_negative_time():
    estimator = ArrivalEstimator(Fleet(arrival=1.0, decay=1.0))
    learn(estimator, visit(100.0, [1.0]))
    before = float(estimator.exposure_[0])
    learn(estimator, visit(50.0, [3.0]), visit(40.0, [], visible=1))
    assert estimator.exposure_[0] == before


def test_late_additions_count_since_the_last_visit():
    """A new item dated before the last visit appeared after it all the same."""
    estimator = ArrivalEstimator(Fleet(arrival=1.0, decay=1.0))
    learn(estimator, visit(100.0, [1.0]), visit(102.0, [50.0]))
    assert estimator.exposure_[0] == pytest.approx(1.0 + 2.0)


def test_a_prior_that_nothing_could_correct_is_refused():
    with pytest.raises(BadInput, match=r"arrival\[1\] is 0"):
        ArrivalEstimator(Fleet(arrival=[1.0, 0.0], decay=1.0))
    with pytest.raises(BadInput, match="prior_items"):
        ArrivalEstimator(Fleet(arrival=1.0, decay=1.0), prior_items=0.0)
    assert len(ArrivalEstimator(Fleet(arrival=[], decay=[])).mean()) == 0
