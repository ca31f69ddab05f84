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


def test_who_had_nothing_to_show_at_first_is_silent_until_it_shows_something() -> None:
    estimator = StampEstimator(Fleet(arrival=np.full(4, 1 / 86400), decay=1e-4, window=20.0))

    def visit(time: float, rows: list[int], dates: list[list[float]], new: list[int]) -> None:
        estimator.learn(
            Visits(
                time=time,
                row=np.array(rows),
                gap=np.full(len(rows), 86400.0),
                start=np.cumsum([0] + [len(one) for one in dates]),
                published=np.array([date for one in dates for date in one]),
                worth=np.ones(sum(len(one) for one in dates)),
                new=np.array(new),
                value=np.zeros(len(rows)),
            )
        )

    visit(1e9, [0, 1, 2], [[1e9 - 86400.0], [], []], [1, 0, 0])
    visit(1e9 + 86400.0, [1, 2], [[1e9 + 600.0], []], [1, 0])
    found = estimator.silence(np.arange(4))
    # Row 3 was never looked at: nobody knows.
    assert found.silent.tolist() == [False, False, True, False]
    assert found.woken.tolist() == [False, True, False, False]
    # Two days each, as far as they are remembered; who woke was silent for half of them.
    assert found.watched == pytest.approx(3 * 86400.0, rel=0.03)


def test_who_shows_items_without_dates_is_neither_silent_nor_woken():
    fleet = Fleet(arrival=[1 / 86400.0], decay=1e-5)
    estimator = StampEstimator(fleet)
    items = tuple(Item(key=str(number), published=None) for number in range(20))
    first = Crawl(row=0, time=1e9, status=Status.CHANGED, items=items, visible=20)
    one = (Item(key="new", published=None),)
    later = Crawl(row=0, time=1e9 + 86400.0, status=Status.CHANGED, items=one, visible=20)
    for crawl in (first, later):
        estimator.update(crawl)
        found = estimator.silence(np.array([0]))
        assert not found.silent.any()
        assert not found.woken.any()


def test_how_long_it_takes_to_wake_is_told_rightly_for_a_year():
    """A thousand silent sources, each of which wakes in a thousand days on average."""
    rng, day, n = np.random.default_rng(3), 86400.0, 1000
    estimator = StampEstimator(Fleet(arrival=np.full(n, 1 / day), decay=1e-5))
    wakes = rng.exponential(1000.0, n)
    told = {}
    for today in range(0, 366, 2):
        begun = (wakes < today).astype(int)
        old = np.zeros(n) if today == 0 else (wakes < today - 2)
        new = begun - np.asarray(old, dtype=int)
        time = 1e9 + today * day
        estimator.learn(
            Visits(
                time=time,
                row=np.arange(n),
                gap=np.full(n, np.inf if today == 0 else 2 * day),
                start=np.concatenate([[0], np.cumsum(new)]),
                published=np.full(int(new.sum()), time - day),
                worth=np.ones(int(new.sum())),
                new=new,
                value=np.zeros(n),
            )
        )
        found = estimator.silence(np.arange(n))
        told[today] = (found.watched + day) / (found.remembered.sum() + 1e-9) / day
    assert 700.0 < told[90] < 1400.0
    assert 600.0 < told[180] < 1400.0
    assert 500.0 < told[364] < 1400.0
