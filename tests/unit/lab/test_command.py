"""`dayfly reproduce`, with a tiny effort in place of the real one."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

import dayfly.lab
from dayfly.cli import cli
from dayfly.lab.rows import KEYS


@pytest.fixture(scope="module")
def right(study):
    """A study whose rows all agree."""
    return replace(study, rows=[replace(row, tolerance=1e9) for row in study.rows])


@pytest.fixture
def run(right, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    asked = []

    def command(*arguments, study=right):
        def measured(effort, **how):
            asked.append((effort, how["with_figures"]))
            return study

        monkeypatch.setattr(dayfly.lab, "reproduce", measured)
        result = CliRunner().invoke(cli, ["reproduce", *arguments])
        return result, asked[-1] if asked else None

    return command


def test_the_table_has_every_row_and_the_report_is_where_it_says(run, right, tmp_path):
    result, asked = run()
    assert result.exit_code == 0
    for row in right.rows:
        assert row.id in result.output
    assert "Report: reproduce/report.html" in result.output
    assert (tmp_path / "reproduce" / "report.html").exists()
    assert asked == (dayfly.lab.FULL, True)


def test_json_is_all_that_is_printed_and_nothing_is_written(run, tmp_path):
    result, asked = run("--json", "--quick")
    rows = json.loads(result.stdout)["rows"]
    assert set(rows[0]) == set(KEYS)
    assert list(tmp_path.iterdir()) == []
    assert asked == (dayfly.lab.QUICK, False)


def test_json_and_a_folder_give_both(run, tmp_path):
    result, _ = run("--json", "--out", "here")
    assert json.loads(result.stdout) == json.loads((tmp_path / "here" / "rows.json").read_bytes())


def test_a_quick_run_says_so(run):
    assert "Quick run" in run("--quick")[0].output


def test_a_row_that_does_not_come_out_right_ends_with_1(run, right):
    wrong = replace(right, rows=[replace(right.rows[0], tolerance=-1.0), *right.rows[1:]])
    result, _ = run(study=wrong)
    assert result.exit_code == 1
    assert f"Not right: {right.rows[0].id}" in result.output
    result, _ = run("--json", study=wrong)
    assert result.exit_code == 1
    assert json.loads(result.stdout)


def test_without_matplotlib_the_report_is_written_and_says_what_is_missing(
    run, monkeypatch, tmp_path
):
    monkeypatch.setattr("dayfly.lab.drawing.available", lambda: False)
    result, _ = run("--out", "plain")
    assert result.exit_code == 0
    assert "dayfly[figures]" in result.output
    assert (tmp_path / "plain" / "report.html").exists()


def test_a_folder_that_cannot_be_written_ends_before_the_work(run, tmp_path):
    (tmp_path / "file").write_text("")
    result, asked = run("--out", "file/below")
    assert result.exit_code == 1
    assert asked is None
