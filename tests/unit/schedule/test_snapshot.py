"""The snapshot file: whole or not at all, and refused unless every byte is right."""

import errno
import itertools
import json
import math
import os
import re
import resource
import stat
import struct
import threading
import tracemalloc
import zlib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dayfly.errors import BadInput
from dayfly.estimate import Estimate, Estimates
from dayfly.model import Fleet
from dayfly.schedule import Limits, Scheduler, snapshot
from dayfly.schedule.fileformat import read_snapshot, write_snapshot
from dayfly.schedule.snapshot import load, save

PREAMBLE = 32
META = {"price": 0.1, "hosts": ["", "a.example", "ü"], "epoch": None, "rows": 3, "on": True}
COLUMNS = {
    "float64": np.array([0.1, -0.0, math.inf, -math.inf, math.nan, 5e-324]),
    "float32": np.array([0.1, -0.0, math.inf, math.nan], np.float32),
    "int64": np.array([-(2**63), 2**63 - 1, 0]),
    "int32": np.array([-(2**31), 2**31 - 1], np.int32),
    "uint8": np.arange(256, dtype=np.uint8),
    "bool": np.array([True, False, True]),
    "table": np.arange(12.0).reshape(3, 4),
    "none": np.empty(0),
    "no_rows": np.empty((0, 5), np.int32),
    "no_columns": np.empty((5, 0), bool),
}


@pytest.fixture
def path(tmp_path) -> Path:
    path = tmp_path / "fleet.snapshot"
    write_snapshot(path, META, COLUMNS)
    return path


def complaint(path) -> str:
    """What is said about a file that is refused; always in one line that names the file."""
    with pytest.raises(BadInput) as caught:
        read_snapshot(path)
    said = str(caught.value)
    assert "\n" not in said
    assert str(path) in said
    return said


def assert_same(given, back) -> None:
    assert list(given) == list(back)
    for name, column in given.items():
        assert back[name].dtype == column.dtype.newbyteorder("="), name
        assert back[name].shape == column.shape, name
        assert back[name].tobytes() == column.astype(back[name].dtype).tobytes(), name
        assert back[name].flags.writeable, name


def sections(path) -> list[tuple[str, int, int]]:
    """Name, first byte and end of each part, read by the words of the page on the format."""
    raw = path.read_bytes()
    length = struct.unpack_from("<I", raw, 12)[0]
    start = PREAMBLE + length
    header = json.loads(raw[PREAMBLE:start])
    found = [("preamble", 0, PREAMBLE), ("header", PREAMBLE, start)]
    for one in (header["meta"], *header["columns"]):
        first = start + one["offset"]
        size = math.prod(one["shape"]) * np.dtype(one["dtype"]).itemsize
        assert zlib.crc32(raw[first : first + size]) == int(one["crc"], 16)
        found.append((one["name"], first, first + size))
    assert found[-1][2] == len(raw)
    return found


def forge(path, header=None, body=None, *, version=1, size=None, magic=b"\x89Dfly\r\n\x1a") -> None:
    """Write a file with any header and body whose checksums are right all the same."""
    raw = path.read_bytes()
    start = PREAMBLE + struct.unpack_from("<I", raw, 12)[0]
    text = raw[PREAMBLE:start] if header is None else header
    text = text if isinstance(text, bytes) else json.dumps(text).encode()
    body = raw[start:] if body is None else body
    size = PREAMBLE + len(text) + len(body) if size is None else size
    first = struct.pack("<8sIIQI", magic, version, len(text), size, zlib.crc32(text))
    path.write_bytes(first + struct.pack("<I", zlib.crc32(first)) + text + body)


def header_of(path) -> dict:
    raw = path.read_bytes()
    return json.loads(raw[PREAMBLE : PREAMBLE + struct.unpack_from("<I", raw, 12)[0]])


# There and back


def test_every_kind_of_column_comes_back_bit_for_bit(path):
    meta, arrays = read_snapshot(path)
    assert meta == META
    assert_same(COLUMNS, arrays)


