"""Sources as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dayfly.cli.database import show_instant, show_since
from dayfly.cli.output import print_facts, print_line, print_table, show_number
from dayfly.units import show_duration, show_rate


def print_sources(sources: Sequence[dict[str, Any]], now: float) -> None:
    """One line per source."""
    print_table(
        ["source", "tags", "state", "last visit", "last new", "publishes", "failures"],
        (
            [
                one["id"],
                ", ".join(one["tags"]),
                state_of(one),
                show_since(one["last_crawl_at"], now),
                show_since(one["last_new_at"], now),
                _rate(one),
                str(one["failures"]),
            ]
            for one in sources
        ),
        texts=3,
    )
    print_line(f"{len(sources):,} source{'s' * (len(sources) != 1)}.")


def showed_nothing(source: dict[str, Any]) -> bool:
    """Whether it does not answer and never showed an item: its rate is a guess and stays one."""
    return bool(source["failures"]) and source["last_new_at"] is None


def _rate(source: dict[str, Any]) -> str:
    return "–" if showed_nothing(source) else show_rate(source["arrival_per_s"])


def print_source(source: dict[str, Any], now: float) -> None:
    """One source, and its last visits."""
    print_facts([*_settings(source), *_condition(source, now)])
    if not source["visits"]:
        return
    print_line()
    print_table(
        ["visit", "result", "items", "took"],
        (
            [
                show_since(visit["ended_at"], now),
                result_of(visit),
                str(visit["visible"]),
                show_duration(visit["took_s"]),
            ]
            for visit in source["visits"]
        ),
        texts=2,
    )


def result_of(visit: dict[str, Any]) -> str:
    """How a visit ended, and whether there was more than was read."""
    said = " ".join(filter(None, (visit["status"], visit["reason"])))
    return f"{said} (only a part was read)" if visit["truncated"] else said


def state_of(source: dict[str, Any]) -> str:
    """The state, with the rules that the operator has switched off."""
    return ", ".join([source["state"], *(f"no {rule}" for rule in source["overrides"])])


def _settings(source: dict[str, Any]) -> list[tuple[str, str]]:
    half_life = source["half_life_s"]
    fades = (
        "it never fades" if half_life is None else f"half of it fades in {show_duration(half_life)}"
    )
    facts = [
        ("id", source["id"]),
        ("address", source["url"]),
        ("title", source["name"]),
        ("tags", ", ".join(source["tags"])),
        ("state", state_of(source)),
        ("kind", source["kind"]),
        ("weight", f"{source['weight']:g}, each visit costs {source['cost']:g}"),
        ("worth", f"{show_number(source['worth'])} per new item; {fades}"),
        ("headers", ", ".join(source["header_names"])),
        ("select", ", ".join(f"{key}: {value}" for key, value in source["select"].items())),
    ]
    for key, word in (("min_interval_s", "at least"), ("max_interval_s", "at most")):
        if source[key] is not None:
            facts.append(("interval", f"{word} {show_duration(source[key])}"))
    return [(name, what) for name, what in facts if what]


def _condition(source: dict[str, Any], now: float) -> list[tuple[str, str]]:
    facts = [
        ("publishes", _rate(source)),
        ("last visit", show_since(source["last_crawl_at"], now)),
        ("last new item", show_since(source["last_new_at"], now)),
    ]
    if source["failures"]:
        facts.append(("failures", f"{source['failures']} in a row: {source['last_reason']}"))
    until = source["not_before_at"]
    if until is not None and until > now:
        why = source["why_not"] or "it asked for that"
        facts.append(
            ("rests until", f"{show_instant(until, now)}, {show_since(until, now)}: {why}")
        )
    if source["moved_to"]:
        since = show_instant(source["moved_since_at"], now)
        facts.append(("moving to", f"{source['moved_to']}, seen since {since}"))
    if source["gone_since_at"] is not None:
        facts.append(("gone since", show_instant(source["gone_since_at"], now)))
    return facts
