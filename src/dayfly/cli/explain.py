"""`dayfly explain`: what we believe about a source, when it is due, and what holds it back."""

from __future__ import annotations

import time
from typing import Any

import click

from dayfly.cli import database, options
from dayfly.cli.database import show_instant, show_since
from dayfly.cli.source_tables import result_of, showed_nothing
from dayfly.units import show_duration, show_rate


@click.command()
@database.source_argument
@click.option(
    "--budget", type=options.rate,
    help="Budget to judge by where no crawler runs.  [default: as in the settings]",
)  # fmt: skip
@options.json_option
@database.db_option
@database.config_option
def explain(
    source: str, budget: options.Budget | None, as_json: bool, db: str | None, config: str | None
) -> None:
    """What we believe about SOURCE, when it is due, and what holds it back until then.

    SOURCE is an id, an address, a title, or the beginning of the first two.
    """
    from dayfly.cli.output import print_json

    if budget is None and (typed := database.settings_of(config).budget):
        budget = options.rate(typed)
    with database.office_of(db, config) as office:
        answer = office.ask(
            "explain", source=source, budget_per_s=None if budget is None else budget.per_s
        )
    if as_json:
        print_json(answer)
        return
    _print(answer)


def _print(answer: dict[str, Any]) -> None:
    from dayfly.cli.output import print_facts, print_line, print_table

    now = time.time()
    print_facts([*_who(answer), *_belief(answer, now), *_decision(answer, now)])
    if answer["visits"]:
        print_line()
        print_table(
            ["visit", "result", "value", "took", "bytes"],
            (
                [
                    show_since(visit["ended_at"], now),
                    result_of(visit),
                    f"{visit['value']:.3g}",
                    show_duration(visit["took_s"]),
                    f"{visit['wire_bytes']:,}",
                ]
                for visit in answer["visits"]
            ),
            texts=2,
        )


def _who(answer: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [("source", answer["name"]), ("address", answer["url"])]
    if answer["id"] not in (answer["name"], answer["url"]):
        facts.insert(1, ("id", answer["id"]))
    if answer["state"] == "removed":
        facts.append(("state", "removed; dayfly sources add brings it back"))
    elif answer["state"] != "active":
        facts.append(("state", answer["state"]))
    if answer["tags"]:
        facts.append(("tags", ", ".join(answer["tags"])))
    if answer["overrides"]:
        facts.append(("overrides", f"not obeyed: {', '.join(answer['overrides'])}"))
    if answer["moved_to"]:
        since = show_instant(answer["moved_since_at"])
        facts.append(
            ("moving to", f"{answer['moved_to']}, seen since {since}; believed after a week")
        )
    return facts


def _belief(answer: dict[str, Any], now: float) -> list[tuple[str, str]]:
    from dayfly.cli.output import show_number

    visited, rate = answer["last_crawl_at"] is not None, show_rate(answer["arrival_per_s"])
    if not visited:
        believed = f"{rate}, a guess: it was never visited"
    elif showed_nothing(answer):
        believed = f"{rate}, a guess: it has shown no item yet"
    else:
        believed = f"about {rate}"
    facts = [
        ("publishes", believed),
        (
            "half-life",
            f"{show_duration(answer['half_life_s'])} until an item has lost half its worth",
        ),
        ("worth", f"{show_number(answer['worth'])} per new item, weight {answer['weight']:g}"),
    ]
    if visited:
        result = " ".join(filter(None, (answer["last_status"], answer["last_reason"])))
        facts.append(("last visit", f"{show_since(answer['last_crawl_at'], now)}: {result}"))
        facts.append(("last new item", show_since(answer["last_new_at"], now)))
    if answer["failures"]:
        facts.append(("failures", f"{answer['failures']} in a row"))
    return facts


def _decision(answer: dict[str, Any], now: float) -> list[tuple[str, str]]:
    from dayfly.cli.output import show_number, show_times

    told = answer["decision"]
    if told is None:
        facts = [("due", "no crawler runs here; with --budget 60/min it can be worked out")]
        if (until := answer["not_before_at"]) is not None and until > now:
            facts.append(("held back by", _until(answer["why_not"] or "not_before", until, now)))
        return facts
    price = told["price"] + told["host_price"]
    host = ", to which the limit of its host adds" if told["host_price"] > 0 else ""
    beside = f"index {show_number(told['index'])}, price {show_number(price)}{host}"
    times = show_times(told["index"], price)
    facts = [
        ("waiting there", f"{show_number(told['waiting'])} in value, we think"),
        ("a visit now", f"is worth {times.removeprefix('worth ')} ({beside})"),
    ]
    if not told["held_by"]:
        facts.append(("due", "now"))
    else:
        facts.append(("due", f"{show_since(told['due_at'], now)}, {show_instant(told['due_at'])}"))
        facts.append(("held back by", _until(_words(told["held_by"]), told["until_at"], now)))
    return facts


def _until(what: str, until: float | None, now: float) -> str:
    return (
        what if until is None else f"{what}, until {show_instant(until)} ({show_since(until, now)})"
    )


def _words(held_by: str) -> str:
    """Names of constraints as people read them."""
    return {
        "price": "price: other sources are worth more until then",
        "budget": "budget: it is spent for the moment",
        "min_interval": "minimum interval",
        "not_before": "it asked not to be visited before",
    }.get(held_by, held_by)
