"""Dates as sources write them, as POSIX seconds that make sense.

Known are the forms of RSS (RFC 822 and its careless variants), of Atom and sitemaps (ISO 8601 and
parts of it) and of the C library. A date without a zone, or with a zone that nobody knows, is
universal time: as good a guess as any, and the same everywhere. What cannot be read is None, never
a guess: then the time of first sight counts.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

#: Nobody needs more to write a date.
_LONGEST = 64
#: Dates before this are mistakes (1 January 1990), and so are those more than a day ahead.
_EARLIEST, _AHEAD = 631152000.0, 86400.0

_MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_NUMBERS = {name.title(): f"{number:02d}" for name, number in _MONTHS.items()}
#: A time of day in two parts, in seconds.
_MINUTES = {f"{at // 60:02d}:{at % 60:02d}": 60 * at for at in range(24 * 60)}
_SECONDS = {f":{second:02d}": second for second in range(60)}
#: Hours ahead of universal time.
_ZONES = {
    "": 0, "z": 0, "gmt": 0, "ut": 0, "utc": 0, "wet": 0, "est": -5, "edt": -4, "cst": -6,
    "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "akst": -9, "akdt": -8, "hst": -10,
    "ast": -4, "adt": -3, "brt": -3, "bst": 1, "west": 1, "cet": 1, "mez": 1, "cest": 2, "mesz": 2,
    "eet": 2, "sast": 2, "eest": 3, "msk": 3, "msd": 4, "pkt": 5, "hkt": 8, "awst": 8, "sgt": 8,
    "jst": 9, "kst": 9, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13,
}  # fmt: skip

_CLOCK = r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,]\d+)?)?(?:\s*([AaPp])\.?[Mm]\.?)?"
_ZONE = r"\s*([A-Za-z]{0,5})\s*([+-]\d{1,2}:?\d{0,2})?(?:\s*\([^)]*\))?"
_DAY = r"(?:[^\W\d]+\.?(?:\s*,\s*|\s+))?"
_RSS = re.compile(
    rf"{_DAY}(\d{{1,2}})[\s-]+([A-Za-z]{{3}})[a-z]*\.?,?[\s-]+(\d{{2,4}})(?:,?\s+{_CLOCK}{_ZONE})?"
)
_AMERICAN = re.compile(
    rf"{_DAY}([A-Za-z]{{3}})[a-z]*\.?\s+(\d{{1,2}}),?\s+(\d{{4}})(?:,?\s+{_CLOCK}{_ZONE})?"
)
_ISO = re.compile(
    rf"(\d{{4}})(?:([-/]?)(\d{{2}})(?:\2(\d{{2}}))?)?(?:(?:\s*[Tt]\s*|\s+){_CLOCK}{_ZONE})?"
)
_C = re.compile(
    rf"{_DAY}([A-Za-z]{{3}})\s+(\d{{1,2}})\s+{_CLOCK}\s+(?:([A-Za-z]{{3,5}})\s+)?(\d{{4}})"
)


def instant(written: str, now: float) -> float | None:
    """When something appeared; None if that is not said, or cannot be.

    >>> instant("Sun, 15 Nov 2026 10:00:00 GMT", now=1.8e9)
    1794736800.0
    >>> instant("2026-11-15T11:00:00+01:00", now=1.8e9)
    1794736800.0
    >>> instant("Sun, 15 Nov 2026 10:00:00 GMT", now=1.7e9) is None  # years ahead
    True
    """
    seconds = posix(written)
    if seconds is not None and _EARLIEST <= seconds <= now:
        return seconds
    return sane(seconds, now)


def sane(seconds: float | None, now: float) -> float | None:
    """An instant that can be meant: neither long ago nor ahead; clocks differ, so soon is now."""
    if not isinstance(seconds, float) or not _EARLIEST <= seconds <= now + _AHEAD:
        return None
    return min(seconds, now)


def posix(written: str) -> float | None:
    """The instant that is written, whether or not it makes sense."""
    length = len(written)
    if length > _LONGEST:
        return None
    try:
        # The usual forms of RSS and Atom, for speed: a day that was met before, and a time of day.
        if (length == 29 or length == 31) and written[3:5] == ", ":
            midnight = _midnight(written[5:16], written[25:])
            return midnight + _MINUTES[written[17:22]] + _SECONDS[written[22:25]]
        if (length == 20 or length == 25) and written[10] == "T":
            midnight = _midnight(written[:10], written[19:])
            return midnight + _MINUTES[written[11:16]] + _SECONDS[written[16:19]]
    except (KeyError, ValueError):
        pass
    written = written.strip()
    try:
        if found := _RSS.fullmatch(written):
            day, month, year, *rest = found.groups()
            return _seconds(_year(year), _MONTHS[month.lower()], day, *rest)
        if found := _ISO.fullmatch(written):
            year, _, month, day, *rest = found.groups()
            return _seconds(int(year), int(month or 1), day or "1", *rest)
        if found := _AMERICAN.fullmatch(written):
            month, day, year, *rest = found.groups()
            return _seconds(int(year), _MONTHS[month.lower()], day, *rest)
        if found := _C.fullmatch(written):
            month, day, *rest, year = found.groups()
            return _seconds(int(year), _MONTHS[month.lower()], day, *rest)
    except (KeyError, ValueError, OverflowError):
        pass
    return None


@lru_cache(4096)
def _midnight(day: str, zone: str) -> float:
    """When a day begins in that zone, both in one of the usual forms."""
    if zone[0] == " ":
        day = f"{day[7:]}-{_NUMBERS[day[3:6]]}-{day[:2]}"
        zone = "Z" if zone in (" GMT", " UTC") else zone[1:]
    found = datetime.fromisoformat(f"{day}T00:00:00{zone}")
    if found.tzinfo is None:
        raise ValueError("a fraction of a second, not a zone")
    return found.timestamp()


def _seconds(
    year: int, month: int, day: str, hour: str | None, minute: str | None, second: str | None,
    half: str | None, zone: str | None, offset: str | None = None,
) -> float:  # fmt: skip
    hours, minutes = int(hour or 0), int(minute or 0)
    if half:
        hours = hours % 12 + (12 if half in "Pp" else 0)
    if hours > 24 or minutes > 59:
        raise ValueError
    # Midnight may be called 24:00, and a leap second is the last one of its minute.
    clock = timedelta(hours=hours, minutes=minutes, seconds=min(int(second or 0), 59))
    ahead = _offset(offset) if offset else 60 * _ZONES.get((zone or "").lower(), 0)
    return (datetime(year, month, int(day), tzinfo=UTC) + clock).timestamp() - 60.0 * ahead


def _offset(written: str) -> int:
    """Minutes ahead of universal time: +2, +02, +0200, +02:00, +530 and even +020."""
    digits = written[1:].replace(":", "")
    if len(digits) == 3:
        digits = digits + "0" if digits[0] == "0" else "0" + digits
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    if minutes >= 24 * 60:
        return 0
    return -minutes if written[0] == "-" else minutes


def _year(digits: str) -> int:
    """A year of RSS: two digits are of this century up to 49, and so RFC 2822 has it."""
    year = int(digits)
    if len(digits) == 4:
        return year
    return year + (2000 if len(digits) == 2 and year < 50 else 1900)