def test_the_file_is_laid_out_as_documented(path):
    found = sections(path)
    assert [name for name, _, _ in found] == ["preamble", "header", "meta", *COLUMNS]
    for (_, _, end), (_, first, _) in itertools.pairwise(found):
        assert first == end
    header = header_of(path)
    assert header["dayfly"] == version("dayfly")
    assert header["byte_order"] == "little"


def test_the_same_state_gives_the_same_file(path, tmp_path):
    write_snapshot(tmp_path / "again", META, COLUMNS)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_path_may_be_text_or_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_snapshot("here", {}, {})
    assert read_snapshot(Path("here")) == ({}, {})


def test_columns_may_lie_in_memory_in_any_way(path):
    table = np.arange(600_000.0).reshape(300, 2000)
    given = {
        "reversed": table[0, ::-1],
        "strided": table[:, 3],
        "one number": np.broadcast_to(np.float64(7.5), 200_001),
        "transposed": table.T,
        "long rows": table[:2].repeat(100, axis=1),
        "big-endian": np.arange(5, dtype=">i4"),
        "read-only": table[1],
    }
    given["read-only"].flags.writeable = False
    write_snapshot(path, {}, given)
    assert_same(given, read_snapshot(path)[1])


@settings(max_examples=50, deadline=None)
@given(
    meta=st.dictionaries(
        st.text(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(), part, max_size=4),
            max_leaves=10,
        ),
        max_size=5,
    )
)
def test_settings_come_back_bit_for_bit(meta, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "settings"
    write_snapshot(path, meta, {})
    assert exact(read_snapshot(path)[0]) == exact(meta)


def exact(value):
    """The same nest with floats as their bytes, so that == means bit for bit."""
    if isinstance(value, dict):
        return {key: exact(part) for key, part in value.items()}
    if isinstance(value, list):
        return [exact(part) for part in value]
    if isinstance(value, float):
        # There is one NaN: its sign and payload say nothing.
        return struct.pack("<d", math.nan if math.isnan(value) else value)
    return (type(value), value)


def test_special_floats_survive_in_the_settings(path):
    floats = [math.inf, -math.inf, -0.0, 0.0, 5e-324, 1.7976931348623157e308, 1 / 3, 1.0]
    write_snapshot(path, {"floats": floats, "nan": math.nan, "numpy": np.float64(0.1)}, {})
    meta, _ = read_snapshot(path)
    assert [x.hex() for x in meta["floats"]] == [x.hex() for x in floats]
    assert math.isnan(meta["nan"])
    assert meta["numpy"] == 0.1


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({1: 2}, r"meta: the key 1 is not text"),
        ({"a": {"b": [{None: 1}]}}, r"meta.a.b: the key None is not text"),
        ({"a": {"rows": np.arange(3)}}, r"meta.a.rows: ndarray cannot be stored"),
        ({"n": np.int64(3)}, r"meta.n: int64 cannot be stored"),
        ({"raw": b"x"}, r"meta.raw: bytes cannot be stored"),
    ],
)
def test_settings_that_would_change_on_the_way_are_refused(path, meta, said):
    before = path.read_bytes()
    with pytest.raises(BadInput, match=said):
        write_snapshot(path, meta, {})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (np.array(["a"], object), "column x: object cannot be stored; use one of float64"),
        (np.array(["a"]), "column x: str.* cannot be stored"),
        (np.zeros(3, np.int16), "column x: int16 cannot be stored"),
        (np.zeros(3, complex), "column x: complex128 cannot be stored"),
        (np.zeros(3, "M8[s]"), "column x: datetime64.* cannot be stored"),
        (np.array(1.0), "column x: must have one or two dimensions, got 0"),
        (np.zeros((1, 1, 1)), "column x: must have one or two dimensions, got 3"),
    ],
)
def test_columns_that_the_format_does_not_know_are_refused(path, column, said):
    before = path.read_bytes()
    with pytest.raises(BadInput, match=said):
        write_snapshot(path, {}, {"x": column})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_neither_way_makes_a_second_copy_of_the_columns(path):
    column = np.zeros(4_000_000)
    tracemalloc.start()
    try:
        write_snapshot(path, {}, {"x": column, "broadcast": np.broadcast_to(1.0, len(column))})
        assert tracemalloc.get_traced_memory()[1] < 0.2 * column.nbytes
        tracemalloc.reset_peak()
        arrays = read_snapshot(path)[1]
        assert tracemalloc.get_traced_memory()[1] < 2.2 * column.nbytes
    finally:
        tracemalloc.stop()
    assert len(arrays) == 2


