"""`dayfly bound`: the most that a budget can catch."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from dayfly.cli import options
from dayfly.cli.options import Budget
from dayfly.cli.output import print_facts, print_json, show_number, show_share
from dayfly.config import read_fleet
from dayfly.index import relax
from dayfly.model import Fleet
from dayfly.units import show_duration

_HOUR, _DAY = 3600.0, 86400.0
#: Hosts shown by name.
_MOST_HOSTS = 5


@click.command()
@options.fleet_argument
@options.budget_option
@options.epoch_option
@options.host_limit_option
@options.json_option
def bound(
    fleet: str, budget: Budget, epoch: float | None, host_limit: Budget | None, as_json: bool
) -> None:
    """The most that any policy can catch on average with a budget, and its price.

    The price is what one more unit of budget would catch: crawl where the index reaches it.
    """
    sources = read_fleet(fleet)
    found = facts(sources, budget, epoch, host_limit)
    if as_json:
        print_json(found)
        return
    per_s = found["bound_per_s"]
    when = "at any time" if epoch is None else f"every {show_duration(epoch)}"
    rows = [
        ("budget", f"{budget.text}, decided {when}"),
        ("bound", f"{show_number(per_s * _HOUR)} value/h, {show_number(per_s * _DAY)} value/day"),
        ("of all published", show_share(found["share"])),
        ("price", f"{show_number(found['price'])} value per unit of budget"),
        ("sources crawled", f"{found['n_crawled']:,} of {found['n_sources']:,}"),
        ("sources never crawled", f"{found['n_never']:,}"),
    ]
    if found["slack_per_s"] > 0:
        rows.append(("budget left over", show_share(found["slack_per_s"] / budget.per_s)))
    if host_limit is not None:
        dear = sorted(found["hosts"], key=lambda host: -host["price"])
        names = ", ".join(f"{h['host']} (+{show_number(h['price'])})" for h in dear[:_MOST_HOSTS])
        rows.append(("hosts at their limit", f"{len(dear):,}{': ' if dear else ''}{names}"))
    print_facts(rows)


def facts(
    fleet: Fleet, budget: Budget, epoch: float | None, host_limit: Budget | None
) -> dict[str, Any]:
    """The relaxed problem in the words of the JSON."""
    unit = epoch or 1.0
    best = relax(
        fleet, budget.per_s * unit, epoch, host_limit=options.host_limits(fleet, host_limit, unit)
    )
    published = float(np.dot(fleet.arrival, fleet.worth))
    crawled = int(np.count_nonzero(best.rate))
    slack = budget.per_s - float(np.dot(fleet.cost, best.rate)) / unit
    return {
        "budget_per_s": budget.per_s,
        "host_limit_per_s": None if host_limit is None else host_limit.per_s,
        "epoch_s": epoch,
        "bound_per_s": float(best.bound) / unit,
        "published_per_s": published,
        "share": float(best.bound) / unit / published if published > 0 else 1.0,
        "price": float(best.price),
        "price_low": float(best.price_range[0]),
        "price_high": float(best.price_range[1]),
        "slack_per_s": slack if slack > 1e-9 * budget.per_s else 0.0,
        "n_sources": len(fleet),
        "n_crawled": crawled,
        "n_never": len(fleet) - crawled,
        "hosts": [{"host": host, "price": float(own)} for host, own in best.host_price.items()],
    }
