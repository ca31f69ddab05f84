"""How long a source is left alone, and by which rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dayfly.errors import BadInput
from dayfly.model import Crawl, Status
from dayfly.schedule.manners import Rules, wait
from dayfly.store import StoredSource

NOW, HOUR, DAY = 1e9, 3600.0, 86400.0


def source(**changed) -> StoredSource:
    return StoredSource(**{"id": "a", "url": "https://a.example.org/feed", "row": 0, **changed})


def seen(status: Status = Status.UNCHANGED, reason: str = "", ahead: float | None = None) -> Crawl:
    later = None if ahead is None else NOW + ahead
    return Crawl(row=0, time=NOW, status=status, reason=reason, not_before=later)


def after(
    crawl: Crawl,
    *,
    draw: float = 0.0,
    rules: Rules = Rules(),  # noqa: B008
    round_s: float = 0.0,
    **known,
):
    """Seconds until it may be visited again, and by which rule."""
    until, why = wait(source(**known), crawl, rules, draw, round_s)
    return (None if until is None else until - NOW), why


def test_the_rules_are_those_we_promise():
    rules = Rules()
    assert (rules.min_interval, rules.host_spacing, rules.cache_cap) == (300, 5, 3600)
    assert rules.backoff_cap == DAY


def test_five_minutes_pass_between_visits():
    assert after(seen()) == (300, "minimum interval")
    assert after(seen(Status.CHANGED)) == (300, "minimum interval")
    assert after(seen(), rules=Rules(min_interval=60)) == (60, "minimum interval")


def test_the_interval_of_a_source_counts_before_that_of_the_run():
    assert after(seen(), min_interval=30.0) == (30, "minimum interval")
    assert after(seen(), min_interval=7200.0) == (7200, "minimum interval")
    assert after(seen(), min_interval=0.0) == (None, "")


def test_C11_cache_hints_count_up_to_the_cap():
    assert after(seen(ahead=1800)) == (1800, "cache")
    assert after(seen(ahead=10 * DAY)) == (HOUR, "cache")
    assert after(seen(ahead=10 * DAY), rules=Rules(cache_cap=7200)) == (7200, "cache")
    assert after(seen(ahead=10)) == (300, "minimum interval")
    assert after(seen(ahead=-DAY)) == (300, "minimum interval")


@pytest.mark.parametrize(("status", "code"), [("failed", 503), ("failed", 429), ("refused", 429)])
def test_C08_retry_after_counts_in_full_up_to_a_day(status, code):
    def later(ahead):
        return after(seen(Status(status), f"http {code}", ahead))

    assert later(7200) == (7200, "Retry-After")
    assert later(DAY) == (DAY, "Retry-After")
    assert later(99 * DAY) == (DAY, "Retry-After")
    assert later(120) == (300, "minimum interval")


def test_C08_without_retry_after_too_many_requests_are_an_hour():
    assert after(seen(Status.FAILED, "http 429")) == (HOUR, "back-off")
    assert after(seen(Status.FAILED, "http 503"), min_interval=10.0) == (300, "back-off")


def test_failures_in_a_row_wait_twice_as_long_each_time_up_to_a_day():
    failed = seen(Status.FAILED, "timeout: first byte")
    waits = [after(failed, failures=n, min_interval=0.0)[0] for n in range(12)]
    assert waits[:9] == [300 * 2**n for n in range(9)]
    assert waits[9:] == [DAY, DAY, DAY]
    assert after(failed, failures=10**9) == (DAY, "back-off")


def test_what_failed_together_does_not_come_back_together():
    failed = seen(Status.FAILED, "timeout")
    assert after(failed, failures=3, draw=0.0) == (2400, "back-off")
    assert after(failed, failures=3, draw=0.5) == (2700, "back-off")
    assert after(failed, failures=99, draw=0.999)[0] < 1.25 * DAY


def waits_of_the_dead(round_s: float, *, draw: float = 0.0, late: float = 0.0, **known):
    """How long a source that never answers is left alone, visit after visit."""
    now, dead, waits = NOW, source(**known), []
    for _ in range(12):
        crawl = Crawl(row=0, time=now, status=Status.FAILED, reason="timeout")
        until, why = wait(dead, crawl, Rules(), draw, round_s)
        waits.append(until - now)
        dead = replace(
            dead, failures=dead.failures + 1, last_crawl=now, not_before=until, why_not=why
        )
        now = until + late
    return waits


def test_the_dead_wait_in_the_rhythm_of_the_visits():
    """One visit each in five hours: a quarter of that, then twice as long each time."""
    quarter = 5 * HOUR / 4
    doubled = [min(quarter * 2**n, DAY) for n in range(12)]
    assert waits_of_the_dead(5 * HOUR) == doubled
    assert waits_of_the_dead(5 * HOUR, last_crawl=NOW - 5 * HOUR) == doubled
    assert waits_of_the_dead(5 * HOUR, last_crawl=NOW - 5 * HOUR, late=9 * HOUR) == doubled
    by_chance = waits_of_the_dead(5 * HOUR, draw=0.8)
    assert by_chance == pytest.approx([1.2 * wait_s for wait_s in doubled])


def test_whoever_is_visited_often_is_asked_again_soon_wherever_others_wait():
    failed = seen(Status.FAILED, "timeout")
    assert after(failed, last_crawl=NOW - 300, round_s=5 * HOUR) == (300, "minimum interval")
    ours = waits_of_the_dead(5 * HOUR, last_crawl=NOW - 300)
    assert ours[:6] == [300, 600, 1200, 2400, 4800, 9600], "as if nobody else were there"


def test_a_crawler_that_was_switched_off_for_a_week_and_is_offline_does_not_wait_for_hours():
    """Fifty sources and a visit per second: the fleet is round in less than a minute."""
    failed = seen(Status.FAILED, "dns: no answer")
    for known in ({}, {"last_crawl": NOW - 7 * DAY}):
        assert after(failed, round_s=50.0, **known) == (300, "minimum interval")
    once = {"failures": 1, "last_crawl": NOW - 7 * DAY, "not_before": NOW - 7 * DAY + 300}
    assert after(failed, round_s=50.0, why_not="back-off", **once) == (600, "back-off")


def test_only_a_back_off_is_doubled_not_what_somebody_asked_for():
    failed = seen(Status.FAILED, "timeout")
    asked = {"failures": 1, "last_crawl": NOW - DAY, "not_before": NOW}
    assert after(failed, why_not="back-off", **asked) == (DAY, "back-off")
    assert after(failed, why_not="Retry-After", **asked) == (600, "back-off")


@pytest.mark.parametrize("code", [401, 403, 451])
def test_whoever_tells_us_to_stay_away_is_asked_again_later_than_others(code):
    refused = seen(Status.REFUSED, f"http {code}")
    assert after(refused) == (HOUR, "back-off")
    assert after(refused, failures=2) == (4 * HOUR, "back-off")
    assert after(refused, failures=99) == (DAY, "back-off")


def test_C14_gone_is_asked_about_again_after_a_day_and_not_found_backs_off():
    assert after(seen(Status.REFUSED, "http 410")) == (DAY, "gone")
    assert after(seen(Status.REFUSED, "http 410"), draw=0.4)[0] == pytest.approx(1.1 * DAY)
    not_found = [after(seen(Status.FAILED, "http 404"), failures=n) for n in range(50)]
    assert not_found[0] == (300, "minimum interval")
    assert not_found[1] == (600, "back-off")
    assert not_found[-1] == (DAY, "back-off")


def test_C03_robots_is_asked_again_when_its_copy_expires():
    for reason in ("robots", "robots unreachable: http 503"):
        assert after(seen(Status.REFUSED, reason, 7200), failures=9) == (7200, "robots")
        assert after(seen(Status.REFUSED, reason, 9 * DAY)) == (DAY, "robots")
        assert after(seen(Status.REFUSED, reason)) == (HOUR, "robots")


def test_the_guard_is_named():
    refused = seen(Status.REFUSED, "guard: address is not public", 300)
    assert after(refused) == (HOUR, "guard")
    assert after(refused, failures=50) == (DAY, "guard")


CRAWLS = st.builds(
    Crawl,
    row=st.just(0),
    time=st.just(NOW),
    status=st.sampled_from(Status),
    reason=st.sampled_from([
        "", "http 404", "http 410", "http 429", "http 503", "robots", "guard: x", "timeout",
    ]),
    not_before=st.none() | st.floats(allow_nan=False),
)  # fmt: skip


AGES = st.none() | st.floats(0, 1e8)


@given(CRAWLS, st.integers(0, 10**6), st.floats(0, 1, exclude_max=True), st.floats(0, 1e9), AGES)
def test_nobody_is_given_up_for_ever_and_nobody_is_hurried(crawl, failures, draw, round_s, age):
    known = (
        {} if age is None else {"last_crawl": NOW - age, "not_before": NOW, "why_not": "back-off"}
    )
    wait_s, why = after(crawl, failures=failures, draw=draw, round_s=round_s, **known)
    assert 300 <= wait_s <= 1.25 * DAY
    assert why
    assert wait_s >= after(crawl, failures=failures, draw=draw)[0], "never sooner than without"


@given(CRAWLS, st.integers(0, 40), st.floats(0, 1, exclude_max=True))
def test_C08_nobody_comes_earlier_than_asked_within_what_we_grant(crawl, failures, draw):
    until, _ = wait(source(failures=failures), crawl, Rules(), draw)
    grant = HOUR if crawl.answered else DAY
    assert crawl.not_before is None or until >= min(crawl.not_before, NOW + grant)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_rules_are_numbers_of_seconds(value):
    with pytest.raises(BadInput, match="min_interval must be a number of seconds"):
        Rules(min_interval=value)