# What is refused


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n", "is not a Dayfly snapshot"),
        (b"id,arrival,half_life\na,40/day,6h\n" * 10, "is not a Dayfly snapshot"),
        (b'{"columns": []}', "is not a Dayfly snapshot"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100), "is not a Dayfly snapshot"),
        (b"SQLite format 3\0" + bytes(100), "is not a Dayfly snapshot"),
        (b"\x89Dfly\n\x1a" + bytes(100), "is not a Dayfly snapshot"),  # line ends "repaired"
        (bytes(100), "is not a Dayfly snapshot"),
        (b"\x89Dfly\r\n\x1a" + bytes(100), "first 32 bytes are damaged"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path, content, said):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    assert said in complaint(path)
    assert "start from the store" in complaint(path)


def test_what_is_no_file_is_refused(tmp_path):
    assert "there is no such file" in complaint(tmp_path / "none")
    assert "is a folder or a device" in complaint(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "is a folder or a device" in complaint(tmp_path / "pipe")
    with pytest.raises(BadInput, match="no file has a NUL"):
        read_snapshot("nul\0byte")
    with pytest.raises(BadInput, match="no file has a NUL"):
        write_snapshot("nul\0byte", {}, {})


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_closed_file_is_said_so(path):
    path.chmod(0)
    assert "cannot be read: Permission denied" in complaint(path)


def test_a_read_error_is_said_so(path, monkeypatch):
    def fails(*_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(zlib, "crc32", fails)  # stands for the disk
        said = complaint(path)
    assert said == f"{path}: cannot be read: Input/output error"


def test_a_file_cut_at_the_end_of_any_part_is_refused(path):
    raw = path.read_bytes()
    for _, first, end in sections(path):
        for length in {first, first + 1, end - 1, end}:
            if 0 < length < len(raw):
                path.write_bytes(raw[:length])
                assert "cut short" in complaint(path), length


@pytest.mark.parametrize("seed", range(5))
def test_a_file_cut_anywhere_is_refused(path, seed):
    raw = path.read_bytes()
    for length in np.random.default_rng(seed).integers(0, len(raw), 50).tolist():
        path.write_bytes(raw[:length])
        assert "cut short" in complaint(path) or length == 0, (seed, length)


def test_a_file_that_goes_on_is_refused(path):
    path.write_bytes(path.read_bytes() + b"\0")
    assert "goes on after its end" in complaint(path)


def test_a_file_cut_while_it_is_read_is_refused(path, monkeypatch):
    size = path.stat()
    path.write_bytes(path.read_bytes()[:-1])
    monkeypatch.setattr(os, "fstat", lambda _: size)
    assert "column table: the file became shorter" in complaint(path)


@pytest.mark.parametrize("seed", [8])
def test_every_flipped_byte_is_noticed(path, seed):
    raw, parts = path.read_bytes(), sections(path)
    rng = np.random.default_rng(seed)
    for name, first, end in parts:
        for at in range(first, end):
            flipped = raw[at] ^ int(rng.integers(1, 256))
            with path.open("r+b") as file:
                file.seek(at)
                file.write(bytes([flipped]))
                file.flush()
                said = complaint(path)
                file.seek(at)
                file.write(raw[at : at + 1])
            if name == "meta":
                assert "settings: is damaged" in said, (seed, at, flipped)
            elif name not in ("preamble", "header"):
                expected = f"column {name}: is damaged (its checksum differs)"
                assert expected in said, (seed, at, flipped)


@pytest.mark.parametrize("seed", range(10))
def test_damage_anywhere_is_noticed(path, seed):
    raw = path.read_bytes()
    rng = np.random.default_rng(seed)
    for _ in range(30):
        wrong = bytearray(raw)
        first, length = int(rng.integers(len(raw))), int(rng.integers(1, 40))
        wrong[first : first + length] = rng.bytes(len(wrong[first : first + length]))
        path.write_bytes(wrong)
        if wrong != raw:
            assert complaint(path), (seed, first, length)


@pytest.mark.parametrize("other", [0, 2, 2**32 - 1])
def test_another_version_is_refused_as_such(path, other):
    forge(path, version=other)
    said = f"has format {other}, this Dayfly ({version('dayfly')}) reads 1; load it with the Dayfly"
    assert said in complaint(path)


def test_a_later_version_may_do_what_it_likes_after_the_preamble(path):
    forge(path, b"\0\1\2", b"something else", version=2, size=7)
    assert "has format 2" in complaint(path)


# Headers with the right checksum and the wrong content


def test_huge_shapes_allocate_nothing(path):
    for shape in (
        [2**48],
        [10**12],
        [2**40, 2**40],
        [7],
        [0, 2**62],
        [2**70],
        [1.5],
        [-1],
        [1] * 9,
    ):
        header = header_of(path)
        header["columns"][0]["shape"] = shape
        forge(path, header)
        tracemalloc.start()
        try:
            said = complaint(path)
            assert tracemalloc.get_traced_memory()[1] < 1e6
        finally:
            tracemalloc.stop()
        assert re.search(r"column float64: ends|columns.0..shape|column float32: starts", said), (
            shape
        )
        write_snapshot(path, META, COLUMNS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda h: h["columns"][3].update(offset=0), "column int32: starts at 0 instead of"),
        (lambda h: h["columns"][3].update(offset=-4), r"columns\[3\].offset"),
        (lambda h: h["columns"][3].update(dtype="object"), r"columns\[3\].dtype"),
        (lambda h: h["columns"][3].update(dtype="float64"), "column uint8: starts at"),
        (lambda h: h["columns"][3].update(crc="zzzzzzzz"), r"columns\[3\].crc"),
        (lambda h: h["columns"][3].update(crc="00000000"), "column int32: is damaged"),
        (lambda h: h["columns"][3].update(name="int64"), "does not describe this file"),
        (lambda h: h["columns"][3].update(name=7), r"columns\[3\].name"),
        (lambda h: h["columns"][3].pop("offset"), "missing required field `offset`"),
        (lambda h: h["columns"].pop(), None),
        (lambda h: h["columns"].pop(6), "column none: starts at"),
        (lambda h: h.update(columns=h["columns"][:6]), "header: does not describe this file"),
        (lambda h: h["meta"].update(dtype="bool"), "settings: are not text"),
        (lambda h: h.update(byte_order="big"), "byte_order"),
        (lambda h: h.update(extra=1), "unknown field `extra`"),
        (lambda h: h.pop("meta"), "missing required field `meta`"),
    ],
)
def test_a_header_that_does_not_fit_the_file_is_refused(path, change, said):
    header = header_of(path)
    change(header)
    forge(path, header)
    if said is None:  # the last column is empty: without it the file is still whole
        assert list(read_snapshot(path)[1]) == list(COLUMNS)[:-1]
    else:
        assert re.search(said, complaint(path))


