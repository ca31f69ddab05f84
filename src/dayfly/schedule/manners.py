"""How long a source is left alone after a visit, and by which rule.

Guard rails around the index, never inside it. Each rule has a name, so that people can be told
which one holds a source back. No source is given up for ever: whatever went wrong, it is asked
again after about a day.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from dayfly.errors import BadInput
from dayfly.model import Crawl, Status
from dayfly.store import StoredSource

_DAY = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the operator allows; seconds throughout."""

    #: Between visits to one source, unless the source has its own.
    min_interval: float = 300.0
    #: The longest that max-age, Expires or ttl hold a source back.
    cache_cap: float = 3600.0
    #: Between visits to one host; more where its robots.txt asks for it.
    host_spacing: float = 5.0
    #: After the first failure (if longer than the minimum interval), then twice that, and so on.
    backoff_first: float = 300.0
    #: The same after an answer that tells us to stay away (401, 403, 429, …) or that we may not
    #: even dial.
    backoff_refused: float = 3600.0
    #: The longest wait after failures, before up to a quarter of it is added by chance.
    backoff_cap: float = _DAY

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0.0 <= value < float("inf"):
                raise BadInput(f"{field.name} must be a number of seconds from 0 up, got {value}")


def wait(
    source: StoredSource, crawl: Crawl, rules: Rules, draw: float, round_s: float = 0.0
) -> tuple[float | None, str]:
    """When the source may be visited again, and the rule that says so.

    Parameters
    ----------
    source
        As it was before the visit.
    crawl
        What the visit saw; its `not_before` is what the other side asked for.
    draw
        In [0, 1): chance, so that sources that failed together do not come back together.
    round_s
        Seconds in which the budget pays for one visit to everybody.

    Returns
    -------
    tuple
        The latest of all instants that a rule asks for and the name of that rule: "minimum
        interval", "cache", "Retry-After", "robots", "guard", "gone" or "back-off"; (None, "") if
        none does.
    """
    least = rules.min_interval if source.min_interval is None else source.min_interval
    until, why = crawl.time + least, "minimum interval"
    for at, rule in (_asked(crawl, rules), _failed(source, crawl, rules, draw, round_s)):
        if at is not None and at > until:
            until, why = at, rule
    return (until, why) if until > crawl.time else (None, "")


def _asked(crawl: Crawl, rules: Rules) -> tuple[float | None, str]:
    """What the other side asks for, within what we grant."""
    rule = "cache" if crawl.answered else _refusal(crawl) or "Retry-After"
    if crawl.not_before is None:
        return None, rule
    return min(crawl.not_before, crawl.time + (rules.cache_cap if crawl.answered else _DAY)), rule


def _failed(
    source: StoredSource, crawl: Crawl, rules: Rules, draw: float, round_s: float
) -> tuple[float | None, str]:
    """Longer after every visit in a row that was not answered, in the rhythm of the visits.

    Where each source has one visit in hours, asking the dead after 5, 10, 20, … minutes takes many
    visits from the living. So the first wait is also no shorter than a quarter of the time since
    the last visit, and each later one is at least twice the one before. The fleet's own round
    stands in for the time since the last visit where there was none, and bounds it: the crawler may
    have been switched off meanwhile, which says nothing about how often the source is worth a
    visit. So a source that is visited every five minutes is asked again after five, and a small
    fleet that was started offline after a few minutes.
    """
    if crawl.answered:
        return None, ""
    refusal = _refusal(crawl)
    if refusal == "robots" and crawl.not_before is not None:
        # It is asked again when its copy expires, neither earlier nor later.
        return None, ""
    spread = 1.0 + 0.25 * draw
    if crawl.reason == "http 410":
        # Said twice, a day apart, it is believed.
        return crawl.time + _DAY * spread, "gone"
    # Who says when to come again need not be feared for longer than others.
    told = crawl.reason == "http 429" and crawl.not_before is not None
    kept_out = (crawl.status is Status.REFUSED or crawl.reason == "http 429") and not told
    first = rules.backoff_refused if kept_out else rules.backoff_first
    why = refusal or "back-off"
    gap = round_s if source.last_crawl is None else min(crawl.time - source.last_crawl, round_s)
    pause = max(first * 2.0 ** min(source.failures, 64), gap / 4.0) * spread
    # Chance is in the wait before, and stays in it when it is doubled.
    pause = max(pause, 2.0 * _waited(source, why))
    return crawl.time + min(pause, rules.backoff_cap * spread), why


def _waited(source: StoredSource, why: str) -> float:
    """Seconds for which the last visit, if it failed in the same way, had us wait.

    When the source was really asked again says less: perhaps nobody had time for it.
    """
    if not source.failures or source.why_not != why:
        return 0.0
    if source.not_before is None or source.last_crawl is None:
        return 0.0
    return source.not_before - source.last_crawl


def _refusal(crawl: Crawl) -> str:
    """By whom we were kept from asking: "robots" or "guard"; else empty."""
    if crawl.status is Status.REFUSED:
        for who in ("robots", "guard"):
            if crawl.reason.startswith(who):
                return who
    return ""
