"""Durations and rates as people write them."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayfly.errors import BadInput
from dayfly.units import (
    parse_budget,
    parse_duration,
    parse_rate,
    show_duration,
    show_part,
    show_rate,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0), ("90s", 90.0), ("1.5h", 5400.0), ("6h", 21600.0), ("6 H", 21600.0),
        ("2 days", 172800.0), ("1 week", 604800.0), ("250ms", 0.25), ("1h30m", 5400.0),
        ("1h 30min", 5400.0), (" 15 minutes ", 900.0), ("1d12h", 129600.0), (".5h", 1800.0),
        ("1e3s", 1000.0), ("0", 0.0), ("-6h", -21600.0),
    ],
)  # fmt: skip
def test_durations(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    ["", " ", "h", "6 parsecs", "1h30", "6h!", "nan", "inf", "1:30", "6 6", "1/h", "9" * 65, "6hh"],
)
def test_what_is_no_duration_is_shown_with_an_example(text):
    with pytest.raises(BadInput, match=r"not a duration: .*write for example 90s, 15min"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "rate", "period"),
    [
        ("0", 0.0, 1.0), ("60/min", 1.0, 60.0), ("20/15min", 20 / 900, 900.0),
        ("40/day", 40 / 86400, 86400.0), ("40 per day", 40 / 86400, 86400.0),
        ("1e3 / h", 1000 / 3600, 3600.0), ("6/2 h", 6 / 7200, 7200.0), ("0/day", 0.0, 86400.0),
    ],
)  # fmt: skip
def test_rates_remember_their_period(text, rate, period):
    assert parse_budget(text) == (pytest.approx(rate, rel=1e-15), period)
    assert parse_rate(text) == parse_budget(text)[0]


@pytest.mark.parametrize("text", ["60", " 0.5 ", "1e3", "-1"])
def test_a_budget_says_per_what(text):
    with pytest.raises(BadInput, match=rf"{text.strip()}.* per what\?.* {text.strip(' -')}/min"):
        parse_budget(text)
    assert parse_rate(text) == float(text)  # in a table the heading says per what


@pytest.mark.parametrize(
    "text",
    [
        "",
        "many",
        "60/",
        "/min",
        "60/fortnight",
        "60/0min",
        "60/-1min",
        "1/1e999h",
        "6h",
        "9" * 70 + "/h",
    ],
)
def test_what_is_no_rate_is_shown_with_an_example(text):
    with pytest.raises(BadInput, match=r"not a rate: .*write for example 60/min"):
        parse_rate(text)


def test_a_message_stays_short_however_long_the_input():
    for parse in (parse_duration, parse_rate):
        with pytest.raises(BadInput) as caught:
            parse("x" * 10**7)
        assert len(str(caught.value)) < 200


def test_many_days_are_days():
    assert [show_duration(days * 86400) for days in (999, 999.7, 2513)] == [
        "999d",
        "1000d",
        "2513d",
    ]
    assert show_rate(1234.5) == "1234/s"


@pytest.mark.parametrize(
    ("spent", "budget", "shown"),
    [
        (0.25, 1.0, "15 of 60/min"), (1.0, 1.0, "1 of 1/s"), (0.0, 1 / 60, "0 of 1/min"),
        (2.0, 1 / 60, "120 of 1/min"), (1 / 86400, 1.0, "1 of 86400/day"), (0.0, 0.0, "0 of 0/day"),
    ],
)  # fmt: skip
def test_two_rates_side_by_side_have_one_unit(spent, budget, shown):
    assert show_part(spent, budget) == shown


@given(st.floats(1e-3, 1e9))
def test_a_shown_duration_reads_back_to_three_digits(seconds):
    assert parse_duration(show_duration(seconds)) == pytest.approx(seconds, rel=6e-3)


@given(st.floats(1e-9, 1e9))
def test_a_shown_rate_reads_back_to_three_digits(rate):
    assert parse_rate(show_rate(rate)) == pytest.approx(rate, rel=6e-3)


def test_ends_are_shown_in_words():
    assert show_duration(math.inf) == "never"
    assert show_duration(0.0) == "0s"
    assert show_rate(0.0) == "0/day"


@given(st.text(max_size=70))
def test_any_text_is_a_number_or_one_error(text):
    for parse in (parse_duration, parse_rate):
        with contextlib.suppress(BadInput):
            assert isinstance(parse(text), float)
