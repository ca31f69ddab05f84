"""Who had nothing to show, who began since, and how long that takes."""

import numpy as np
import pytest

from dayfly.estimate.stamps import StampEstimator
from dayfly.model import Crawl, Fleet, Item, Status, Visits


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
