"""`dayfly simulate`: try policies on a fleet, beside the bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from dayfly import policies
from dayfly.cli import options
from dayfly.cli.options import Budget
from dayfly.cli.output import print_json, print_line, print_table, show_number, show_share
from dayfly.config import read_fleet
from dayfly.errors import UnknownName
from dayfly.model import Fleet, Rows
from dayfly.policies import Policy, View
from dayfly.simulate import Run
from dayfly.simulate import simulate as play_out
from dayfly.units import show_duration

_HOUR = 3600.0
_DEFAULT = ("whittle", "greedy", "round_robin", "static")
_WEEK = 7 * 86400.0


@dataclass(frozen=True)
class Watched:
    """A policy that tells how far it has come."""

    policy: Policy
    tick: Callable[[float], None]

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """What the policy chooses."""
        self.tick(view.now)
        return self.policy.choose(view, budget, rng)


@click.command()
@options.fleet_argument
@options.budget_option
@click.option(
    "--policy",
    "names",
    multiple=True,
    metavar="NAME",
    help=f"A policy to try; may be given several times: {', '.join(policies.NAMES)}."
    f"  [default: {', '.join(_DEFAULT)}]",
)
@click.option("--for", "span", type=options.duration, help="How long: 7d.  [default: 7d]")
@click.option(
    "--epochs", type=click.IntRange(1), metavar="N", help="How long, as a number of epochs."
)
@click.option(
    "--epoch",
    type=options.duration,
    help="Time between decisions.  [default: the budget's period, 15min for 20/15min; where that"
    " pays for all sources at once, the time that pays for one]",
)
@click.option("--continuous", is_flag=True, help="Crawl at any time, as the budget accrues.")
@click.option(
    "--arrivals",
    type=click.Choice(["mean", "poisson"]),
    default="mean",
    show_default=True,
    help="Items as a steady flow, or one by one at random.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Decides what is random.",
)
@options.json_option
def simulate(
    fleet: str,
    budget: Budget,
    names: tuple[str, ...],
    span: float | None,
    epochs: int | None,
    epoch: float | None,
    continuous: bool,
    arrivals: str,
    seed: int,
    as_json: bool,
) -> None:
    """Try policies on a fleet, beside the bound that none of them can exceed on average.

    All policies see the same world. Averages count from the first epoch.
    """
    if span is not None and epochs is not None:
        raise click.UsageError("give --for or --epochs, not both")
    names = tuple(dict.fromkeys(names)) or _DEFAULT
    chosen = {name: _policy(name) for name in names}
    if not budget.per_s > 0:
        raise click.BadParameter(
            "must be positive: without crawls nothing is caught", param_hint="'--budget'"
        )
    sources = read_fleet(fleet)
    epoch = _usual_epoch(sources, budget) if epoch is None else epoch
    n_epochs = epochs or max(1, round((span or _WEEK) / epoch))
    runs: dict[str, Run] = {}
    with _progress(chosen, n_epochs * epoch) as ticks:
        for name, policy in chosen.items():
            runs[name] = play_out(
                sources,
                Watched(policy, ticks[name]),
                budget.each(epoch),
                n_epochs,
                epoch=epoch,
                continuous=continuous,
                arrivals=arrivals,
                seed=seed,
            )
            ticks[name](n_epochs * epoch)
    bound = next(iter(runs.values())).bound / epoch
    if as_json:
        print_json(
            {
                "budget_per_s": budget.per_s,
                "epoch_s": epoch,
                "epochs": n_epochs,
                "continuous": continuous,
                "arrivals": arrivals,
                "seed": seed,
                "n_sources": len(sources),
                "bound_per_s": bound,
                "policies": [_row(name, run, epoch) for name, run in runs.items()],
            }
        )
        return
    rows = [
        [
            name,
            show_number(run.mean / epoch * _HOUR),
            show_share(run.share),
            f"{int(run.crawls.sum()):,}",
        ]
        for name, run in runs.items()
    ]
    rows.append(["bound", show_number(bound * _HOUR), show_share(1.0), ""])
    print_table(["policy", "value/h", "of the bound", "crawls"], rows, last=True)
    when = "crawled at any time" if continuous else f"decided every {show_duration(epoch)}"
    print_line(
        f"{len(sources):,} sources with {budget.text}, {when}, for"
        f" {show_duration(n_epochs * epoch)}; {arrivals} arrivals, seed {seed}."
    )
    if arrivals == "poisson":
        print_line("The bound holds on average: by chance a run may lie above it.")
    if "exact" in runs:
        print_line("exact is the optimum without carrying budget over, which the others may.")
    if not continuous and budget.each(epoch) >= sources.cost.sum():
        print_line(
            "Each decision can pay for all sources, so there is nothing to choose and no"
            " difference: try a shorter --epoch, or --continuous."
        )
    half_life = float(np.log(2) / np.median(sources.decay)) if len(sources) else np.inf
    if not continuous and epoch > half_life:
        print_line(
            f"Half of the sources fade faster ({show_duration(half_life)}) than decisions are made:"
            " a shorter --epoch, or --continuous, would catch more."
        )


def _usual_epoch(fleet: Fleet, budget: Budget) -> float:
    """The budget's period; where that pays for everybody, policies would have nothing to choose."""
    if budget.each(budget.period_s) < fleet.cost.sum():
        return budget.period_s
    return float(fleet.cost.mean()) / budget.per_s


def _policy(name: str) -> Policy:
    try:
        return policies.make(name)
    except UnknownName as error:
        raise click.BadParameter(str(error), param_hint="'--policy'") from None


def _row(name: str, run: Run, epoch: float) -> dict[str, Any]:
    return {
        "policy": name,
        "value_per_s": run.mean / epoch,
        "bound_share": run.share,
        "crawls": int(run.crawls.sum()),
        "spent_per_s": run.spent / epoch,
    }


@contextmanager
def _progress(
    names: dict[str, Policy], total: float
) -> Iterator[dict[str, Callable[[float], None]]]:
    """A bar per policy on a terminal, gone when all is done; nothing in a pipe."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield {name: lambda _now: None for name in names}
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as bars:
        tasks = {name: bars.add_task(name, total=total) for name in names}

        def tick(name: str) -> Callable[[float], None]:
            return lambda now: bars.update(tasks[name], completed=now)

        yield {name: tick(name) for name in names}
