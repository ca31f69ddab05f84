"""`dayfly trial`, with made-up trials in place of the long ones."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import dayfly.lab.trials
from dayfly.cli import cli
from dayfly.lab.trials import NAMES, Trial, TrialRow


def made_up(name, ok=True):
    return Trial(
        name=name,
        question=f"Does {name} work?",
        rows=[
            TrialRow(name="share of the bound", value=0.9981, unit="%", aim="≥ 99 %", ok=ok),
            TrialRow(name="one call", value=1.5, unit="ms", note="only for information"),
        ],
        series={"x": np.arange(3.0)},
        seed=3,
        figure=lambda figure: figure.add_subplot().plot([1, 2]) and None,
    )


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    asked = []

    def command(*arguments, missed=()):
        def tried(name, *, quick, progress):
            asked.append((name, quick))
            return made_up(name, ok=name not in missed)

        monkeypatch.setattr(dayfly.lab.trials, "run_trial", tried)
        return CliRunner().invoke(cli, ["trial", *arguments]), asked

    return command


def test_all_trials_run_if_none_is_named(run):
    result, asked = run()
    assert result.exit_code == 0
    assert asked == [(name, False) for name in NAMES]
    for name in NAMES:
        assert f"{name}: Does {name} work? (seed 3)" in result.output
    assert result.output.splitlines()[-1] == f"Aims reached: {len(NAMES)} of {len(NAMES)}."


def test_a_table_has_figure_aim_and_verdict_and_the_notes_follow(run):
    result, asked = run("hosts", "hosts", "--quick")
    assert asked == [("hosts", True)]
    line = next(line for line in result.output.splitlines() if line.startswith("share"))
    assert line.split() == ["share", "of", "the", "bound", "99.810", "%", "≥", "99", "%", "yes"]
    assert "one call [1] " in result.output
    assert "[1] only for information\n" in result.output
    assert result.output.splitlines()[-1] == "Aims reached (quick run): 1 of 1."


def test_a_missed_aim_is_said_plainly_and_is_no_failure_of_the_command(run):
    result, _ = run("large", "hosts", missed=("hosts",))
    assert result.exit_code == 0
    last = result.output.splitlines()[-1]
    assert last == "Aims reached: 1 of 2. MISSED: hosts: share of the bound"


def test_json_is_all_that_is_printed_and_nothing_is_written(run, tmp_path):
    result, _ = run("large", "--json")
    document = json.loads(result.stdout)
    assert document["quick"] is False
    assert document["trials"][0]["rows"][0]["value"] == 0.9981
    assert list(tmp_path.iterdir()) == []


def test_a_folder_gets_a_picture_of_each_and_the_series(run, tmp_path):
    result, _ = run("large", "price", "--out", "here")
    assert "Pictures and trials.json: here" in result.output
    names = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert names == ["large.png", "price.png", "trials.json"]
    written = json.loads((tmp_path / "here" / "trials.json").read_bytes())
    assert written["trials"][1]["series"] == {"x": [0.0, 1.0, 2.0]}


def test_an_unknown_name_ends_before_the_work(run):
    result, asked = run("large", "hots")
    assert result.exit_code == 2
    assert "did you mean 'hosts'" in result.output
    assert asked == []


def test_without_matplotlib_a_folder_is_refused_before_the_work(run, monkeypatch):
    monkeypatch.setattr("dayfly.lab.drawing.available", lambda: False)
    result, asked = run("--out", "here")
    assert result.exit_code == 1
    assert "dayfly[figures]" in result.output
    assert asked == []
    assert run("large")[0].exit_code == 0, "tables need no pictures"


def test_a_folder_that_cannot_be_written_ends_before_the_work(run, tmp_path):
    (tmp_path / "file").write_text("")
    result, asked = run("--out", "file/below")
    assert result.exit_code == 1
    assert asked == []


def test_the_help_names_every_trial(run):
    result, _ = run("--help")
    for name in NAMES:
        assert f"\n  {name} " in result.output
