"""Order among due sources, ticks, and rules scaled to a budget."""

import numpy as np
import pytest

from dayfly.model import Visits
from dayfly.policies import Contest
from dayfly.policies.field import FIELD, Native, Scaled, Ticking
from dayfly.policies.field.dispatcher import Cycle
from dayfly.policies.field.rule import Fixed

MINUTE, HOUR = 60.0, 3600.0


class Given:
    """A rule that asks for a given interval per source, in minutes."""

    def __init__(self, *minutes):
        self.minutes = np.array(minutes, dtype=float)

    def after(self, polls):
        return self.minutes[polls.row]


def contest(sources, budget=1.0):
    return Contest(
        sources=sources, start=0.0, epoch=900.0, budget=budget, decay=1e-4, window=20, span=1e6
    )


def nothing(time, rows):
    """Visits that saw nothing."""
    n = len(rows)
    return Visits(
        time=time, row=np.asarray(rows, dtype=np.int64), gap=np.full(n, 60.0),
        start=np.zeros(n + 1, dtype=np.int64), published=np.empty(0), worth=np.empty(0),
        new=np.zeros(n, dtype=np.int64), value=np.zeros(n),
    )  # fmt: skip


def play(contender, instants, k, epoch=900.0, seed=0):
    """What it chooses at each instant."""
    rng, chosen = np.random.default_rng(seed), []
    for number in range(instants):
        rows = contender.choose(number * epoch, k, rng)
        contender.observe(nothing(number * epoch, rows))
        chosen.append(rows.tolist())
    return chosen


def test_never_polled_sources_come_first_and_in_row_order():
    for contender in (
        Native(contest(4), Fixed(15.0), "earliest due"),
        Native(contest(4), Fixed(15.0), "least recently polled"),
        Scaled(contest(4), Fixed(15.0)),
        Cycle(contest(4)),
    ):
        assert play(contender, 3, 2) == [[0, 1], [2, 3], [0, 1]]


def test_nobody_is_polled_before_it_is_due():
    contender = Native(contest(2), Given(30, 60), "earliest due")
    assert play(contender, 6, 5) == [[0, 1], [], [0], [], [0, 1], []]


def test_earliest_due_and_least_recently_polled_differ():
    for order, expected in (("earliest due", [1, 0]), ("least recently polled", [0, 1])):
        contender = Native(contest(2), Given(60, 15), order)
        contender.observe(nothing(0.0, [0]))
        contender.observe(nothing(900.0, [1]))
        assert contender.choose(HOUR, 2, np.random.default_rng(0)).tolist() == expected


def test_random_order_takes_the_due_ones_with_equal_chances():
    contender = Native(contest(6), Given(*[60] * 5, 600), "random")
    contender.observe(nothing(0.0, np.arange(6)))
    rng = np.random.default_rng(2)
    print("seed 2")
    drawn = np.concatenate([contender.choose(HOUR, 2, rng) for _ in range(1000)])
    count = np.bincount(drawn, minlength=6)
    assert count[5] == 0
    assert (abs(count[:5] - 400) < 80).all()


def test_a_tick_picks_a_batch_that_is_worked_off_within_the_budget():
    contender = Ticking(contest(5), Fixed(60.0), "earliest due", tick=60.0, batch=3)
    # Ticks at instants 0 and 4; what was polled at 900 s is not due yet at the second.
    assert play(contender, 8, 2) == [[0, 1], [2], [], [], [3, 4], [0], [], []]


def test_what_a_tick_leaves_over_competes_again():
    contender = Ticking(contest(9), Fixed(60.0), "earliest due", tick=30.0, batch=100)
    assert play(contender, 5, 2) == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 0]]


def test_scaled_rates_keep_the_proportions_of_the_rule_and_spend_the_budget():
    minutes = np.array([5.0, 10.0, 20.0, 40.0])
    chosen = play(Scaled(contest(4), Given(*minutes)), 3000, 1)
    count = np.bincount(np.concatenate(chosen), minlength=4)
    assert count.sum() == 3000
    assert count / 3000 == pytest.approx((1 / minutes) / (1 / minutes).sum(), rel=0.02)


def test_a_common_factor_changes_nothing_when_scaled():
    one, ten = (play(Scaled(contest(3), Given(7 * f, 11 * f, 29 * f)), 200, 1) for f in (1, 10))
    assert one == ten


def test_jitter_is_drawn_once_per_poll_from_the_generator_handed_in():
    def double(minutes, rng):
        return minutes * (1 + rng.integers(2, size=len(minutes)))

    contender = Native(contest(200), Fixed(60.0), "earliest due", double)
    contender.observe(nothing(0.0, np.arange(200)))
    rng = np.random.default_rng(4)
    print("seed 4")
    early = contender.choose(HOUR, 200, rng)
    assert 70 < len(early) < 130
    assert contender.choose(HOUR, 200, rng).tolist() == early.tolist()
    assert len(contender.choose(2 * HOUR, 200, rng)) == 200


def test_every_rule_is_there_in_its_own_order_and_scaled():
    numbers = {int(name[1:].split("_")[0]) for name in FIELD}
    assert numbers == set(range(15))
    plain = {int(name[1:].split("_")[0]) for name in FIELD if name.endswith(".scaled")}
    # The cycle spends any budget as it is.
    assert plain == set(range(1, 15))
