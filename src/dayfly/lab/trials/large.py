"""A million sources by the scheduler, beside the same rule by a scan of everybody.

Both fleets are drawn from one distribution and have the same budget per source, so the relaxed
problem says the same about both. The scan is the policy `Whittle` in `play`; on its own fleet the
scheduler must make the same choices, on the large one it must come as close to the bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dayfly.lab.drawing import INK, STYLES
from dayfly.lab.trials.base import Draw, Progress, Trial, TrialRow
from dayfly.model import Array, Fleet, Rows
from dayfly.policies import Whittle
from dayfly.schedule import Scheduler
from dayfly.simulate import play
from dayfly.simulate.scale import ScaleRun, SteadyWorld, Watch, play_scheduler

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 4
#: A decision every five minutes; nobody is worth two visits sooner than the default interval.
EPOCH = 300.0
#: Sources per visit of one epoch: how scarce the budget is.
SCARCE = 1000
#: Whittle's index policy reaches this share of the bound on random fleets of some hundred sources.
AIM = 0.998
_HOUR = 3600.0
TWO_WEEKS = 14 * 24 * _HOUR


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is run: sources and calls, and the sources of the fleet that is scanned."""

    sources: int
    calls: int
    scanned: int


FULL = Effort(sources=1_000_000, calls=10_000, scanned=10_000)
QUICK = Effort(sources=100_000, calls=1_000, scanned=10_000)


def run(
    *, quick: bool = False, progress: Progress | None = None, effort: Effort | None = None
) -> Trial:
    """Play the large fleet, then the small one by scan and by scheduler."""
    effort = effort or (QUICK if quick else FULL)
    calls, at = effort.calls, _in_turn(progress, 4, effort.calls)
    large, small = (_world(n) for n in (effort.sources, effort.scanned))

    began = time.perf_counter()
    scheduler = _scheduler(large, floor=False)
    built = time.perf_counter()
    whole = _played(scheduler, large, calls, at(0))
    ended = time.perf_counter()
    scan, scanned, scan_s = _scanned(small, calls, at(1))
    chosen: list[Rows] = []
    same = _played(
        _scheduler(small, floor=False),
        small,
        calls,
        at(2),
        lambda *seen: chosen.append(seen[1]),
    )
    floor = _played(_scheduler(small, floor=True), small, calls, at(3))
    alike = sum(np.array_equal(a, b) for a, b in zip(scanned, chosen, strict=True))

    big, few = f"{effort.sources:,} sources", f"{effort.scanned:,} sources"
    rows = [
        TrialRow(
            name=f"share of the bound, {big}, {calls:,} calls of {effort.sources // SCARCE:,}",
            value=whole.share, unit="%", aim=f"≥ {100 * AIM:.1f} %", ok=whole.share >= AIM,
        ),
        TrialRow(name=f"share of the bound, full scan, {few}", value=scan, unit="%"),
        TrialRow(
            name=f"share of the bound, scheduler, {few}", value=same.share, unit="%",
            aim="as the scan", ok=abs(same.share - scan) <= 1e-9,
        ),
        TrialRow(
            name="calls with the same choice as the scan", value=alike / calls, unit="%",
            aim="100 %", ok=alike == calls,
        ),
        TrialRow(
            name="share of the bound, everybody seen within two weeks", value=floor.share, unit="%",
            note="what the visits by max_interval cost; the rows above do without them",
        ),
        TrialRow(
            name="budget spent", value=whole.spent / large.budget, unit="%",
            aim="100 %", ok=abs(whole.spent / large.budget - 1) <= 1e-6,
        ),
        TrialRow(name="build", value=built - began, unit="s"),
        TrialRow(name=f"one call, {big}", value=1e3 * (ended - built) / calls, unit="ms"),
        TrialRow(name=f"one call, full scan, {few}", value=1e3 * scan_s / calls, unit="ms"),
        *_tally(scheduler),
    ]  # fmt: skip
    series: dict[str, Array] = {
        "time_s": EPOCH * np.arange(calls, dtype=np.float64),
        "share_large": whole.harvests / whole.bound,
        "share_small": same.harvests / same.bound,
    }
    return Trial(
        name="large",
        question="Do a million sources earn what a scan of all earns on fewer?",
        rows=rows,
        series=series,
        seed=SEED,
        figure=_figure(series, (big, few)),
    )