@pytest.mark.parametrize("seed", range(10))
def test_a_header_made_up_at_random_is_refused_or_harmless(path, seed):
    rng = np.random.default_rng(seed)
    raw = path.read_bytes()
    good = raw[PREAMBLE : PREAMBLE + struct.unpack_from("<I", raw, 12)[0]]
    letters = b'0123456789-.eE"[]{},: abdflnorstu\\\xff'
    for _ in range(50):
        header = bytearray(good)
        for at in rng.integers(0, len(good), rng.integers(1, 4)).tolist():
            header[at] = letters[rng.integers(len(letters))]
        forge(path, bytes(header), raw[PREAMBLE + len(good) :])
        try:
            _, arrays = read_snapshot(path)
        except BadInput:
            continue
        back = b"".join(column.tobytes() for column in arrays.values())
        # Another name for a column, say; what is in it is the same.
        assert back == b"".join(c.tobytes() for c in COLUMNS.values()), (seed, bytes(header))


@pytest.mark.parametrize(
    "header", [b"", b"[]", b"null", b"{", b"\xff\xfe", b'"\xff"', b"[" * 100_000, b"1" * 10_000]
)
def test_a_header_that_is_no_header_is_refused(path, header):
    forge(path, header)
    assert "header: cannot be used" in complaint(path)


