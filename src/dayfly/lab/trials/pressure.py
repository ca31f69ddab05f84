"""A consumer that is slower than the crawl, or stalls: with and without back-pressure.

Without, whatever is crawled beyond the consumer's rate waits in its queue and fades there. With it,
the scheduler spends what the consumer can take, on the most valuable first, and the rest waits at
the sources. The bound is that of the smaller of budget and mean service rate: a crawl that is never
consumed does not count, and no content gains by waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dayfly.index import relax
from dayfly.lab.drawing import STYLES
from dayfly.lab.trials.base import Draw, Progress, Trial, TrialRow
from dayfly.lab.trials.price import HOUR, SCARCE, SEED, WAIT, fleet_of
from dayfly.model import Array, Fleet
from dayfly.schedule import Scheduler
from dayfly.schedule.pressure import Pressure
from dayfly.simulate.downstream import Delivery, Service, deliver

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Before the hour; the queue of those who do not care grows meanwhile.
BURN_IN = HOUR // 3
#: What the consumer does, in budgets: from which second of the hour on, and how much.
SCENES: dict[str, tuple[tuple[float, float], ...]] = {
    "slow consumer": ((0, 0.6),),
    "stalling consumer": ((0, 1.2), (1200, 0.0), (1380, 1.2), (2400, 0.0), (2580, 1.2)),
}
ORDERS = {"best first": True, "in turn": False}
AIM = 0.99


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is run."""

    sources: int
    scenes: tuple[str, ...] = tuple(SCENES)


FULL = Effort(sources=20_000)
QUICK = Effort(sources=4_000)


def run(
    *, quick: bool = False, progress: Progress | None = None, effort: Effort | None = None
) -> Trial:
    """Play every consumer, in both orders of service, with and without back-pressure."""
    effort = effort or (QUICK if quick else FULL)
    fleet = fleet_of(effort.sources)
    rows: list[TrialRow] = []
    series: dict[str, Array] = {"minute": np.arange(HOUR) / 60}
    done, total = 0, len(effort.scenes) * len(ORDERS) * 2 * (BURN_IN + HOUR)

    def tick(_: float) -> None:
        nonlocal done
        done += 1
        if progress is not None and done % 500 == 0:
            progress(done, total)

    for scene in effort.scenes:
        service, budget = service_of(scene, len(fleet)), len(fleet) / SCARCE
        able = service.work(BURN_IN, BURN_IN + HOUR) / HOUR
        bound = relax(fleet, min(budget, able)).bound
        for order, best_first in ORDERS.items():
            with_, without = (
                play(fleet, service, best_first=best_first, pushes=pushes, tick=tick)
                for pushes in (True, False)
            )
            rows += _rows(f"{scene}, {order}", scene, with_, without, bound, able)
            for name, found in (("with", with_), ("without", without)):
                series[f"{scene}, {order}: queue {name}"] = found.queue / able
                series[f"{scene}, {order}: delivered {name}"] = found.delivered / bound
                series[f"{scene}, {order}: share {name}"] = found.share
    return Trial(
        name="pressure",
        question="What is delivered where the consumer is slower than the crawl, or stalls?",
        rows=rows,
        series=series,
        seed=SEED,
        figure=_figure(series, effort.scenes),
    )


def service_of(scene: str, n: int) -> Service:
    """The consumer of a scene, for a fleet of n sources."""
    since, rate = zip(*SCENES[scene], strict=True)
    at = [0.0 if second == 0 else BURN_IN + second for second in since]
    return Service(since=np.array(at), rate=np.array(rate) * n / SCARCE)


def play(
    fleet: Fleet, service: Service, *, best_first: bool, pushes: bool, tick: Callable[[float], None]
) -> Delivery:
    """One run."""
    budget = len(fleet) / SCARCE
    part = np.random.default_rng([SEED, 1]).random(len(fleet))
    since = -part * np.minimum(relax(fleet, budget).age, HOUR)
    scheduler = Scheduler(fleet, budget, 0.0, min_interval=10.0, max_interval=np.inf, last=since)
    return deliver(
        scheduler, fleet, since=since, ticks=HOUR, burn_in=BURN_IN, k=len(fleet), service=service,
        best_first=best_first, pressure=Pressure(0.0, wait=WAIT) if pushes else None, before=tick,
    )  # fmt: skip


def _rows(
    name: str, scene: str, with_: Delivery, without: Delivery, bound: float, able: float
) -> list[TrialRow]:
    share, bare = with_.value / bound, without.value / bound
    steady = len(SCENES[scene]) == 1
    return [
        TrialRow(
            name=f"delivered, share of the bound, {name}", value=share, unit="%",
            aim=f"≥ {AIM:.0%}".replace("%", " %") if steady else "more than without",
            ok=share >= AIM if steady else share > bare,
            note="" if steady else "the bound may spend later what the stalls leave over",
        ),
        TrialRow(name=f"delivered without back-pressure, {name}", value=bare, unit="%"),
        TrialRow(
            name=f"mean queue in work, {name}", value=float(with_.queue.mean()) / able, unit="s",
        ),
        TrialRow(
            name=f"mean queue without back-pressure, {name}",
            value=float(without.queue.mean()) / able, unit="s",
        ),
    ]  # fmt: skip


def _figure(series: dict[str, Array], scenes: tuple[str, ...]) -> Draw:
    def draw(figure: Figure) -> None:
        figure.set_size_inches(4.2 * len(scenes), 6.4)
        every = figure.subplots(3, len(scenes), sharex=True, squeeze=False)
        for column, scene in enumerate(scenes):
            key, (queue, value, share) = f"{scene}, in turn", every[:, column]
            for name, style in (("with", STYLES[0]), ("without", STYLES[1])):
                look = {"color": style["color"], "linestyle": style["linestyle"]}
                queue.plot(series["minute"], 1 + series[f"{key}: queue {name}"], **look,
                           label=f"{name} back-pressure")  # fmt: skip
                minutes = series[f"{key}: delivered {name}"].reshape(-1, 60).mean(axis=1)
                value.step(np.arange(60), 100 * minutes, where="post", **look)
                share.plot(series["minute"], 100 * series[f"{key}: share {name}"], **look)
            queue.set(title=key, yscale="log")
            value.set(ylim=(0, None))
            share.set(xlabel="minute", xlim=(0, 60), ylim=(-5, 105))
        every[0, 0].set(ylabel="1 + queue, s of work")
        every[1, 0].set(ylabel="delivered, % of the bound")
        every[2, 0].set(ylabel="budget in use, %")
        every[0, 0].legend()

    return draw
