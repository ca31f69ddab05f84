"""`dayfly index`: what one crawl of each source is worth now."""

from __future__ import annotations

import click
import numpy as np

from dayfly.cli import options
from dayfly.cli.output import print_json, print_line, print_table, show_number
from dayfly.config import read_fleet
from dayfly.index import whittle_index
from dayfly.units import show_duration


@click.command()
@options.fleet_argument
@click.option(
    "--age",
    type=options.age,
    default="1h",
    show_default=True,
    help="Time since every source was last crawled.",
)
@options.epoch_option
@options.top_option
@options.json_option
def index(fleet: str, age: float, epoch: float | None, top: int | None, as_json: bool) -> None:
    """What one crawl of each source is worth now, best first.

    The index is the highest price per unit of cost at which crawling the source at this age still
    pays: with a budget, crawl where it is largest.
    """
    sources = read_fleet(fleet)
    n = len(sources)
    value = whittle_index(sources, age, epoch)
    waiting = sources.harvest.value(np.full(n, age))
    best = np.argsort(-value, kind="stable")[: options.shown_rows(top, as_json, n)]
    ids, hosts = sources.id, sources.host
    if as_json:
        print_json(
            {
                "age_s": age,
                "epoch_s": epoch,
                "n_sources": n,
                "sources": [
                    {
                        "id": ids[row],
                        "host": hosts[row],
                        "index": float(value[row]),
                        "waiting": float(waiting[row]),
                        "cost": float(sources.cost[row]),
                    }
                    for row in best
                ],
            }
        )
        return
    print_table(
        ["source", "host", "index", "waiting", "cost"],
        (
            [ids[row], hosts[row], *map(show_number, (value[row], waiting[row], sources.cost[row]))]
            for row in best
        ),
        texts=2,
    )
    when = "at any time" if epoch is None else f"every {show_duration(epoch)}"
    print_line(f"{len(best)} of {n} sources, {show_duration(age)} after a crawl, decided {when}.")
