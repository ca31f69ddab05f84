"""What is fixed before anything runs: all rows are there, and exact ones can be derived."""

import numpy as np
import pytest

from dayfly.lab.reference import GREEDY, REFERENCES, ROUND_ROBIN, Reference
from dayfly.lab.table1 import TABLE_ONE, ceiling
from dayfly.policies import Greedy, RoundRobin
from dayfly.simulate import simulate

STOCHASTIC = (
    "round_robin", "greedy", "whittle_slides", "whittle_literal", "whittle", "whittle_stochastic",
    "bound",
)  # fmt: skip


def test_every_row_that_was_promised_is_there():
    det = ("m1.source1", "m1.whittle", "m1.relaxed", "m1.bound", "m2.whittle", "m2.exact",
           "m2.bound", "m3.bound", "m1.relaxed_violations")  # fmt: skip
    promised = {f"tcns.det.{name}" for name in det}
    for case in ("poisson", "epoch_exponential", "item_exponential"):
        promised |= {f"tcns.{case}.m1.{name}" for name in STOCHASTIC} | {f"tcns.{case}.m2.bound"}
    promised |= {"cdc.det.m1.whittle", "slides.round_robin", "slides.greedy", "slides.whittle"}
    assert promised <= set(REFERENCES)


@pytest.mark.parametrize(("policy", "expected"), [(RoundRobin(), ROUND_ROBIN), (Greedy(), GREEDY)])
def test_rules_that_never_look_earn_on_average_what_they_earn_without_chance(policy, expected):
    assert simulate(TABLE_ONE, policy, 1, 10_000).mean == pytest.approx(expected, abs=5e-5)


def test_the_long_runs_follow_from_the_cycles():
    top, alpha = ceiling(TABLE_ONE), np.exp(-TABLE_ONE.decay)
    by_turns = (top * (1 - alpha**2))[:2].sum() / 2
    assert by_turns == pytest.approx(REFERENCES["tcns.det.m1.whittle_long_run"].expected, abs=5e-5)
    four_apart = (top * (1 - alpha**4)).sum() / 4
    start = sum(top[i] * (alpha[i] ** (i + 1) - alpha[i] ** 4) for i in range(4))
    assert four_apart - start / 10_000 == pytest.approx(ROUND_ROBIN, abs=5e-5)


def test_tolerances_are_as_documented():
    assert Reference(expected=100.0).tolerance(5.0) == 1e-3
    assert Reference(expected=100.0, kind="grid", error=0.1).tolerance() == pytest.approx(0.3)
    measured = Reference(expected=100.0, kind="measured", error=0.3)
    assert measured.tolerance(0.4) == pytest.approx(1.5)


def test_notes_are_one_sentence():
    for name, reference in REFERENCES.items():
        if reference.note is not None:
            assert reference.note.endswith("."), name
            assert ". " not in reference.note, name
