"""Operations that look: why a source waits, what comes next, what came of it all."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice
from typing import Any

from dayfly.errors import BadInput
from dayfly.model import Crawl, Status
from dayfly.schedule import Explanation
from dayfly.serve.alarms import NO_ROBOTS
from dayfly.serve.directory import find
from dayfly.serve.house import House
from dayfly.serve.rehearsal import MOST_VISITS, copied, rehearse
from dayfly.serve.sources import last_visits
from dayfly.serve.vocabulary import (
    overrides,
    shown_source,
    shown_url,
    shown_why,
    state_at,
    waiting,
)
from dayfly.store import State, Store, StoredSource

_DAY = 86400.0
#: Visits that are counted at most, and sources that are named in each list.
_COUNTED, _NAMED = 100_000, 20


async def explain(
    house: House, *, source: str, budget_per_s: float | None = None
) -> dict[str, Any]:
    """What is believed about a source, when it is due, and what holds it back until then."""
    found = find(house.sources(), source)
    answer = shown_source(found, house.now())
    answer["running"] = house.loop is not None
    answer["visits"] = await last_visits(house, found.row, 10)
    scheduler = await house.scheduler(budget_per_s)
    answer["decision"] = (
        None if scheduler is None else _shown(scheduler.explain(found.row, house.now()), found)
    )
    return answer


async def refresh(house: House, *, source: str) -> dict[str, Any]:
    """Visit it as soon as politeness allows; when that is."""
    if house.loop is None:
        raise BadInput("no crawler runs on this database; start dayfly run and ask again")
    found = find(house.sources(), source)
    if found.state == State.REMOVED:
        raise BadInput(f"source {source!r} was removed; dayfly sources add brings it back")
    if found.state != State.ACTIVE:
        raise BadInput(f"source {source!r} is {found.state}; dayfly sources resume it first")
    house.loop.refresh(found.row)
    told = _shown(house.loop.explain(found.row), found)
    held = told["held_by"] not in ("", "price")
    at = told["until_at"] if held else house.now()
    return {
        "id": shown_url(found.id),
        "name": shown_url(found.name),
        "visit_at": at,
        "held_by": told["held_by"] if held else "",
    }


async def plan(
    house: House,
    *,
    seconds: float = 3600.0,
    budget_per_s: float | None = None,
    limit: int = MOST_VISITS,
) -> dict[str, Any]:
    """What would be crawled in this time, and why; nothing is visited."""
    if not 0 < seconds <= 7 * _DAY:
        raise BadInput(f"seconds must lie between 0 and a week, got {seconds:g}")
    scheduler = await house.scheduler(budget_per_s)
    if scheduler is None:
        raise BadInput("no crawler runs on this database; give a budget to plan with")
    now, copy, sources = house.now(), copied(scheduler), house.sources()
    if budget_per_s is not None and budget_per_s != copy.budget:
        copy.set_budget(budget_per_s, now)

    most = min(limit, MOST_VISITS)
    rules = house.rules
    visits = await house.aside(
        lambda: rehearse(copy, now, seconds, most, sources=sources, rules=rules)
    )
    expected = waiting([sources[visit.row] for visit in visits], [visit.age for visit in visits])
    return {
        "from_at": now,
        "seconds_s": seconds,
        "budget_per_s": copy.budget,
        "price": scheduler.price,
        "n_sources": sum(one.state == State.ACTIVE for one in sources),
        "n_crawled": len({visit.row for visit in visits}),
        "waiting": math.fsum(expected),
        "visits": [
            {
                "visit_at": visit.time,
                "id": shown_url(sources[visit.row].id),
                "name": shown_url(sources[visit.row].name),
                "age_s": _finite(visit.age),
                "waiting": value,
                "index": visit.index,
                "price": visit.price,
                "why": visit.why,
            }
            for visit, value in zip(visits, expected, strict=True)
        ],
    }


async def stats(house: House, *, seconds: float = _DAY) -> dict[str, Any]:
    """What was caught, and who needs a look."""
    now, sources = house.now(), house.sources()
    visits, span, complete = await _recent(house, now, seconds)
    living = [one for one in sources if one.state != State.REMOVED]
    active = [one for one in living if one.state == State.ACTIVE]
    published = math.fsum(one.publishes for one in active)
    value = math.fsum(visit.value for visit in visits)
    expected = published * span
    failing = sorted((one for one in active if one.failures), key=lambda one: -one.failures)
    answer: dict[str, Any] = {
        "running": house.loop is not None,
        "span_s": span,
        "complete": complete,
        "n_sources": len(living),
        "states": dict(Counter(state_at(one, now) for one in living)),
        "n_ready": sum(one.not_before is None or one.not_before <= now for one in active),
        "never_visited": sum(one.last_crawl is None for one in active),
        "visits": len(visits),
        "statuses": dict(Counter(str(visit.status) for visit in visits)),
        "reasons": dict(
            Counter(_kind(visit.reason) for visit in visits if not visit.answered).most_common(10)
        ),
        "value": value,
        "published_per_s": published,
        "share": value / expected if expected > 0 else None,
        "wire_bytes": sum(visit.wire_bytes for visit in visits),
        "spent_per_s": math.fsum(visit.cost for visit in visits) / span if span else None,
        "failing": [_brief(one) for one in failing[:_NAMED]],
        "n_failing": len(failing),
        "newest_visit_at": max((one.last_crawl for one in living if one.last_crawl), default=None),
        "n_with_headers": sum(bool(one.headers) for one in living),
    }
    lists = {
        "gone": [one for one in living if one.state == State.GONE],
        "quarantined": [one for one in living if one.state == State.QUARANTINED],
        "malformed": [one for one in living if one.malformed],
        "moving": [one for one in living if one.moved_to],
        "overridden": [one for one in living if overrides(one)],
    }
    for name, found in lists.items():
        answer[f"n_{name}"] = len(found)
        answer[name] = [_brief(one) for one in found[:_NAMED]]
    if house.loop is not None:
        answer["price"] = house.loop.scheduler.price
        answer["budget_per_s"] = house.loop.scheduler.budget
    return answer


async def _recent(house: House, now: float, seconds: float) -> tuple[list[Crawl], float, bool]:
    """Visits of the last while, how long that is, and whether there were none before.

    It is a shorter one where there are too many.
    """
    while True:
        since = now - seconds

        def read(store: Store, since: float = since) -> tuple[list[Crawl], Crawl | None]:
            counted = list(islice(store.visits(since=since), _COUNTED + 1))
            return counted, next(iter(store.visits()), None)

        found, oldest = await house.with_store(read)
        if len(found) <= _COUNTED:
            first = min((visit.time for visit in found), default=now)
            # A crawler that began an hour ago has not had a day.
            span = min(seconds, max(now - first, 1.0)) if found else 0.0
            return found, span, oldest is None or oldest.time >= since
        seconds /= 4


def _shown(explanation: Explanation, source: StoredSource) -> dict[str, Any]:
    held = explanation.held_by
    if source.state not in (State.ACTIVE, State.REMOVED):
        held = str(source.state)
    elif held == "not_before" and source.why_not:
        held = shown_why(source)
    return {
        "age_s": _finite(explanation.age),
        "waiting": waiting([source], [explanation.age])[0],
        "index": explanation.index,
        "price": explanation.price,
        "host_price": explanation.host_price,
        "due_at": _finite(explanation.due),
        "held_by": held,
        "until_at": None if explanation.until is None else _finite(explanation.until),
    }


def _brief(source: StoredSource) -> dict[str, Any]:
    return {
        "id": shown_url(source.id),
        "name": shown_url(source.name),
        "state": str(source.state),
        "failures": source.failures,
        "last_reason": source.last_reason,
        "last_crawl_at": source.last_crawl,
        "overrides": overrides(source),
        "moved_to": shown_url(source.moved_to),
    }


def _kind(reason: str) -> str:
    """Reasons are a few stable words and then details."""
    behind = NO_ROBOTS if reason.startswith(NO_ROBOTS) else ""
    return behind + reason.removeprefix(behind).partition(":")[0] or str(Status.FAILED)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
