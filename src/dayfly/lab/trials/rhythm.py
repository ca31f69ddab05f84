"""What it is worth to know the time of day, and to hear pings, beside the bound.

200 sources with lognormal rates, decays and worths publish by the clock, e^(1.5 cos), each with its
peak at an hour of its own; 15-minute slots, 28 days. The index by age and phase is compared with
the one that knows mean rates alone, with the rhythm known and with the rhythm learned from the
timestamps that its own visits show, from the first slot on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from dayfly.estimate.rhythm import CELLS, RhythmEstimator, hour_of_week
from dayfly.estimate.signals import Pings
from dayfly.index import whittle_index, whittle_index_at
from dayfly.index.phased import Phased
from dayfly.lab.trials.base import Progress, Trial, TrialRow
from dayfly.model import Array, Counts, Fleet, Rows, Visits
from dayfly.policies import top

SEED = 8
SOURCES, HEIGHT = 200, 1.5
SLOT, SLOTS_A_DAY = 900.0, 96
BUDGETS = (4, 20)
#: Decays are rounded to these, per hour, so that a table for each serves all sources.
DECAYS = np.geomspace(0.02, 2.0, 8)
#: Days on which the rhythm is fitted anew.
FITS = (1, 2, 4, 7, 14)
_HOUR, _DAY = 3600.0, 86400.0

#: Chooses rows from the slot's number and the age of each source in seconds.
Choose = Callable[[int, Array], Rows]


class Clockwork:
    """A fleet whose sources have a peak each, and what it published."""

    def __init__(self, seed: int, days: int, *, height: float = HEIGHT) -> None:
        rng = np.random.default_rng([SEED, seed])
        n = SOURCES
        drawn = np.log(2) / 6 * np.exp(rng.standard_normal(n))
        self.level = np.abs(np.log(DECAYS / drawn[:, None])).argmin(axis=1)
        self.fleet = Fleet(
            arrival=0.4 * np.exp(rng.standard_normal(n)) / _HOUR,
            decay=DECAYS[self.level] / _HOUR,
            worth=np.exp(0.5 * rng.standard_normal(n)),
        )
        self.peak = rng.integers(0, 24, n)
        self.slots = days * SLOTS_A_DAY
        hour = (np.arange(SLOTS_A_DAY) + 0.5) / 4
        wave = np.exp(height * np.cos(2 * np.pi * (hour - self.peak[:, None]) / 24))
        #: Rate in every slot of the day relative to the mean: shape (n_sources, 96).
        self.profile: Array = wave / wave.mean(axis=1, keepdims=True)
        rate = self.fleet.arrival[:, None] * SLOT * np.tile(self.profile, (1, days))
        self.count: Counts = rng.poisson(rate)
        self.rng = rng

    def play(self, choose: Choose, told: Callable[[Visits], None] | None = None) -> float:
        """Value caught per slot, in expectation given the visits; visits see what was published."""
        fleet, n = self.fleet, len(self.fleet)
        keeps = np.exp(-fleet.decay * SLOT)
        adds = fleet.arrival * fleet.worth * -np.expm1(-fleet.decay * SLOT) / fleet.decay
        waits, last, caught = np.zeros(n), np.zeros(n, dtype=np.int64), 0.0
        for slot in range(1, self.slots + 1):
            waits = keeps * waits + adds * self.profile[:, (slot - 1) % SLOTS_A_DAY]
            rows = choose(slot, SLOT * (slot - last).astype(np.float64))
            caught += float(waits[rows].sum())
            waits[rows] = 0.0
            if told is not None:
                told(self._visits(slot, rows, last))
            last[rows] = slot
        return caught / self.slots

    def _visits(self, slot: int, rows: Rows, last: Counts) -> Visits:
        parts = [np.repeat(np.arange(last[i], slot), self.count[i, last[i] : slot]) for i in rows]
        new = np.array([len(part) for part in parts], dtype=np.int64)
        published = (np.concatenate(parts) + 0.5) * SLOT
        # One item that was known before, so that nobody thinks a window hid some.
        start = np.concatenate([[0], np.cumsum(new + 1)])
        shown = np.zeros(int(start[-1]))
        keep = np.ones(len(shown), dtype=bool)
        keep[start[:-1]] = False
        shown[keep] = published
        return Visits(
            time=slot * SLOT, row=rows, gap=SLOT * (slot - last[rows]).astype(np.float64),
            start=start, published=shown, worth=np.ones(len(shown)), new=new,
            value=np.zeros(len(rows)),
        )  # fmt: skip

    def plain(self, age: Array) -> Array:
        """The index of mean rates."""
        return whittle_index(self.fleet, age, SLOT, threads=1)

    def bound(self, budget: float) -> float:
        """The relaxed problem with the rhythm known: no policy catches more per slot."""
        income = self.fleet.arrival * self.fleet.worth * SLOT
        tables = [_exact(float(decay)) for decay in DECAYS]

        def at(price: float) -> float:
            gains = np.empty(len(income))
            for level, table in enumerate(tables):
                mine = self.level == level
                # Linear between convex points lies above: the bound stays one.
                prices = np.concatenate([[0.0], table.price, [table.full.max()]])
                earned = np.concatenate([[1.0], table.gain, [0.0]])
                gains[mine] = np.interp(price / income[mine], prices, earned, right=0.0)
            return price * budget + float((income * gains).sum())

        top_price = float((self.fleet.arrival * self.fleet.worth / self.fleet.decay).max())
        return min(at(price) for price in np.geomspace(1e-4, 1.0, 600) * top_price)


@functools.cache
def _exact(decay: float) -> Phased:
    """The table of the true wave in slots, with its peak at the beginning of the day."""
    hour = (np.arange(SLOTS_A_DAY) + 0.5) / 4
    return Phased.of(np.exp(HEIGHT * np.cos(2 * np.pi * hour / 24)), decay / 4)


class Learned:
    """Index times factor, with the rhythm learned from what the visits show."""

    def __init__(self, world: Clockwork, budget: int) -> None:
        self.world, self.budget = world, budget
        self.estimator = RhythmEstimator(len(world.fleet))
        self.estimator.answered_[:] = 0.0
        self.groups: list[tuple[Phased, Rows, Array]] = []
        self.fits = [day * SLOTS_A_DAY for day in FITS]

    def choose(self, slot: int, age: Array) -> Rows:
        """The best by index with rhythm."""
        if slot in self.fits:
            self.fit()
        index, hour = self.world.plain(age), hour_of_week(slot * SLOT)
        for table, rows, shift in self.groups:
            index[rows] *= table.factor((hour - shift) % CELLS, age[rows] / _HOUR)
        return top(index, self.budget)

    def fit(self) -> None:
        """Find every source's profile and solve for those in use."""
        found, tables = self.estimator.rhythms(), dict[tuple[int, int], Phased]()
        self.groups = []
        key = found.shape * len(DECAYS) + self.world.level
        for group in np.unique(key[found.shape >= 0]).tolist():
            shape, level = divmod(group, len(DECAYS))
            rows = np.flatnonzero(key == group)
            tables[shape, level] = _table(found.profiles[shape].tobytes(), float(DECAYS[level]))
            self.groups.append((tables[shape, level], rows, found.shift[rows].astype(np.float64)))


