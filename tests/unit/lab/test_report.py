"""The report stands alone, says what it must, and is written whole or not at all."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dayfly.errors import BadInput
from dayfly.lab.report import SECTIONS, check_folder, page, write_report

VOID = {"meta", "br", "path", "use", "rect", "circle"}


class Balance(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def test_the_page_is_well_formed_and_needs_nothing_else(study):
    text = page(study)
    balance = Balance()
    balance.feed(text)
    assert balance.open == []
    links = re.findall(r"(?:href|src)=\"([^\"]*)\"|url\(([^)]*)\)|@import", text)
    assert all(target.startswith("#") for pair in links for target in pair if target)
    assert "<script" not in text
    assert "prefers-color-scheme: dark" in text


def test_every_row_is_in_the_page_once_with_its_numbers(study):
    text = page(study)
    for row in study.rows:
        assert text.count(f'<tr id="{row.id}">') == 1
        assert any(row.id.startswith(start) for start in SECTIONS)
    assert "260.3006" in text
    assert "254.66" in text
    assert text.count("<figure ") == 10


def test_a_wrong_row_is_shouted_out(study):
    rows = [replace(study.rows[0], ours=0.0), *study.rows[1:]]
    text = page(replace(study, rows=rows))
    assert f"Not right: {rows[0].id}" in text
    assert "✗" in text


def test_notes_cannot_break_the_page(study):
    rows = [replace(study.rows[0], note="<script>alert(1)</script>"), *study.rows[1:]]
    assert "<script" not in page(replace(study, rows=rows))


def test_a_quick_run_is_marked(study):
    assert "Quick run" in page(study)
    assert "Quick run" not in page(replace(study, effort=replace(study.effort, quick=False)))


def test_without_figures_the_page_says_why(study):
    text = page(replace(study, papers=[], beyond=[]), "drawing figures needs an optional part")
    assert text.count("drawing figures needs an optional part.") == 2


def test_three_files_appear_and_say_the_same(study, tmp_path):
    written = write_report(study, tmp_path / "new" / "folder")
    assert sorted(file.name for file in written.parent.iterdir()) == [
        "report.html", "rows.csv", "rows.json",
    ]  # fmt: skip
    rows = json.loads((written.parent / "rows.json").read_bytes())["rows"]
    lines = (written.parent / "rows.csv").read_text().splitlines()
    assert [row["id"] for row in rows] == [line.split(",")[0] for line in lines[1:]]
    assert rows[0]["ours"] == study.rows[0].ours


def test_a_report_that_cannot_be_written_leaves_the_old_one_as_it_was(study, tmp_path, monkeypatch):
    write_report(study, tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    whole = Path.write_bytes

    def full_disk(self, content):
        if "rows.json" in self.name:
            whole(self, content[:10])
            raise OSError(28, "No space left on device")
        return whole(self, content)

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(BadInput, match="No space left"):
        write_report(replace(study, rows=study.rows[:3]), tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_one_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="--out"):
        check_folder(tmp_path / "file" / "below")
    check_folder(tmp_path / "not" / "yet" / "there")
    assert not (tmp_path / "not").exists()
