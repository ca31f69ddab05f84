"""`dayfly stats`: what was caught, and who needs a look."""

from __future__ import annotations

import time
from typing import Any

import click

from dayfly.cli import database, options
from dayfly.units import show_duration, show_part, show_rate


@click.command()
@click.option(
    "--since", type=options.duration, default="1 day", show_default=True, help="Count visits since."
)
@options.json_option
@database.db_option
@database.config_option
def stats(since: float, as_json: bool, db: str | None, config: str | None) -> None:
    """What was caught lately, how visits ended, and which sources need a look."""
    from dayfly.cli.output import print_facts, print_json

    with database.office_of(db, config) as office:
        answer = office.ask("stats", seconds=since)
    if as_json:
        print_json(answer)
        return
    print_facts(_facts(answer))
    for key, title in (
        ("failing", "do not answer"),
        ("gone", "gone (410, said twice): dayfly sources resume revives one"),
        ("quarantined", "quarantined, their visits ended with the crawler: dayfly sources resume"),
        ("moving", "have moved; believed after a week"),
        ("malformed", "can only be read by the tolerant parser"),
        ("overridden", "have rules switched off by you"),
    ):
        _print_list(answer, key, title)


def _facts(answer: dict[str, Any]) -> list[tuple[str, str]]:
    from dayfly.cli.output import show_number, show_share

    states = ", ".join(f"{n:,} {state}" for state, n in sorted(answer["states"].items()))
    span = answer["span_s"]
    facts = [
        ("crawler", "running" if answer["running"] else "not running"),
        ("sources", f"{answer['n_sources']:,} ({states})" if states else "none"),
    ]
    if answer["never_visited"]:
        facts.append(("never visited", f"{answer['never_visited']:,}"))
    if not answer["visits"]:
        return [*facts, ("visits", "none in this time")]
    ended = ", ".join(f"{n:,} {status}" for status, n in sorted(answer["statuses"].items()))
    share = answer["share"]
    caught = (
        f"{show_number(answer['value'])} in value, {show_number(answer['value'] * 3600 / span)}/h"
    )
    if share is not None and share <= 1.0:
        caught += f", {show_share(share)} of what the estimates say was published"
    elif share is not None and answer["complete"]:
        caught += ", also of what was there before the first visits"
    elif share is not None:
        caught += ", more than the estimates say was published"
    facts += [
        ("counted", f"the last {show_duration(span)}"),
        ("visits", f"{answer['visits']:,} ({ended})"),
        ("caught", caught),
        ("received", f"{answer['wire_bytes'] / 2**20:,.1f} MiB"),
        ("budget used", _used(answer)),
    ]
    if answer.get("price") is not None:
        facts.append(("price", show_number(answer["price"])))
    if answer["reasons"]:
        said = ", ".join(f"{reason} {n:,}" for reason, n in answer["reasons"].items())
        facts.append(("not answered", said))
    return facts


def _used(answer: dict[str, Any]) -> str:
    spent, budget = answer["spent_per_s"], answer.get("budget_per_s")
    return show_part(spent, budget) if budget else show_rate(spent)


def _print_list(answer: dict[str, Any], key: str, title: str) -> None:
    from dayfly.cli.output import print_line, print_table

    rows, number, now = answer[key], answer[f"n_{key}"], time.time()
    if not rows:
        return
    print_line()
    shown = "" if len(rows) == number else f", the first {len(rows)}"
    print_line(f"{number:,} {title}{shown}:")
    print_table(
        ["source", "what", "last visit", "failures"],
        (
            [
                row["name"],
                _what(key, row),
                database.show_since(row["last_crawl_at"], now),
                str(row["failures"]),
            ]
            for row in rows
        ),
        texts=2,
    )


def _what(key: str, row: dict[str, Any]) -> str:
    if key == "overridden":
        return "not obeyed: " + ", ".join(row["overrides"])
    return str(row["moved_to"] if key == "moving" else row["last_reason"])
