"""Dates as sources write them."""

import datetime
import time

import pytest

from dayfly.fetch.dates import instant, posix, sane

NOW = 1_800_000_000.0  # 15 January 2027
NINE = 1799744400.0  # 12 January 2027, 09:00 UTC


@pytest.mark.parametrize(
    "written",
    [
        "Tue, 12 Jan 2027 09:00:00 GMT", "Tue, 12 Jan 2027 09:00:00 +0000",
        "Tue, 12 Jan 2027 10:00:00 +0100", "Tue, 12 Jan 2027 09:00:00 UTC",
        "12 Jan 2027 09:00 GMT", "12 Jan 27 09:00 Z", "Tue, 12 Jan 2027 04:00:00 EST",
        "Tue, 12 Jan 2027 01:00:00 PST", "Tue, 12 Jan 2027 11:00:00 GMT+2",
        "Tue, 12 Jan 2027 11:00:00 +02", "Tue, 12 Jan 2027 11:00:00 +02:00",
        "Tue, 12 Jan 2027 14:30:00 +530", "Tue, 12 Jan 2027 05:00 -040",
        "Tue, 12 Jan 2027 09:00:00 XYZ", "Tue, 12 Jan 2027 09:00:00", "Tue,12 Jan 2027 9:00 am",
        "Tuesday, 12 January 2027 09:00:00 +0000", "tue, 12 jan 2027 09:00:00 gmt",
        "Tue, 12 Jan 2027 09:00:00 +0000 (UTC)", "  Tue, 12 Jan 2027 09:00:00 GMT ",
        "Tue, January 12 2027 09:00:00 GMT", "January 12, 2027 9:00 AM", "Tue Jan 12 09:00:00 2027",
        "Tue Jan 12 09:00:00 UTC 2027", "12-Jan-2027 09:00:00", "Di, 12 Jan 2027 10:00:00 CET",
        "2027-01-12T09:00:00Z", "2027-01-12T09:00:00.123456789Z", "2027-01-12T10:00:00+01:00",
        "2027-01-12T10:00:00+0100", "2027-01-12 09:00:00", "2027-01-12T09:00Z", "20270112T09:00Z",
        "2027-01-12T09:00:00", "2027/01/12 09:00", "2027-01-12 09:00:00 UTC", "2027-01-12T9:0:0Z",
    ],
)  # fmt: skip
def test_many_ways_to_write_one_instant(written):
    assert instant(written, NOW) == NINE


def test_parts_of_a_date_are_their_beginning():
    assert posix("2027") == 1798761600.0 == posix("2027-01") == posix("2027-01-01")
    assert posix("1 Jan 2027") == 1798761600.0


def test_midnight_may_be_called_24_and_a_leap_second_is_the_last():
    assert posix("2027-01-11T24:00:00Z") == posix("2027-01-12T00:00:00Z")
    assert posix("2016-12-31T23:59:60Z") == posix("2016-12-31T23:59:59Z")


@pytest.mark.parametrize(
    "written",
    [
        "", "soon", "0000-00-00T00:00:00Z", "Mon, 99 Xyz 2026 99:99:99 GMT", "2027-13-01",
        "2027-02-30", "12 Jan 2027 25:00", "12 Jan 2027 10:61", "1799744400", "7", "x" * 1000,
        "10000-01-01T00:00:00Z", "-1", "1e9", "2027-01-12T09:00:00Z2027-01-12T09:00:00Z",
        "01/02/2027", "12 Jan 2027 10:00 +99999",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_none(written):
    assert instant(written, NOW) is None


def test_two_digits_of_a_year():
    for digits, year in (("49", 2049), ("50", 1950), ("99", 1999), ("099", 1999)):
        then = datetime.datetime(year, 1, 12, tzinfo=datetime.UTC)
        assert posix(f"12 Jan {digits} 00:00 Z") == then.timestamp()


def test_an_instant_that_cannot_be_meant_is_none_and_soon_is_now():
    assert sane(NOW + 3600.0, NOW) == NOW
    assert sane(NOW + 2 * 86400.0, NOW) is None
    assert sane(0.0, NOW) is None
    assert sane(float("nan"), NOW) is None
    assert sane(None, NOW) is None


def test_a_long_text_costs_nothing():
    for evil in ("1 " * 32, "a" * 64, "Mon, " * 12, "2027-01-01T" + "0" * 53, " " * 64, "+" * 64):
        assert instant(evil, NOW) is None


def test_a_fraction_of_a_second_is_no_zone(monkeypatch):
    # As long as a date with a zone, and read where it is not universal time.
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert posix("2026-11-15T11:00:00.12345") == posix("2026-11-15T11:00:00.123450Z")
    finally:
        monkeypatch.undo()
        time.tzset()
