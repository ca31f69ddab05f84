"""Events teach worth and decay, by the stated rule."""

import numpy as np
import pytest
from msgspec.structs import replace

from dayfly.errors import BadInput
from dayfly.model import Item
from dayfly.serve import Office, StillHouse, happenings
from dayfly.serve.happenings import FEWEST, WINDOW
from dayfly.store import Event, MemoryStore, State

from .conftest import NOW, listing, record

HOUR = 3600.0


@pytest.fixture
def office():
    """Three sources with 200 items each, all older than the window."""
    store = MemoryStore()
    store.add([listing(row) for row in range(3)])
    fence = store.own()
    for row in range(3):
        items = [
            Item(key=f"{row}-{k}", published=NOW - WINDOW - HOUR, link=f"https://x.org/{row}/{k}")
            for k in range(200)
        ]
        record(store, row, fence, time=NOW - WINDOW - HOUR / 2, items=items)
    return Office(StillHouse(store, now=lambda: NOW))


def clicks(row, number, half_life, seed=0):
    """Events on the items of a source, fading with this half-life."""
    rng = np.random.default_rng(seed)
    ages = rng.exponential(half_life / np.log(2), 4 * number)
    ages = ages[ages < WINDOW][:number]
    return [
        ["", f"https://x.org/{row}/{k % 200}", NOW - WINDOW - HOUR + float(age), 1.0]
        for k, age in enumerate(ages)
    ]


def test_sources_learn_what_their_events_say(office):
    """Seed 0: the first source is read ten times as much as the second, and fades faster."""
    added = office.ask("events.add", events=clicks(0, 2000, HOUR) + clicks(1, 200, 12 * HOUR))
    assert added == {"added": 2200, "known": 0, "unknown": 0}
    answer = office.ask("events.learn")
    assert answer["events"] == 2200
    worth = {one["id"]: one["worth"] for one in answer["learned"]}
    half = {one["id"]: one["half_life_s"] / HOUR for one in answer["learned"]}
    assert 8 < worth["feed0"] / worth["feed1"] < 12
    assert worth["feed2"] < worth["feed1"] / 5
    assert 0.9 < half["feed0"] < 1.2
    assert 7 < half["feed1"] < 14
    stored = office.house.sources()
    assert [source.worth for source in stored] == [worth[f"feed{row}"] for row in range(3)]
    # The scale stays: the mean over all items is what it was.
    assert np.mean([source.worth for source in stored]) == pytest.approx(1.0)


def test_importing_twice_changes_nothing(office):
    events = clicks(0, 50, HOUR)
    office.ask("events.add", events=events)
    first = office.ask("events.learn")
    again = office.ask("events.add", events=events)
    assert (again["added"], again["known"]) == (0, 50)
    second = office.ask("events.learn")
    assert [one["half_life_s"] for one in first["learned"]] == [
        one["half_life_s"] for one in second["learned"]
    ]
    assert [one["worth"] for one in second["learned"]] == pytest.approx(
        [one["worth"] for one in first["learned"]]
    )


def stored(office, *events):
    return office.house._store.add_events(
        [Event(row=row, key=key, time=time) for row, key, time in events]
    )


def test_events_of_items_that_are_gone_do_not_stand_in_the_way(office, monkeypatch):
    monkeypatch.setattr(happenings, "_MOST", 500)
    stored(office, *((0, f"gone{k}", NOW - 400 * WINDOW + k) for k in range(600)))
    office.ask("events.add", events=clicks(0, 300, HOUR))
    assert office.ask("events.learn")["events"] == 300


def test_of_too_many_events_those_of_some_items_teach_the_same(office, monkeypatch):
    """Seed 0. The newest or the oldest alone would teach another half-life."""
    office.ask("events.add", events=clicks(0, 4000, HOUR) + clicks(1, 400, 12 * HOUR))
    monkeypatch.setattr(happenings, "_MOST", 1200)
    monkeypatch.setattr(happenings, "_PORTION", 100)
    answer = office.ask("events.learn")
    assert 600 <= answer["events"] <= 1200
    worth = {one["id"]: one["worth"] for one in answer["learned"]}
    half = {one["id"]: one["half_life_s"] / HOUR for one in answer["learned"]}
    assert 7 < worth["feed0"] / worth["feed1"] < 13
    assert 0.9 < half["feed0"] < 1.2


def test_what_an_operator_does_between_two_portions_stays(office, monkeypatch):
    monkeypatch.setattr(happenings, "_CHANGED", 1)
    house = office.house
    change = house.change

    async def then_pause(sources):
        await change(sources)
        if sources[0].row == 0:
            await change([replace(house.sources()[2], state=State.PAUSED)])

    monkeypatch.setattr(house, "change", then_pause)
    office.ask("events.add", events=clicks(0, 100, HOUR))
    assert len(office.ask("events.learn")["learned"]) == 3
    assert [source.state for source in house.sources()] == ["active", "active", "paused"]


def test_few_events_teach_nothing(office):
    office.ask("events.add", events=clicks(0, FEWEST - 1, HOUR))
    assert office.ask("events.learn") == {"events": FEWEST - 1, "fewest": FEWEST, "learned": []}
    assert [source.worth for source in office.house.sources()] == [1.0] * 3


def test_events_beyond_the_window_and_before_the_item_do_not_count(office):
    born = NOW - WINDOW - HOUR
    odd = [
        ["", "https://x.org/0/0", born + WINDOW + 1, 1.0],
        ["", "https://x.org/0/0", born - 1, 1.0],
    ]
    office.ask("events.add", events=odd + clicks(0, FEWEST, HOUR))
    assert office.ask("events.learn")["events"] == FEWEST


def test_items_are_found_by_link_or_by_source_and_key(office):
    events = [
        ["feed1", "1-7", NOW, 1.0],
        ["https://1.example.org/feed.xml", "1-7", NOW + 1, 1.0],
        ["", "1-7", NOW + 2, 1.0],
        ["feed1", "https://x.org/1/7", NOW + 3, 1.0],
        ["feed0", "1-7", NOW, 1.0],
        ["", "https://elsewhere.org/", NOW, 1.0],
        ["nobody", "1-7", NOW, 1.0],
    ]
    assert office.ask("events.add", events=events) == {"added": 4, "known": 0, "unknown": 3}


@pytest.mark.parametrize(
    "event",
    [
        ["feed1", "", 1.0, 1.0], ["feed1", "k", "yesterday", 1.0], ["feed1", "k", 1.0],
        ["feed1", "k", 1e300, 1.0], ["feed1", "k", 1.0, -1.0], ["feed1", "k", 1.0, 0], [1, 2, 3, 4],
        "text", [], {},
    ],
)  # fmt: skip
def test_nonsense_is_refused(office, event):
    with pytest.raises(BadInput, match="event 1: needs"):
        office.ask("events.add", events=[event])