@pytest.mark.parametrize("text", [b"", b"[]", b"7", b"{", b"\xff", b"[" * 100_000, b"1" * 10_000])
def test_settings_that_are_no_settings_are_refused(path, text):
    crc = f"{zlib.crc32(text):08x}"
    meta = {"name": "meta", "dtype": "uint8", "shape": [len(text)], "offset": 0, "crc": crc}
    header = {"dayfly": "", "byte_order": "little", "meta": meta, "columns": []}
    forge(path, header, text)
    assert re.search("settings: are not (JSON|a JSON object)", complaint(path))


def test_a_truth_value_is_true_or_false(path):
    body = b"{}\x02"
    one = {"dtype": "uint8", "shape": [2], "offset": 0, "crc": f"{zlib.crc32(body[:2]):08x}"}
    two = {"dtype": "bool", "shape": [1], "offset": 2, "crc": f"{zlib.crc32(body[2:]):08x}"}
    header = {"dayfly": "", "byte_order": "little"}
    header |= {"meta": {"name": "meta"} | one, "columns": [{"name": "on"} | two]}
    forge(path, header, body)
    assert "column on: holds values that are neither true nor false" in complaint(path)


# Whole or not at all


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("step", ["open", "fsync", "replace", "chmod"])
def test_a_failed_write_leaves_the_old_snapshot_and_nothing_else(path, monkeypatch, step):
    before = path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, step, full)
        with pytest.raises(BadInput) as caught:
            write_snapshot(path, {"new": 1}, COLUMNS)
    assert str(caught.value) == f"{path}: cannot be written: No space left on device"
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


