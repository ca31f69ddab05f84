"""Change rates from change bits, against the likelihood written out and a simulated fleet."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.estimate import check_estimator
from dayfly.estimate.changes import GRID, ChangeEstimator, bias_reduced, most_likely, naive
from dayfly.model import Crawl, Fleet, Item, Status

DAY = 86400.0


def bit(time: float, changed: bool) -> Crawl:
    items = (Item(key=str(time), published=None),) if changed else ()
    status = Status.CHANGED if changed else Status.UNCHANGED
    return Crawl(row=0, time=time, status=status, items=items, visible=1)


def test_it_keeps_the_promises_of_every_estimator():
    check_estimator(ChangeEstimator)


def test_the_belief_is_that_of_the_bits():
    estimator = ChangeEstimator(Fleet(arrival=0.3 / DAY, decay=1.0 / DAY))
    estimator.apply(estimator.update(bit(0.0, True)))  # a first visit says nothing
    for time, changed in ((2.0, True), (2.5, False), (7.0, False)):
        estimate = estimator.update(bit(time * DAY, changed))
        estimator.apply(estimate)
    prior = np.exp(-0.5 * (np.log10(GRID * DAY / 0.3) / 0.75) ** 2)
    rate = GRID * DAY
    weight = prior * (1 - np.exp(-2.0 * rate)) * np.exp(-5.0 * rate)
    assert estimate.arrival * DAY == pytest.approx((weight * rate).sum() / weight.sum(), rel=1e-9)


def test_of_freshness_sources_the_change_rate_is_learned():
    fleet = Fleet(arrival=1.0, decay=1.0 / DAY, kind="freshness")
    estimator = ChangeEstimator(fleet)
    for day in range(20):
        estimator.apply(estimator.update(bit(day * DAY, False)))
    assert estimator.mean()[0].decay < 0.1 / DAY
    assert estimator.mean()[0].arrival == 1.0


def test_the_fleet_writes_the_prior():
    """After a refit, a page that is new looks like its peers."""
    estimator = ChangeEstimator(Fleet(arrival=np.full(101, 10.0 / DAY), decay=1.0))
    changed = np.random.default_rng(3).random((100, 30)) < 0.1
    for row in range(100):
        for day in range(30):
            crawl = bit(day * DAY, bool(changed[row, day]))
            estimator.apply(estimator.update(Crawl(**{**_fields(crawl), "row": row})))
    before = estimator.mean()[100].arrival
    estimator.refit()
    seen = -np.log1p(-changed[:, 1:].mean())  # the rate of all bits taken together
    assert estimator.mean()[100].arrival * DAY == pytest.approx(seen, rel=0.2)
    assert before > 5.0 / DAY


def _fields(crawl: Crawl) -> dict[str, object]:
    return {name: getattr(crawl, name) for name in crawl.__slots__}


def test_draws_have_the_mean_of_the_belief():
    seed = 4
    print("seed", seed)
    estimator = ChangeEstimator(Fleet(arrival=0.5 / DAY, decay=1.0))
    estimator.apply(estimator.update(bit(0.0, True)))
    estimator.apply(estimator.update(bit(DAY, True)))
    rng = np.random.default_rng(seed)
    draws = np.array([estimator.sample(rng).arrival[0] for _ in range(1500)])
    assert draws.mean() == pytest.approx(estimator.mean().arrival[0], rel=0.15)


def test_the_most_likely_rate_is_where_the_likelihood_peaks():
    interval = np.array([0.5, 1.0, 2.0, 0.3])
    changed = np.array([True, False, True, False])
    found = most_likely(np.zeros(4, int), interval, changed, 1)[0]
    rate = np.linspace(0.01, 5, 50_000)
    log = sum(
        np.log(-np.expm1(-rate * i)) if z else -rate * i
        for i, z in zip(interval, changed, strict=True)
    )
    assert found == pytest.approx(rate[np.argmax(log)], rel=1e-3)


def test_pseudo_intervals_keep_a_silent_page_alive():
    row, bits = np.zeros(3, int), np.zeros(3, bool)
    assert most_likely(row, np.ones(3), bits, 1)[0] == 0.0
    assert most_likely(row, np.ones(3), bits, 1, pseudo=0.5)[0] > 0.1
    assert naive(row, np.ones(3), bits, 1)[0] == bias_reduced(row, np.ones(3), bits, 1)[0] == 0.0


def test_a_guess_that_nothing_could_correct_is_refused():
    with pytest.raises(BadInput, match="rate of 0"):
        ChangeEstimator(Fleet(arrival=0.0, decay=1.0))
