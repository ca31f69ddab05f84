import gzip
import io

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.lab.traces import read_trace, trace_lines, truth_lines
from dayfly.simulate import Trace, synth


def written(tmp_path, text, name="trace.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def same(one, other):
    return one.sources == other.sources and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("start", "time", "worth")
    )


def test_seconds_and_iso_times_may_be_mixed(tmp_path):
    path = written(
        tmp_path,
        "source,time\na,1604361600\na,2020-11-03T01:00:01+01:00\n\na, 2020-11-03T00:00:02Z \n",
    )
    assert read_trace(path).time.tolist() == [1604361600.0, 1604361601.0, 1604361602.0]


def test_columns_stand_in_any_order_and_an_empty_worth_is_one(tmp_path):
    trace = read_trace(written(tmp_path, 'worth,time,source\n2.5,10,"a, b"\n,20,"a, b"\n'))
    assert trace.sources == ("a, b",)
    assert trace.worth.tolist() == [2.5, 1.0]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_ends_marks_and_a_missing_last_newline(tmp_path, ending):
    text = "\ufeff" + ending.join(["source,time", "a,1", "b,2"])
    assert sorted(read_trace(written(tmp_path, text)).time) == [1.0, 2.0]


def test_a_packed_file_is_known_by_its_bytes(tmp_path):
    text = "source,time\na,1\nb,2\na,3\n"
    plain = read_trace(written(tmp_path, text))
    packed = gzip.compress(text.encode())
    assert same(plain, read_trace(written(tmp_path, packed, "trace.csv.gz")))
    assert same(plain, read_trace(written(tmp_path, packed, "odd.csv")))


def test_standard_input(monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(b"source,time\na,1\n"))

    monkeypatch.setattr("sys.stdin", Stdin)
    assert read_trace("-").time.tolist() == [1.0]


def test_unsorted_lines_give_the_same_trace(tmp_path):
    rng = np.random.default_rng(4)
    lines = [f"s{a},{b}\n" for a, b in rng.integers(0, 50, (500, 2))]
    one = read_trace(written(tmp_path, "source,time\n" + "".join(lines)))
    rng.shuffle(lines)
    assert same(one, read_trace(written(tmp_path, "source,time\n" + "".join(lines))))
    assert len(one.time) == 500  # equal lines are items of their own


def test_what_is_written_is_what_is_read(tmp_path):
    drawn = synth("mixed", 60, 20 * 86400.0, seed=2)
    some = np.diff(drawn.start) > 0
    back = read_trace(written(tmp_path, "".join(trace_lines(drawn))))
    assert sorted(back.sources) == [n for n, any_ in zip(drawn.sources, some, strict=True) if any_]
    for row, name in enumerate(back.sources):
        there = drawn.sources.index(name)
        mine = back.time[back.start[row] : back.start[row + 1]]
        assert np.array_equal(mine, drawn.time[drawn.start[there] : drawn.start[there + 1]])
    odd = Trace.from_columns(['a "b", c', "ü"], [0.1, 1 / 3], [2.0, 0.1])
    assert same(odd, read_trace(written(tmp_path, "".join(trace_lines(odd)))))


def test_the_truth_has_a_line_for_every_source():
    lines = list(truth_lines(synth("deaths", 30, 86400.0, seed=1)))
    assert lines[0] == "source,kind,rate,rate_alive,birth_s,death_s\n"
    assert len(lines) == 31
    assert any(",,\n" in line for line in lines)  # neither born late nor dead


def test_more_than_one_block_is_read_and_lines_keep_their_number(tmp_path):
    many = "".join(f"source-{n % 7},{n}\n" for n in range(150_000))
    trace = read_trace(written(tmp_path, "source,time\n" + many))
    assert len(trace.time) == 150_000
    assert len(trace) == 7
    with pytest.raises(BadInput, match="line 150002, column time"):
        read_trace(written(tmp_path, "source,time\n" + many + "a,soon\n"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is empty; the first line names the columns"),
        ("source,time\n", "there is a header, and no item below it"),
        ("source\na\n", "line 1, column time: is missing"),
        ("time,worth\n1,2\n", "line 1, column source: is missing"),
        ("source,tiem\na,1\n", "unknown column 'tiem'; did you mean 'time'"),
        ("source;time\na;1\n", "must be separated by commas"),
        ("source,time,time\na,1,1\n", "column time: is there twice"),
        ("a,1\nb,2\n", "line 1: unknown column 'a'"),
        ("source,time\na,1\nb\n", "line 3: there are 1 cells where the header names 2"),
        ("source,time\na,1,5\n", "line 2: there are 3 cells"),
        ("source,time\n ,1\n", "line 2, column source: is empty"),
        ("source,time\na,\n", "line 2, column time: is not a time"),
        ("source,time\na,1\na,yesterday\n", "line 3, column time: is not a time: 'yesterday'"),
        ("source,time\na,1_000\n", "line 2, column time: is not a time"),
        ("source,time\na,2020-11-03 00:00\n", "line 2, column time: has no offset"),
        ("source,time\na,1\n\na,-5\n", "line 4, column time: lies before 1970: -5"),
        ("source,time\na,1969-12-31T00:00:00Z\n", "lies before 1970"),
        ("source,time\na,1604361600000\n", "if it is in milliseconds, divide it by 1000"),
        ("source,time\na,1e30\n", "lies after the year 2100"),
        ("source,time\na,2300-01-01T00:00:00Z\n", "lies after the year 2100"),
        ("source,time\na,nan\n", "line 2, column time: must be a finite number"),
        ("source,time\na,inf\n", "line 2, column time: must be a finite number"),
        ("source,time,worth\na,1,-2\n", "line 2, column worth: must be finite and not negative"),
        ("source,time,worth\na,1,much\n", "line 2, column worth: is not a number: 'much'"),
        ('source,time\na,1\n"b,2\nc,3\n', "line 3: is not CSV, or a quote is not closed"),
        ('source,time\n"b\nc",3\n', "line 2: is not CSV, or a quote is not closed"),
        (b"source,time\na,1\n\xff,2\n", "line 3: is not UTF-8 text"),
        ("source,time\na\0,1\n", "line 2: contains a NUL byte"),
        ("source,time\n" + "a" * 70_000 + ",1\n", "line 2: is longer than 65536"),
        ("source,time\na,1\n" + "a" * 3_000_000, "line 3: is longer than 65536"),
    ],
)
def test_bad_files_are_refused_with_the_line(tmp_path, text, what):
    with pytest.raises(BadInput, match=what):
        read_trace(written(tmp_path, text))


def test_a_cut_or_broken_packed_file_is_refused(tmp_path):
    packed = gzip.compress(b"source,time\n" + b"a,1\n" * 1000)
    for broken in (packed[:-6], packed[: len(packed) // 2], packed[:20] + b"x" * 50):
        with pytest.raises(BadInput, match="is not a whole gzip file"):
            read_trace(written(tmp_path, broken))


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(BadInput, match="there is no such file"):
        read_trace(tmp_path / "nothing.csv")
    with pytest.raises(BadInput, match="is a folder"):
        read_trace(tmp_path)


def test_too_many_items_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("dayfly.lab.traces.MOST_ITEMS", 2)
    with pytest.raises(BadInput, match="more than 2 items"):
        read_trace(written(tmp_path, "source,time\na,1\na,2\na,3\n"))
