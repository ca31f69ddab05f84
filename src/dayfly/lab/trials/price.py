"""An hour in which everything that moves a price happens, beside a run that knows the price.

The learnt price starts from the relaxed problem for a steady budget. Then the budget halves and
doubles, fetches fail, the consumer slows down and stalls; each alone, and all in one hour; and in a
quiet hour the price is put wrong. The run beside it lives in the same world, with the same
failures, and is told at every instant the price that the relaxed problem gives for the truth of
that phase; it learns nothing.

Where a share q of the fetches fails, only the share 1 − q of the budget gets through, and a source
is tried again soon: its index must reach the price of the budget that gets through.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dayfly.index import relax
from dayfly.lab.drawing import STYLES
from dayfly.lab.trials.base import Draw, Progress, Trial, TrialRow
from dayfly.model import Array, Fleet, Mask, Rows
from dayfly.schedule import Scheduler
from dayfly.schedule.pressure import Pressure
from dayfly.schedule.pricing import Pricing
from dayfly.simulate.downstream import Delivery, Service, deliver

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 4
HOUR = 3600
#: Seconds of content that may wait for the consumer; half-lives are around ten minutes.
WAIT = 5.0
#: Sources per cost unit and second: a visit every few minutes on average.
SCARCE = 400
AIM = 0.01


@dataclass(frozen=True, kw_only=True)
class Phase:
    """What holds from one minute of the hour on."""

    minute: float
    #: The budget, in the usual one.
    budget: float = 1.0
    #: Share of the fetches that fail.
    fail: float = 0.0
    #: What the consumer can take, in the usual budget; infinite where there is none.
    service: float = np.inf


_STEADY = (Phase(minute=0),)
SCENES: dict[str, tuple[Phase, ...]] = {
    "budget halves and doubles": (
        Phase(minute=0),
        Phase(minute=10, budget=0.5),
        Phase(minute=25, budget=2.0),
        Phase(minute=40),
    ),
    "30 % of fetches fail": (Phase(minute=0), Phase(minute=10, fail=0.3), Phase(minute=40)),
    "consumer slow and stalled": (
        Phase(minute=0, service=1.2),
        Phase(minute=10, service=0.5),
        Phase(minute=25, service=1.2),
        Phase(minute=35, service=0.0),
        Phase(minute=40, service=1.2),
    ),
    "all together": (
        Phase(minute=0, service=2.5, fail=0.3),
        Phase(minute=10, budget=0.5, service=2.5, fail=0.3),
        Phase(minute=20, budget=2.0, service=2.5, fail=0.3),
        Phase(minute=30, service=0.0, fail=0.3),
        Phase(minute=35, service=2.5, fail=0.3),
    ),
    "price put up to twice": _STEADY,
    "price put down to half": _STEADY,
}
_PUT = {"price put up to twice": 2.0, "price put down to half": 0.5}


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is run."""

    sources: int
    #: Seconds before the hour.
    burn_in: int = HOUR // 2
    scenes: tuple[str, ...] = tuple(SCENES)


FULL = Effort(sources=20_000)
QUICK = Effort(sources=4_000)


