"""What is left of the bound where a few hosts hold most of the value and allow little.

Twenty hosts carry 60 % of the value, and each allows at most half of what a plan without limits
would ask of it. The bound is that of the relaxed problem with a price per host. Limits are budgets
per host, or a spacing between two visits; that they hold is checked from the choices alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dayfly.index import relax, whittle_index
from dayfly.lab.drawing import STYLES
from dayfly.lab.trials.base import Draw, Progress, Trial, TrialRow
from dayfly.model import Array, Fleet, Rows
from dayfly.schedule import Limits, Scheduler
from dayfly.simulate.scale import ScaleRun, SteadyWorld, play_scheduler

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 11
#: Hosts with tight limits, and the share of all value that they hold.
TIGHT, HELD = 20, 0.6
#: Sources per visit of one second: how scarce the budget is.
SCARCE = 15_000.0
#: Seconds between two calls, and the most rows of one.
STEP, MOST = 1.0, 100
AIM = 0.99
_HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is run: sources, and hours that count after hours that do not."""

    sources: int
    hours: float
    burn_in: float


FULL = Effort(sources=20_000, hours=6.0, burn_in=1.0)
QUICK = Effort(sources=10_000, hours=1.0, burn_in=0.25)


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """A fleet with its limits."""

    name: str
    fleet: Fleet
    #: Cost units per second, in all and by tight host.
    budget: float
    allowed: dict[str, float]
    #: What a plan without limits would ask of each tight host, beside what it allows; its bound.
    asked: float
    free: float
    limits: Limits
    guard: Guard


class Guard:
    """What the choices alone say: whether a limit was ever broken, and what a visit was worth."""

    def __init__(self, fleet: Fleet, rate: Array, spacing: Array) -> None:
        self.fleet, self.rate, self.spacing = fleet, rate, spacing
        # A host's purse holds what a minute brings, and at least the dearest visit.
        self.holds = np.maximum(60.0 * rate, fleet.cost.max())
        self.left, self.at = self.holds.copy(), np.full(len(rate), -np.inf)
        self.visited = np.full(len(rate), -np.inf)
        self.broken = 0
        #: Index of every visit of each limited host, by host.
        self.worth: dict[int, list[float]] = {}

    def __call__(self, now: float, rows: Rows, age: Array) -> None:
        """Follow every limited host of these rows: a visit needs a purse above 0 and a pause."""
        hosts = self.fleet.host_code[rows]
        limited = np.isfinite(self.rate[hosts]) | (self.spacing[hosts] > 0)
        if not limited.any():
            return
        part = self.fleet.take(rows[limited])
        index = whittle_index(part, age[limited], threads=1).tolist()
        for host, cost, worth in zip(part.host_code.tolist(), part.cost, index, strict=True):
            self.worth.setdefault(host, []).append(worth)
            if now - self.visited[host] < self.spacing[host] - 1e-6:
                self.broken += 1
            self.visited[host] = now
            if np.isinf(self.rate[host]):
                continue
            came = self.rate[host] * (now - self.at[host])
            left = min(self.left[host] + came, self.holds[host])
            self.broken += left <= -1e-9 * self.holds[host]
            self.left[host], self.at[host] = left - cost, now


def run(
    *, quick: bool = False, progress: Progress | None = None, effort: Effort | None = None
) -> Trial:
    """Play every variant beside its bound."""
    effort = effort or (QUICK if quick else FULL)
    variants = _variants(effort.sources)
    rows: list[TrialRow] = []
    series: dict[str, Array] = {}
    for place, (name, make) in enumerate(variants.items()):
        setting = make()
        world = SteadyWorld.of(setting.fleet, setting.budget, host_limit=setting.allowed, seed=SEED)
        scheduler = Scheduler(
            setting.fleet, setting.budget, 0.0, min_interval=0.0, last=world.since,
            limits=setting.limits,
        )  # fmt: skip
        played = play_scheduler(
            scheduler, world,
            steps=round(effort.hours * _HOUR / STEP), burn_in=round(effort.burn_in * _HOUR / STEP),
            step=STEP, k=MOST, watch=setting.guard,
            progress=_part(progress, place, len(variants)),
        )  # fmt: skip
        rows += _rows(name, setting, world, played)
        series |= _prices(name, setting, world)
    return Trial(
        name="hosts",
        question=f"What is caught where {TIGHT} hosts hold {HELD:.0%} of the value and allow at"
        " most half of what they are asked for?",
        rows=rows,
        series=series,
        seed=SEED,
        figure=_figure(series, list(variants)),
    )


def _variants(n: int) -> dict[str, Callable[[], Setting]]:
    return {
        "host budgets, unit costs": lambda: setting(n, costs=(1.0,), spaced=False),
        "host budgets, mixed costs": lambda: setting(n, costs=(0.5, 1.0, 2.0), spaced=False),
        "host spacing, unit costs": lambda: setting(n, costs=(1.0,), spaced=True),
    }


