"""`dayfly plan`: how often to crawl each source, and what more budget would buy."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from dayfly.cli import options
from dayfly.cli.options import Budget
from dayfly.cli.output import print_json, print_line, print_table, show_number, show_share
from dayfly.config import read_fleet, write_text_atomically
from dayfly.index import relax
from dayfly.model import Array, Fleet
from dayfly.units import show_duration

_DAY = 86400.0
#: Budgets of the curve, in units of the one given.
_FACTORS = (0.5, 0.9, 1.0, 1.1, 1.5, 2.0)
_CSV = (
    "id", "host", "interval_s", "crawls_per_day", "value_per_day", "value_missed_per_day",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """Rates for a fleet, all per second."""

    price: float
    rate: Array
    #: Value caught and missed, source by source.
    value: Array
    missed: Array
    #: Hosts that allow no more.
    full_hosts: int

    @property
    def interval(self) -> Array:
        """Seconds between crawls; infinite where there are none."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.rate

    @property
    def caught(self) -> float:
        """Value caught in all."""
        return float(self.value.sum())

    @property
    def share(self) -> float:
        """Share of all published value that is caught."""
        published = self.caught + float(self.missed.sum())
        return self.caught / published if published > 0 else 1.0


@click.command()
@options.fleet_argument
@options.budget_option
@options.host_limit_option
@click.option("--out", metavar="PLAN.csv", help="Write the whole plan to this file.")
@options.top_option
@options.json_option
def plan(
    fleet: str,
    budget: Budget,
    host_limit: Budget | None,
    out: str | None,
    top: int | None,
    as_json: bool,
) -> None:
    """How often to crawl each source, what that catches, and what more budget would buy.

    A source's items lose their value while they wait: what is published is caught in part. The
    plan catches the most that fixed intervals can.
    """
    sources = read_fleet(fleet)
    limit = options.host_limits(sources, host_limit, 1.0)
    curve = {factor: solve(sources, budget.per_s * factor, limit) for factor in _FACTORS}
    found = curve[1.0]
    if out is not None:
        write_text_atomically(out, to_csv(sources, found))
    order = np.argsort(-found.value, kind="stable")
    shown = order[: options.shown_rows(top, as_json, len(sources))]
    if as_json:
        print_json(_document(sources, budget, host_limit, curve, shown))
        return
    if budget.per_s > 0:
        _print_sources(sources, found, shown)
        print_line()
        _print_summary(sources, budget, found)
        print_line()
        _print_curve(budget, curve)
    else:
        _print_nothing(sources, found)
    if out is not None:
        print_line(f"Wrote {len(sources):,} rows to {out}.")


def solve(fleet: Fleet, budget: float, host_limit: float | dict[str, float] | None) -> Plan:
    """The best fixed rates for a budget per second."""
    best = relax(fleet, budget, host_limit=host_limit)
    published = fleet.arrival * fleet.worth
    return Plan(
        price=float(best.price),
        rate=best.rate,
        value=best.value,
        missed=np.maximum(published - best.value, 0.0),
        full_hosts=len(best.host_price),
    )


