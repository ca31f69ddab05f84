"""Play a scheduler in a world with known truth, at a cost per step that is flat in the sources.

`simulate` moves every source at every epoch. Here only the sources chosen are looked at: what a
visit brings is the expected harvest f(age), and an age is the time since a column says so.

**A fair account of a run that starts and ends somewhere.** A run may live on what waits at its
start, or end just before its harvest. So ages are worth something: at the price P of a source (the
common price and its host's), where it earns β = (f(τ) − PC)/τ by visits at age τ, an age a is worth

    h(a) = β·a  up to τ,   f(a) − PC  beyond

(the bias of the relaxed problem), and what the run has earned is its harvest plus what the ages are
worth more at its end than at its start. What it spent beyond its budget and its hosts' limits (a
purse starts full) is charged at their prices. Then *harvest − price·spent ≤ Σβ·time + Σ(h at the
start − h at the end)* holds for whatever is chosen, so no run of any length exceeds the bound by
luck of its start, and one that saves its budget up loses what it did not spend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dayfly.errors import BadInput
from dayfly.index import Relaxed, relax
from dayfly.model import NUMBERS, Array, Fleet, Harvest, Rows
from dayfly.schedule import Scheduler

#: Who is never worth a visit was last seen within so long before the start: the default interval
#: within which a scheduler visits everybody.
_LONGEST = 14 * 86400.0

#: Sees every call: the instant, the rows chosen, and their ages.
Watch: TypeAlias = Callable[[float, Rows, Array], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class SteadyWorld:
    """A fleet, the best that a budget can do in it, and a start in the middle of doing so."""

    #: The sources as they are.
    truth: Fleet
    #: Cost units per epoch (per unit of time if continuous) of visits that are answered.
    budget: float
    #: Time between decision instants; None for continuous time.
    epoch: float | None
    #: Cost units that some hosts allow, by name.
    host_limit: Mapping[str, float]
    #: Share of the visits that fail.
    fail: float
    #: The relaxed problem, solved for the truth.
    plan: Relaxed
    #: The first instant, and when each source was last visited before it.
    start: float
    since: Array

    @classmethod
    def of(
        cls,
        truth: Fleet,
        budget: float,
        epoch: float | None = None,
        *,
        start: float = 0.0,
        fail: float = 0.0,
        host_limit: Mapping[str, float] | None = None,
        longest: float = _LONGEST,
        seed: int = 0,
    ) -> SteadyWorld:
        """Spread the ages of each source evenly over the age at which the plan visits it.

        Parameters
        ----------
        truth, budget, epoch, host_limit
            As for `relax`.
        start
            The first instant; a multiple of the epoch if there is one.
        fail
            Share of the visits that cost what they cost and bring nothing. The bound is then that
            of the budget that gets through, `budget * (1 - fail)`.
        longest
            No source was left alone for longer than this, however little it is worth.
        """
        if not 0 <= fail < 1:
            raise BadInput(f"fail must be at least 0 and less than 1, got {fail}")
        if epoch is not None and abs(start / epoch - round(start / epoch)) > 1e-9:
            raise BadInput(f"start {start:g} must be a multiple of the epoch {epoch:g}")
        limits = {host: limit * (1 - fail) for host, limit in (host_limit or {}).items()}
        plan = relax(truth, budget * (1 - fail), epoch, host_limit=limits or None)
        ages = np.minimum(plan.age, longest)
        part = np.random.default_rng([seed, 0]).random(len(truth))
        if epoch is None:
            since = start - ages * part
        else:
            # At a decision the plan finds a source 1, 2, … or k epochs old, equally often.
            since = start - (np.floor(part * np.maximum(ages // epoch, 1.0)) + 1.0) * epoch
        return cls(
            truth=truth, budget=budget * (1 - fail), epoch=epoch, host_limit=limits, fail=fail,
            plan=plan, start=start, since=since,
        )  # fmt: skip

    def worth_of_ages(self, age: Array) -> float:
        """What these ages are worth, h(a) summed over the sources."""
        fleet, plan = self.truth, self.plan
        hosts = np.array([plan.host_price.get(host, 0.0) for host in fleet.hosts])
        fee = (plan.price + hosts[fleet.host_code]) * fleet.cost
        curves, visited = fleet.harvest, np.isfinite(plan.age) & (plan.age > 0)
        due = np.where(visited, plan.age, 1.0)
        pace = np.where(visited, np.maximum((curves.value(due) - fee) / due, 0.0), 0.0)
        young = ~visited | (age <= due)
        with np.errstate(invalid="ignore"):  # an infinite age is worth something only if visited
            worth = np.where(young, pace * np.where(young, age, 0.0), curves.value(age) - fee)
        return float(np.where(visited, worth, 0.0).sum())

    def overspent(self, by_host: Array, time: float) -> float:
        """What was spent in this time beyond the budget and the hosts' limits, at their prices."""
        got = by_host * (1 - self.fail)
        charge = self.plan.price * max(float(got.sum()) - self.budget * time, 0.0)
        for code, host in enumerate(self.truth.hosts):
            if host in self.plan.host_price:
                beyond = max(float(got[code]) - self.host_limit[host] * time, 0.0)
                charge += self.plan.host_price[host] * beyond
        return charge


