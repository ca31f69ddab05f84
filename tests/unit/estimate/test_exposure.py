"""The time that visits speak of."""

import numpy as np

from dayfly.estimate.exposure import DAY, HOUR, WEEK, cell_of, covered_since, time_in_cells
from dayfly.model import Visits

MONDAY = 4 * DAY  # 1970-01-05
NOW = MONDAY + 6 * HOUR


def visit(published, new):
    return Visits(
        time=NOW, row=np.array([0]), gap=np.array([np.inf]), start=np.array([0, len(published)]),
        published=np.array(published, dtype=float), worth=np.ones(len(published)),
        new=np.array([new]), value=np.zeros(1),
    )  # fmt: skip


def since(published, new, last):
    return float(covered_since(visit(published, new), NOW, np.array([last]))[0])


def test_a_visit_covers_the_time_since_the_last_or_since_its_oldest_item():
    assert since([NOW - 60, NOW - 30], 1, NOW - HOUR) == NOW - HOUR
    assert since([NOW - 60, NOW - 30], 2, NOW - HOUR) == NOW - 60, "others may be hidden"
    assert since([NOW - 2 * HOUR], 1, NOW - HOUR) == NOW - HOUR, "a date from long ago"
    assert since([NOW - 2 * HOUR], 1, -np.inf) == NOW - 2 * HOUR
    for nothing in (since([], 0, -np.inf), since([NOW + 9], 1, -np.inf), since([], 0, NOW + 9)):
        assert nothing == NOW


def test_time_is_shared_out_to_the_cells_it_passes_through():
    for period, cells in ((DAY, 6), (WEEK, 168)):
        begin, end = MONDAY + 3 * HOUR, MONDAY + 2 * DAY + 5 * HOUR
        spent = time_in_cells(end, period, cells) - time_in_cells(begin, period, cells)
        every = np.arange(begin + 30, end, 60.0)
        expected = 60.0 * np.bincount(cell_of(every, period, cells), minlength=cells)
        np.testing.assert_allclose(spent[0], expected, atol=1e-6)
