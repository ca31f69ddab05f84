"""The learning paper's rows, measured with few steps."""

import numpy as np
import pytest

from dayfly.lab.allerton import (
    ASIDE,
    learning_rows,
    measure_lspe,
    measure_ours,
    measure_q,
    open_choices,
    readings,
)
from dayfly.lab.reference import LEARNING
from dayfly.lab.table1 import TABLE_ONE
from dayfly.lab.trials import learning, to_png
from dayfly.learn.rewards import RewardLearner
from dayfly.simulate.lesson import teach


@pytest.fixture(scope="module")
def rows():
    found = [measure_lspe(seed, 100, all_choices=seed == 0) for seed in range(2)]
    ours = measure_ours((0, 1, 2), 100)
    rows = learning_rows(found, ours, np.array([287.0, 289.0, 290.0]), 10_000)
    return {row.id: row for row in rows}


def test_rows_come_in_the_order_of_the_references(rows):
    assert list(rows) == list(LEARNING)


def test_notes_are_filled_in(rows):
    for row in rows.values():
        assert row.note is not None
        assert "{" not in row.note
    assert "260.30" in rows["allerton.whittle"].note
    assert rows["allerton.whittle"].printed == 283.0


def test_no_row_exceeds_its_bound(rows):
    for row in rows.values():
        assert row.low <= row.bound


def test_choices_cover_what_the_paper_leaves_open():
    choices = open_choices()
    assert len(set(choices)) == len(choices) == readings() * (1 + len(ASIDE))
    plain = choices[: readings()]
    assert all(one.sharpness == 2.0 and one.step == 0.05 and one.drawn for one in plain)
    assert {one.printed_reward for one in plain} == {False, True}
    assert {one.sharpness for one in choices} == {0.5, 1.0, 2.0, 8.0}


def test_runs_side_by_side_are_runs():
    """Each alone earns what it earns beside others: nothing is shared between them."""
    together = measure_ours((5, 6), 60)
    alone = measure_ours((6,), 60)
    np.testing.assert_allclose(together[:, 1], alone[:, 0], rtol=1e-9)


def test_the_lesson_of_the_simulator_ends_in_the_same_place():
    """The same learner, items drawn one by one in place of sums per epoch."""
    beside = measure_ours(tuple(range(6)), 100).mean()
    single = np.mean([teach(TABLE_ONE, RewardLearner, 1, 100, seed=s).rewards for s in range(6)])
    assert beside == pytest.approx(single, rel=0.02)


def test_ours_is_ahead_of_q_learning_from_the_start():
    ours, rival = measure_ours((0, 1, 2), 200), measure_q((0, 1, 2), 200)
    assert ours.mean() > 1.15 * rival.mean()


def test_the_trial_has_every_row_and_a_picture():
    pytest.importorskip("matplotlib")
    seen = []
    effort = learning.Effort(seeds=2, steps=120, sources=40)
    found = learning.run(effort=effort, progress=lambda done, total: seen.append((done, total)))
    names = [row.name for row in found.rows]
    assert sum("LSPE(0)" in name for name in names) == len(ASIDE) + 2
    assert sum("40 sources" in name for name in names) == 4
    assert [row.aim for row in found.rows if "our learner" in row.name] == ["≥ 94 %"]
    assert seen[-1] == (7, 7)
    assert to_png(found).startswith(b"\x89PNG")
