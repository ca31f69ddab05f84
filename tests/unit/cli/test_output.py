"""Tables and JSON."""

import json
import math

import numpy as np
import pytest

from dayfly.cli.output import (
    as_typed,
    print_facts,
    print_json,
    print_line,
    print_table,
    show_number,
    show_share,
)


def test_json_is_one_object_with_null_for_what_is_not_a_number(capsys):
    document = {
        "a": 1.5,
        "inf": math.inf,
        "nan": math.nan,
        "none": None,
        "text": 'quo"te\n',
        "rows": [{"x": math.inf}, {"x": 2}],
        "empty": [],
    }
    print_json(document)
    text = capsys.readouterr().out
    assert json.loads(text) == {
        "a": 1.5, "inf": None, "nan": None, "none": None, "text": 'quo"te\n',
        "rows": [{"x": None}, {"x": 2}], "empty": [],
    }  # fmt: skip
    assert '{"x":2}\n' in text  # a row per line


def test_floats_survive_json_to_the_last_bit(capsys):
    seed = 3
    print(f"seed {seed}")
    numbers = np.random.default_rng(seed).lognormal(0, 30, 200).tolist()
    capsys.readouterr()
    print_json({"numbers": numbers})
    assert json.loads(capsys.readouterr().out)["numbers"] == numbers


def test_a_table_in_a_pipe_is_plain_and_never_cut(capsys):
    name = "n" * 300
    print_table(["source", "host", "value"], [[name, "h", "1"], ["b", "i", "22"]], texts=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == f"{name}   h          1"
    assert lines[3] == f"{'b':300}   i         22"
    assert "\x1b" not in "".join(lines)
    assert all(line == line.rstrip() for line in lines)


def test_a_column_of_words_that_is_empty_is_left_out(capsys):
    print_table(["source", "host", "value"], [["a", "", "1"]], texts=2)
    assert capsys.readouterr().out.split() == ["source", "value", "─" * 14, "a", "1"]


def test_names_cannot_steer_the_terminal(capsys):
    print_table(["source", "value"], [["[red]x[/] :smile: \x1b[31m", "1"]])
    print_line("a\x1b]0;title\x07")
    out = capsys.readouterr().out
    assert "[red]x[/] :smile: ·[31m" in out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_facts_are_aligned(capsys):
    print_facts([("a", "1"), ("long", "2")])
    assert capsys.readouterr().out == "a      1\nlong   2\n"


@pytest.mark.parametrize("x", [0.0, 1e-12, 0.5, 9.9996, 99.995, 999.96, 12345.6, 1e8, 3e15])
def test_a_shown_number_is_right_to_three_digits(x):
    assert float(show_number(x).replace(",", "")) == pytest.approx(x, rel=6e-3)


def test_shares():
    assert show_share(1.0) == "100.0 %"
    assert show_share(0.012, sign=True) == "+1.2 %"
    assert show_share(math.nan) == "–"


def test_a_command_is_shown_as_the_shell_finds_it(tmp_path, monkeypatch):
    program = tmp_path / "env" / "bin" / "dayfly"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", str(program.parent))
    assert as_typed() == "dayfly"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert as_typed() == "env/bin/dayfly"
    monkeypatch.chdir(program.parent)
    assert as_typed() == "./dayfly"
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert as_typed() == str(program)
    monkeypatch.setattr("sys.argv", ["/src/dayfly/__main__.py", "demo"])
    assert as_typed().endswith(" -m dayfly")
    monkeypatch.setattr("sys.argv", ["pytest"])
    assert as_typed() == "dayfly"