def fleet_of(n: int, seed: int = SEED) -> Fleet:
    """Rates over two orders of magnitude, half-lives from an hour to four days; unit costs."""
    rng = np.random.default_rng([seed, n])
    return Fleet(
        arrival=10 ** rng.uniform(-2.0, 0.0, n) / _HOUR,
        decay=np.log(2) / (10 ** rng.uniform(0.0, 2.0, n) * _HOUR),
        worth=rng.uniform(0.1, 1.0, n),
    )


def _world(n: int) -> SteadyWorld:
    return SteadyWorld.of(fleet_of(n), n / SCARCE, EPOCH, seed=SEED)


def _scheduler(world: SteadyWorld, *, floor: bool) -> Scheduler:
    """The scheduler as it comes; without the floor it follows the rule of the scan alone."""
    return Scheduler(
        world.truth, world.budget, world.start, epoch=EPOCH, last=world.since,
        max_interval=TWO_WEEKS if floor else np.inf,
    )  # fmt: skip


def _played(
    scheduler: Scheduler,
    world: SteadyWorld,
    calls: int,
    progress: Progress,
    watch: Watch | None = None,
) -> ScaleRun:
    most = int(world.budget) + 1
    return play_scheduler(
        scheduler, world, steps=calls, step=EPOCH, k=most, watch=watch, progress=progress
    )


def _scanned(world: SteadyWorld, calls: int, progress: Progress) -> tuple[float, list[Rows], float]:
    """Share of the bound by a scan of everybody at every call, its choices and its time."""
    fleet, since = world.truth, world.since.copy()
    waiting = fleet.harvest.value(world.start - since)
    before, value, chosen = world.worth_of_ages(world.start - since), 0.0, []
    began = time.perf_counter()
    steps = play(fleet, Whittle(), world.budget, calls, epoch=EPOCH, start=waiting)
    for number, step in enumerate(steps):
        since[step.rows] = world.start + number * EPOCH
        value += step.reward
        chosen.append(step.rows)
        if (number + 1) % 100 == 0:
            progress(number + 1, calls)
    took = time.perf_counter() - began
    after = world.worth_of_ages(world.start + calls * EPOCH - since)
    return (value + after - before) / calls / world.plan.bound, chosen, took


def _tally(scheduler: Scheduler) -> list[TrialRow]:
    tally = scheduler.tally
    return [
        TrialRow(
            name="sources scored per source chosen", value=tally.scored / max(tally.chosen, 1)
        ),
        TrialRow(
            name="scans of everybody", value=float(tally.scans),
            note=f"in {tally.calls:,} calls; {tally.rekeyed:,} times a source got a new due time",
        ),
    ]  # fmt: skip


def _in_turn(progress: Progress | None, parts: int, calls: int) -> Callable[[int], Progress]:
    """Progress of several runs of equal length as one."""

    def part(number: int) -> Progress:
        def report(done: int, _: int) -> None:
            if progress is not None:
                progress(number * calls + done, parts * calls)

        return report

    return part


def _figure(series: dict[str, Array], names: tuple[str, str]) -> Draw:
    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        calls = np.arange(1, len(series["time_s"]) + 1)
        pairs = zip(("share_small", "share_large"), reversed(names), strict=True)
        for (key, name), style in zip(pairs, STYLES[1::-1], strict=True):
            line = {part: style[part] for part in ("color", "linestyle")}
            axes.plot(calls, 100 * np.cumsum(series[key]) / calls, **line, label=name)
        axes.axhline(100.0, color=INK, linewidth=0.8, label="bound")
        axes.set(xlabel="calls", ylabel="harvest so far, % of the bound", xlim=(0, calls[-1]))
        axes.set_ylim(97.0, 103.0)
        axes.legend()

    return draw
