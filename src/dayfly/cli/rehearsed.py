"""The next hour, as a table."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dayfly.cli.database import show_instant
from dayfly.cli.output import print_line, print_table, show_number, show_times
from dayfly.units import show_duration, show_rate

#: Visits that are listed one by one.
_LISTED = 30


def print_plan(answer: dict[str, Any]) -> None:
    """What would be crawled, when and why."""
    visits = answer["visits"]
    if visits:
        print_table(
            ["at", "source", "why", "unseen for", "waiting"],
            (
                [
                    show_instant(visit["visit_at"], answer["from_at"]),
                    visit["name"],
                    _why(visit),
                    "–" if visit["age_s"] is None else show_duration(visit["age_s"]),
                    show_number(visit["waiting"]),
                ]
                for visit in visits[:_LISTED]
            ),
            texts=3,
        )
        if len(visits) > _LISTED:
            print_line(f"… and {len(visits) - _LISTED:,} more; --json has all.")
        print_line()
    why = ", ".join(f"{n:,} {why}" for why, n in Counter(v["why"] for v in visits).most_common())
    print_line(
        f"{len(visits):,} visit{'s' * (len(visits) != 1)} to {answer['n_crawled']:,} of"
        f" {answer['n_sources']:,} sources in {show_duration(answer['seconds_s'])}"
        f" at {show_rate(answer['budget_per_s'])}" + (f": {why}." if why else ".")
    )
    value = show_number(answer["waiting"])
    print_line(f"About {value} in value would be caught, if rates are as believed.")
    print_line("Nothing was visited.")


def _why(visit: dict[str, Any]) -> str:
    if visit["why"] != "worth the price" or visit["index"] is None:
        return str(visit["why"])
    return show_times(visit["index"], visit["price"])
