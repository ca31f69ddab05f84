"""The rows, measured with few seeds."""

import numpy as np
import pytest

from dayfly.lab.papers import LAWS, measure_law, paper_rows
from dayfly.lab.reference import REFERENCES

SEEDS = (100, 101, 102, 103)


@pytest.fixture(scope="module")
def rows():
    print("seeds", SEEDS)
    samples = {case: measure_law(case, SEEDS, 500) for case in LAWS}
    return {row.id: row for row in paper_rows(samples, 500)}


def test_rows_come_in_the_order_of_the_report(rows):
    assert list(rows) == list(REFERENCES)


def test_rows_without_chance_are_right(rows):
    exact = [row for name, row in rows.items() if REFERENCES[name].kind == "exact"]
    assert len(exact) == 14
    for row in exact:
        assert row.agrees, row
        assert row.low == row.ours == row.high


def test_bounds_are_right_and_grow_with_the_budget(rows):
    for case in LAWS:
        one, two = rows[f"tcns.{case}.m1.bound"], rows[f"tcns.{case}.m2.bound"]
        assert one.agrees, one
        assert two.agrees, two
        assert one.ours < two.ours


def test_no_policy_exceeds_its_bound(rows):
    for row in rows.values():
        if row.bound is not None:
            assert row.low <= row.bound * (1 + 1e-12), row.id


def test_few_seeds_land_where_the_references_say(rows):
    """Four runs of 500 epochs: a wide net, but the forms are farther apart than it."""
    for case in LAWS:
        found = {
            name: rows[f"tcns.{case}.m1.{name}"].ours for name in ("whittle", "whittle_slides")
        }
        assert found["whittle"] > found["whittle_slides"], case
    literal = rows["tcns.epoch_exponential.m1.whittle_literal"]
    assert literal.ours < 0.8 * rows["tcns.epoch_exponential.m1.whittle"].ours


def test_notes_are_filled_in_and_say_something_wherever_the_print_is_off(rows):
    for row in rows.values():
        if row.note is not None:
            assert "{" not in row.note, row.id
        if row.printed is not None and abs(row.printed - row.expected) > 0.5:
            assert row.note is not None, row.id


def test_the_slides_rows_are_those_of_one_draw_per_epoch(rows):
    for name, policy in (("round_robin", "round_robin"), ("whittle", "whittle_slides")):
        assert rows[f"slides.{name}"].ours == rows[f"tcns.epoch_exponential.m1.{policy}"].ours


def test_printed_shares_are_numbers(rows):
    assert rows["tcns.det.m1.relaxed_violations"].printed == pytest.approx(0.01)
    assert rows["tcns.det.m1.whittle"].printed == 260.3
    assert rows["tcns.det.m1.whittle"].printed_as == "260.30"


def test_all_policies_of_a_case_meet_the_same_arrivals():
    """With budget and seeds equal, a rule that never looks differs only by when it crawls."""
    found = measure_law("poisson", (3,), 100)
    again = measure_law("poisson", (3, 4), 100)
    for name, earned in found.items():
        np.testing.assert_allclose(earned[0], again[name][0], rtol=1e-12)