@functools.lru_cache(maxsize=256)
def _table(profile: bytes, decay: float) -> Phased:
    return Phased.of(np.frombuffer(profile), decay)


def _known(world: Clockwork, budget: int) -> Choose:
    tables = [_exact(float(decay)) for decay in DECAYS]
    groups = [(tables[level], np.flatnonzero(world.level == level)) for level in range(len(DECAYS))]

    def choose(slot: int, age: Array) -> Rows:
        index = world.plain(age)
        for table, rows in groups:
            phase = (slot - 4.0 * world.peak[rows]) % SLOTS_A_DAY
            index[rows] *= table.factor(phase, age[rows] / SLOT)
        return top(index, budget)

    return choose


def _ping_share(seed: int, days: int, budget: int, precision: float, recall: float) -> float:
    """Value caught with pings beside none, in a world without rhythm; states are as published."""
    world = Clockwork(seed, days, height=0.0)
    fleet, n, rng = world.fleet, len(world.fleet), world.rng
    keeps, half = np.exp(-fleet.decay * SLOT), np.exp(-fleet.decay * SLOT / 2)
    heard = rng.binomial(world.count, recall)
    false = rng.poisson(
        fleet.arrival[:, None] * SLOT * recall * (1 - precision) / precision, world.count.shape
    )
    totals = []
    for use in (False, True):
        pings = Pings(fleet, precision=precision, recall=recall)
        waits, last, caught = np.zeros(n), np.zeros(n), 0.0
        for slot in range(1, world.slots + 1):
            waits = keeps * waits + fleet.worth * half * world.count[:, slot - 1]
            pings.heard(
                np.repeat(np.arange(n), heard[:, slot - 1] + false[:, slot - 1]),
                (slot - 0.5) * SLOT,
            )
            age = (slot - last) * SLOT
            if use:
                index = whittle_index_at(fleet, pings.state(age, slot * SLOT))
            else:
                index = world.plain(age)
            rows = top(index, budget)
            caught += float(waits[rows].sum())
            waits[rows], last[rows] = 0.0, slot
            pings.crawled(rows)
        totals.append(caught)
    return totals[1] / totals[0]


