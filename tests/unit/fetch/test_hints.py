"""When a source asks us to come again; whoever says it may be a stranger."""

import calendar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from dayfly.fetch.hints import fresh_until, http_date, retry_after, ttl_until, values_of

#: Sunday, 6 November 1994, 08:49:37 GMT: the date of all examples in the standard.
NOW = float(calendar.timegm((1994, 11, 6, 8, 49, 37)))
DAY = 86400.0


def stamp(seconds: float) -> str:
    """A date so many seconds from now, as HTTP writes it."""
    from email.utils import formatdate

    return formatdate(NOW + seconds, usegmt=True)


@pytest.mark.parametrize(
    ("values", "wait"),
    [
        ((), None),
        (("120",), 120), ((" 120 ",), 120), (("0",), 60), (("7",), 60), (("1.5",), 60),
        (("86400",), DAY), (("99999999999",), DAY), (("1e99",), DAY), (("1e999",), DAY),
        (("9" * 60,), DAY), (("9" * 65,), None),
        (("-5",), None), (("",), None), (("soon",), None), (("0x10",), None), (("nan",), None),
        (("inf",), None), (("١٢٠",), None), (("1_000",), None),
        ((stamp(600),), 600), ((stamp(-600),), 60), ((stamp(10 * DAY),), DAY),
        (("Fri, 31 Dec 9999 23:59:59 GMT",), DAY), (("Sun, 99 Nov 1994 08:49:37 GMT",), None),
        (("120", "300"), 300), (("300", "120"), 300), (("300", "rubbish"), 300),
        (("120, 300",), 300), ((stamp(600), "120"), 600),
    ],
)  # fmt: skip
def test_C08_retry_after_is_obeyed_between_a_minute_and_a_day(values, wait):
    assert retry_after(values, NOW) == (None if wait is None else NOW + wait)


@given(st.lists(st.text(max_size=80), max_size=3), st.floats(0, 4e9))
def test_C08_whatever_is_said_the_wait_is_bounded(values, now):
    until = retry_after(values, now)
    assert until is None or now + 60 <= until <= now + DAY


@given(st.integers(0, 10**6))
def test_C08_never_earlier_than_asked_within_the_day(seconds):
    assert retry_after([str(seconds)], NOW) >= NOW + min(seconds, DAY)


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "06 Nov 1994 09:49:37 +0100",
        "Sun, 06 Nov 94 08:49:37",
    ],
)
def test_C08_a_date_is_read_in_every_form_that_http_knows(text):
    assert http_date(text) == NOW


@pytest.mark.parametrize("text", ["", "0", "-1", "now", "6 Nov 1994 24:00:00", "6" * 99])
def test_C08_what_is_no_date_is_none(text):
    assert http_date(text) is None


@given(st.text(max_size=70))
def test_C08_no_text_is_too_odd_for_a_date(text):
    assert http_date(text) is None or isinstance(http_date(text), float)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"Cache-Control": "max-age=0"}, None),
        ({"Cache-Control": "max-age=60"}, 60),
        ({"Cache-Control": "max-age=315360000"}, 3600),
        ({"Cache-Control": "max-age=" + "9" * 50}, 3600),
        ({"Cache-Control": "max-age=60, max-age=600"}, 60),
        ({"Cache-Control": "public,MAX-AGE = 60"}, 60),
        ({"Cache-Control": 'max-age="60"'}, 60),
        ({"Cache-Control": "max-age=-60"}, None),
        ({"Cache-Control": "max-age=abc"}, None),
        ({"Cache-Control": "max-age"}, None),
        ({"Cache-Control": "s-maxage=60"}, None),
        ({"Cache-Control": "no-store, max-age=60"}, None),
        ({"Cache-Control": "max-age=60, no-cache"}, None),
        ({"Cache-Control": "max-age=600", "Age": "60"}, 540),
        ({"Cache-Control": "max-age=600", "Age": "601"}, None),
        ({"Cache-Control": "max-age=600", "Age": "-1"}, 600),
        ({"Cache-Control": "max-age=600", "Age": "1e99"}, None),
        ({"Cache-Control": "max-age=7200", "Age": "60"}, 3600),
        ({"Cache-Control": "max-age=60", "Expires": stamp(600)}, 60),
        ({"Cache-Control": "max-age=0", "Expires": stamp(600)}, None),
        ({"Expires": stamp(600)}, 600),
        ({"Expires": stamp(10 * DAY)}, 3600),
        ({"Expires": "Fri, 31 Dec 9999 23:59:59 GMT"}, 3600),
        ({"Expires": "0"}, None),
        ({"Expires": "-1"}, None),
        ({"Expires": stamp(-600)}, None),
        ({"Expires": stamp(600), "Date": stamp(300)}, 300),
        ({"Expires": stamp(600), "Date": "rubbish"}, 600),
        ({"Expires": stamp(600), "Date": stamp(0), "Age": "100"}, 500),
        ({"Cache-Control": "x" * 5000 + ", max-age=60"}, None),
    ],
)
def test_C11_cache_hints_hold_us_back_up_to_the_cap(headers, wait):
    assert fresh_until(headers, NOW) == (None if wait is None else NOW + wait)