def setting(n: int, *, costs: tuple[float, ...], spaced: bool, seed: int = SEED) -> Setting:
    """Some sources on the tight hosts, the others on hosts of ten that allow anything.

    Spacing limits visits, not what they cost, so its bound needs unit costs.
    """
    rng = np.random.default_rng([seed, n, len(costs)])
    on = np.where(rng.random(n) < 0.5, rng.integers(0, TIGHT, n), TIGHT + np.arange(n) // 10)
    names = np.char.add("host-", on.astype(str)).tolist()
    arrival = 10 ** rng.uniform(-1.0, 1.0, n) / _HOUR
    worth = rng.uniform(0.1, 1.0, n)
    held = on < TIGHT
    income = arrival * worth
    # So much more worth that the tight hosts publish just their share of all value.
    worth[held] *= HELD / (1 - HELD) * income[~held].sum() / income[held].sum()
    fleet = Fleet(
        arrival=arrival,
        decay=np.log(2) / (10 ** rng.uniform(-0.5, 1.5, n) * _HOUR),
        worth=worth,
        cost=rng.choice(costs, n),
        host=names,
    )
    budget = n / SCARCE
    free = relax(fleet, budget)
    asked = np.bincount(fleet.host_code, free.rate * fleet.cost, len(fleet.hosts))
    tight = [code for code, host in enumerate(fleet.hosts) if int(host[5:]) < TIGHT]
    allowed = {fleet.hosts[c]: float(asked[c] * rng.uniform(0.25, 0.5)) for c in tight}
    rate, spacing = np.full(len(fleet.hosts), np.inf), np.zeros(len(fleet.hosts))
    if spaced:
        # Whole seconds, as calls come: a pause that ends between two calls would last longer.
        pause = {host: float(np.ceil(1.0 / limit)) for host, limit in allowed.items()}
        allowed = {host: 1.0 / seconds for host, seconds in pause.items()}
        spacing[tight] = list(pause.values())
        limits = Limits(spacing=pause)
    else:
        rate[tight] = list(allowed.values())
        limits = Limits(host_budget=allowed)
    return Setting(
        name="spacing" if spaced else "budget",
        fleet=fleet,
        budget=budget,
        allowed=allowed,
        asked=min(float(asked[c]) / allowed[fleet.hosts[c]] for c in tight),
        free=free.bound,
        limits=limits,
        guard=Guard(fleet, rate, spacing),
    )


def _rows(name: str, setting: Setting, world: SteadyWorld, played: ScaleRun) -> list[TrialRow]:
    spent = played.spent / setting.budget
    binding = len(world.plan.host_price)
    return [
        TrialRow(
            name=f"share of the bound, {name}", value=played.share, unit="%",
            aim=f"≥ {AIM:.0%}".replace("%", " %"), ok=played.share >= AIM,
            note=f"limits bind on {binding} hosts, each asked for at least {setting.asked:.1f}"
            f" times what it allows; without limits the bound is {setting.free / played.bound:.2f}"
            " times as high",
        ),
        TrialRow(
            name=f"budget spent, {name}", value=spent, unit="%",
            note="what is spent beyond the budget is charged at the prices, in the share above",
        ),
        TrialRow(
            name=f"limits broken, {name}", value=float(setting.guard.broken), aim="0",
            ok=setting.guard.broken == 0,
        ),
    ]  # fmt: skip


def _prices(name: str, setting: Setting, world: SteadyWorld) -> dict[str, Array]:
    """What a visit of each tight host is worth: in the plan always the same, and as it was."""
    plan, hosts = world.plan, setting.fleet.hosts
    asked = {host: 1.0 + plan.host_price.get(host, 0.0) / plan.price for host in world.host_limit}
    order = sorted(asked, key=asked.__getitem__)
    worth = [np.array(setting.guard.worth[hosts.index(host)]) / plan.price for host in order]
    return {
        f"{name}: plan": np.array([asked[host] for host in order]),
        f"{name}: low": np.array([np.quantile(one, 0.05) for one in worth]),
        f"{name}: median": np.array([np.median(one) for one in worth]),
        f"{name}: high": np.array([np.quantile(one, 0.95) for one in worth]),
    }


def _part(progress: Progress | None, place: int, parts: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total: progress(place * total + done, parts * total)


def _figure(series: dict[str, Array], names: list[str]) -> Draw:
    def draw(figure: Figure) -> None:
        every = np.atleast_1d(figure.subplots(1, len(names), sharey=True))
        for axes, name in zip(every, names, strict=True):
            plan, low, middle, high = (
                series[f"{name}: {key}"] for key in ("plan", "low", "median", "high")
            )
            place = 1 + np.arange(len(plan))
            axes.errorbar(
                place, middle, yerr=[middle - low, high - middle], linestyle="none",
                marker=STYLES[0]["marker"], color=STYLES[0]["color"], elinewidth=1.0,
                label="index of the visits (median, 5–95 %)",
            )  # fmt: skip
            axes.plot(
                place, plan, linestyle="none", marker="_", markersize=9, markeredgewidth=1.5,
                color=STYLES[1]["color"], label="price of the plan, host and common",
            )  # fmt: skip
            axes.set(title=name, xlabel="tight host, by its price")
        every[0].set(ylabel="in units of the common price")
        every[0].set_ylim(bottom=0)
        lines, labels = every[0].get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside lower center", ncols=2)

    return draw
