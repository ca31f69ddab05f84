"""The papers' numbers, measured in full, against what theory says and against a second program."""

import json
import subprocess
import sys

import numba as nb
import numpy as np
import pytest

from dayfly.index import EpochLaw
from dayfly.index.stochastic import thresholds
from dayfly.lab.reference import LEARNING, REFERENCES

pytestmark = pytest.mark.acceptance

#: Known before Dayfly existed: value, and the standard error of the runs it comes from.
EXACT = {
    "tcns.det.m1.source1": 179.7910,
    "tcns.det.m1.whittle": 260.3006,
    "tcns.det.m1.whittle_long_run": 260.3899,
    "tcns.det.m1.relaxed": 260.3899,
    "tcns.det.m1.bound": 260.3899,
    "tcns.det.m2.whittle": 337.6508,
    "tcns.det.m2.whittle_long_run": 337.7745,
    "tcns.det.m2.exact": 337.7745,
    "tcns.det.m2.bound": 338.0539,
    "tcns.det.m3.bound": 372.4103,
    "cdc.det.m1.whittle": 260.3006,
}
GRID = {
    "tcns.poisson.m1.bound": (260.97, 260.97),
    "tcns.epoch_exponential.m1.bound": (309.4, 309.4),
    "tcns.item_exponential.m1.bound": (261.5, 261.5),
    "tcns.poisson.m2.bound": (338.3, 338.5),
    "tcns.item_exponential.m2.bound": (338.7, 338.7),
    "tcns.epoch_exponential.m2.bound": (364.2, 364.2),
}
#: Lowest and highest value that was found, and the standard error of it.
MEASURED = {
    "tcns.poisson.m1.round_robin": (208.3, 208.3, 0.05),
    "tcns.poisson.m1.greedy": (260.4, 260.4, 0.05),
    "tcns.poisson.m1.whittle_slides": (253.45, 253.45, 0.05),
    "tcns.poisson.m1.whittle": (260.3, 260.3, 0.05),
    "tcns.epoch_exponential.m1.round_robin": (208, 208.4, 0.4),
    "tcns.epoch_exponential.m1.greedy": (260, 260.4, 0.4),
    "tcns.epoch_exponential.m1.whittle_slides": (287, 289, 0.4),
    "tcns.epoch_exponential.m1.whittle": (294.5, 294.5, 0.4),
    "tcns.epoch_exponential.m1.whittle_stochastic": (295.8, 295.8, 0.4),
    "tcns.epoch_exponential.m1.whittle_literal": (202, 202.5, 0.4),
    "tcns.item_exponential.m1.round_robin": (208, 208.4, 0.05),
    "tcns.item_exponential.m1.greedy": (260.4, 260.4, 0.05),
    "tcns.item_exponential.m1.whittle_slides": (253.7, 253.7, 0.05),
    "tcns.item_exponential.m1.whittle": (260.5, 260.5, 0.05),
    "slides.round_robin": (208, 208.4, 0.4),
    "slides.greedy": (260, 260.4, 0.4),
    "slides.whittle": (287, 289, 0.4),
}


@pytest.fixture(scope="module")
def rows():
    """All 40 seeds × 10,000 epochs, as a user would ask for them."""
    done = subprocess.run(
        [sys.executable, "-m", "dayfly", "reproduce", "--json"], capture_output=True, check=True
    )
    return {row["id"]: row for row in json.loads(done.stdout)["rows"]}


def test_deterministic_rows_are_right_to_a_thousandth(rows):
    for name, value in EXACT.items():
        assert rows[name]["ours"] == pytest.approx(value, abs=1e-3), name
        assert rows[name]["low"] == rows[name]["high"] == rows[name]["ours"]


def test_bounds_from_a_grid_are_right_to_a_fifth_of_a_percent(rows):
    for name, (low, high) in GRID.items():
        assert low * 0.998 <= rows[name]["ours"] <= high * 1.002, name


def test_stochastic_rows_lie_within_three_standard_errors(rows):
    for name, (low, high, error) in MEASURED.items():
        row = rows[name]
        ours = (row["high"] - row["low"]) / 2 / 2.0227  # Student's t with 39 degrees of freedom
        reach = 3 * np.hypot(ours, error)
        assert low - reach <= row["ours"] <= high + reach, name


def test_every_row_comes_out_right_and_below_its_bound(rows):
    assert list(rows) == [*REFERENCES, *LEARNING]
    for name, row in rows.items():
        if row["bound"] is not None:
            assert row["low"] <= row["bound"] * (1 + 1e-12), name


