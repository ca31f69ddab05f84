"""Everybody is looked at when the instant has come, once, and hardly anybody early."""

import numpy as np
import pytest

from dayfly.schedule import agenda
from dayfly.schedule.agenda import Agenda


@pytest.mark.parametrize("sizes", [(), (("_SLIPS", 3), ("_RUNS", 2), ("_LEAST_PAGE", 2))])
@pytest.mark.parametrize("seed", range(20))
def test_against_a_dictionary(seed, sizes, monkeypatch):
    for name, size in sizes:
        monkeypatch.setattr(agenda, name, size)
    rng, n = np.random.default_rng(seed), 300
    book, right = Agenda(), {}
    book.rows_are(np.full(n, np.inf), n)
    now, width = 0.0, 0.0
    for _ in range(300):
        now += rng.exponential(0.3)
        some = rng.choice(n, rng.integers(0, 20), replace=False)
        if rng.random() < 0.2:
            book.strike(some)
            right = {row: when for row, when in right.items() if row not in some}
        else:
            # Few different instants, so that notes are repeated.
            instants = now + np.round(rng.exponential(5.0, len(some)), 1) + 0.05
            instants[rng.random(len(some)) < 0.1] = np.inf
            book.note(some, instants)
            right |= dict(zip(some.tolist(), instants.tolist(), strict=True))
        width = max(width, book._end - now if np.isfinite(book._end) else 0.0)
        instants, rows = book.pop(now)
        assert len(set(rows.tolist())) == len(rows), f"seed {seed}"
        late = {row for row, when in right.items() if when <= now}
        assert late <= set(rows.tolist()), f"seed {seed}"
        for row, instant in zip(rows.tolist(), instants.tolist(), strict=True):
            # A page is in rough order: a hair early is harmless.
            assert right.pop(row) == instant <= now + 2e-5 * width, f"seed {seed}"


def test_the_column_is_read_seldom():
    n = 50_000
    book = Agenda()
    book.rows_are(np.full(n, np.inf), n)
    rng = np.random.default_rng(1)
    book.note(np.arange(n), rng.uniform(0, 1000, n))
    for now in range(1000):
        rows = book.pop(float(now))[1]
        book.note(rows, now + rng.uniform(500, 1500, len(rows)))
    assert book.pages < 60


def test_nobody_falls_between_two_slots():
    """A page begins with a slot: who is a hair behind the first of them must not be passed over."""
    rng, n, now = np.random.default_rng(0), 20_000, 1.8e9
    column = now + rng.uniform(0, 2e6, n)
    book = Agenda()
    for _ in range(3):  # whoever is moved moves the end of the page a little
        book.rows_are(column, n)
        width = (book._new_end(column, now) - now) / agenda._SLOTS
        column[7] = now + width * (1 + 3e-7)
    book = Agenda()
    book.rows_are(column.copy(), n)
    rows = [*book.pop(now)[1].tolist(), *book.pop(now + 1000.0)[1].tolist()]
    assert rows.count(7) == 1
