"""When a source asks us to come again: Retry-After, cache headers, ttl and skipped hours.

All of it is said by strangers, so every value is bounded, and what cannot be read says nothing.
Pure functions: `now` is an argument, answers are POSIX seconds or None.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
#: Nobody needs more characters to say a number or a date.
_LONGEST = 64
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,4})?")
_DIRECTIVE = re.compile(r"""([A-Za-z-]+)(?:\s*=\s*("[^"]*"|[^\s,;]*))?""")
#: Stands for numbers that are too large for a float.
_HUGE = 1e18
_HOURS_OF_A_WEEK = 7 * 24
_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def retry_after(values: Sequence[str], now: float) -> float | None:
    """When we may come again after a 429, 503 or redirect; at least a minute, at most a day ahead.

    Where the header is said several times, the latest counts. A date in the past is a minute;
    what is neither seconds nor a date is None.

    Examples
    --------
    >>> retry_after(["120"], 1000.0), retry_after(["-5"], 1000.0), retry_after(["1e99"], 0.0)
    (1120.0, None, 86400.0)
    """
    waits = [wait for value in values for wait in _waits(value, now)]
    return now + min(max(*waits, _MINUTE), _DAY) if waits else None


def fresh_until(headers: Mapping[str, str], now: float, *, cap: float = _HOUR) -> float | None:
    """Until when a cache could go on using this answer; at most `cap` seconds ahead.

    None where nothing is said, or that the answer is stale at once.

    Examples
    --------
    >>> fresh_until({"Cache-Control": "public, max-age=600", "Age": "60"}, 0.0)
    540.0
    """
    fresh = min(lifetime(headers, now) or 0.0, cap)
    return now + fresh if fresh > 0 else None


def lifetime(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds for which a cache could use this answer; 0 if not at all, None if nothing is said.

    max-age counts before Expires, the first of several, and what a cache on the way has used up of
    it is taken off. What cannot be read means stale, as the standard has it.
    """
    if "Cache-Control" not in headers and "Expires" not in headers:
        return None  # as mostly
    said: dict[str, str] = {}
    for name, value in _DIRECTIVE.findall(_all_of(headers, "Cache-Control")[:1024]):
        said.setdefault(name.lower(), value.strip('"'))
    if "no-store" in said or "no-cache" in said:
        return 0.0
    if "max-age" in said:
        fresh = _number(said["max-age"]) or 0.0
    elif "Expires" in headers:
        expires = http_date(_all_of(headers, "Expires").strip())
        made = http_date(_all_of(headers, "Date").strip())
        fresh = 0.0 if expires is None else expires - (now if made is None else made)
    else:
        return None
    return max(fresh - (_number(_all_of(headers, "Age")) or 0.0), 0.0)


def ttl_until(
    ttl_minutes: str,
    skip_hours: Iterable[int],
    skip_days: Iterable[str],
    now: float,
    cap: float,
) -> float | None:
    """When a feed with this ttl, skipHours and skipDays (GMT) wants to be read again.

    At most `cap` seconds ahead, even if all hours are to be skipped. Hours are 0 to 23, and 24 is
    midnight; days are known by their first three letters. None where nothing holds us back.

    Examples
    --------
    >>> ttl_until("5", (), (), 0.0, 3600.0), ttl_until("0", range(24), (), 0.0, 3600.0)
    (300.0, 3600.0)
    """
    minutes = _number(ttl_minutes)
    at, last = now + min((minutes or 0.0) * _MINUTE, cap), now + cap
    hours = {hour % 24 for hour in skip_hours if 0 <= hour <= 24}
    days = {day.strip()[:3].lower() for day in skip_days}
    if hours or days:
        for _ in range(_HOURS_OF_A_WEEK):
            then = time.gmtime(at)
            if at >= last or (then.tm_hour not in hours and _WEEK[then.tm_wday] not in days):
                break
            at = (at // _HOUR + 1.0) * _HOUR
        else:  # there is no hour at which it wants to be read
            at = last
    at = min(at, last)
    return at if at > now else None


def values_of(headers: Mapping[str, str], name: str) -> list[str]:
    """Each value of a header, which may have been sent several times."""
    every = getattr(headers, "getall", None)
    if every is not None:
        return list(every(name, ()))
    return [headers[name]] if name in headers else []


def http_date(text: str) -> float | None:
    """POSIX seconds of a date as HTTP writes it, in any of its three forms."""
    if len(text) > _LONGEST:
        return None
    try:
        fields = email.utils.parsedate_tz(text)
        if fields is None:
            return None
        year, month, day, hour, minute, second = fields[:6]
        # A leap second is the last one of its minute.
        date = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
        return date.timestamp() - (fields[9] or 0)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _waits(value: str, now: float) -> list[float]:
    """Seconds that one Retry-After asks for; several where headers were joined by commas."""
    seconds = _number(value)
    if seconds is not None:
        return [seconds]
    date = http_date(value.strip())
    if date is not None:
        return [date - now]
    numbers = [_number(part) for part in value.split(",", 8)[:8]]
    return [number for number in numbers if number is not None]


def _number(text: str) -> float | None:
    """A number that is not negative; None if it is anything else."""
    text = text.strip()
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else _HUGE


def _all_of(headers: Mapping[str, str], name: str) -> str:
    """All values of a header, joined as HTTP joins them."""
    return ", ".join(values_of(headers, name))
