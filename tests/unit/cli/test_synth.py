"""`dayfly synth`: traces with known truth, as files."""

import csv

import pytest
from click.testing import CliRunner

from dayfly.cli import cli
from dayfly.lab.traces import read_trace
from dayfly.simulate.synth import KINDS


def run(*args):
    result = CliRunner().invoke(cli, ["synth", *args], prog_name="dayfly")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_writes_a_trace_and_its_truth(tmp_path, kind):
    out = tmp_path / "out.csv"
    result = run(str(out), "--kind", kind, "--sources", "50", "--days", "5", "--seed", "3")
    assert result.exit_code == 0, result.stderr
    trace = read_trace(out)
    with open(tmp_path / "out.truth.csv") as file:
        truth = list(csv.DictReader(file))
    assert len(truth) == 50
    assert set(trace.sources) <= {row["source"] for row in truth}
    assert all(float(row["rate"]) > 0 for row in truth)
    assert f"{len(trace.time):,} items of {len(trace)} sources" in result.stdout
    assert f"{50 - len(trace)} sources publish nothing" in result.stdout


def test_the_same_seed_writes_the_same_file(tmp_path):
    texts = []
    for name in ("a.csv", "b.csv"):
        run(str(tmp_path / name), "--sources", "20", "--days", "3", "--seed", "5")
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("flags", "code", "what"),
    [
        (("--kind", "poison"), 2, "'poison' is not one of"),
        (("--sources", "0"), 2, "0 is not in the range"),
        (("--days", "0"), 2, "0.0 is not in the range"),
        (("--rate", "0/day"), 2, "must be positive, got 0/day"),
        (("--rate", "1000/s"), 1, "items are too many"),
    ],
)
def test_misuse_is_told_and_nothing_is_written(tmp_path, flags, code, what):
    result = run(str(tmp_path / "out.csv"), *flags)
    assert result.exit_code == code
    assert what in result.stderr
    assert not list(tmp_path.iterdir())


def test_the_name_must_say_csv(tmp_path):
    result = run(str(tmp_path / "out.csv.gz"))
    assert result.exit_code == 2
    assert "must end in .csv" in result.stderr
