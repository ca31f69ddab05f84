"""Why a source rests whose operator paused it for a while, and what it asked for before that.

A pause may end early; what the source itself asked for may not. So the note that a pause leaves
with `not_before` holds both.
"""

from __future__ import annotations

import re

_NOTE = re.compile(r"paused(?: \(then (?P<why>.*) until (?P<until>[0-9.]+)\))?")


def is_pause(why_not: str) -> bool:
    """Whether this note is that of a pause."""
    return _NOTE.fullmatch(why_not) is not None


def paused_over(until: float | None, why: str) -> str:
    """The note of a pause of a source that rests until then anyway.

    >>> paused_over(None, ""), paused_over(1800.0, "Retry-After")
    ('paused', 'paused (then Retry-After until 1800.0)')
    """
    return "paused" if until is None else f"paused (then {why or 'not_before'} until {until})"


def without_pause(why_not: str) -> tuple[float | None, str]:
    """What holds when the pause is taken away: until when it rests then, and why.

    >>> without_pause("paused (then Retry-After until 1800.0)"), without_pause("paused")
    ((1800.0, 'Retry-After'), (None, ''))
    """
    noted = _NOTE.fullmatch(why_not)
    if noted is None or noted["until"] is None:
        return None, ""
    return float(noted["until"]), noted["why"]
