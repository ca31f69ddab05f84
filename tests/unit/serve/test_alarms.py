"""What is odd about many visits together."""

import pytest
from msgspec import structs
from msgspec.structs import replace

from dayfly.model import Crawl, Status
from dayfly.serve.alarms import Alarms
from dayfly.store import StoredSource

from .conftest import listing


def visit(row, time, **changes):
    return Crawl(row=row, time=time, status=changes.pop("status", Status.UNCHANGED), **changes)


def told_of_moves(where):
    """What is said while forty sources, each of a host of its own, move there a minute apart."""
    alarms, told = Alarms(), []
    sources = [StoredSource(row=row, **structs.asdict(listing(row))) for row in range(40)]
    for row, source in enumerate(sources):
        time = 1e9 + 60.0 * row
        sources[row] = replace(source, moved_to=where(row), moved_since=time)
        told += alarms.see(visit(row, time, moved=where(row)), sources)
    return told


def test_C13_everybody_moving_to_one_place_is_an_alarm_given_once():
    told = told_of_moves(lambda _: "https://portal.example/login")
    assert len(told) == 1
    assert "portal.example" in told[0]
    assert told_of_moves(lambda row: f"https://{row}.example/") == []


@pytest.mark.parametrize(
    "down",
    [
        {"status": Status.FAILED, "reason": "dns: no answer"},
        {"status": Status.REFUSED, "reason": "robots unreachable: connect: connection refused"},
        {"status": Status.REFUSED, "reason": "robots unreachable: dns: no answer"},
    ],
)
def test_reaching_nobody_is_an_alarm(down):
    alarms, sources = Alarms(), [None] * 100
    told = [text for row in range(100) for text in alarms.see(visit(row, row, **down), sources)]
    assert len(told) == 1
    assert "network down" in told[0]
    answered = {"status": Status.REFUSED, "reason": "robots unreachable: http 503"}
    for said in ({}, answered, {"status": Status.REFUSED, "reason": "robots"}):
        fine = Alarms()
        assert not [
            text for row in range(100) for text in fine.see(visit(row, row, **said), sources)
        ]
