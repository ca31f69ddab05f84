"""`dayfly league` on a contest so small that it is over at once."""

import json

import pytest
from click.testing import CliRunner

import dayfly.lab.jobs
from dayfly.cli import cli
from dayfly.lab.league import SCENARIOS, Scenario, play
from dayfly.simulate import synth
from dayfly.simulate.synth import START

DAY = 86400.0


def twenty(seed):
    return synth("poisson", 20, 5 * DAY, seed=seed)


TINY = Scenario(
    name="tiny-v1",
    about="Twenty sources.",
    load=twenty,
    origin=START,
    history_days=2,
    days=5,
    budgets=(1.0, 2.0),
    half_lives=(6 * 3600.0,),
    settled_days=1,
)
WHO = ("--policies", "oracle,b0_cycle, azar")


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setitem(SCENARIOS, "tiny-v1", TINY)
    monkeypatch.setattr(dayfly.lab.jobs, "cores", lambda: 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)
    play._trace.cache_clear()

    def command(*arguments):
        result = CliRunner().invoke(cli, ["league", *arguments], prog_name="dayfly")
        expected = result.exception is None or isinstance(result.exception, SystemExit)
        assert expected, result.exception
        return result

    yield command
    play._trace.cache_clear()


def test_every_cell_has_a_table_and_the_report_is_where_it_says(run, tmp_path):
    result = run("tiny-v1", "--policies", "uniform,b0_cycle,azar", "--seeds", "1", "--out", "here")
    assert result.exit_code == 0, result.stderr
    assert not result.stderr  # no bar in a pipe
    assert "tiny-v1: half-life 6h, 1 per 15min" in result.stdout
    assert "tiny-v1: half-life 6h, 2 per 15min" in result.stdout
    for word in ("uniform", "b0_cycle", "azar", "of bound", "last 1 days"):
        assert word in result.stdout
    assert "dayfly did not play" in result.stdout
    assert result.stdout.splitlines()[-1] == "Report: here/report.html"
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == [
        "league.csv", "league.json", "report.html",
    ]  # fmt: skip
    assert list((tmp_path / "kept" / "dayfly" / "league").iterdir())


def test_json_is_all_that_is_printed(run, tmp_path):
    result = run("tiny-v1", *WHO, "--seeds", "2", "--json", "--cache", "mine")
    found = json.loads(result.stdout)
    assert list(found) == ["quick", "n_seeds", "scenarios", "cells", "verdicts"]
    assert found["n_seeds"] == 2
    assert found["scenarios"][0]["n_sources"] == 20
    budgets = [cell["budget_per_s"] for cell in found["cells"]]
    assert budgets == pytest.approx([1 / 900, 2 / 900])
    line = found["cells"][0]["policies"][0]
    assert line["policy"] == "oracle"
    assert line["oracle_share"] == 1.0
    assert line["share_low"] <= line["share"] <= line["share_high"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_name_that_nobody_knows_is_refused_with_the_nearest(run):
    result = run("tiny-v2", *WHO)
    assert result.exit_code == 2
    assert "did you mean 'tiny-v1'" in result.stderr
    result = run("tiny-v1", "--policies", "oracel")
    assert result.exit_code == 2
    assert "did you mean 'oracle'" in result.stderr
    assert run("tiny-v1", "--policies", ",").exit_code == 2
    assert run("tiny-v1", "--seeds", "0").exit_code == 2


def test_missing_data_end_in_one_line_that_says_where(run, monkeypatch, tmp_path):
    monkeypatch.setenv("DAYFLY_DATA", str(tmp_path / "nowhere"))
    result = run("news-v1", *WHO)
    assert result.exit_code == 1
    assert str(tmp_path / "nowhere") in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(run, tmp_path):
    (tmp_path / "file").write_text("")
    result = run("tiny-v1", *WHO, "--out", "file/x")
    assert result.exit_code == 1
    assert "--out" in result.stderr


def test_the_help_names_every_scenario(run):
    text = run("--help").stdout
    for name in SCENARIOS:
        assert name == "tiny-v1" or name in text


def test_where_ours_plays_it_is_compared_and_judged(run, monkeypatch):
    from dayfly import learn
    from dayfly.policies.field import RIVALS

    monkeypatch.setattr(learn, "LEARNERS", {"dayfly": RIVALS["azar"]}, raising=False)
    who = ("--policies", "dayfly,proportional,b0_cycle", "--seeds", "2")
    result = run("tiny-v1", *who)
    assert result.stdout.count("points more than the best field rule, b0_cycle.") == 2
    assert "than the best rival, proportional." in result.stdout
    assert "tiny-v1 6h × 1: margin over the field rules and rivals that played (2)" in result.stdout
    assert result.stdout.splitlines()[-1] == "These cells have no aims."


def test_without_names_what_is_not_there_is_left_out(run, monkeypatch, tmp_path):
    for name in list(SCENARIOS):
        if name not in ("news-v1", "tiny-v1"):
            monkeypatch.delitem(SCENARIOS, name)
    monkeypatch.setenv("DAYFLY_DATA", str(tmp_path / "nowhere"))
    result = run(*WHO, "--seeds", "1")
    assert result.exit_code == 0, result.output
    assert "news-v1 is left out: news_arrivals.csv.gz is not in" in result.stderr
    assert "tiny-v1: " in result.stdout
    by_name = run("news-v1", *WHO, "--seeds", "1")
    assert by_name.exit_code == 1
    assert "news_arrivals.csv.gz is needed and was looked for in" in by_name.output
