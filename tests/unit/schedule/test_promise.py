"""Nobody is forgotten, or the scheduler says so."""

import math

import numpy as np
import pytest

from dayfly.model import Fleet
from dayfly.schedule import Scheduler

DAY = 86400.0


def crowd(n: int, **named) -> Scheduler:
    """One busy source, and many that are never worth a crawl."""
    fleet = Fleet(arrival=[1.0] + [1e-9] * (n - 1), decay=1e-4)
    named = {"last": np.zeros(n), "max_interval": 2 * DAY} | named
    return Scheduler(fleet, 0.05, 0.0, min_interval=60.0, **named)


def test_a_promise_that_can_be_kept_is_kept():
    scheduler = crowd(200)
    assert scheduler.promise.kept
    assert scheduler.promise.affordable_interval == pytest.approx(199 / (0.05 * 0.05), rel=1e-9)
    seen = np.zeros(200)
    for now in np.arange(0.0, 8 * DAY, 20.0).tolist():
        rows = scheduler.due(now, 10)
        # A visit may wait its turn for a little while after the interval is over.
        assert (now - seen[rows] < 2.6 * DAY).all()
        seen[rows] = now
        scheduler.crawled(rows, now)
    assert (8 * DAY - seen < 2.6 * DAY).all()


def test_a_promise_that_cannot_be_kept_says_what_can():
    scheduler = crowd(2000)
    told = scheduler.promise
    assert not told.kept
    assert told.affordable_interval == pytest.approx(1999 / (0.05 * 0.05), rel=1e-9)
    assert "affords 9.25d" in str(told)
    assert crowd(2000, floor_share=0.5).promise.kept
    assert crowd(2000, floor_share=0.0).promise.affordable_interval == math.inf


def test_the_floor_takes_no_more_than_its_share():
    """A hundred busy sources could use the whole budget; nobody else is worth anything."""
    fleet = Fleet(arrival=[1.0] * 100 + [1e-9] * 1900, decay=1e-4)
    last = np.concatenate([np.zeros(100), np.full(1900, -10 * DAY)])
    scheduler = Scheduler(fleet, 0.05, 0.0, min_interval=60.0, max_interval=2 * DAY, last=last)
    visits = 0
    for now in np.arange(0.0, 6 * 3600, 20.0).tolist():
        rows = scheduler.due(now, 100)
        visits += int((rows >= 100).sum())
        scheduler.crawled(rows, now)
    allowed = 0.05 * 0.05 * 6 * 3600
    assert 0.9 * allowed <= visits <= allowed + 2


def test_those_who_are_visited_for_their_own_sake_need_no_promise():
    fleet = Fleet(arrival=np.full(50, 0.1), decay=1e-4)
    scheduler = Scheduler(fleet, 1.0, 0.0, last=np.zeros(50))
    assert scheduler.promise.kept
    assert scheduler.promise.affordable_interval == scheduler.promise.max_interval == 14 * DAY
