"""`dayfly synth`: traces with known truth."""

from __future__ import annotations

import click
import numpy as np

from dayfly.cli import options
from dayfly.cli.options import Budget
from dayfly.cli.output import print_line
from dayfly.config import write_text_atomically
from dayfly.lab.traces import trace_lines, truth_lines
from dayfly.simulate import synth as draw
from dayfly.simulate.laws import Laws
from dayfly.simulate.synth import KINDS


@click.command()
@click.argument("out", metavar="OUT.csv")
@click.option("--sources", type=click.IntRange(1), default=1000, show_default=True, metavar="N")
@click.option(
    "--days", type=click.FloatRange(0, min_open=True), default=30.0, show_default=True, metavar="N"
)
@click.option("--kind", type=click.Choice(KINDS), default="poisson", show_default=True)
@click.option(
    "--rate",
    type=options.rate,
    default="1/day",
    show_default=True,
    help="Items of a source on average; sources differ widely around it.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Decides everything.",
)
def synth(out: str, sources: int, days: float, kind: str, rate: Budget, seed: int) -> None:
    """Write a trace for `dayfly replay`, and beside it what is true about each source.

    \b
    poisson   at random, at a constant rate
    rhythm    more at one time of day than at others
    hawkes    in bursts: every item provokes others
    drift     the rate of every source moves once
    deaths    some sources fall silent, some wake up late
    mixed     each source follows one of these
    """
    if not out.endswith(".csv"):
        raise click.BadParameter(f"must end in .csv, got {out}", param_hint="'OUT.csv'")
    if not rate.per_s > 0:
        raise click.BadParameter(f"must be positive, got {rate.text}", param_hint="'--rate'")
    trace = draw(kind, sources, days * 86400.0, seed=seed, laws=Laws(rate=rate.per_s))
    beside = out.removesuffix(".csv") + ".truth.csv"
    write_text_atomically(beside, "".join(truth_lines(trace)))
    write_text_atomically(out, "".join(trace_lines(trace)))
    silent = int((np.diff(trace.start) == 0).sum())
    print_line(
        f"{out}: {len(trace.time):,} items of {sources - silent:,} sources in {days:g} days;"
        f" {kind}, seed {seed}."
    )
    print_line(f"{beside}: what is true about all {sources:,}.")
    if silent:
        print_line(f"{silent:,} sources publish nothing in this time: a replay does not know them.")
