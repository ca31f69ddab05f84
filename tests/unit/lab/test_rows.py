"""One row: verdict, interval, and its three ways out."""

import csv
import io
import json

import numpy as np
import pytest

from dayfly.lab.rows import KEYS, Row, interval, show, standard_error, to_csv, to_json


def row(**changes):
    given = {
        "id": "a.b", "printed": None, "expected": 1.0, "ours": 1.05, "low": 1.0, "high": 1.1,
        "bound": 2.0, "note": None, "tolerance": 0.1, **changes,
    }  # fmt: skip
    return Row(**given)


def test_a_row_agrees_within_its_tolerance():
    assert row().agrees
    assert not row(ours=1.2).agrees
    assert not row(ours=float("nan")).agrees


def test_the_interval_covers_the_mean_as_often_as_it_says():
    seed = 5
    print("seed", seed)
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(1000):
        _, low, high = interval(rng.normal(3.0, 2.0, 8))
        covered += low <= 3.0 <= high
    assert 925 <= covered <= 975  # 950 expected, standard deviation 7


def test_the_standard_error_is_the_scatter_of_means():
    sample = np.random.default_rng(2).normal(size=400)
    assert standard_error(sample) == pytest.approx(1 / 20, rel=0.1)


def test_json_has_the_eight_keys_and_nothing_else():
    document = json.loads(to_json([row(note="“quoted”, \\ and <b>"), row(id="c", bound=None)]))
    assert [list(one) for one in document["rows"]] == [list(KEYS), list(KEYS)]
    assert document["rows"][0]["note"] == "“quoted”, \\ and <b>"
    assert document["rows"][1]["bound"] is None
    assert list(document) == ["rows"]


def test_csv_says_whether_we_agree_and_leaves_blank_what_is_not_there():
    lines = list(csv.DictReader(io.StringIO(to_csv([row(note='a, "b"'), row(ours=9.0)]))))
    assert [line["agrees"] for line in lines] == ["yes", "no"]
    assert lines[0]["note"] == 'a, "b"'
    assert lines[0]["printed"] == ""


def test_numbers_have_the_digits_that_they_deserve():
    exact = row(tolerance=1e-3, low=1.05, high=1.05)
    assert show(exact, 260.30058) == "260.3006"
    assert show(row(), 260.30058) == "260.30"
    assert show(row(id="x.violations"), 0.007) == "0.7 %"
    assert show(row(), None) == "–"
