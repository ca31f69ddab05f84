"""Everybody in the front comes out once, at its instant, as the roster knew it on entering."""

import numpy as np
import pytest

from dayfly.model import Fleet
from dayfly.schedule import front
from dayfly.schedule.front import FREE, Front
from dayfly.schedule.roster import NEEDED, SINCE, Roster

ELSEWHERE, HERE, HELD = range(3)
TINY = {"_FEW": 2, "_MANY": 4, "_RUNS": 2, "_BLOCK": 3}


class Line:
    """A front whose marks are reached so long after `since`, the outer one first."""

    def __init__(self, n: int) -> None:
        self.roster = Roster(None, (0.0, 1e9), named=False)
        never = np.full(n, -np.inf)
        fleet = Fleet(arrival=np.ones(n), decay=1.0)
        self.roster.add(fleet, group=None, last=never, not_before=never)
        self.wait, self.level = {False: 2.0, True: 3.0}, 1.0
        self.front = Front(self.roster, self.reach, lambda: self.level, (HERE, HELD))

    def reach(self, rows, record, inner):
        due = record[SINCE] + self.wait[inner]
        return np.maximum(due, record[FREE]) if inner else due

    def enter(self, rows, since, free, *, inner, held=False):
        self.leave(rows)
        self.roster.record[rows, SINCE] = since
        record = self.roster.look_up(rows)
        instants = free if held else self.reach(rows, np.vstack([record[:NEEDED], free]), inner)
        self.front.enter(rows, record, free, instants, inner=inner, held=held)

    def leave(self, rows):
        self.front.lose(rows[self.roster.where[rows] != ELSEWHERE])
        self.roster.where[rows] = ELSEWHERE

    def fall(self, factor):
        self.wait = {inner: factor * wait for inner, wait in self.wait.items()}
        return sum(self.front.renew(inner=inner) for inner in (True, False))

    def pop(self, now):
        rows, record, early = self.front.pop(now)
        assert not early.any()
        self.roster.where[rows] = ELSEWHERE
        return rows, record


@pytest.mark.parametrize("sizes", [{}, TINY], ids=["large", "tiny"])
@pytest.mark.parametrize("seed", range(20))
def test_against_a_dictionary(seed, sizes, monkeypatch):
    for name, size in sizes.items():
        monkeypatch.setattr(front, name, size)
    rng, n, now, came = np.random.default_rng(seed), 120, 0.0, 0
    line, right = Line(n), {}
    for _ in range(300):
        now += float(rng.exponential(0.4))
        some = rng.choice(n, rng.integers(0, 15), replace=False)
        kind = rng.random()
        if kind < 0.7:
            # Few different instants, so that many come at once; some never reach the mark.
            since = now + np.round(rng.uniform(-4, 4, len(some)))
            since[rng.random(len(some)) < 0.1] = np.inf
            free = now + np.round(rng.uniform(-4, 8, len(some)))
            held = kind < 0.1
            if held:
                since = now - line.wait[True] - np.round(rng.uniform(1, 4, len(some)))
            line.enter(some, since, free, inner=held or kind < 0.4, held=held)
            pairs = zip(since.tolist(), free.tolist(), strict=True)
            right |= dict(zip(some.tolist(), pairs, strict=True))
        elif kind < 0.9:
            line.leave(some)
            right = {row: pair for row, pair in right.items() if row not in some}
        else:
            line.fall(rng.uniform(0.8, 1.0))
        rows, record = line.pop(now)
        due = [row for row, (since, free) in right.items()
               if max(since + line.wait[True], free) <= now]  # fmt: skip
        assert sorted(rows.tolist()) == sorted(due), f"seed {seed}"
        for row, since, free in zip(rows.tolist(), record[SINCE], record[FREE], strict=True):
            assert right.pop(row) == (since, free), f"seed {seed}"
        came += len(rows)
    assert came > 300, f"seed {seed}: hardly anybody came"


def test_who_is_held_has_a_number_of_its_own():
    line = Line(4)
    line.enter(np.array([0, 1]), np.zeros(2), np.zeros(2), inner=False)
    line.enter(np.array([2]), np.zeros(1), np.full(1, 9.0), inner=True, held=True)
    assert line.roster.where[:4].tolist() == [HERE, HERE, HELD, ELSEWHERE]


def test_places_of_those_who_left_are_used_again():
    line, rows = Line(5000), np.arange(5000)
    for now in range(50):
        # Everybody leaves before its turn and enters anew.
        line.enter(rows, np.full(5000, float(now)), np.zeros(5000), inner=True)
        line.pop(float(now))
    assert len(line.front._instant) < 10 * len(rows)
    assert sorted(line.pop(52.0)[0].tolist()) == rows.tolist()


def test_a_mark_that_moves_concerns_its_own_stage():
    line, rows = Line(30), np.arange(30)
    line.enter(rows[:10], np.full(10, 100.0), np.zeros(10), inner=True)
    line.enter(rows[10:], np.full(20, 100.0), np.zeros(20), inner=False)
    assert (line.front.renew(inner=True), line.front.renew(inner=False)) == (10, 20)
    # Whoever reaches the outer mark before the horizon waits for the inner one from then on.
    line.pop(101.5)
    assert (line.front.renew(inner=True), line.front.renew(inner=False)) == (30, 0)


def test_who_has_come_is_not_on_the_list_for_ever():
    line, rows = Line(10), np.arange(10)
    line.front._span = 1e6  # so far ahead that nobody looks out anew
    for now in np.arange(0.0, 4000.0, 4.0):
        line.enter(rows, now, np.full(10, now), inner=True)
        assert len(line.pop(now + 3.5)[0]) == 10
    assert sum(len(when) for when, _ in line.front._soon) <= 10 * (front._RUNS + 2)
    assert line.front._n <= 20


def test_who_has_always_been_ripe_leaves_its_place_behind():
    line, rows = Line(10), np.arange(10)
    for _ in range(50):
        line.wait[True] = 3.0
        line.enter(rows, 0.0, np.full(10, -np.inf), inner=True)
        line.wait[True] = -np.inf
        line.front.renew(inner=True)  # there is no horizon after this
        line.leave(rows)
    assert line.front._n == 10


def test_where_the_level_has_risen_it_is_worked_out_again():
    line, rows = Line(10), np.arange(10)
    line.enter(rows, np.zeros(10), np.zeros(10), inner=True)
    # Before the horizon is set: whoever waits for the old level is asked again.
    line.wait[True], line.level = 5.0, 2.0
    assert len(line.pop(3.5)[0]) == 0
    assert len(line.pop(4.6)[0]) == 0
    # Later: they come when it was said, and it is said that this was too early.
    line.level = 4.0
    came, _, early = line.front.pop(5.5)
    assert sorted(came.tolist()) == rows.tolist()
    assert early.all()


def test_a_hair_is_no_rise():
    line = Line(10)
    line.enter(np.arange(10), np.zeros(10), np.zeros(10), inner=True)
    line.wait[True], line.level = 5.0, 1.0 + 1e-7
    assert len(line.pop(3.5)[0]) == 10