def run(*, quick: bool = False, progress: Progress | None = None) -> Trial:
    """Every way at both budgets, over several fleets."""
    seeds, days = (2, 10) if quick else (10, 28)
    rows: list[TrialRow] = []
    done, total = 0, 2 * seeds * len(BUDGETS)
    for budget in BUDGETS:
        found = []
        for seed in range(seeds):
            world = Clockwork(seed, days)
            learned = Learned(world, budget)
            plain = world.play(lambda _, age, w=world, m=budget: top(w.plain(age), m))  # type: ignore[misc]
            found.append(
                (
                    world.play(_known(world, budget)) / plain,
                    world.play(learned.choose, learned.estimator.learn) / plain,
                    world.bound(budget) / plain,
                )
            )
            done += 1
            if progress is not None:
                progress(done, total)
        rows += _rows(budget, np.array(found), seeds, days)
    for budget in BUDGETS:
        for precision, recall in ((1.0, 1.0), (0.5, 0.5)):
            shares = [
                _ping_share(seed, min(days, 14), budget, precision, recall)
                for seed in range(max(seeds // 2, 1))
            ]
            rows.append(
                TrialRow(
                    name=f"pings, precision {precision:g}, recall {recall:g}, {budget} visits",
                    value=float(np.mean(shares)), unit="%",
                    note="value beside the index without pings, in a world without rhythm",
                )
            )  # fmt: skip
            done += seeds // 2
            if progress is not None:
                progress(min(done, total), total)
    return Trial(
        name="rhythm",
        question="How much of the gap between mean rates and the bound does the time of day fill?",
        rows=rows,
        seed=SEED,
    )


def _rows(budget: int, found: Array, seeds: int, days: int) -> list[TrialRow]:
    known, learned, bound = found.mean(axis=0)
    spread = found.std(axis=0, ddof=1)
    of_gap = (found[:, 1] - 1) / (found[:, 2] - 1)
    note = (
        f"value beside the index of mean rates, {budget} visits per slot: {seeds} fleets over"
        f" {days} days; standard deviation between fleets {100 * spread[1]:.2f} % (learned)"
    )
    part = float((learned - 1) / (bound - 1))
    return [
        TrialRow(
            name=f"bound, {budget} visits", value=float(bound), unit="%",
            note="the budget need hold on average only",
        ),
        TrialRow(name=f"rhythm known, {budget} visits", value=float(known), unit="%"),
        TrialRow(
            name=f"rhythm learned, {budget} visits", value=float(learned), unit="%", note=note
        ),
        TrialRow(
            name=f"share of the gap, learned, {budget} visits", value=part, unit="%",
            aim="≥ 50 %", ok=part >= 0.5,
            note=f"over the whole run, learning included; per fleet from {100 * of_gap.min():.0f} %"
            f" to {100 * of_gap.max():.0f} %",
        ),
    ]  # fmt: skip
