"""Rates from dates: windows, first visits, forgetting, bursts, wrong dates."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dayfly.errors import BadInput
from dayfly.estimate import check_estimator
from dayfly.estimate.stamps import StampEstimator
from dayfly.model import Crawl, Fleet, Item, Status, Visits

Times = npt.NDArray[np.floating[Any]]
DAY = 86400.0
NOW = 1.7e9


def visit(dates: Times, now: float, *, new: int, window: int = 20, row: int = 0) -> Visits:
    """One source shows its newest items."""
    shown = dates[dates <= now][-window:].astype(np.float64)
    return Visits(
        time=now,
        row=np.array([row]),
        gap=np.array([np.inf]),
        start=np.array([0, len(shown)]),
        published=shown,
        worth=np.ones(len(shown)),
        new=np.array([min(new, len(shown))]),
        value=np.zeros(1),
    )


def watch(estimator: StampEstimator, dates: Times, times: Times, window: int = 20) -> None:
    """Visit row 0 at these times."""
    last = -np.inf
    for now in times.tolist():
        new = int(((dates > last) & (dates <= now)).sum())
        estimator.learn(visit(dates, now, new=new, window=window))
        last = now


def one(window: float = 20) -> StampEstimator:
    return StampEstimator(Fleet(arrival=1 / DAY, decay=1e-5, window=window))


def test_it_keeps_the_promises_of_an_estimator() -> None:
    check_estimator(StampEstimator)


def test_it_keeps_them_where_the_window_is_known() -> None:
    check_estimator(lambda fleet: StampEstimator(fleet.replace(window=6)))


def test_a_short_window_does_not_hide_the_rate() -> None:
    rng = np.random.default_rng(4)
    print("seed 4")
    dates = np.sort(rng.uniform(NOW, NOW + 40 * DAY, 4000))  # 100 a day, 20 shown
    estimator = one()
    watch(estimator, dates, NOW + DAY * np.arange(1, 40))
    # Every visit sees 20 of 100: over the gap that would be 20 a day.
    assert np.isclose(estimator.mean().arrival[0] * DAY, 100, rtol=0.1)


def test_a_first_visit_is_evidence() -> None:
    dates = NOW - DAY * np.arange(40, 0, -1) / 8  # eight a day
    estimator = one()
    watch(estimator, dates, np.array([NOW]))
    assert 5 < estimator.mean().arrival[0] * DAY < 10


def test_who_shows_little_was_silent_for_as_long_as_records_go_back() -> None:
    fleet = Fleet(arrival=np.full(3, 1 / DAY), decay=1e-5, window=20)
    long_ago, lately = np.array([NOW - 30 * DAY, NOW - DAY]), np.array([NOW - DAY])
    alone, among = StampEstimator(fleet), StampEstimator(fleet)
    among.learn(visit(long_ago, NOW, new=2, row=1))
    for estimator in (alone, among):
        estimator.learn(visit(lately, NOW, new=1))
    assert among.mean().arrival[0] < alone.mean().arrival[0] / 2


def test_evidence_fades_towards_the_fleet() -> None:
    estimator = one()
    dates = NOW - DAY * np.arange(20, 0, -1) / 50
    watch(estimator, dates, np.array([NOW]))
    soon, late = (estimator.belief(np.array([0]), NOW + d * DAY).mean[0] for d in (0, 900))
    assert soon > 10 / DAY
    assert np.isclose(late, 1 / DAY, rtol=0.3)


def test_a_source_that_dies_is_soon_believed_dead_and_one_that_wakes_awake() -> None:
    rng = np.random.default_rng(5)
    print("seed 5")
    busy = np.sort(rng.uniform(NOW, NOW + 20 * DAY, 200))
    estimator = one()
    watch(estimator, busy, NOW + DAY * np.arange(1, 60))
    belief = estimator.belief(np.array([0]), NOW + 59 * DAY)
    assert belief.mean[0] * DAY < 5
    assert belief.level[0] < belief.mean[0]
    wakes = np.concatenate([busy, np.sort(rng.uniform(NOW + 60 * DAY, NOW + 61 * DAY, 30))])
    estimator.learn(visit(wakes, NOW + 61 * DAY, new=30))
    after = estimator.belief(np.array([0]), NOW + 61 * DAY)
    assert after.level[0] * DAY > 10


def test_bursts_count_as_less_than_their_items() -> None:
    rng = np.random.default_rng(6)
    print("seed 6")
    steady = np.sort(rng.uniform(NOW, NOW + 20 * DAY, 100))
    centre = NOW + DAY * np.array([2.0, 9.0, 12.0, 19.0])
    bursts = np.sort((centre[:, None] + rng.uniform(0, DAY / 8, (4, 25))).ravel())
    times = NOW + DAY * np.arange(0.25, 20.1, 0.25)
    found = []
    for dates in (steady, bursts):
        estimator = one()
        watch(estimator, dates, times)
        found.append(estimator.belief(np.array([0]), float(times[-1])))
    regular, bursty = found
    assert regular.burst[0] < 2 < 5 < bursty.burst[0]
    assert bursty.shape[0] < 1 < regular.shape[0]
    assert bursty.certainty[0] > 0


@pytest.mark.parametrize("wrong", [0.0, -1e12, NOW + 1e9, None])
def test_wrong_dates_do_not_poison_the_rate(wrong: float | None) -> None:
    estimator = one(window=np.inf)
    for step in range(100):
        time = NOW + 3600.0 * step
        date = wrong if step % 3 == 0 else time - 60.0
        crawl = Crawl(
            row=0,
            time=time,
            status=Status.CHANGED,
            items=(Item(key=str(step), published=date),),
            visible=20,
            oldest_s=None if date is None else 7200.0,
        )
        estimator.apply(estimator.update(crawl))
    assert np.isclose(estimator.mean().arrival[0] * 3600, 1.0, rtol=0.15)


def test_worth_is_shrunk_to_that_of_the_fleet() -> None:
    fleet = Fleet(arrival=np.full(3, 1 / DAY), decay=1e-5, window=20)
    estimator = StampEstimator(fleet)
    dates = NOW - 3600.0 * np.arange(15, 0, -1)
    seen = visit(dates, NOW, new=15)
    rich = Visits(
        **{name: getattr(seen, name) for name in ("time", "row", "gap", "start", "published")},
        worth=np.full(15, 9.0),
        new=seen.new,
        value=seen.value,
    )
    estimator.learn(rich)
    estimator.learn(visit(dates, NOW, new=15, row=1))
    estimator.refit()
    worth = estimator.mean().worth
    assert 7 < worth[0] < 9
    assert np.isclose(worth[2], 5.0)
    assert 1 < worth[1] < 3


def test_a_rate_of_zero_and_times_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BadInput, match="give a small guess"):
        StampEstimator(Fleet(arrival=[1.0, 0.0], decay=1.0))
    with pytest.raises(BadInput, match="half_life"):
        StampEstimator(Fleet(arrival=1.0, decay=1.0), half_life=0.0)
