"""Operations that look, on a store at rest: explain, refresh, plan, stats."""

import pytest
from msgspec.structs import replace

from dayfly.errors import BadInput
from dayfly.model import Status
from dayfly.serve import Office, StillHouse
from dayfly.store import State

from .conftest import NOW, record


def test_explain_says_when_nobody_crawls_and_works_it_out_for_a_budget(office):
    answer = office.ask("explain", source="feed0")
    assert (answer["running"], answer["decision"]) == (False, None)
    decision = office.ask("explain", source="feed0", budget_per_s=1.0)["decision"]
    assert decision["age_s"] == 100.0
    assert decision["index"] > 0
    assert len(answer["visits"]) == 1


def test_a_refresh_needs_a_crawler(office):
    with pytest.raises(BadInput, match="no crawler runs"):
        office.ask("refresh", source="feed0")


def test_a_rehearsal_changes_nothing_and_says_why(office, store):
    before = store.sources()
    answer = office.ask("plan", seconds=60.0, budget_per_s=1.0)
    assert store.sources() == before
    reasons = {visit["id"]: visit["why"] for visit in answer["visits"]}
    assert reasons["feed2"] == "never visited"
    assert answer["n_sources"] == 3
    with pytest.raises(BadInput, match="budget"):
        office.ask("plan")


@pytest.fixture
def dead(store):
    """Sources that have failed once or often, one of which has shown items before."""
    for row, times in ((1, 1), (2, 3)):
        until = NOW + 10.0 + 300.0 * 2.0**times
        changed = {"failures": times, "last_crawl": NOW + 10.0, "not_before": until}
        store.change([replace(store.sources()[row], **changed)])


def test_a_rehearsal_takes_those_who_failed_to_fail_again(office, dead):
    answer = office.ask("plan", seconds=86400.0, budget_per_s=1.0)
    visits = {name: [v for v in answer["visits"] if v["id"] == name] for name in ("feed1", "feed2")}
    for row, (name, first) in enumerate((("feed1", 600.0), ("feed2", 2400.0))):
        waits = [visit["age_s"] for visit in visits[name]]
        # Once a second it is decided; each wait is twice the one before.
        expected = [first * 2.0**n for n in range(5 - row)]
        assert waits[: len(expected)] == pytest.approx(expected, rel=0.1), name
        assert {visit["why"] for visit in visits[name]} == {"failed before"}
    assert all(visit["waiting"] == 0.0 for visit in visits["feed2"])
    assert all(visit["waiting"] > 0.0 for visit in visits["feed1"])


def test_who_never_answered_publishes_nothing_as_far_as_we_know(office, store, dead):
    guess = store.sources()[0].arrival
    assert office.ask("stats")["published_per_s"] == pytest.approx(2 * guess)


def test_stats_count_what_was_caught_and_name_who_needs_a_look(office):
    answer = office.ask("stats")
    assert (answer["visits"], answer["value"], answer["wire_bytes"]) == (2, 4.0, 200)
    assert answer["statuses"] == {"changed": 2}
    assert [one["id"] for one in answer["overridden"]] == ["feed2"]
    assert answer["never_visited"] == 1
    assert answer["n_with_headers"] == 1


def test_stats_say_why_no_robots_could_be_had(office, store):
    fence = store.own()
    for cause in ("connect: connection refused", "connect: no route", "http 503"):
        reason = f"robots unreachable: {cause}"
        record(store, 0, fence, time=NOW + 9, status=Status.REFUSED, reason=reason)
    record(store, 0, fence, time=NOW + 9, status=Status.REFUSED, reason="guard: not public")
    assert office.ask("stats")["reasons"] == {
        "robots unreachable: connect": 2,
        "robots unreachable: http 503": 1,
        "guard": 1,
    }


def test_stats_say_who_may_be_visited_and_whether_all_was_counted(office, store):
    assert office.ask("stats")["n_ready"] == 3
    store.change([replace(store.sources()[0], not_before=NOW + 1e4)])
    store.change([replace(store.sources()[1], state=State.PAUSED)])
    fresh = Office(StillHouse(store, now=lambda: NOW + 100.0))
    assert fresh.ask("stats")["n_ready"] == 1
    assert fresh.ask("stats", seconds=3600.0)["complete"]
    assert not fresh.ask("stats", seconds=99.5)["complete"]


def test_a_rehearsal_on_a_twin_spares_hosts_that_asked_for_peace(store):
    from dayfly.schedule import Rules

    fence = store.own()
    record(
        store, 1, fence, time=NOW + 50, status=Status.FAILED, reason="http 429",
        host_not_before=NOW + 7200.0,
    )  # fmt: skip
    twin = StillHouse(store, now=lambda: NOW + 100.0).twin(Rules(min_interval=1.0))
    visits = Office(twin).ask("plan", seconds=3600.0, budget_per_s=1.0)["visits"]
    assert {visit["id"] for visit in visits} == {"feed0", "feed2"}


def test_a_host_that_wants_visits_far_apart_gets_them_in_a_rehearsal_too(store):
    fence = store.own()
    record(store, 1, fence, time=NOW + 50, crawl_delay=1800.0)
    office = Office(StillHouse(store, now=lambda: NOW + 100.0))
    decision = office.ask("explain", source="feed1", budget_per_s=1.0)["decision"]
    assert (decision["held_by"], decision["until_at"]) == ("blocked host", NOW + 50 + 1800.0)