class Reluctant(np.ndarray):
    """A column that raises when somebody reads its rows."""

    error: BaseException

    def __getitem__(self, _):
        raise self.error


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), BadInput),
        (MemoryError(), MemoryError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_a_column_that_cannot_be_written_leaves_no_draft(path, error, seen, exists):
    before = path.read_bytes()
    if not exists:
        path.unlink()
    bad = np.zeros(3).view(Reluctant)
    bad.error = error
    with pytest.raises(seen):
        write_snapshot(path, {}, {"good": np.zeros(1_000_000), "bad": bad})
    assert os.listdir(path.parent) == [path.name] * exists
    assert not exists or path.read_bytes() == before


def test_a_write_that_the_system_stops_half_way_leaves_the_old_snapshot(path):
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, hard))
    try:
        with pytest.raises(BadInput, match=f"{path.name}: cannot be written: File too large"):
            write_snapshot(path, {}, {"x": np.zeros(1_000_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_missing_or_closed_folder_is_said_so(tmp_path):
    with pytest.raises(BadInput, match="none/x: cannot be written: there is no such file or fold"):
        write_snapshot(tmp_path / "none" / "x", {}, {})
    with pytest.raises(BadInput, match="is not a file that can be replaced"):
        write_snapshot(tmp_path, {}, {})
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="file/x: cannot be written: Not a directory"):
        write_snapshot(tmp_path / "file" / "x", {}, {})


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_an_unwritable_folder_is_said_so(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(BadInput, match="cannot be written: Permission denied"):
            write_snapshot(tmp_path / "x", {}, {})
    finally:
        tmp_path.chmod(0o700)


def test_an_unwritable_folder_is_said_so_to_anybody(path, monkeypatch):
    def refused(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(BadInput, match="cannot be written: Permission denied"):
        write_snapshot(path, {}, {})


def test_a_new_snapshot_keeps_link_and_mode_of_the_old(path):
    link = path.parent / "latest"
    link.symlink_to(path)
    path.chmod(0o640)
    write_snapshot(link, {"new": 1}, {})
    assert link.is_symlink()
    assert read_snapshot(path) == read_snapshot(link) == ({"new": 1}, {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_whoever_is_reading_keeps_the_old_snapshot(path):
    with path.open("rb") as reader:
        old = path.read_bytes()
        write_snapshot(path, {"new": 1}, {})
        assert reader.read() == old


# A scheduler and its restored twin


DAY = 86400.0
START = 20_000 * DAY
N = 40
HOSTS = ["", "a.example", "b.example", "c.example", "d.example", "ü.example"]
POLITE = Limits(
    spacing={"a.example": 7.0, "b.example": 30.0},
    parallel={"b.example": 2, "c.example": 1},
    host_budget={"d.example": 0.002, "c.example": 0.01},
    group_budget={"blogs": 0.01},
)
POLITE_SLOTS = Limits(parallel=2, host_budget={"d.example": 2.0}, group_budget={"blogs": 4.0})


def some_fleet(rng, n: int, *, mixed: bool, first: int = 0) -> Fleet:
    """Few distinct rates, so that ties are common; mixed: names, and all kinds of sources."""
    kind = rng.choice(["ephemeral", "ephemeral", "two_phase", "freshness"], n)
    if not mixed:
        kind[:] = "ephemeral"
    ephemeral, two_phase = mixed & (kind == "ephemeral"), kind == "two_phase"
    return Fleet(
        arrival=rng.choice([0.0, 1e-4, 1e-3, 2e-3], n),
        decay=rng.choice([1e-5, 1e-4, 1e-3], n),
        worth=rng.choice([0.5, 1.0, 3.0], n),
        cost=rng.choice([0.5, 1.0, 2.0], n),
        lifetime=np.where(ephemeral & (rng.random(n) < 0.2), 7200.0, math.inf),
        window=np.where(ephemeral & (rng.random(n) < 0.2), 10.0, math.inf),
        slow_decay=np.where(two_phase, 1e-6, 0.0),
        slow_share=np.where(two_phase, 0.3, 0.0),
        kind=kind,
        host=rng.choice(HOSTS, n).tolist(),
        id=[f"source {first + row}" for row in range(n)] if mixed else None,
    )


class Twins:
    """Two schedulers to which the same happens; only the second is ever saved and restored."""

    def __init__(self, path: Path, seed: int, **settings) -> None:
        self.path, self.seed, self.mixed = path, seed, settings.pop("mixed", False)
        self.rng = np.random.default_rng(seed)
        fleet = some_fleet(self.rng, N, mixed=self.mixed)
        settings |= {
            "last": np.where(self.rng.random(N) < 0.7, START - self.rng.random(N) * DAY, math.nan),
            "group": self.rng.choice(["", "news", "blogs"], N).tolist(),
        }
        self.now = START
        self.epoch = settings.get("epoch")
        self.steady, self.restored = (Scheduler(fleet, now=START, **settings) for _ in range(2))
        self.in_flight: set[int] = set()
        self.steps: list[str] = []

    def restore(self) -> None:
        """Save one of them and carry on with what is loaded."""
        self.steps.append("restore")
        save(self.restored, self.path)
        self.restored = load(self.path)

    def both(self, name: str, *given, **named):
        """Call a method of both; the answers must be the same."""
        self.steps.append(name)
        one, two = (getattr(twin, name)(*given, **named) for twin in (self.steady, self.restored))
        assert repr_exact(one) == repr_exact(two), self.told
        return one

    @property
    def told(self) -> str:
        return f"seed {self.seed}, after {len(self.steps)} steps: … {', '.join(self.steps[-12:])}"

    def same(self) -> None:
        """Everything that can be asked has the same answer."""
        for name in ("price", "budget"):
            one, two = getattr(self.steady, name), getattr(self.restored, name)
            assert repr_exact(one) == repr_exact(two), (name, self.told)
        assert len(self.steady) == len(self.restored)
        for row in self.some(10).tolist():
            self.both("explain", row, self.now)
            self.both("source", row)
        one, two = self.steady.fleet, self.restored.fleet
        assert (one.id, one.host, one.kind) == (two.id, two.host, two.kind), self.told
        for name in ("arrival", "decay", "worth", "cost", "lifetime", "window"):
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), (name, self.told)

    def step(self) -> None:
        """Time goes on and something happens."""
        if self.epoch is None:
            self.now += float(self.rng.choice([0.0, 0.37, 1.0, 60.0, 600.0]))
        else:
            self.now += self.epoch * float(self.rng.choice([0.0, 1.0, 3.0], p=[0.4, 0.4, 0.2]))
        rare = [
            self.learn, self.see, self.grow, self.shrink, self.pause, self.block, self.give,
            self.slow_down,
        ]  # fmt: skip
        often = [self.crawl] * 5 + [self.come_back] * 2
        self.rng.choice(often + rare)()

    def some(self, most: int = 5) -> np.ndarray:
        return self.rng.choice(len(self.steady), int(self.rng.integers(1, most + 1)), replace=False)

    def crawl(self) -> None:
        rows = self.both("due", self.now, int(self.rng.integers(1, 12)))
        self.in_flight |= set(rows.tolist())

    def come_back(self) -> None:
        rows = sorted(self.in_flight)[:: int(self.rng.integers(1, 4))]
        self.in_flight -= set(rows)
        n = len(rows)
        if self.rng.random() < 0.1:
            self.both("release", rows)
            return
        self.both(
            "crawled",
            rows,
            self.now,
            [self.belief(row) for row in rows],
            not_before=[self.now + 900.0 if x < 0.2 else None for x in self.rng.random(n)],
            failed=self.rng.random(n) < 0.3,
            spent=self.rng.choice([0.5, 1.0, 2.5], n),
        )

    def belief(self, row: int) -> Estimate:
        arrival, decay = float(self.rng.choice([1e-4, 1e-3])), float(self.rng.choice([1e-5, 1e-4]))
        return Estimate(row=int(row), time=self.now, arrival=arrival, decay=decay, worth=1.0)

    def learn(self) -> None:
        rows = self.some()
        n = len(rows)
        self.both(
            "update",
            Estimates(
                row=rows,
                arrival=self.rng.random(n) * 1e-3,
                weight=self.rng.choice([0.5, 1.0, 2.0], n),
                cost=self.rng.choice([0.5, 1.0, 2.0], n),
                host=self.rng.choice(HOSTS, n).tolist() if self.rng.random() < 0.3 else None,
                group=self.rng.choice(["news", "blogs"], n).tolist(),
            ),
        )

    def see(self) -> None:
        rows = self.some()
        self.both("observe", rows, self.rng.choice([0.0, 1.0, 50.0], len(rows)), self.now)

    def grow(self) -> None:
        n = int(self.rng.integers(1, 4))
        fleet = some_fleet(self.rng, n, mixed=self.mixed, first=len(self.steady))
        self.both("add", fleet, group=self.rng.choice(["", "blogs"], n).tolist())

    def shrink(self) -> None:
        rows = self.some(2)
        self.in_flight -= set(rows.tolist())
        self.both("remove", rows)

    def pause(self) -> None:
        self.both(
            "pause", self.some(), float(self.rng.choice([-math.inf, math.inf, self.now + 3600.0]))
        )

    def block(self) -> None:
        self.both("block_host", str(self.rng.choice(HOSTS[1:])), self.now + 300.0)

    def give(self) -> None:
        self.both(
            "set_budget", float(self.rng.choice([0.01, 0.05, 0.2])) * (self.epoch or 1.0), self.now
        )

    def slow_down(self) -> None:
        self.both("throttle", float(self.rng.choice([0.5, 1.0])), self.now)


def repr_exact(value) -> str:
    """Floats are shown with all their digits, so equal text means equal bits."""
    return repr(value.tolist()) if isinstance(value, np.ndarray) else repr(value)


SETTINGS = {
    "continuous": {"budget": 0.05},
    "slotted": {"budget": 6.0, "epoch": 120.0},
    "hosts and groups": {"budget": 0.05, "limits": POLITE},
    "hosts and groups, slotted": {"budget": 6.0, "epoch": 120.0, "limits": POLITE_SLOTS},
    "all kinds": {
        "budget": 0.05, "min_interval": np.linspace(0, 900, N), "floor_share": 0.2, "mixed": True,
        "max_interval": np.linspace(3600, 2 * DAY, N),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("seed", range(4))
def test_a_restored_scheduler_decides_as_the_other_would(tmp_path, name, seed):
    twins = Twins(tmp_path / "twin", seed, **SETTINGS[name])
    for _ in range(30 if name == "all kinds" else 100):
        twins.step()
        if twins.rng.random() < 0.15:
            twins.restore()
            twins.same()
    twins.same()


@pytest.mark.parametrize("seed", range(4))
def test_saving_changes_nothing_and_what_was_loaded_is_saved_the_same(tmp_path, seed):
    twins = Twins(tmp_path / "twin", seed, **SETTINGS["hosts and groups"])
    for _ in range(60):
        twins.step()
        save(twins.restored, twins.path)
    save(load(twins.path), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == twins.path.read_bytes(), twins.told
    twins.same()


def test_what_is_held_is_held_after_a_restore(tmp_path):
    path = tmp_path / "held"
    hosts = ["a", "b", "c", "d", "e", "f"]
    fleet = Fleet(arrival=1e-2, decay=1e-4, host=hosts, id=[f"of {host}" for host in hosts])
    scheduler = Scheduler(fleet, 1.0, START, last=[START - DAY] * 6)
    chosen = scheduler.due(START + 1, 2)
    others = [row for row in range(6) if row not in chosen]
    scheduler.pause(others[0], START + 7200)
    scheduler.remove(others[1])
    scheduler.block_host(hosts[others[2]], START + 3600)
    scheduler.observe([others[3]], [500.0], START + 2)
    scheduler.crawled(chosen[:1], START + 3, failed=[True], not_before=[START + 5000])
    save(scheduler, path)
    again = load(path)
    now = START + 400
    held = {row: again.explain(row, now).held_by for row in range(6)}
    assert held == {row: scheduler.explain(row, now).held_by for row in range(6)}
    assert held[chosen[0]] == "not_before"
    assert held[chosen[1]] == "in flight"
    assert [held[row] for row in others] == ["paused", "removed", "blocked host", ""]
    assert again.explain(others[3], now).waiting > 100
    assert again.fleet.id == fleet.id
    assert again.price == scheduler.price
    assert again.due(now, 6).tolist() == scheduler.due(now, 6).tolist() == [others[3]]


@pytest.mark.parametrize("n", [0, 1])
def test_the_smallest_fleets_are_restored(tmp_path, n):
    scheduler = Scheduler(Fleet(arrival=np.full(n, 1e-3), decay=1e-4), 1.0, START)
    save(scheduler, tmp_path / "small")
    again = load(tmp_path / "small")
    assert again.due(START + 1, 5).tolist() == scheduler.due(START + 1, 5).tolist() == [0] * n
    assert again.add(Fleet(arrival=[1e-3], decay=1e-4)).tolist() == [n]


def test_a_snapshot_of_something_else_is_refused(path):
    with pytest.raises(BadInput, match=f"{path.name}: is whole, but not the snapshot of a sched"):
        load(path)
    write_snapshot(path, {"roster": 7}, {})
    with pytest.raises(BadInput, match="is whole, but not the snapshot of a scheduler"):
        load(path)


def test_nobody_changes_the_scheduler_while_it_is_written(path, monkeypatch):
    scheduler = Scheduler(Fleet(arrival=np.full(5, 1e-3), decay=1e-4), 5.0, START)
    worker = threading.Thread(target=scheduler.due, args=(START + 1, 5))

    def write(*given) -> None:
        worker.start()
        worker.join(0.1)
        assert worker.is_alive(), "it must wait until the columns are written"
        write_snapshot(*given)

    monkeypatch.setattr(snapshot, "write_snapshot", write)
    save(scheduler, path)
    worker.join()
    again = load(path)
    held = [[one.explain(row, START + 1).held_by for row in range(5)] for one in (scheduler, again)]
    assert "in flight" in held[0]
    assert "in flight" not in held[1]