def to_csv(fleet: Fleet, plan: Plan) -> str:
    """The whole plan in the order of the fleet, for any crawler; no interval means never."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV)
    columns = [plan.interval, plan.rate * _DAY, plan.value * _DAY, plan.missed * _DAY]
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    for name, host, (interval, *others) in zip(fleet.id, fleet.host, numbers, strict=True):
        writer.writerow([name, host, "" if np.isinf(interval) else interval, *others])
    return text.getvalue()


def _document(
    fleet: Fleet,
    budget: Budget,
    host_limit: Budget | None,
    curve: dict[float, Plan],
    shown: Any,
) -> dict[str, Any]:
    found = curve[1.0]
    ids, hosts, interval = fleet.id, fleet.host, found.interval
    crawled = int(np.count_nonzero(found.rate))
    return {
        "budget_per_s": budget.per_s,
        "host_limit_per_s": None if host_limit is None else host_limit.per_s,
        "price": found.price,
        "value_per_s": found.caught,
        "value_missed_per_s": float(found.missed.sum()),
        "published_per_s": found.caught + float(found.missed.sum()),
        "share": found.share,
        "n_sources": len(fleet),
        "n_crawled": crawled,
        "n_never": len(fleet) - crawled,
        "budget_curve": [
            {
                "budget_per_s": budget.per_s * factor,
                "value_per_s": one.caught,
                "share": one.share,
                "price": one.price,
            }
            for factor, one in curve.items()
        ],
        "sources": [
            {
                "id": ids[row],
                "host": hosts[row],
                "interval_s": float(interval[row]),
                "rate_per_s": float(found.rate[row]),
                "value_per_s": float(found.value[row]),
                "value_missed_per_s": float(found.missed[row]),
            }
            for row in shown
        ],
    }


def _print_sources(fleet: Fleet, found: Plan, shown: Any) -> None:
    ids, hosts, interval = fleet.id, fleet.host, found.interval
    print_table(
        ["source", "host", "every", "crawls/day", "value/day", "missed/day"],
        (
            [
                ids[row],
                hosts[row],
                show_duration(interval[row]),
                show_number(found.rate[row] * _DAY),
                show_number(found.value[row] * _DAY),
                show_number(found.missed[row] * _DAY),
            ]
            for row in shown
        ),
        texts=2,
    )
    if len(shown) < len(fleet):
        print_line(f"… and {len(fleet) - len(shown):,} more; --top 0 shows all, --out writes all.")


def _print_summary(fleet: Fleet, budget: Budget, found: Plan) -> None:
    missed = float(found.missed.sum())
    print_line(
        f"{len(fleet):,} sources with {budget.text}: {show_number(found.caught * _DAY)} value/day"
        f" caught, {show_number(missed * _DAY)} missed; {show_share(found.share)} of what is"
        " published."
    )
    never = (found.rate == 0) & (found.missed > 0)
    patient = never & np.isinf(fleet.harvest.value(np.full(len(fleet), np.inf)))
    if (never & ~patient).any():
        lost = float(found.missed[never & ~patient].sum())
        print_line(
            f"Never crawled: {int((never & ~patient).sum()):,}, which publish"
            f" {show_number(lost * _DAY)} value/day; the budget and the limits are better used"
            " elsewhere."
        )
    if patient.any():
        print_line(
            f"Left to spare budget: {int(patient.sum()):,}, whose items never fade and can wait."
            " Give them a half-life to have them planned."
        )
    if found.full_hosts:
        print_line(
            f"{found.full_hosts:,} hosts are at their limit; budget cannot buy more of them."
        )
    price = show_number(found.price)
    print_line(f"Price: {price} value per unit of cost; a source is due when its index reaches it.")


def _print_nothing(fleet: Fleet, found: Plan) -> None:
    """What a budget of nothing leaves, and where to begin."""
    missed, n = show_number(float(found.missed.sum()) * _DAY), len(fleet)
    print_line(
        f"A budget of nothing crawls nobody: {n:,} sources publish {missed} value/day, and all of"
        " it is missed."
    )
    print_line(
        f"The first unit of cost would catch {show_number(found.price)} in value. Begin with a"
        f" crawl a day for each source, say: --budget {n}/day"
    )


def _print_curve(budget: Budget, curve: dict[float, Plan]) -> None:
    now = curve[1.0]
    names = {0.5: "-50 %", 0.9: "-10 %", 1.0: "now", 1.1: "+10 %", 1.5: "+50 %", 2.0: "×2"}
    print_table(
        ["budget", "", "value/day", "of published", "change"],
        (
            [
                names[factor],
                budget.times(factor),
                show_number(one.caught * _DAY),
                show_share(one.share),
                "" if one is now else _change(now, one),
            ]
            for factor, one in curve.items()
        ),
        texts=1,
    )
    more = (curve[1.1].caught - now.caught) * _DAY
    print_line(
        f"The next 10 % of budget would catch {show_number(more)} value/day more"
        f" ({_change(now, curve[1.1])})."
    )


def _change(now: Plan, other: Plan) -> str:
    if now.caught <= 0:
        return "–"
    return show_share(other.caught / now.caught - 1.0, sign=True)
