"""Rate and decay from rewards alone: all that is told of a visit is the value that it found.

    E r = v (1 − e^(−μτ)),  v = Λξ/μ,  variance ∝ mean

Given μ this is a Poisson regression with one unknown: with s the value of a typical item,
v ~ Gamma(Σr/s, Σφ/s) for φ_j = 1 − e^(−μτ_j), and what speaks for μ itself is

    (Σ r_j log φ_j(μ) − Σr log Σφ_j(μ)) / s.

So two running sums per μ on a grid are enough, whatever the gaps were. A source that is always
visited at one gap shows f(gap) and no more; `doubt_` says how little is known of its decay, and
who chooses can vary the gap until it is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.estimate.base import Estimate
from dayfly.model import Array, Crawl, Fleet, Rows, Visits

#: Decays, shape (n_visits, any), to what a visit is expected to find of a unit of level.
Seen: TypeAlias = Callable[[Array], Array]

#: Decays whose sums are kept, and how many finer steps each gap between them is read in.
GRID, FINER = 28, 4
#: Decays up to so many times faster or slower than the fleet's are thought possible.
SPAN = 30.0
#: Equally likely pairs (ceiling, decay) that stand for the belief about a source.
NODES = 7
#: Columns of memory: two sums per decay, then these.
REWARD, COUNT, NOISE, FREEDOM, ANSWERED = (2 * GRID + k for k in range(5))
FLOATS = 2 * GRID + 5
#: The prior counts like so many items, but at most like this part of a visit while nobody has
#: looked at the fleet, and like a whole one once the prior is fitted to it.
PRIOR_ITEMS, PRIOR_VISITS = 0.5, 0.1
#: Before residuals tell, a visit is taken to find so many items of equal worth.
ITEMS = 4.0
#: Rounds of expectation and maximisation when the prior is refitted, and the share of it that
#: stays flat, so that a source unlike all others can still be told.
ROUNDS, FLAT = 20, 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Belief:
    """What is believed of some sources; shape (n_sources,), nodes (n_sources, NODES)."""

    decay: Array
    ceiling: Array
    doubt: Array
    items: Array
    dispersion: Array
    node_decay: Array
    node_ceiling: Array


class RewardEstimator:
    """Learns `arrival` and `decay` together from the value of each visit; `worth` is only a unit.

    Parameters
    ----------
    fleet
        The sources before the first crawl. `decay` need only be right within a factor of 30, and
        `arrival · worth` hardly at all: one visit outweighs it ten times.
    keep
        Visits that count; older ones fade, so that a source may change. Infinite: all of them.

    Attributes
    ----------
    doubt_
        Standard deviation of log decay, by source. Some 2 if nothing is known; at 0.1 the decay
        is known to a tenth.
    items_
        How many items' worth of evidence there is on the level of each harvest curve.
    node_decay_, node_ceiling_
        Equally likely decays and the ceilings v that go with them, shape (n_sources, 7).

    Examples
    --------
    Two gaps tell level and decay apart:

    >>> estimator = RewardEstimator(Fleet(arrival=1.0, decay=0.3))
    >>> for time, gap in enumerate([1, 1, 2, 1, 4, 2, 8] * 5):
    ...     estimator.learn(rewarded(time, [0], [gap], [357.1 * (1 - np.exp(-0.7 * gap))]))
    >>> source = estimator.mean()[0]
    >>> round(source.decay, 1), round(source.arrival * source.worth / source.decay, -1)
    (0.7, 350.0)
    """

    def __init__(self, fleet: Fleet, *, keep: float = math.inf) -> None:
        for name in ("arrival", "decay", "worth"):
            column = getattr(fleet, name)
            if len(fleet) and not (column > 0).all():
                row = int(np.flatnonzero(column <= 0)[0])
                raise BadInput(f"{name}[{row}] is 0, which no reward could correct; give a guess")
        if not keep > 1:
            raise BadInput(f"keep must be more than 1 visit, got {keep}")
        self._fleet = fleet
        self._fading = 1.0 - 1.0 / keep
        self._forget()
        self._memory = np.zeros((len(fleet), FLOATS))
        self._memory[:, ANSWERED] = -np.inf
        first = self._belief(self._memory, np.arange(len(fleet)))
        self.decay_, self.ceiling_ = first.decay, first.ceiling
        self.doubt_, self.items_, self._dispersion = first.doubt, first.items, first.dispersion
        self.node_decay_, self.node_ceiling_ = first.node_decay, first.node_ceiling

    def update(self, crawl: Crawl) -> Estimate:
        """The belief after this crawl; see `Estimator`."""
        row = np.array([crawl.row])
        memory = self._memory[row]
        if crawl.answered:
            gap = np.array([crawl.time - memory[0, ANSWERED]])
            memory = self._taught(row, gap, np.array([crawl.value]), crawl.time)
        belief = self._belief(memory, row)
        return Estimate(
            row=crawl.row,
            time=crawl.time,
            arrival=float(self._arrival(belief.ceiling, belief.decay, row)[0]),
            decay=float(belief.decay[0]),
            worth=float(self._fleet.worth[crawl.row]),
            memory=tuple(memory[0].tolist()),
        )

    def apply(self, estimate: Estimate) -> None:
        """Believe it from now on."""
        row = np.array([estimate.row])
        self._memory[row] = estimate.memory
        self._believe(row)

    def learn(self, visits: Visits) -> None:
        """Update and apply a batch; see `Estimator`."""
        self._memory[visits.row] = self._taught(visits.row, visits.gap, visits.value, visits.time)
        self._believe(visits.row)

    def mean(self) -> Fleet:
        """The fleet with the decays in the middle of the belief, and the rates that go with them.

        The middle of log decay: harvests at the gaps that were seen stay right, whatever the
        decay turns out to be.
        """
        arrival = self._arrival(self.ceiling_, self.decay_, np.arange(len(self._fleet)))
        return self._fleet.replace(arrival=arrival, decay=self.decay_)

    def sample(self, rng: np.random.Generator) -> Fleet:
        """The fleet with decays and rates drawn from the posterior."""
        rows = np.arange(len(self._fleet))
        weight, log_ceiling, items, _ = self._posterior(self._memory, rows)
        place = _at_share(weight, rng.random((len(rows), 1)))
        ceiling = np.exp(_read(log_ceiling, place))[:, 0] * rng.gamma(items) / items
        decay = self._fleet.decay * np.exp(_read(_FINE[None, :], place))[:, 0]
        return self._fleet.replace(arrival=self._arrival(ceiling, decay, rows), decay=decay)

    def refit(self) -> None:
        """Refit the prior to the fleet: how decays spread, what a source and an item bring."""
        self._forget()
        rows = np.flatnonzero(self._memory[:, COUNT] > 0)
        told = np.flatnonzero(self._memory[:, REWARD] > 0)
        if len(told):
            *_, s = self._posterior(self._memory[told], told)
            self._item, self._most = math.exp(float(np.log(s).mean())), 1.0
            for _ in range(ROUNDS):
                weight, log_ceiling, *_ = self._posterior(self._memory[rows], rows)
                together = weight.mean(axis=0)
                middle = float(together @ _FINE)
                spread = max(math.sqrt(float(together @ (_FINE - middle) ** 2)), 0.2)
                bell = np.exp(-0.5 * ((_FINE - middle) / spread) ** 2)
                self._log_prior = np.log((1 - FLAT) * bell / bell.sum() + FLAT / len(_FINE))
                # log(vμ) beside what was believed of it, on average over the fleet.
                earned = (weight * (log_ceiling + _FINE)).sum(axis=1) - self._log_guess[rows]
                self._income = math.exp(float(earned.mean()))
        self._believe(np.arange(len(self._fleet)))

    def _forget(self) -> None:
        """The prior before anything is known of the fleet: any decay, and the income as given."""
        fleet = self._fleet
        self._log_prior = np.full(len(_FINE), -math.log(len(_FINE)))
        self._income, self._most, self._item = 1.0, PRIOR_VISITS, math.nan
        self._log_guess: Array = np.log(fleet.arrival * fleet.worth / fleet.decay)

    def regress(self, row: Rows, value: Array, seen: Seen) -> None:
        """Learn from visits whose expected value is a level times what `seen` says of a decay.

        With φ = 1 − e^(−μτ) the level is v, and this is what `learn` does. Who knows more of a
        visit than its gap can say more: with the ages of items, Σ e^(−μ·age), the level is their
        worth.
        """
        self._memory[row] = self._regressed(self._memory[row], row, value, seen)
        self._believe(row)

    def _taught(self, row: Rows, gap: Array, value: Array, time: float) -> Array:
        """Memory of these rows after a visit; one whose gap nobody knows teaches nothing."""
        memory = self._memory[row]
        told = np.flatnonzero(np.isfinite(gap) & (gap > 0))
        if len(told):
            over = gap[told][:, None]
            memory[told] = self._regressed(
                memory[told], row[told], value[told], lambda decay: _filled(decay * over)
            )
        memory[:, ANSWERED] = time
        return memory

    def _regressed(self, memory: Array, row: Rows, value: Array, seen: Seen) -> Array:
        value = np.maximum(value, 0.0)
        memory[:, :ANSWERED] *= self._fading
        filled = seen(self._fleet.decay[row][:, None] * np.exp(_COARSE))
        memory[:, :GRID] += filled
        memory[:, GRID:REWARD] += value[:, None] * np.log(filled)
        memory[:, REWARD] += value
        memory[:, COUNT] += 1.0
        noise, freedom = self._surprise(row, value, seen)
        memory[:, NOISE] += noise
        memory[:, FREEDOM] += freedom
        return memory

    def _surprise(self, row: Rows, value: Array, seen: Seen) -> tuple[Array, Array]:
        """(r − Er)²/Er of a visit as far as it is noise, and how much that counts.

        Of variance sm + V only sm is noise, the rest is that Er was believed wrongly; a visit
        counts by the share of noise. And one from which less than an item was expected tells
        little of the value of one: it counts m/(m + s) of that.
        """
        harvest = seen(self.node_decay_[row]) * self.node_ceiling_[row]
        mean = harvest.mean(axis=1)
        wrong = (harvest**2).mean(axis=1) * (1 + 1 / self.items_[row]) - mean**2
        s = self._dispersion[row]
        share = s * mean / (s * mean + np.maximum(wrong, 0.0))
        freedom = share * mean / (mean + s)
        return freedom * (share**2 * (value - mean) ** 2 / mean + s * (1 - share)), freedom

    def _posterior(self, memory: Array, rows: Rows) -> tuple[Array, Array, Array, Array]:
        """Weights of the fine decays, log v at each, evidence in items, and the value of one."""
        typical = self._income * np.exp(self._log_guess[rows]) * (1 - math.exp(-1))
        reward, count = memory[:, REWARD], memory[:, COUNT]
        # What an item is worth: as the fleet tells, or judging by the source's own rewards.
        alone = (reward + typical) / (count + 1.0) / ITEMS
        guess = alone if math.isnan(self._item) else self._item
        s = (guess + memory[:, NOISE]) / (1.0 + memory[:, FREEDOM])
        # Part of a visit to a typical source, at a gap of 1/decay.
        part = np.minimum(PRIOR_ITEMS * s / typical, self._most)
        filled = memory[:, :GRID] + part[:, None] * _PSEUDO
        logs = memory[:, GRID:REWARD] + (part * typical)[:, None] * _LOG_PSEUDO
        reward = reward + part * typical
        log_filled = np.log(filled) @ _REFINE
        support = (logs @ _REFINE - reward[:, None] * log_filled) / s[:, None] + self._log_prior
        support -= support.max(axis=1, keepdims=True)
        weight = np.exp(support)
        weight /= weight.sum(axis=1, keepdims=True)
        return weight, np.log(reward)[:, None] - log_filled, reward / s, s

    def _belief(self, memory: Array, rows: Rows) -> Belief:
        weight, log_ceiling, items, s = self._posterior(memory, rows)
        middle = weight @ _FINE
        spread = np.maximum(weight @ _FINE**2 - middle**2, 0.0)
        place = ((middle - _FINE[0]) / (_FINE[1] - _FINE[0]))[:, None]
        nodes = _at_share(weight, (np.arange(NODES) + 0.5)[None, :] / NODES)
        guess = self._fleet.decay[rows]
        return Belief(
            decay=guess * np.exp(middle),
            ceiling=np.exp(_read(log_ceiling, place))[:, 0],
            doubt=np.sqrt(spread),
            items=items,
            dispersion=s,
            node_decay=guess[:, None] * np.exp(_read(_FINE[None, :], nodes)),
            node_ceiling=np.exp(_read(log_ceiling, nodes)),
        )

    def _believe(self, rows: Rows) -> None:
        belief = self._belief(self._memory[rows], rows)
        self.decay_[rows], self.ceiling_[rows] = belief.decay, belief.ceiling
        self.doubt_[rows], self.items_[rows] = belief.doubt, belief.items
        self._dispersion[rows] = belief.dispersion
        self.node_decay_[rows], self.node_ceiling_[rows] = belief.node_decay, belief.node_ceiling

    def _arrival(self, ceiling: Array, decay: Array, rows: Rows) -> Array:
        arrival: Array = ceiling * decay / self._fleet.worth[rows]
        return arrival


def rewarded(time: float, row: npt.ArrayLike, gap: npt.ArrayLike, value: npt.ArrayLike) -> Visits:
    """Visits of which only the value is told, as in the papers.

    >>> rewarded(3.0, [1], [2.0], [260.4]).value.tolist()
    [260.4]
    """
    rows = np.asarray(row, dtype=np.int64)
    none = np.empty(0)
    return Visits(
        time=float(time), row=rows, gap=np.asarray(gap, dtype=np.float64),
        start=np.zeros(len(rows) + 1, dtype=np.int64), published=none, worth=none,
        new=np.zeros(len(rows), dtype=np.int64), value=np.asarray(value, dtype=np.float64),
    )  # fmt: skip


def _filled(scaled: Array) -> Array:
    """φ = 1 − e^(−μτ); never 0, because its logarithm is taken."""
    return np.asarray(-np.expm1(-np.maximum(scaled, 1e-12)))


def _at_share(weight: Array, share: Array) -> Array:
    """Places on the fine grid, between its points, below which these shares of the weight lie."""
    # Half of a point's weight lies on either side of it.
    below = np.cumsum(weight, axis=1) - 0.5 * weight
    right = np.stack([(below < one[:, None]).sum(axis=1) for one in share.T], axis=1)
    left = np.clip(right - 1, 0, weight.shape[1] - 2)
    low = np.take_along_axis(below, left, axis=1)
    high = np.take_along_axis(below, left + 1, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.clip(np.where(high > low, (share - low) / (high - low), 0.5), 0.0, 1.0)
    return np.asarray(left + part)


def _read(table: Array, place: Array) -> Array:
    """The rows of a table at places between its columns."""
    left = np.clip(place.astype(np.int64), 0, table.shape[1] - 2)
    lines = np.arange(len(place))[:, None] if len(table) > 1 else 0
    low, high = table[lines, left], table[lines, left + 1]
    return np.asarray(low + (place - left) * (high - low))


def _refinement() -> Array:
    """Cubic interpolation from the grid to the fine one, as a matrix."""
    matrix = np.zeros((GRID, (GRID - 1) * FINER + 1))
    for column in range(matrix.shape[1]):
        at = column / FINER
        first = min(max(int(at) - 1, 0), GRID - 4)
        for j in range(first, first + 4):
            others = [k for k in range(first, first + 4) if k != j]
            matrix[j, column] = math.prod((at - k) / (j - k) for k in others)
    return matrix


_COARSE = np.linspace(-math.log(SPAN), math.log(SPAN), GRID)
_FINE = np.linspace(-math.log(SPAN), math.log(SPAN), (GRID - 1) * FINER + 1)
_REFINE = _refinement()
#: What a visit at a gap of 1/decay finds, by decay.
_PSEUDO = -np.expm1(-np.exp(_COARSE))
_LOG_PSEUDO = np.log(_PSEUDO)
