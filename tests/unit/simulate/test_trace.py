import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.simulate import Trace


def items(trace, name):
    row = trace.sources.index(name)
    return trace.time[trace.start[row] : trace.start[row + 1]].tolist()


def test_items_lie_together_by_source_oldest_first():
    trace = Trace.from_columns(["a", "b", "a", "b", "a"], [5.0, 1.0, 3.0, 2.0, 4.0])
    assert sorted(trace.sources) == ["a", "b"]
    assert items(trace, "a") == [3.0, 4.0, 5.0]
    assert items(trace, "b") == [1.0, 2.0]
    assert (trace.first, trace.last, len(trace)) == (1.0, 5.0, 2)
    assert trace.source.tolist() == np.repeat([0, 1], np.diff(trace.start)).tolist()


def test_the_order_of_the_lines_does_not_matter():
    rng = np.random.default_rng(3)
    source, time = rng.integers(0, 20, 300), rng.integers(0, 50, 300).astype(float)
    worth = rng.integers(1, 4, 300).astype(float)
    one = Trace.from_columns(source, time, worth)
    order = rng.permutation(300)
    other = Trace.from_columns(source[order], time[order], worth[order])
    assert one.sources == other.sources
    for column in ("start", "time", "worth"):
        assert (getattr(one, column) == getattr(other, column)).all()


def test_rows_say_nothing_about_who_comes_first_in_the_file():
    # Sources named 0, 1, 2, … by falling size: the larger half must not have the lower rows.
    trace = Trace.from_columns(range(1000), np.zeros(1000))
    first_half = [int(name) < 500 for name in trace.sources[:500]]
    assert 200 < sum(first_half) < 300


def test_equal_lines_are_items_of_their_own():
    assert items(Trace.from_columns(["a", "a"], [7.0, 7.0]), "a") == [7.0, 7.0]


def test_a_source_may_have_no_items():
    trace = Trace(
        sources=("a", "b", "c"),
        start=np.array([0, 0, 2, 2]),
        time=np.array([1.0, 2.0]),
        worth=np.ones(2),
    )
    assert trace.source.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ((["a"], [np.nan]), "time of item 0 must be a finite number, got nan"),
        ((["a"], [np.inf]), "time of item 0 must be a finite number"),
        ((["a"], [1.0], [-1.0]), "worth of item 0 must be a finite number and not negative"),
        ((["a", "b"], [1.0]), "2 sources, 1 times and 1 worths"),
    ],
)
def test_bad_columns_are_refused(columns, what):
    with pytest.raises(BadInput, match=what):
        Trace.from_columns(*columns)


def test_columns_that_do_not_fit_together_are_refused():
    with pytest.raises(BadInput, match="rising offsets"):
        Trace(sources=("a",), start=np.array([0, 1]), time=np.zeros(2), worth=np.ones(2))
    with pytest.raises(BadInput, match="'b': its items must be in order"):
        Trace(
            sources=("a", "b"),
            start=np.array([0, 1, 3]),
            time=np.array([9.0, 5.0, 4.0]),
            worth=np.ones(3),
        )
