"""What is exported can be imported again, and holds no secrets."""

import csv
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dayfly.config.cells import bare, harmless
from dayfly.config.export import FORMATS, holds
from dayfly.config.lists import listing_of, read_sources
from dayfly.config.values import PerSecond, Seconds, Secret
from dayfly.serve.vocabulary import shown_source
from dayfly.store import StoredSource

LISTINGS = [
    listing_of("https://a.example/feed"),
    listing_of(
        "http://b.example/?x=1&y=[2]",
        id="b",
        title='B "the" <second> & \\ more',
        tags=("news", "local ö", "a/b"),
        weight=2.5,
        half_life=Seconds(5400.0),
        arrival=PerSecond(0.001),
        worth=0.5,
        cost=3.0,
        window=20,
        min_interval=Seconds(90.0),
        max_interval=Seconds(86400.0),
        obey_robots=False,
        verify_tls=False,
        headers={"X-Key": Secret("s3cret")},
        bearer=Secret("t0ken"),
    ),
    listing_of(
        "https://joe:pw@c.example/list",
        kind="page",
        select={"item": 'li[class="x"]', "link": "a"},
        tags=("news",),
        half_life=Seconds(1.25),
    ),
]


def stored(listings):
    plain = (
        {name: getattr(one, name) for name in one.__struct_fields__}  # of its own class
        for one in listings
    )
    return [shown_source(StoredSource(**one, row=row), 0.0) for row, one in enumerate(plain)]


def exported(form, listings=LISTINGS):
    return "".join(FORMATS[form](stored(listings)))


def again(form, tmp_path, listings=LISTINGS):
    path = tmp_path / f"list.{form}"
    path.write_text(exported(form, listings), encoding="utf-8", newline="")
    found = read_sources(path)
    assert found.problems == []
    return found.listings


def test_toml_brings_back_all_but_secrets(tmp_path):
    for one, was in zip(again("toml", tmp_path), LISTINGS, strict=True):
        assert one.decay == pytest.approx(was.decay)
        assert replace(one, decay=was.decay) == replace(was, headers=())


def test_csv_brings_back_all_but_secrets_and_selectors(tmp_path):
    plain = [replace(one, kind="auto", select=()) for one in LISTINGS]
    for one, was in zip(again("csv", tmp_path, plain), plain, strict=True):
        assert one.decay == pytest.approx(was.decay)
        assert replace(one, decay=was.decay) == replace(was, headers=())


def test_csv_leaves_out_what_it_cannot_bring_back(tmp_path):
    assert [one.id for one in again("csv", tmp_path)] == [one.id for one in LISTINGS[:2]]
    assert [holds("csv", one) for one in stored(LISTINGS)] == [True, True, False]
    assert all(holds(form, one) for form in ("toml", "opml") for one in stored(LISTINGS))


def test_opml_brings_back_addresses_titles_and_folders(tmp_path):
    found = {one.url: one for one in again("opml", tmp_path)}
    assert set(found) == {one.url for one in LISTINGS}
    assert found["http://b.example/?x=1&y=[2]"].title == 'B "the" <second> & \\ more'
    assert found["http://b.example/?x=1&y=[2]"].tags == ("news", "local ö")
    assert found["https://a.example/feed"].title == ""


def test_text_brings_back_addresses(tmp_path):
    assert [one.url for one in again("text", tmp_path)] == [one.url for one in LISTINGS]


def test_json_is_what_may_be_told():
    found = json.loads(exported("json"))
    assert found["n_sources"] == 3
    assert found["sources"][1]["header_names"] == ["X-Key", "Authorization"]
    assert found["sources"][1]["overrides"] == ["robots", "tls"]
    assert json.loads("".join(FORMATS["json"]([]))) == {"n_sources": 0, "sources": []}


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_nothing_is_exported_where_there_is_nothing(form):
    assert "example" not in "".join(FORMATS[form]([]))


@given(st.text(alphabet=st.one_of(st.sampled_from("=+-@'\t\r\0\n ＝"), st.characters())))
def test_a_cell_is_never_a_formula_and_comes_back(text):
    cell = harmless(text)
    assert not cell.lstrip(" \n\0").startswith(tuple("=+-@＝＋－＠\t\r"))
    assert bare(cell) == text


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=30),
    st.floats(1e-3, 1e8),
)
def test_any_title_and_half_life_survive(title, half_life):
    one = listing_of("https://a.example/", title=title, half_life=Seconds(half_life))
    from dayfly.config.settings import parse_toml

    (table,) = parse_toml(exported("toml", [one]).encode(), "x")["sources"]
    assert table.get("title", "") == one.title
    cells = dict(zip(*csv.reader(exported("csv", [one]).splitlines()), strict=True))
    assert bare(cells["title"]) == one.title
    back = listing_of("https://a.example/", half_life=_seconds(table["half_life"]))
    assert math.isclose(back.decay, one.decay, rel_tol=1e-9)


def _seconds(text):
    from dayfly.units import parse_duration

    return Seconds(parse_duration(text))
