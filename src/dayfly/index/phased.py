"""The index of a source that publishes by the clock: its worth by age and by time of week.

A source publishes at the rate Λ s(t), s a profile with mean 1 that repeats. Who crawls it at a
price solves a periodic problem with one state, what waits, and renewal at each crawl. With V(h)
the relative worth of having just crawled at phase h, y(h, j) what gathers in the next j cells
(Λξ = 1), ℓ the price and g what the source earns per cell:

    V(h) = max_j  y(h, j) − ℓ − g j + V(h + j)

That is a longest cycle per unit of time in a graph of the phases, solved exactly by Howard's
policy iteration. Whoever sees x waiting at phase h crawls if no wait is better,
x + V(h) ≥ α^j x + y(h, j) − g j + V(h + j) for all j, so from a threshold on, in closed form:

    x*(h, ℓ) = max_j (y(h, j) − g j + V(h + j) − V(h)) / (1 − α^j)

It rises with the price; the price at which it is reached is the index. All sources that share
profile and decay differ by the scale Λξ alone, so one table serves them all.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.model import Array, Counts

#: Prices of the table as shares of the dearest; closer where the sources are that are crawled.
_PRICES = np.concatenate([np.geomspace(2e-4, 0.1, 12)[:-1], np.geomspace(0.1, 0.97, 24)])
#: Ages of the factor's table: every cell up to so many, then so many to the longest.
_EVERY, _MORE, _LONGEST = 48, 40, 10_000
#: Gains that differ by less are a tie; and more rounds than this are one between two of them.
_TIE, _ROUNDS = 1e-12, 100
#: A plan that is exact to the cell is not kept in a world with a budget: after it is solved, what a
#: phase is worth is blurred so often, as if visits came a cell early or late.
_SWEEPS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Phased:
    """What crawling is worth at every phase, for sources that share a profile and a decay.

    Make one by `Phased.of`. Amounts are per unit of Λξ·cell.
    """

    #: Rate in each cell of the period relative to the mean.
    profile: Array
    #: Loss of interest per cell.
    decay: float
    #: Prices, and from how much waiting on a crawl is worth each: shape (n_cells, n_prices).
    price: Array
    threshold: Array
    #: What a source earns per cell at each price.
    gain: Array
    #: What waits at each phase at a source that was never crawled.
    full: Array
    #: The index by age relative to that of a source without rhythm: shape (n_cells, n_ages).
    ratio: Array
    ages: Counts

    @classmethod
    def of(cls, profile: npt.ArrayLike, decay: float) -> Phased:
        """Solve it for a profile of rates by cell and a decay per cell.

        Examples
        --------
        Without rhythm it is the index in slotted time [J, Theorem 1]:

        >>> from dayfly.index import whittle_index
        >>> from dayfly.model import Fleet
        >>> flat = Phased.of(np.ones(24), 0.1)
        >>> flat.index(5, flat.state(5, np.array([30]))).round(0)
        array([8.])
        >>> whittle_index(Fleet(arrival=1, decay=0.1), 30.0, epoch=1.0).round(0)
        array([8.])

        With one, the evening's harvest is worth waiting for:

        >>> busy = np.where(np.arange(24) >= 18, 4.0, 0.0)
        >>> table = Phased.of(busy, 0.1)
        >>> bool(table.index(20, np.array([5.0])) < table.index(6, np.array([5.0])))
        True
        """
        s = np.asarray(profile, dtype=np.float64)
        if s.ndim != 1 or len(s) < 2 or not np.isfinite(s).all() or s.min() < 0 or s.max() <= 0:
            raise BadInput("profile must be one-dimensional with rates ≥ 0, not all of them 0")
        if not (np.isfinite(decay) and decay > 0):
            raise BadInput(f"decay must be positive and finite, got {decay}")
        s = s / s.mean()
        full = _full(s, decay)
        price = full.max() * _PRICES
        threshold, gain = _solve(s, decay, price)
        kept = gain > 0
        price, gain = price[kept], gain[kept]
        # Rounding must not make a threshold fall as the price rises.
        threshold = np.maximum.accumulate(threshold[:, kept], axis=1)
        ages = _AGES
        table = cls(
            profile=s, decay=decay, price=price, threshold=threshold, gain=gain, full=full,
            ratio=np.empty((len(s), len(ages))), ages=ages,
        )  # fmt: skip
        # Beside a table as coarse, so that no rhythm is a factor of 1, whatever is interpolated.
        by_age = table._by_age()
        plain = by_age[0] if np.ptp(s) == 0 else _without_rhythm(len(s), decay)
        table.ratio[:, 1:] = by_age / plain
        # Visited all the time, a source is worth what it publishes just then.
        table.ratio[:, 0] = 0.5 * (s + np.roll(s, 1))
        if np.ptp(s) == 0:
            table.ratio[:] = 1.0
        return table

    def index(self, phase: int, state: Array) -> Array:
        """Worth of a crawl at this phase where so much waits, both per unit of Λξ·cell."""
        rises = self.threshold[phase]
        found = np.interp(state, rises, self.price)
        # Below the table: shortly after a crawl the index grows with the square of what waits.
        with np.errstate(divide="ignore", invalid="ignore"):
            low = self.price[0] * np.square(np.maximum(state, 0.0) / rises[0])
        found = np.where(state < rises[0], low, found)
        above: Array = np.where(state > rises[-1], np.maximum(self.price[-1], state), found)
        return above

    def state(self, phase: int, age: npt.ArrayLike) -> Array:
        """What waits at this phase at sources crawled whole cells ago."""
        cells = np.asarray(age)
        before = self.full[(phase - cells.astype(np.int64)) % len(self.full)]
        waits: Array = self.full[phase] - np.exp(-self.decay * cells) * before
        return waits

    def factor(self, phase: npt.ArrayLike, age: npt.ArrayLike) -> Array:
        """By how much rhythm multiplies the index of sources at these phases and ages, in cells.

        Both may be fractions and are interpolated; they broadcast against each other.
        """
        at = np.asarray(phase, dtype=np.float64) % len(self.profile)
        cell = at.astype(np.int64)
        first = cell % len(self.profile) * len(self.ages)
        second = (cell + 1) % len(self.profile) * len(self.ages)
        return interpolated(self.ratio.ravel(), first, second, at - cell, age)

    def _by_age(self) -> Array:
        """The index at every phase and at all ages of the table but 0."""
        phases = range(len(self.profile))
        return np.array([self.index(h, self.state(h, self.ages[1:])) for h in phases])


@functools.lru_cache(maxsize=256)
def _without_rhythm(cells: int, decay: float) -> Array:
    found: Array = Phased.of(np.ones(cells), decay)._by_age()[0]
    return found


def interpolated(
    ratio: Array, first: Counts, second: Counts, part: npt.ArrayLike, age: npt.ArrayLike
) -> Array:
    """Between two phases whose lines in a table of ratios begin there, at these ages in cells."""
    cells = np.minimum(np.asarray(age, dtype=np.float64), _LONGEST)
    column = np.minimum(_column(cells), len(_AGES) - 2)
    along = (cells - _AGES[column]) * _PER_STEP[column]
    found: Array = np.zeros(())
    for line, weight in ((first, 1.0 - np.asarray(part)), (second, np.asarray(part))):
        place = line + column
        before = ratio[place]
        found = found + weight * (before + along * (ratio[place + 1] - before))
    return found


def _ages() -> Counts:
    later = np.geomspace(_EVERY, _LONGEST, _MORE + 1).round().astype(np.int64)
    return np.concatenate([np.arange(_EVERY), later])


def _column(age: Array) -> Counts:
    """The column of the table at or below each age; computed, which is quicker than searched."""
    step = np.log(_LONGEST / _EVERY) / _MORE
    with np.errstate(divide="ignore"):
        late = _EVERY + np.log(np.maximum(age, 1.0) / _EVERY) / step
    return np.where(age < _EVERY, age, late).astype(np.int64)


_AGES = _ages()
_PER_STEP = 1.0 / np.diff(_AGES)


def _full(profile: Array, decay: float) -> Array:
    """What waits at the beginning of each cell if nobody ever crawls."""
    keeps, adds = np.exp(-decay), -np.expm1(-decay) / decay
    n, waits = len(profile), 0.0
    for rate in profile:
        waits = keeps * waits + adds * rate
    waits /= -np.expm1(-decay * n)
    found = np.empty(n)
    for cell, rate in enumerate(profile):
        waits = keeps * waits + adds * rate
        found[(cell + 1) % n] = waits
    return found


def _solve(profile: Array, decay: float, prices: Array) -> tuple[Array, Array]:
    """Threshold of every phase and gain at every price."""
    n = len(profile)
    # Longer waits than this differ from a whole period less by nothing that counts.
    longest = int(min(max(2 * n, 8 / decay), 12 * n))
    wait = np.arange(1, longest + 1)
    gathers = np.empty((n, longest))
    keeps, adds, waits = np.exp(-decay), -np.expm1(-decay) / decay, np.zeros(n)
    for j in range(longest):
        waits = keeps * waits + adds * profile[(np.arange(n) + j) % n]
        gathers[:, j] = waits
    fades = -np.expm1(-decay * wait)
    threshold, gain = np.full((n, len(prices)), np.inf), np.zeros(len(prices))
    choice = np.full(n, int(((gathers.mean(axis=0) - prices[0]) / wait).argmax()))
    for place, price in enumerate(prices):
        earns, worth, choice = _howard(gathers - price, wait, choice, 1e-10 * price)
        if earns <= 0:
            break  # nobody crawls at this price, nor at a dearer one
        net = gathers - earns * wait
        for _ in range(_SWEEPS):
            around = np.concatenate([worth[-1:], worth, worth[:1]])
            blurred = 0.25 * around[:-2] + 0.5 * worth + 0.25 * around[2:]
            worth = (net + _ahead(blurred, longest)).max(axis=1) - price
        later = net + _ahead(worth, longest) - worth[:, None]
        threshold[:, place] = (later / fades).max(axis=1)
        gain[place] = earns
    return threshold, gain


def _ahead(worth: Array, longest: int) -> Array:
    """The worth of the phase that is reached from each phase after each wait; a view."""
    round_and_round = np.resize(worth, len(worth) + longest)
    return np.lib.stride_tricks.sliding_window_view(round_and_round[1:], longest)


def _howard(
    reward: Array, wait: Counts, choice: Counts, rounding: float
) -> tuple[float, Array, Counts]:
    """Most reward per unit of time on a cycle; the worth of each phase; how long each waits."""
    n, longest = reward.shape
    phase = np.arange(n)
    doublings = int(np.ceil(np.log2(n)))
    root, worth = 0, np.zeros(n)
    for _ in range(_ROUNDS):
        leads = (phase + wait[choice]) % n
        earns, root = _best_cycle(reward[phase, choice], wait[choice], leads, root)
        if earns <= 0:
            return 0.0, np.zeros(n), choice
        leads[root] = root
        for _ in range(doublings):
            leads = leads[leads]
        # Who does not come to the best cycle waits until it passes by.
        off = leads != root
        choice = np.where(off, np.where(phase == root, n, (root - phase) % n) - 1, choice)
        leads, worth = (phase + wait[choice]) % n, reward[phase, choice] - earns * wait[choice]
        leads[root], worth[root] = root, 0.0
        for _ in range(doublings):
            worth, leads = worth + worth[leads], leads[leads]
        better = reward - earns * wait
        better += _ahead(worth, longest)
        best = better.argmax(axis=1)
        improves = better[phase, best] > worth + rounding
        if not improves.any():
            return earns, worth, choice
        choice = np.where(improves, best, choice)
    return earns, worth, choice  # a tie that rounding decides one way and the other


def _best_cycle(reward: Array, wait: Counts, leads: Counts, root: int) -> tuple[float, int]:
    """Of the cycles that these steps end in, the one that earns most per unit of time.

    Days that are alike have cycles that are alike: a tie goes to the one through the last root.
    """
    ends = leads
    for _ in range(int(np.ceil(np.log2(len(leads))))):
        ends = ends[ends]
    seen: set[int] = set()
    best, found = -np.inf, root
    step, earn, last = leads.tolist(), reward.tolist(), wait.tolist()
    ending = set(ends.tolist())
    for first in [*({root} & ending), *sorted(ending)]:
        earned, lasted, phase = 0.0, 0, first
        while phase not in seen:
            seen.add(phase)
            earned, lasted, phase = earned + earn[phase], lasted + last[phase], step[phase]
        gain = earned / lasted if lasted else -np.inf
        if gain > best + _TIE * abs(gain):
            best, found = gain, first
    return best, found