@dataclass(frozen=True, kw_only=True, eq=False)
class ScaleRun:
    """What a scheduler earned, beside what could be earned at all."""

    #: Value per epoch (per unit of time if continuous), with a fair account of start and end.
    value: float
    #: The same as it was brought home.
    harvested: float
    #: Cost per epoch or unit of time, failed visits included.
    spent: float
    #: Value that no policy can exceed on average.
    bound: float
    #: Calls that count, rows chosen in them, and visits of those that failed.
    calls: int
    chosen: int
    failed: int
    #: Value and cost of every call, shape (calls,).
    harvests: Array
    costs: Array
    seed: int

    @property
    def share(self) -> float:
        """Share of the bound."""
        return self.value / self.bound if self.bound > 0 else 1.0


def play_scheduler(
    scheduler: Scheduler,
    world: SteadyWorld,
    *,
    steps: int,
    step: float,
    k: int,
    burn_in: int = 0,
    seed: int = 0,
    watch: Watch | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ScaleRun:
    """Let a scheduler choose, step after step; visits take no time.

    Parameters
    ----------
    scheduler
        Built with `last=world.since` and `now=world.start`; it may believe in another fleet than
        the true one.
    steps, burn_in
        Calls of `due` that count, after calls that do not.
    step, k
        Time between two calls (the epoch, if there is one), and the most rows of one call.
    seed
        Decides which visits fail.
    watch
        Called with every instant, the rows chosen then and their ages.
    progress
        Called now and then with the calls made and the calls to make.

    Examples
    --------
    >>> fleet = Fleet(arrival=250, decay=[.7, .35, .7, .21], worth=[1, .7, .2, .08])
    >>> world = SteadyWorld.of(fleet, budget=2, epoch=1.0)
    >>> scheduler = Scheduler(fleet, 2, 0.0, epoch=1.0, min_interval=0.0, last=world.since)
    >>> run = play_scheduler(scheduler, world, steps=1000, step=1.0, k=4)
    >>> round(run.value, 2), round(run.bound, 2), run.spent
    (337.78, 338.05, 2.0)
    """
    fleet = world.truth
    _check(scheduler, world, steps, step, burn_in)
    since, rng = world.since.copy(), np.random.default_rng([seed, 1])
    harvests, costs = np.zeros(steps), np.zeros(steps)
    by_host = np.zeros(len(fleet.hosts))
    chosen, lost, before = 0, 0, 0.0
    total, often = burn_in + steps, max((burn_in + steps) // 100, 1)
    for number in range(total):
        now = world.start + number * step
        if number == burn_in:
            before = world.worth_of_ages(now - since)
        rows = scheduler.due(now, k)
        age = now - since[rows]
        if watch is not None:
            watch(now, rows, age)
        found = _curves(fleet, rows).value(age)
        if world.fail:
            failed = rng.random(len(rows)) < world.fail
            found[failed] = 0.0
            since[rows[~failed]] = now
            scheduler.crawled(rows, now, (), failed=failed)
            lost += int(failed.sum()) if number >= burn_in else 0
        else:
            since[rows] = now
            scheduler.crawled(rows, now, ())
        if number >= burn_in:
            cost = fleet.cost[rows]
            harvests[number - burn_in], costs[number - burn_in] = found.sum(), cost.sum()
            np.add.at(by_host, fleet.host_code[rows], cost)
            chosen += len(rows)
        if progress is not None and (number + 1) % often == 0:
            progress(number + 1, total)
    after = world.worth_of_ages(world.start + total * step - since)
    time = steps * (step if world.epoch is None else 1.0)
    earned = float(harvests.sum()) + after - before - world.overspent(by_host, time)
    return ScaleRun(
        value=earned / time,
        harvested=float(harvests.sum()) / time,
        spent=float(costs.sum()) / time,
        bound=world.plan.bound,
        calls=steps,
        chosen=chosen,
        failed=lost,
        harvests=harvests,
        costs=costs,
        seed=seed,
    )


def _curves(fleet: Fleet, rows: Rows) -> Harvest:
    """The harvest curves of some sources; `take` would also number all of them, every time."""
    part = Fleet.assemble(
        {name: getattr(fleet, name)[rows] for name in NUMBERS},
        kind_code=fleet.kind_code[rows],
        host_code=fleet.host_code[rows],
        hosts=fleet.hosts,
    )
    return part.harvest


def _check(scheduler: Scheduler, world: SteadyWorld, steps: int, step: float, burn_in: int) -> None:
    if len(scheduler) != len(world.truth):
        raise BadInput(
            f"the scheduler has {len(scheduler)} sources, the world {len(world.truth)}: build it"
            " from a fleet of the same length"
        )
    if steps < 1 or burn_in < 0:
        raise BadInput(f"steps must be at least 1 and burn_in 0, got {steps} and {burn_in}")
    if not (np.isfinite(step) and step > 0):
        raise BadInput(f"step must be positive and finite, got {step}")
    if world.epoch is not None and step != world.epoch:
        raise BadInput(f"in slotted time the step is the epoch {world.epoch:g}, got {step:g}")
