"""Columns grow without losing anything, and a record never lies in two cache lines."""

import numpy as np
import pytest

from dayfly.model import Fleet
from dayfly.schedule import Scheduler, load, save
from dayfly.schedule.columns import longer


@pytest.mark.parametrize("resting", [None, 7.0])
@pytest.mark.parametrize("width", [(), (8,)])
def test_a_column_grows_now_and_then_and_keeps_what_it_holds(resting, width):
    column, copies = np.empty((0, *width)), 0
    for n in range(1, 500):
        before, column = column, longer(column, n, resting)
        copies += column is not before
        assert column.ctypes.data % 64 == 0
        assert resting is None or (column[n - 1 :] == resting).all()
        column[n - 1] = -n
    assert copies < 12
    assert (column[:499] == -np.arange(1.0, 500.0).reshape(-1, *(1 for _ in width))).all()


def test_where_places_are_filled_the_first_filling_takes_no_more_than_it_needs():
    assert len(longer(np.empty(0), 1000, 0.0)) == 1000
    assert len(longer(np.empty(0), 1000)) > 1000


def test_records_are_cache_lines_when_new_grown_and_loaded(tmp_path):
    scheduler = Scheduler(Fleet(arrival=np.full(1000, 0.05), decay=1e-3), 10.0, 0.0)
    assert scheduler._desk.roster.record.ctypes.data % 64 == 0
    scheduler.add(Fleet(arrival=np.full(5000, 0.05), decay=1e-3))
    assert scheduler._desk.roster.record.ctypes.data % 64 == 0
    save(scheduler, tmp_path / "snapshot")
    assert load(tmp_path / "snapshot")._desk.roster.record.ctypes.data % 64 == 0