def test_the_artefact_of_the_slides_form_is_reproduced_and_goes_away(rows):
    """[J] prints that Whittle (253.1) loses to greedy (260.2) under Poisson arrivals."""
    case = "tcns.poisson.m1."
    assert rows[case + "whittle_slides"]["high"] < 254 < rows[case + "greedy"]["low"]
    assert abs(rows[case + "whittle"]["ours"] - rows[case + "greedy"]["ours"]) < 0.3
    case = "tcns.epoch_exponential.m1."
    assert rows[case + "whittle_slides"]["high"] < rows[case + "whittle"]["low"]


def test_the_report_is_written_with_all_figures(tmp_path):
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-m", "dayfly", "reproduce", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Report:" in done.stdout
    page = (tmp_path / "report.html").read_text()
    assert page.count("<figure ") == 10
    assert "Quick run" in page


# The second program: one number at a time, in the order in which the paper tells it.

MU = np.array([0.7, 0.35, 0.7, 0.21])
XI = np.array([1.0, 0.7, 0.2, 0.08])
ALPHA = np.exp(-MU)
TOP = 250 * XI / MU
U = TOP * (1 - ALPHA)
POLICIES = (
    "round_robin", "greedy", "whittle_slides", "whittle_literal", "whittle", "whittle_stochastic",
)  # fmt: skip
CASES = ("poisson", "epoch_exponential", "item_exponential")


@nb.njit
def added(rng, case, i):
    total = 0.0
    for _ in range(rng.poisson(250.0)):
        value = np.exp(-MU[i] * rng.random())
        total += value * rng.exponential() if case == 2 else value
    return XI[i] * (total * rng.exponential() if case == 1 else total)


@nb.njit
def score(policy, i, x, age, grid, gain):
    if policy == 0:
        return float(age)
    if policy == 1:
        return TOP[i] * (1 - ALPHA[i] ** age)
    if policy == 5:
        k = np.searchsorted(grid[i], x)
        if k == 0 or k == grid.shape[1]:
            return x
        share = (x - grid[i, k - 1]) / (grid[i, k] - grid[i, k - 1])
        return x + (1 - share) * gain[i, k - 1] + share * gain[i, k]
    if x >= TOP[i]:
        return 0.0 if policy == 3 else x
    eta = np.ceil(np.log(1 - x / TOP[i]) / np.log(ALPHA[i]))
    rest = x if policy == 2 else TOP[i] * (1 - ALPHA[i] ** eta)
    return eta * ((1 - ALPHA[i]) * x - U[i]) + rest


@nb.njit
def one_run(rng, case, epochs, grid, gain):
    state = np.empty((6, 4))
    state[:] = U
    age = np.ones((6, 4), dtype=np.int64)
    earned = np.zeros(6)
    for _ in range(epochs):
        fresh = np.array([added(rng, case, i) for i in range(4)])
        for policy in range(6):
            best, most = -1, -np.inf
            for i in range(4):
                worth = score(policy, i, state[policy, i], age[policy, i], grid, gain)
                if worth > most:
                    best, most = i, worth
            earned[policy] += state[policy, best]
            state[policy, best] = 0.0
            age[policy, best] = 0
            state[policy] = ALPHA * state[policy] + fresh
            age[policy] += 1
    return earned / epochs


@pytest.mark.parametrize("case", range(3), ids=CASES)
def test_the_second_program_gives_the_references(case):
    """With 240 runs in place of 12, and 1,440 for one draw per epoch, it is how they were made."""
    runs, law = 12, ("constant", "epoch_exponential", "exponential")[case]
    solved = [
        thresholds(EpochLaw(arrival=250, decay=m, worth=w, epoch=1.0, law=law), 600)
        for m, w in zip(MU, XI, strict=True)
    ]
    grid = np.array([one.state for one in solved])
    gain = np.array([one.index - one.state for one in solved])
    print("seeds", 9000, "to", 9000 + runs - 1)
    streams = [np.random.default_rng(9000 + k) for k in range(runs)]
    found = np.array([one_run(rng, case, 10_000, grid, gain) for rng in streams])
    error = found.std(axis=0, ddof=1) / np.sqrt(runs)
    for k, policy in enumerate(POLICIES):
        reference = REFERENCES[f"tcns.{CASES[case]}.m1.{policy}"]
        # Four standard errors: 18 comparisons, and the scatter itself comes from 12 runs.
        reach = 4 * np.hypot(error[k], reference.error)
        assert abs(found[:, k].mean() - reference.expected) < reach, policy
