"""`dayfly replay`: what it prints is what the library says."""

import gzip
import json
import math
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dayfly.cli import cli
from dayfly.lab.traces import read_trace, trace_lines
from dayfly.simulate import contenders, replay, synth

KEYS = {
    "policy", "share", "share_by_day", "items", "caught", "lost", "delay_mean_s", "delay_p95_s",
    "crawls", "seed",
}  # fmt: skip
HOW = ("--budget", "3/15min", "--half-life", "6h")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("traces") / "trace.csv"
    file.write_text("".join(trace_lines(synth("mixed", 40, 6 * 86400.0, seed=3))))
    return str(file)


def run(*args, **given):
    result = CliRunner().invoke(cli, ["replay", *args], prog_name="dayfly", **given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def document(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    assert not result.stderr  # no bar in a pipe
    return json.loads(result.stdout)


def test_one_policy_is_one_object_with_the_keys_of_the_reference(path):
    found = document(path, *HOW, "--policy", "round_robin", "--start", "2d", "--seed", "7")
    assert set(found) == KEYS
    trace = read_trace(path)
    expected = replay(
        trace,
        contenders(trace)["round_robin"],
        budget=3,
        epoch=900.0,
        decay=math.log(2) / 21600,
        start=trace.first + 2 * 86400.0,
        seed=7,
    )
    for key in ("share", "items", "caught", "lost", "delay_mean_s", "delay_p95_s", "crawls"):
        assert found[key] == getattr(expected, key), key
    assert found["share_by_day"] == pytest.approx(expected.share_by_day.tolist(), nan_ok=True)
    assert (found["policy"], found["seed"]) == ("round_robin", 7)


def test_every_key_is_documented():
    page = (Path(__file__).parents[3] / "docs" / "reference" / "json.md").read_text("utf-8")
    section = page.partition("## Replays")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([a-z_0-9]+)`", section)) - {"policies", "null"} == KEYS


def test_several_policies_are_rows_of_one_table(path):
    found = document(path, *HOW, "--policy", "oracle", "--policy", "round_robin")
    assert [row["policy"] for row in found["policies"]] == ["oracle", "round_robin"]
    assert all(set(row) == KEYS for row in found["policies"])
    shown = run(path, *HOW, "--policy", "oracle", "--policy", "round_robin")
    assert shown.exit_code == 0
    for row in found["policies"]:
        assert f"{100 * row['share']:.1f} %" in shown.stdout
        assert f"{row['crawls']:,}" in shown.stdout
    assert f"{len(read_trace(path))} sources" in shown.stdout
    assert "█" in shown.stdout


def test_the_default_is_a_comparison_with_the_oracle(path):
    assert "oracle" in run(path, *HOW).stdout


def test_unsorted_packed_and_piped_give_the_same(path, tmp_path):
    how = (*HOW, "--policy", "oracle", "--start", "1d")
    expected = document(path, *how)
    with open(path) as file:
        header, *lines = file
    text = header + "".join(sorted(lines, key=hash))
    packed = tmp_path / "trace.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert document(str(packed), *how) == expected
    piped = run("-", *how, "--json", input=packed.read_bytes())
    assert json.loads(piped.stdout) == expected


def test_the_start_may_be_a_time(path):
    by_time = document(path, *HOW, "--policy", "round_robin", "--start", "2020-01-03T00:00:00Z")
    assert 0 < by_time["items"] < document(path, *HOW, "--policy", "round_robin")["items"]


def test_a_window_may_show_everything(path):
    found = document(path, *HOW, "--policy", "round_robin", "--window", "all")
    assert (
        found["lost"]
        == 0
        < document(path, *HOW, "--policy", "round_robin", "--window", "1")["lost"]
    )


def test_what_is_odd_about_a_file_is_said(tmp_path):
    file = tmp_path / "odd.csv"
    file.write_text("source,time\na,1\na,1\na,5000\nb,400000000\n")
    shown = run(str(file), "--budget", "1/day", "--half-life", "6h", "--policy", "round_robin")
    assert "Note: 1 items have the same source and time as another; each counts." in shown.stdout
    assert "and 1 items come after that; are their times right?" in shown.stdout


@pytest.mark.parametrize(
    ("flags", "code", "what"),
    [
        (("--policy", "oracel"), 2, "unknown policy 'oracel'; did you mean 'oracle'?"),
        (("--budget", "0/min"), 2, "without crawls nothing is caught"),
        (("--budget", "-1/min"), 2, "must lie between"),
        (("--half-life", "0s"), 2, "must be positive"),
        (("--window", "0"), 2, "must be a whole number of at least 1, or all"),
        (("--window", "few"), 2, "must be a whole number of at least 1, or all"),
        (("--start", "80d"), 2, "lies after the last item"),
        (("--start", "soon"), 2, "is neither a duration such as 14d nor a time"),
        (("--start", "2020-01-03"), 2, "has no offset from UTC"),
        (("--start", "-1d"), 2, "must not be negative"),
    ],
)
def test_misuse_is_told(path, flags, code, what):
    result = run(path, *HOW, *flags)
    assert result.exit_code == code
    assert what in " ".join(result.stderr.split())


def test_a_bad_file_ends_in_one_line(tmp_path):
    file = tmp_path / "bad.csv"
    file.write_text("source,time\na,1\nb,never\n")
    result = run(str(file), *HOW)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"dayfly: {file}, line 3, column time: is not a time: 'never'")
    assert len(result.stderr.splitlines()) == 1