def test_C11_names_of_header_fields_are_the_same_in_any_case_and_may_repeat():
    headers = CIMultiDict([("cache-control", "public"), ("CACHE-CONTROL", "max-age=60")])
    assert values_of(headers, "Cache-Control") == ["public", "max-age=60"]
    assert fresh_until(headers, NOW) == NOW + 60
    assert values_of({"Age": "1"}, "Expires") == []


@given(st.dictionaries(st.sampled_from(["Cache-Control", "Expires", "Age", "Date"]), st.text()))
def test_C11_whatever_is_said_the_hint_lies_within_the_cap(headers):
    until = fresh_until(headers, NOW, cap=1800.0)
    assert until is None or NOW < until <= NOW + 1800.0


ALL_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@pytest.mark.parametrize(
    ("ttl", "hours", "days", "wait"),
    [
        ("", (), (), None), ("0", (), (), None), ("-5", (), (), None), ("abc", (), (), None),
        ("5", (), (), 300), (" 5 ", (), (), 300), ("0.5", (), (), 30), ("60", (), (), 3600),
        ("1e9", (), (), 7200), ("9" * 99, (), (), None),
        ("", range(24), (), 7200), ("", (), ALL_DAYS, 7200), ("5", range(24), ALL_DAYS, 7200),
        ("", (9,), (), None),  # it is 08:49
        ("", (8,), (), 623), ("", (8, 9), (), 4223), ("15", (9,), (), 4223), ("5", (9,), (), 300),
        ("", (24,), (), None), ("", (-1, 25, 99), (), None),
        ("", (), ("Saturday",), None), ("", (), ("Sunday",), 7200), ("", (), (" sUN ",), 7200),
        ("", (), ("Someday", ""), None),
    ],
)  # fmt: skip
def test_C12_ttl_and_skipped_hours_hold_us_back_up_to_the_cap(ttl, hours, days, wait):
    until = ttl_until(ttl, hours, days, NOW, 7200.0)
    assert until == (None if wait is None else NOW + wait)


def test_C12_hour_24_is_midnight():
    midnight = NOW - NOW % DAY
    assert ttl_until("", (24,), (), midnight, 7200.0) == midnight + 3600


def test_C12_a_feed_that_is_never_to_be_read_is_read_at_the_cap_however_long():
    assert ttl_until("", range(24), (), NOW, 9e9) == NOW + 9e9
    assert ttl_until("", (), ALL_DAYS[:-1], NOW + DAY, 9e9) == NOW - NOW % DAY + 7 * DAY


@given(
    st.text(max_size=20) | st.integers(-(10**9), 10**9).map(str),
    st.lists(st.integers(-5, 30), max_size=24),
    st.lists(st.sampled_from(ALL_DAYS) | st.text(max_size=9), max_size=7),
    st.floats(0, 4e9),
    st.floats(0, 1e6),
)
def test_C12_whatever_is_said_it_is_read_again_by_the_cap(ttl, hours, days, now, cap):
    until = ttl_until(ttl, hours, days, now, cap)
    assert until is None or now < until <= now + cap
