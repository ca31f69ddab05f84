"""Durations and rates as people write them, in seconds and per second inside.

This is the one place where units are parsed and printed.
"""

import math
import re

from dayfly.errors import BadInput

_SECONDS = {
    "ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0,
    "m": 60.0, "min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hr": 3600.0, "hrs": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0,
    "w": 604800.0, "week": 604800.0, "weeks": 604800.0,
}  # fmt: skip

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PART = re.compile(rf"\s*({_NUMBER})\s*([a-zA-Z]*)")
_RATE = re.compile(rf"\s*({_NUMBER})\s*(?:/|per)\s*({_NUMBER})?\s*([a-zA-Z]+)\s*$")
#: What a person types is short; anything longer is not a duration and is not parsed at all.
_LONGEST = 64


def parse_duration(text: str) -> float:
    """Seconds in a duration such as ``6h``, ``2 days``, ``1h30m``; a bare number is seconds.

    >>> parse_duration("6h"), parse_duration("1h30m"), parse_duration("90")
    (21600.0, 5400.0, 90.0)
    >>> parse_duration("6 parsecs")
    Traceback (most recent call last):
    dayfly.errors.BadInput: not a duration: '6 parsecs'; write for example 90s, 15min, 6h, 2 days
    """
    total, at, parts = 0.0, 0, 0
    stripped = text.strip()
    while at < len(stripped) <= _LONGEST:
        match = _PART.match(stripped, at)
        unit = match and _SECONDS.get(match[2].lower() or ("s" if parts == 0 else "?"))
        if match is None or unit is None or (match[2] == "" and match.end() < len(stripped)):
            break
        total, at, parts = total + float(match[1]) * unit, match.end(), parts + 1
    if parts == 0 or at < len(stripped):
        raise BadInput(f"not a duration: {_shown(text)}; write for example 90s, 15min, 6h, 2 days")
    return total


def parse_rate(text: str) -> float:
    """Events per second in a rate such as ``40/day``, ``20/15min``; a bare number is per second.

    >>> parse_rate("60/min"), parse_rate("20/15min"), parse_rate("0.5")
    (1.0, 0.022222222222222223, 0.5)
    """
    try:
        return float(text.strip())
    except ValueError:
        return _rate(text)[0]


def parse_budget(text: str) -> tuple[float, float]:
    """A budget as (cost units per second, the period it was stated for, in seconds).

    Nobody knows what a bare number was meant to be per; only nothing is nothing per anything.

    >>> parse_budget("20/15min"), parse_budget("0")
    ((0.022222222222222223, 900.0), (0.0, 1.0))
    >>> parse_budget("60")
    Traceback (most recent call last):
    dayfly.errors.BadInput: '60' per what? write for example 60/min, 60/h, 60/day
    """
    stripped = text.strip()
    if len(stripped) <= _LONGEST and re.fullmatch(_NUMBER, stripped):
        if float(stripped) == 0:
            return 0.0, 1.0
        number = stripped.lstrip("+-")
        raise BadInput(
            f"{_shown(text)} per what? write for example {number}/min, {number}/h, {number}/day"
        )
    return _rate(text)


def _rate(text: str) -> tuple[float, float]:
    """What is written as so many per time; per second, and the time."""
    stripped = text.strip()
    match = _RATE.match(stripped) if len(stripped) <= _LONGEST else None
    unit = match and _SECONDS.get(match[3].lower())
    if match is None or unit is None or not 0 < float(match[2] or 1) < math.inf:
        raise BadInput(f"not a rate: {_shown(text)}; write for example 60/min, 40/day, 20/15min")
    period = float(match[2] or 1) * unit
    return float(match[1]) / period, period


def show_duration(seconds: float) -> str:
    """A duration for people.

    >>> show_duration(5400), show_duration(90061), show_duration(0.25), show_duration(float("inf"))
    ('1.5h', '1.04d', '250ms', 'never')
    >>> show_duration(2513 * 86400)
    '2513d'
    """
    if math.isinf(seconds):
        return "never"
    for unit in ("d", "h", "min", "s"):
        if abs(seconds) >= _SECONDS[unit]:
            return f"{_digits(seconds / _SECONDS[unit])}{unit}"
    return f"{seconds * 1e3:.3g}ms" if seconds else "0s"


def show_rate(per_second: float) -> str:
    """A rate for people, in the largest unit in which at least one event happens.

    >>> show_rate(1.0), show_rate(40 / 86400), show_rate(0.0)
    ('1/s', '1.67/h', '0/day')
    """
    unit = _rate_unit(per_second)
    return f"{_digits(per_second * _SECONDS[unit])}/{unit}"


def show_part(per_second: float, whole: float) -> str:
    """One rate of another, both in the unit of the smaller one.

    >>> show_part(1 / 3, 1.0), show_part(0.0, 1.0)
    ('20 of 60/min', '0 of 1/s')
    """
    unit = _rate_unit(min(per_second or whole, whole))
    part, all_ = (_digits(rate * _SECONDS[unit]) for rate in (per_second, whole))
    return f"{part} of {all_}/{unit}"


def _rate_unit(per_second: float) -> str:
    units = ("s", "min", "h")
    return next((unit for unit in units if per_second * _SECONDS[unit] >= 1), "day")


def _digits(x: float) -> str:
    """Three digits that matter, and all before the point where there are more."""
    return f"{x:.0f}" if 999.5 <= abs(x) < 1e9 else f"{x:.3g}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")
