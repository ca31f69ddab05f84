"""Values in a settings file: units as people write them, secrets that need not stand there."""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from dayfly.config.files import read_limited
from dayfly.errors import BadInput
from dayfly.units import parse_budget, parse_duration

T = TypeVar("T")

#: A secret is one line; a file that holds more is another file.
_LONGEST_SECRET = 8192
_WHERE = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?$", re.S)
_EXPECTED = re.compile(r"^Expected `(?P<wanted>.*)`, got `(?P<got>.*)`$")
_NAMES = {
    "str": "text", "int": "a whole number", "float": "a number", "bool": "true or false",
    "array": "a list", "object": "a table",
}  # fmt: skip


class Seconds(float):
    """A duration: `"6h"`, `"2 days"`, or a number of seconds."""

    __slots__ = ()


class PerSecond(float):
    """A rate: `"40/day"`; a bare number does not say per what."""

    __slots__ = ()


class Secret(str):
    """Text that is shown nowhere; given as it is, or by where it is kept.

    >>> Secret("hunter2")
    …
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "…"


def convert(given: Mapping[str, Any], kind: type[T], place: str, *, strict: bool = True) -> T:
    """The values as this type has them; an error names the place and the key."""
    try:
        return msgspec.convert(dict(given), kind, strict=strict, dec_hook=_read)
    except msgspec.ValidationError as error:
        told = _WHERE.match(str(error))
        what, path = (told["what"], told["path"] or "") if told else (str(error), "")
        missing = re.match(r"^Object missing required field `(\w+)`$", what)
        if missing:
            raise BadInput(f"{place}: needs a {missing[1]}") from None
        raise BadInput(f"{place}{_key(path)}: {_in_words(what, kind, path)}") from None


def known_keys(given: Iterable[str], known: Iterable[str], place: str) -> None:
    """Refuse a key that is not among the known ones; the nearest is suggested."""
    known = list(known)
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(known)}"
            # A list of addresses that is called .csv has one in the place of a header.
            from dayfly.config.addresses import without_credentials

            raise BadInput(f'{place}: unknown key "{without_credentials(key)[:64]}"; {hint}')


def positive(number: float | None, place: str) -> None:
    """Refuse what must be above 0 and finite, and is not."""
    _finite(number, place)
    if number is not None and not number > 0:
        raise BadInput(f"{place}: must be positive, got {number:g}")


def nonnegative(number: float | None, place: str) -> None:
    """Refuse what must be at least 0 and finite, and is not."""
    _finite(number, place)
    if number is not None and not number >= 0:
        raise BadInput(f"{place}: must not be negative, got {number:g}")


def _finite(number: float | None, place: str) -> None:
    if number is not None and not math.isfinite(number):
        raise BadInput(f"{place}: must be finite, got {number:g}")


def _read(kind: type, given: Any) -> Any:
    if kind is Seconds:
        return _seconds(given)
    if kind is PerSecond:
        return _per_second(given)
    if kind is Secret:
        return _secret(given)
    raise NotImplementedError(kind)


def _seconds(given: Any) -> Seconds:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError('write a duration, for example "90s", "15min", "6h", "2 days"')
    return Seconds(parse_duration(given) if isinstance(given, str) else given)


def _per_second(given: Any) -> PerSecond:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError('write a rate, for example "60/min", "40/day", "20/15min"')
    return PerSecond(parse_budget(given if isinstance(given, str) else f"{given!r}")[0])


def _secret(given: Any) -> Secret:
    """The secret itself; errors name where it was looked for, never what was found."""
    if isinstance(given, str):
        return Secret(given)
    if not isinstance(given, dict) or len(given) != 1 or not {"env", "file"} >= given.keys():
        raise ValueError('write text, { env = "NAME" } or { file = "PATH" }')
    ((way, where),) = given.items()
    if not isinstance(where, str) or not where:
        raise ValueError(f"{way} must be text")
    if way == "env":
        if not (found := os.environ.get(where, "")):
            raise ValueError(f"the environment variable {where} is not set")
        return Secret(found)
    _, content = read_limited(where, _LONGEST_SECRET)
    try:
        found = content.decode().strip()
    except UnicodeDecodeError:
        raise ValueError(f"{where}: is not text") from None
    if not found:
        raise ValueError(f"{where}: is empty")
    return Secret(found)


def _key(path: str) -> str:
    """`.select[...]` as people point at it."""
    dotted = path.replace("[...]", "").strip(".")
    dotted = re.sub(r"\[(\d+)\]", lambda found: f" {int(found[1]) + 1}", dotted)
    return f", {dotted}" if dotted else ""


def _in_words(what: str, kind: type, path: str) -> str:
    told = _EXPECTED.match(what)
    if told is None:
        choices = get_args(get_type_hints(kind).get(path.strip(".")))
        if what.startswith("Invalid enum value ") and choices:
            got = what.removeprefix("Invalid enum value ")
            return f"must be {', '.join(choices[:-1])} or {choices[-1]}, got {got[:64]}"
        return what
    wanted = [_NAMES.get(one, one) for one in told["wanted"].split(" | ") if one != "null"]
    return f"must be {' or '.join(wanted)}, got {_NAMES.get(told['got'], told['got'])}"