class Told(Pricing):
    """A price that is told and not learnt."""

    def learn(self, **_: Any) -> None:
        """Nothing."""

    def steer(self, factor: float) -> None:
        """Nowhere."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """One run: what was delivered, and price and purse at every tick."""

    run: Delivery
    base: Array
    full: Array


def run(
    *, quick: bool = False, progress: Progress | None = None, effort: Effort | None = None
) -> Trial:
    """Play every scene twice: with the price learnt, and with the price told."""
    effort = effort or (QUICK if quick else FULL)
    fleet = fleet_of(effort.sources)
    done, total = 0, 2 * len(effort.scenes) * (effort.burn_in + HOUR)

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None and done % 500 == 0:
            progress(done, total)

    rows: list[TrialRow] = []
    series: dict[str, Array] = {"minute": np.arange(HOUR) / 60}
    for name in effort.scenes:
        solved = prices(fleet, SCENES[name])
        learnt = play(fleet, name, solved, effort.burn_in, tick, told=False)
        told = play(fleet, name, solved, effort.burn_in, tick, told=True)
        rows += _rows(name, learnt, told, solved)
        series[f"{name}: price learnt"] = learnt.base
        series[f"{name}: price solved"] = solved
        series[f"{name}: spent"] = learnt.run.spent
        series[f"{name}: allowed"] = learnt.run.allowed
        series[f"{name}: purse"] = learnt.full
    return Trial(
        name="price",
        question="Does the price follow when budget, fetches and consumer change, and what does"
        " not knowing it cost?",
        rows=rows,
        series=series,
        seed=SEED,
        figure=_figure(series, effort.scenes),
    )


def fleet_of(n: int, seed: int = SEED) -> Fleet:
    """Lognormal rates, half-lives around ten minutes, three costs."""
    rng = np.random.default_rng([seed, n])
    return Fleet(
        arrival=rng.lognormal(np.log(1 / 300), 1.0, n),
        decay=np.log(2) / 600 * rng.lognormal(0.0, 0.5, n),
        worth=rng.lognormal(0.0, 0.5, n),
        cost=rng.choice((0.5, 1.0, 2.0), n),
    )


def prices(fleet: Fleet, phases: tuple[Phase, ...]) -> Array:
    """The price that the relaxed problem gives for each second of the hour."""
    budget, found = len(fleet) / SCARCE, np.zeros(HOUR)
    price = 0.0
    for phase in phases:
        through = budget * min(phase.budget * (1 - phase.fail), phase.service)
        if through > 0:  # in a stall nothing is bought, at no price
            price = relax(fleet, through).price
        found[round(phase.minute * 60) :] = price
    return found


def play(
    fleet: Fleet,
    name: str,
    solved: Array,
    burn_in: int,
    tick: Callable[[], None],
    *,
    told: bool,
) -> Course:
    """One hour of a scene; before it, its first phase."""
    phases, budget = SCENES[name], len(fleet) / SCARCE
    plan = relax(fleet, budget)
    part = np.random.default_rng([SEED, 1]).random(len(fleet))
    since = -part * np.minimum(plan.age, HOUR)
    scheduler = Scheduler(
        fleet, budget * phases[0].budget, 0.0, min_interval=10.0, max_interval=np.inf, last=since
    )
    # The one place where the price is taken out of the scheduler's hands.
    scheduler._desk.market.pricing = Told(float(solved[0])) if told else Pricing(plan.price)
    base, full = np.zeros((2, burn_in + HOUR))
    starts = {burn_in + 60 * phase.minute: phase for phase in phases}
    now_failing = phases[0].fail

    def before(now: float) -> None:
        nonlocal now_failing
        tick()
        if now in starts:
            now_failing = starts[now].fail
            if scheduler.budget != budget * starts[now].budget:
                scheduler.set_budget(budget * starts[now].budget, now)
        if now == burn_in:
            scheduler._desk.market.pricing.steer(_PUT.get(name, 1.0))
        second = int(now)
        if told:
            scheduler._desk.market.pricing.base = float(solved[max(second - burn_in, 0)])
        base[second], full[second] = scheduler._desk.market.pricing.base, scheduler._desk.purse.full

    def fails(now: float, rows: Rows) -> Mask:
        # By instant and source, so that both runs see the same world.
        draw = np.random.default_rng([SEED, 2, int(now)]).random(len(fleet))
        failed: Mask = draw[rows] < now_failing
        return failed

    service = _service(phases, budget, burn_in)
    found = deliver(
        scheduler, fleet, since=since, ticks=HOUR, burn_in=burn_in, k=len(fleet), service=service,
        pressure=None if service is None else Pressure(0.0, wait=WAIT),
        fails=fails, before=before,
    )  # fmt: skip
    return Course(run=found, base=base[burn_in:], full=full[burn_in:])


def _service(phases: tuple[Phase, ...], budget: float, burn_in: int) -> Service | None:
    if np.isinf(phases[0].service):
        return None
    since = [0.0, *(burn_in + 60 * phase.minute for phase in phases[1:])]
    rate = [budget * phase.service for phase in phases]
    return Service(since=np.array(since), rate=np.array(rate))


def _rows(name: str, learnt: Course, told: Course, solved: Array) -> list[TrialRow]:
    within = f"within {AIM:.0%}".replace("%", " %")
    spent = learnt.run.spent.sum() / learnt.run.allowed.sum()
    value = learnt.run.value / told.run.value
    moves = np.abs(np.diff(np.log(learnt.base)))
    # Where the budget changes, the price is meant to jump with it.
    for old, new in itertools.pairwise(SCENES[name]):
        if new.budget != old.budget:
            moves[round(60 * new.minute) - 1] = 0.0
    error = np.abs(np.log(learnt.base[-300:] / solved[-300:])).mean()
    return [
        TrialRow(
            name=f"spent of what the budget allowed, {name}", value=float(spent), unit="%",
            aim=within, ok=bool(abs(spent - 1) <= AIM),
        ),
        TrialRow(
            name=f"value, of the run that is told the price, {name}", value=value, unit="%",
            aim=within, ok=bool(value >= 1 - AIM),
        ),
        TrialRow(
            name=f"largest step of the price without a new budget, {name}",
            value=float(moves.max()), unit="%", aim=within, ok=bool(moves.max() <= AIM),
        ),
        TrialRow(
            name=f"distance from the solved price in the last five minutes, {name}",
            value=float(np.exp(error)) - 1, unit="%",
        ),
    ]  # fmt: skip


def _figure(series: dict[str, Array], names: tuple[str, ...]) -> Draw:
    def draw(figure: Figure) -> None:
        figure.set_size_inches(3.2 * len(names), 6.4)
        every = figure.subplots(3, len(names), sharex=True, squeeze=False)
        minute = series["minute"]
        for column, name in enumerate(names):
            price, spend, purse = every[:, column]
            first = series[f"{name}: price solved"][0]
            for how, style in (("learnt", STYLES[0]), ("solved", STYLES[1])):
                price.plot(
                    minute, series[f"{name}: price {how}"] / first, color=style["color"],
                    linestyle=style["linestyle"], label=how,
                )  # fmt: skip
            price.set(title=name, yscale="log", ylim=(0.2, 8.0))
            price.set_yticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"])
            price.minorticks_off()
            for how, style in (("spent", STYLES[0]), ("allowed", STYLES[1])):
                per_minute = series[f"{name}: {how}"].reshape(-1, 60).sum(axis=1)
                spend.step(
                    np.arange(60), per_minute, where="post", color=style["color"],
                    linestyle=style["linestyle"], label=how,
                )  # fmt: skip
            spend.set(ylim=(0, None))
            purse.plot(minute, series[f"{name}: purse"], color=STYLES[2]["color"])
            purse.set(xlabel="minute", ylim=(-0.05, 1.05), xlim=(0, 60))
        every[0, 0].set(ylabel="price / that of the first phase")
        every[1, 0].set(ylabel="cost per minute")
        every[2, 0].set(ylabel="purse / burst")
        every[0, 0].legend(loc="upper right")
        every[1, 0].legend(loc="upper left")

    return draw
