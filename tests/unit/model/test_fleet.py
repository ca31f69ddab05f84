"""A fleet of sources: broadcasting, every bad input, rows and parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dayfly.errors import BadInput, DayflyError, UnknownName
from dayfly.model import KINDS, NUMBERS, Fleet, Source

NAN, INF = float("nan"), float("inf")


def test_scalars_broadcast_to_the_longest_column():
    fleet = Fleet(arrival=2, decay=[0.1, 0.2, 0.3])
    assert len(fleet) == 3
    assert fleet.arrival.tolist() == [2.0, 2.0, 2.0]
    assert fleet.cost.tolist() == [1.0, 1.0, 1.0]
    assert fleet.id == ("0", "1", "2")
    assert fleet.host == ("", "", "")
    assert repr(fleet) == "<Fleet of 3 sources>"


def test_scalars_alone_are_one_source():
    assert len(Fleet(arrival=1, decay=1)) == 1


def test_there_may_be_no_source():
    fleet = Fleet(arrival=[], decay=[], id=[], host=[], kind=[])
    assert len(fleet) == 0
    assert list(fleet) == []
    assert fleet.harvest.index(np.empty(0)).tolist() == []


BAD = [
    *[(name, NAN, "must be a finite number, got nan") for name in NUMBERS],
    *[(name, -INF, "got -inf") for name in NUMBERS],
    *[
        (name, INF, "must be a finite number, got inf")
        for name in NUMBERS
        if name not in ("lifetime", "window")
    ],
    *[(name, -1.0, "got -1") for name in NUMBERS],
    *[(name, 0.0, "got 0") for name in ("cost", "lifetime", "window")],
    ("window", 2.5, "must be a whole number of at least 1, got 2.5"),
    ("slow_share", 1.5, "must lie between 0 and 1, got 1.5"),
    ("decay", -0.2, "must not be negative, got -0.2"),
]


@pytest.mark.parametrize(("name", "number", "message"), BAD)
def test_a_bad_number_is_named_with_its_row(name, number, message):
    columns = {"arrival": [1.0, 1.0, 1.0], "decay": [1.0, 1.0, 1.0], "kind": "two_phase"}
    with pytest.raises(BadInput) as caught:
        Fleet(**{**columns, name: [columns.get(name, [NUMBERS[name][0]])[0]] * 2 + [number]})
    assert str(caught.value).startswith(f"{name}[2] ")
    assert message in str(caught.value)
    with pytest.raises(BadInput, match=f"^{name} must"):  # a scalar has no row
        Fleet(**{**columns, name: number})


@pytest.mark.parametrize("column", ["abc", ["x"], [object()], [[1.0, 2.0]], [[1.0], [1.0, 2.0]]])
def test_what_is_not_a_column_of_numbers_is_refused(column):
    with pytest.raises(BadInput, match="column arrival must"):
        Fleet(arrival=column, decay=1.0)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"decay": [1.0, 1.0]}, "column decay has 2 values where others have 3"),
        ({"id": ["a"]}, "column id has 1 values where others have 3"),
        ({"host": ["a", "b"]}, "column host has 2 values where others have 3"),
        ({"kind": ["freshness"]}, "column kind has 1 values where others have 3"),
        ({"id": ["a", "b", "a"]}, "duplicate id 'a'"),
        ({"kind": "fresh"}, "unknown kind of source 'fresh'; did you mean 'freshness'?"),
        ({"kind": ["freshness", "x", "y"]}, "unknown kind of source 'x'"),
        ({"kind": "freshness", "lifetime": 5.0}, "lifetime[0] applies to ephemeral sources"),
        ({"kind": "two_phase", "window": [INF, 5, INF]}, "window[1] applies to ephemeral sources"),
        ({"slow_share": 0.5}, "slow_share[0] applies to two_phase sources, this one is ephemeral"),
        ({"slow_decay": [0, 0, 0.1]}, "slow_decay[2] applies to two_phase sources"),
        ({"arrival": [1e200, 1e200, 1e200], "worth": 1e200}, "arrival[0] × worth is too large"),
        ({"arrival": []}, "where others have"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, message):
    with pytest.raises(BadInput) as caught:
        Fleet(**{"arrival": [1.0, 2.0, 3.0], "decay": [1.0, 1.0, 1.0], **columns})
    assert message in str(caught.value)


def test_errors_are_dayflys_and_value_errors():
    for kind in (DayflyError, ValueError, UnknownName):
        with pytest.raises(kind):
            Fleet(arrival=1, decay=1, kind="nope")


def test_nothing_can_be_changed():
    fleet = Fleet(arrival=[1.0, 2.0], decay=0.1)
    for part in (fleet, fleet.take([0, 1]), fleet.take(slice(0, 2))):
        for name in NUMBERS:
            with pytest.raises(ValueError, match="read-only"):
                getattr(part, name)[0] = 5.0


SOURCES = [
    Source(arrival=1.0, decay=0.5, id="a", host="x.org"),
    Source(arrival=2.0, decay=0.0, worth=3.0, cost=2.0, lifetime=9.0, window=20.0, id="b"),
    Source(arrival=2.0, decay=1.0, kind="two_phase", slow_decay=0.1, slow_share=0.2, id="c"),
    Source(arrival=2.0, decay=1.0, kind="freshness", id="d", host="x.org"),
]


def test_a_fleet_is_its_sources():
    fleet = Fleet.of(SOURCES)
    assert list(fleet) == SOURCES
    assert fleet[-1] == SOURCES[-1]
    assert fleet.kind == ("ephemeral", "ephemeral", "two_phase", "freshness")
    with pytest.raises(IndexError, match="row 4 of a fleet of 4"):
        fleet[4]


def test_sources_without_id_get_their_row():
    assert Fleet.of([Source(arrival=1, decay=1), Source(arrival=1, decay=1, id="b")]).id == (
        "0",
        "b",
    )
    assert Fleet.of([Source(arrival=1, decay=1)])[-1].id == "0"


def test_a_part_keeps_names_and_numbers():
    fleet = Fleet.of(SOURCES)
    assert list(fleet.take([2, 0])) == [SOURCES[2], SOURCES[0]]
    assert list(fleet.take(slice(1, None, 2))) == SOURCES[1::2]
    unnamed = Fleet(arrival=[1.0, 2.0, 3.0], decay=1.0)
    assert unnamed.take([2, 1]).id == ("2", "1")
    assert unnamed.take([2, 1]).take([1]).id == ("1",)
    assert unnamed.take([2, 1])[0].id == "2"


def test_replace_changes_some_columns():
    fleet = Fleet.of(SOURCES)
    richer = fleet.replace(worth=fleet.worth * 2)
    assert richer.worth.tolist() == (fleet.worth * 2).tolist()
    assert (richer.id, richer.host, richer.kind) == (fleet.id, fleet.host, fleet.kind)
    with pytest.raises(BadInput, match=r"cost\[0\] must be positive"):
        fleet.replace(cost=[0, 1, 1, 1])


numbers = {
    "arrival": st.floats(0, 1e6),
    "decay": st.floats(0, 1e6),
    "worth": st.floats(0, 1e6),
    "cost": st.floats(1e-6, 1e6),
}


@given(st.lists(st.fixed_dictionaries(numbers), min_size=1, max_size=8))
@settings(max_examples=50, deadline=None)
def test_whatever_goes_in_comes_out(rows):
    fleet = Fleet.of(Source(**row, id=f"s{i}") for i, row in enumerate(rows))
    for row, source in zip(rows, fleet, strict=True):
        assert {name: getattr(source, name) for name in numbers} == row
        assert source.kind in KINDS


def test_a_fleet_does_not_change_when_the_caller_writes_to_what_it_gave():
    rates = np.array([1.0, 2.0])
    fleet = Fleet(arrival=rates, decay=rates[:])
    rates[0] = -9.0
    assert fleet.arrival[0] == fleet.decay[0] == 1.0


def test_concat_keeps_rows_and_needs_no_names():
    both = Fleet(arrival=[1.0, 2.0], decay=1.0).concat(Fleet(arrival=[3.0], decay=2.0, host="h"))
    assert both.arrival.tolist() == [1.0, 2.0, 3.0]
    assert both.host == ("", "", "h")
    assert both.id == ("0", "1", "2")
