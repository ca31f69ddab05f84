"""Files in and out: told apart by line, written whole or not at all."""

import io
import os
import stat
import sys

import pytest

from dayfly.config import files, read_fleet, write_text_atomically
from dayfly.errors import BadInput
from dayfly.model import LONGEST_LINE, Fleet, write_csv

GOOD = "id,arrival,half_life\nä,40/day,6h\nb,1/h,2 days\n"


@pytest.fixture
def fleet_csv(tmp_path):
    path = tmp_path / "fleet.csv"
    path.write_text(GOOD, encoding="utf-8")
    return path


def complaint(path):
    with pytest.raises(BadInput) as caught:
        read_fleet(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_reads_a_file(fleet_csv):
    assert read_fleet(fleet_csv).id == ("ä", "b")
    assert read_fleet(str(fleet_csv)).id == ("ä", "b")


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_byte_order_marks_and_line_endings_are_tolerated(fleet_csv, ending):
    fleet_csv.write_bytes(b"\xef\xbb\xbf" + GOOD.encode().replace(b"\n", ending))
    assert read_fleet(fleet_csv).id == ("ä", "b")


def test_a_dash_is_standard_input(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(GOOD.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert read_fleet("-").id == ("ä", "b")
    assert not stdin.buffer.closed
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert complaint("-").startswith("<stdin>: is empty")


def test_no_file_and_a_folder_are_said_so(tmp_path):
    assert complaint(tmp_path / "none.csv") == f"{tmp_path / 'none.csv'}: there is no such file"
    assert complaint(tmp_path) == f"{tmp_path}: is a folder, not a file"
    assert "cannot be opened" in complaint("nul\0byte")


def test_what_is_not_utf8_is_named_with_its_line(fleet_csv):
    fleet_csv.write_bytes(GOOD.encode() + b"caf\xe9,1/h,1h\n")
    assert complaint(fleet_csv) == f"{fleet_csv}, line 4: is not UTF-8 text; save it as UTF-8"
    fleet_csv.write_bytes(GOOD.encode("utf-16"))
    assert "line 1: is not UTF-8 text" in complaint(fleet_csv)


def test_a_bad_cell_is_named_with_file_line_and_column(fleet_csv):
    fleet_csv.write_text(GOOD + "c,1/h,-6h\n", encoding="utf-8")
    assert complaint(fleet_csv) == (
        f"{fleet_csv}, line 4, column half_life: must be positive, got -6h"
    )


def test_an_endless_line_is_refused_without_being_read_whole(fleet_csv, monkeypatch):
    with fleet_csv.open("w") as file:
        file.write("id,arrival,decay\n")
        for _ in range(100):
            file.write("x" * 1_000_000)
    taken = []
    lines = files._lines
    monkeypatch.setattr(
        files, "_lines", lambda *given: (taken.append(len(x)) or x for x in lines(*given))
    )
    assert complaint(fleet_csv).endswith("line 2: is longer than 65536 characters")
    assert sum(taken) < 2 * LONGEST_LINE


def test_the_longest_line_is_still_read(fleet_csv):
    long = "x" * (LONGEST_LINE - 4)
    fleet_csv.write_text(f"id,arrival,decay\r\n{long},1,1\r\nb,1,1\r\n", newline="")
    assert read_fleet(fleet_csv).id == (long, "b")
    fleet_csv.write_text(f"id,arrival,decay\r\nx{long},1,1\r\nb,1,1\r\n", newline="")
    assert complaint(fleet_csv).endswith("line 2: is longer than 65536 characters")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_closed_file_is_said_so(fleet_csv):
    fleet_csv.chmod(0)
    assert "Permission denied" in complaint(fleet_csv)


def test_a_fleet_goes_through_a_file_unchanged(tmp_path):
    names = ["plain", " space", 'quo"te', "com,ma", "\u2028line\x85end\x0b", "ünï"]
    fleet = Fleet(arrival=[0.1, 1 / 3, 2e-300, 5.0, 6.0, 7.0], decay=1 / 7, id=names, host=names)
    write_text_atomically(tmp_path / "fleet.csv", "".join(write_csv(fleet)))
    again = read_fleet(tmp_path / "fleet.csv")
    assert (again.id, again.host) == (fleet.id, fleet.host)
    assert again.arrival.tolist() == fleet.arrival.tolist()


def test_text_is_written_and_replaced(tmp_path):
    path = tmp_path / "out.csv"
    write_text_atomically(path, "eins\nzwei ü\n")
    assert path.read_bytes() == "eins\nzwei ü\n".encode()
    path.chmod(0o640)
    write_text_atomically(str(path), "drei\n")
    assert path.read_text() == "drei\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    path.write_text("old\n")

    def full(*_):
        raise OSError(28, "No space left on device")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, step, full)
            with pytest.raises(BadInput, match="cannot be written: No space left on device"):
                write_text_atomically(path, "new\n")
        assert path.read_text() == "old\n"
        assert os.listdir(tmp_path) == ["out.csv"]
    with pytest.raises(BadInput, match="cannot be written as UTF-8"):
        write_text_atomically(path, "half a pair: \ud800")
    assert os.listdir(tmp_path) == ["out.csv"]


def test_an_interrupted_write_leaves_no_draft(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_text_atomically(tmp_path / "out.csv", "new\n")
    assert os.listdir(tmp_path) == []


def test_a_folder_and_a_missing_folder_are_said_so(tmp_path):
    with pytest.raises(BadInput, match="is not a file that can be replaced"):
        write_text_atomically(tmp_path, "x")
    with pytest.raises(BadInput, match="cannot be written: No such file or directory"):
        write_text_atomically(tmp_path / "none" / "out.csv", "x")


def test_a_link_keeps_pointing_to_the_file_that_changes(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old\n")
    link.symlink_to(real)
    write_text_atomically(link, "new\n")
    assert link.is_symlink()
    assert real.read_text() == "new\n"
