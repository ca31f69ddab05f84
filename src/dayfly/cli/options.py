"""Options that several commands share, in the units that people type."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from dayfly.errors import BadInput
from dayfly.units import parse_budget, parse_duration

if TYPE_CHECKING:
    from dayfly.model import Fleet

#: The longest duration that anybody means, seconds.
_LONGEST = 1000 * 366 * 86400.0
#: Cost units per second beyond which a budget is a typing error.
_MOST = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Cost units per time, with the period that they were stated for."""

    #: As it was typed.
    text: str
    per_s: float
    period_s: float

    def each(self, epoch: float) -> float:
        """Cost units per epoch: 7/15min is 7 per 15 minutes, not 7.000000000000001."""
        return float(f"{self.per_s * epoch:.13g}")

    def times(self, factor: float) -> str:
        """So much of it, in the unit in which it was typed."""
        unit = self.text.replace(" per ", "/").partition("/")[2].strip()
        return f"{self.per_s * self.period_s * factor:.4g}/{unit}"

    def part(self, per_s: float) -> str:
        """So much of it that is spent, in the unit in which it was typed."""
        from dayfly.cli.output import show_number

        return f"{show_number(per_s * self.period_s)} of {self.text}"


def duration(text: str) -> float:
    """Seconds in what was typed for a duration."""
    seconds = _parsed_duration(text)
    if not 0 < seconds <= _LONGEST:
        raise click.BadParameter(f"must be positive, and at most 1,000 years, got {text}")
    return seconds


def age(text: str) -> float:
    """Seconds in what was typed for an age, which may be 0."""
    seconds = _parsed_duration(text)
    if not 0 <= seconds < math.inf:
        raise click.BadParameter(f"must not be negative, got {text}")
    return seconds


def rate(text: str) -> Budget:
    """What was typed for a budget or a limit."""
    try:
        per_s, period = parse_budget(text)
    except BadInput as error:
        raise click.BadParameter(str(error)) from None
    if not 0 <= per_s <= _MOST:
        raise click.BadParameter(f"must lie between 0 and {_MOST:g} per second, got {text}")
    stated = text.strip() if text.strip()[-1].isalpha() else f"{text.strip()}/s"
    return Budget(text=stated, per_s=per_s, period_s=period)


fleet_argument = click.argument("fleet", metavar="FLEET.csv")
json_option = click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
top_option = click.option(
    "--top",
    type=click.IntRange(0),
    metavar="N",
    help="Show the best N only; 0 for all.  [default: 20; all in JSON]",
)
budget_option = click.option(
    "--budget",
    type=rate,
    required=True,
    help="Cost units (crawls, where every cost is 1) per time: 60/min, 20/15min.",
)
host_limit_option = click.option(
    "--host-limit", type=rate, help="Cost units per time that each host allows: 6/min."
)
epoch_option = click.option(
    "--epoch",
    type=duration,
    help="Time between decisions: 15min.  [default: none, crawl at any time]",
)


def shown_rows(top: int | None, as_json: bool, n: int) -> int:
    """How many rows to show."""
    if top is None:
        top = 0 if as_json else 20
    return min(top or n, n)


def host_limits(
    fleet: Fleet, limit: Budget | None, epoch: float
) -> float | dict[str, float] | None:
    """What each host allows per epoch; sources without a host share nothing and are not limited."""
    if limit is None:
        return None
    if not any(fleet.hosts):
        raise BadInput("--host-limit needs sources with a host; add a column host or url")
    each = limit.per_s * epoch
    return {host: each for host in fleet.hosts if host} if "" in fleet.hosts else each


def _parsed_duration(text: str) -> float:
    """Seconds; nobody knows what a bare number was meant to be of, unless it is nothing."""
    try:
        seconds = parse_duration(text)
    except BadInput as error:
        raise click.BadParameter(str(error)) from None
    number = text.strip()
    if seconds and not number[-1].isalpha():
        raise click.BadParameter(f"{number} of what? write for example {number}s, {number}h")
    return seconds
