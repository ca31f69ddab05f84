"""When a source that publishes by the clock is due.

After a visit at t₀ all that is to come is known but the source's age τ: the index is multiplied
by what the hour t₀ + τ makes of it (`index/phased.py`), what a look teaches is not, and the sum is
a function of age alone,

    score(τ) + (factor(t₀ + τ, τ) − 1)·harvest(τ).

Where that reaches the price first, the source is due; so a calendar needs to know nothing of hours.
The way is looked at in some tens of steps from a third of the age at which the source would be due
without rhythm to a day after it: hourly where visits are rare, finer where they are not.

**The tide.** Most publishers of a region sleep at the same time, and a budget that comes in evenly
cannot be saved for the day: the price is low at night and high at noon. What it is at each hour, as
a multiple of that of the day, is the mean of what the hour makes of the sources that are visited;
what is compared with the price is divided by it. So visits go on at an even pace at a price that
stays the same, and who publishes at all hours is visited when others sleep.

Rhythms are plain waves of the day, by strength and hour (`estimate/family.py`): of the fleet
nothing needs to be remembered but what its sources remember, and tables once solved serve for good.
On recorded traces the fleet's own profile, by hour of the day or of the week, did about as well.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from dayfly.estimate.daytime import Hours, counts, exposures
from dayfly.estimate.exposure import DAY, HOUR
from dayfly.estimate.family import Family, stronger, wave
from dayfly.index.phased import Phased, interpolated
from dayfly.learn.score import between, due_ages
from dayfly.model import Array, Rows

_HOURS = 24
#: How common each rhythm is, a sample of so many sources says; they are asked so many at a time.
_SAMPLE, _BLOCK = 2048, 4096
#: The way to the price has so many steps.
_STEPS = 40
#: Who is due later than this is not held to the hour; nor is whose news last longer.
_LATEST = 14 * DAY
#: A source whose score never gets to the price may do so at a better hour: it is looked at from
#: the age on at which it has nearly all that it will have.
_NEARLY = 0.9
#: Decays are rounded to a power of √2 for the tables, so that there are few of them to solve.
_PER_OCTAVE = 2
#: A tide whose highest is less than this times its lowest is not worth the work for everybody.
_CALM = 1.1
#: An hour leaves a source this share of its score at least: a mean of logarithms is taken.
_LOWEST = 1e-3


class Timing:
    """Which sources have a rhythm, and when they are due because of it.

    Fit it to what is remembered, balance it at the price, and ask it about sources. Where nobody
    has a rhythm it has nothing to say, so that nothing changes.
    """

    def __init__(self, sources: int) -> None:
        #: Of each source: its table, −1 without rhythm, and at which hour of the day it peaks.
        self._table = np.full(sources, -1, dtype=np.int32)
        self._peak = np.zeros(sources, dtype=np.int8)
        #: The tables in use, one after the other: shape (n_tables, 24, n_ages).
        self._ratio = np.ones((0, _HOURS, 0))
        #: The price from hour to hour of the day, over that of the day; None where all are alike.
        self._tide: Array | None = None

    def add(self, sources: int) -> None:
        """So many new sources in the next rows."""
        self._table = np.append(self._table, np.full(sources, -1, dtype=np.int32))
        self._peak = np.append(self._peak, np.zeros(sources, dtype=np.int8))

    def fit(self, hours: Hours, burst: Array, decay: Array) -> bool:
        """Find everybody's rhythm from what is remembered; whether anybody has one.

        Parameters
        ----------
        hours, burst, decay
            Of all sources: what is remembered of the time of day, the burstiness, by which that is
            less evidence, and how fast interest fades, per second.
        """
        n, family = len(hours), Family(stronger(wave(_HOURS)))
        self._table, self._peak = np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.int8)
        self._tide = None
        told = np.flatnonzero(hours.any(axis=1) & (decay * _LATEST > math.log(2)))
        some = told[:: max(-(-len(told) // _SAMPLE), 1)]
        if not family.fit(counts(hours[some]), exposures(hours[some]), burst[some]):
            return False
        for first in range(0, len(told), _BLOCK):
            rows = told[first : first + _BLOCK]
            self._table[rows], self._peak[rows] = family.nearest(
                counts(hours[rows]), exposures(hours[rows]), burst[rows]
            )
        rows = np.flatnonzero(self._table >= 0)
        if not len(rows):
            return False
        octave = np.rint(_PER_OCTAVE * np.log2(decay[rows] * HOUR)).astype(np.int64)
        pairs = octave * len(family.profiles) + self._table[rows]
        used, self._table[rows] = np.unique(pairs, return_inverse=True)
        self._ratio = np.stack(
            [_solved(*divmod(one, len(family.profiles))) for one in used.tolist()]
        )
        return True

    def balance(
        self,
        rows: Rows,
        score: Array,
        harvest: Array,
        price: float,
        *,
        cost: Array,
        least: float,
    ) -> None:
        """Find the tide: what the price is at each hour if every hour has the same budget.

        Parameters
        ----------
        rows, score, harvest, price
            Sources that were visited, and as for `due`.
        cost, least
            Of a visit to each, and the seconds between two of them at least.
        """
        age = due_ages(score, price)
        some = np.flatnonzero(age < _LATEST)
        self._tide = None
        if not len(some) or not (self._table >= 0).any():
            return
        age, hour = age[some, None], np.arange(float(_HOURS))[None]
        factor = self._factor(rows[some], hour, age)
        waits = between(harvest[some], age) / price
        level = np.log(np.maximum(1.0 + (factor - 1.0) * waits, _LOWEST))
        spends = cost[some] / np.maximum(age[:, 0], least)
        tide = np.exp(spends @ level / spends.sum())
        if tide.max() > _CALM * tide.min():
            self._tide = np.append(tide, tide[0])

    def due(
        self, rows: Rows, since: Array, score: Array, harvest: Array, price: float
    ) -> tuple[Rows, Array, Array]:
        """Who is due by the hour, at which age, and the highest score on the way.

        Parameters
        ----------
        rows, since
            Sources, and when they were visited; minus infinity if they never were.
        score, harvest
            What a visit is worth at each of `AGES`, and the part of it that waits there; without
            rhythm.
        price
            The price, positive.

        Returns
        -------
        places in `rows`, ages in seconds, scores in terms of the price of the day.
        """
        held = self._table[rows] >= 0 if self._tide is None else np.ones(len(rows), dtype=np.bool_)
        some = np.flatnonzero(held & np.isfinite(since))
        if not len(some):
            return some, np.empty(0), np.empty(0)
        ceiling = score[some].max(axis=1)
        plain = due_ages(score[some], np.minimum(price, _NEARLY * ceiling))
        soon = plain < _LATEST
        some, plain, ceiling = some[soon], plain[soon], ceiling[soon]
        first = np.maximum(plain / 3.0, plain - DAY)
        age = first[:, None] * ((plain + DAY) / first)[:, None] ** np.linspace(0, 1, _STEPS)
        # The first of January 1970 began at midnight: the day need not be known.
        hour = (since[some, None] + age) % DAY / HOUR
        path = between(score[some], age)
        path += (self._factor(rows[some], hour, age) - 1.0) * between(harvest[some], age)
        if self._tide is not None:
            path /= np.interp(hour, np.arange(_HOURS + 1), self._tide)
        reached = path >= price
        there, step = reached.any(axis=1), reached.argmax(axis=1)
        # Whose best hour does not do, though any hour would, is visited when the day is over.
        step[~there] = _STEPS - 1
        each, before = np.arange(len(some)), np.maximum(step - 1, 0)
        low, high = path[each, before], path[each, step]
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.where(there & (step > 0), (price - low) / (high - low), 1.0)
        found = age[each, before] + part * (age[each, step] - age[each, before])
        kept = there | (ceiling >= price)
        top = np.maximum(path.max(axis=1), ceiling)
        return some[kept], found[kept], top[kept]

    def _factor(self, rows: Rows, hour: Array, age: Array) -> Array:
        """What the hour multiplies the index with, at these ages; shape (n_sources, any)."""
        whole = hour.astype(np.int64)
        table, width = self._table[rows, None], self._ratio.shape[2]
        cell, own = whole - self._peak[rows, None], np.maximum(table, 0) * _HOURS
        first, second = (own + cell % _HOURS) * width, (own + (cell + 1) % _HOURS) * width
        found = interpolated(self._ratio.ravel(), first, second, hour - whole, age / HOUR)
        return np.where(table >= 0, found, 1.0)


@functools.lru_cache(maxsize=512)
def _solved(octave: int, shape: int) -> Array:
    return Phased.of(stronger(wave(_HOURS))[shape], 2.0 ** (octave / _PER_OCTAVE)).ratio
