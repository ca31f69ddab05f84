"""Ours in a live crawl: the score of `learner.py`, handed over as curves that a calendar can keep.

A scheduler keeps one harvest curve per source and looks at it when its index reaches the price λ.
So all that counts of a score is *when* it reaches the price. For each source this estimator finds
the age τ* at which its score does (`score.py`), and hands over the worth of an item that lets the
plain curve cross the price at that very age:

    worth = λ·C·μ / (Λ·P(2, μτ*)).

The rate stays what it is believed to be, so that people can read it; what a look teaches is in the
worth. Whose score never gets so far is handed over with the highest that it has. A source that was
never visited is worth what the prior says waits there and all that a first look teaches, up to ten
times the price (or the highest score at which anybody is visited, where the rules hold sources back
for longer): so it comes before nearly all others. More would be said in vain, and harm: a first
look is made once, and a price that has followed such worths up takes long to come down when there
is nothing left to discover; meanwhile the budget would not be spent.

The price is the one at which all sources, visited when their scores reach it, spend the budget.
It is found when the prior is, from the memories alone; between two refits both stand still.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dayfly.errors import BadInput
from dayfly.estimate import Estimate
from dayfly.estimate.crawls import as_visits
from dayfly.estimate.silence import silence_of
from dayfly.estimate.stamps import StampEstimator
from dayfly.learn.clearing import settle
from dayfly.learn.explore import Market
from dayfly.learn.score import Traits, plain_curves, scores
from dayfly.model import Array, Crawl, Fleet, Mask, Rows, Source, Visits

_DAY = 86400.0
#: Prior and price are found anew so often, in seconds …
_REFIT = 1.0 * _DAY
#: … and whenever the number of sources that were ever seen has grown by this factor, and so many.
_GROWTH, _FEW = 1.3, 3
#: The price is found on a sample of so many sources; beliefs are worked out so many at a time.
_SAMPLE, _BLOCK = 2048, 4096
#: A first look is worth so many times the price, or the highest score of others, at most.
_FIRST_LOOK = 10.0
_SLOWEST = 1e-3 / (365 * _DAY)
#: How many numbers of a memory are the stamps'.
_STAMPS = 9

#: Rates, decays and worths.
Beliefs = tuple[Array, Array, Array]


class LiveEstimator(StampEstimator):
    """Learns rates from dated items, and prices what a look at each source would teach.

    Parameters
    ----------
    fleet
        The sources as they are listed; `arrival` must be positive.
    budget
        Cost units per second.
    least
        Seconds between two visits of a source, at least.

    Examples
    --------
    Two sources, one visit per hour. What was never seen is worth a look:

    >>> estimator = LiveEstimator(Fleet(arrival=1 / 86400, decay=[1e-4, 1e-4]), budget=1 / 3600)
    >>> fleet = estimator.mean()
    >>> bool((fleet.arrival * fleet.worth / fleet.decay > estimator.price).all())
    True
    """

    def __init__(self, fleet: Fleet, *, budget: float, least: float = 300.0) -> None:
        super().__init__(fleet)
        if not (math.isfinite(budget) and budget >= 0):
            raise BadInput(f"budget must be finite and not negative, got {budget}")
        self._budget, self._least = budget, least
        #: How many items each source showed when it last showed any.
        self._shown = np.full(len(fleet), np.inf)
        self._market = Market(1.0, 1e-9, max(budget, 1e-12))
        #: The price, and the highest score at which anybody is visited.
        self.price = self._high = 0.0
        #: How many sources were ever seen, how many when prior and price were found, and when.
        self._seen, self._known, self._refitted = 0, 0, -np.inf
        self.refit()

    # What it learns.

    def update(self, crawl: Crawl) -> Estimate:
        """The belief after this crawl; see `Estimator`."""
        return self.update_all([crawl])[0]

    def update_all(self, crawls: Sequence[Crawl]) -> list[Estimate]:
        """The same for many crawls of different sources."""
        rows = np.array([crawl.row for crawl in crawls], dtype=np.int64)
        memory, shown = self._memory[rows], self._shown[rows]
        part = np.flatnonzero([crawl.answered for crawl in crawls])
        if len(part):
            answered = [crawls[at] for at in part.tolist()]
            visits = as_visits(answered, self._memory[rows[part], -1])
            memory[part] = self._after(visits, np.array([crawl.time for crawl in answered]))
            some = visits.shown > 0
            shown[part[some]] = visits.shown[some]
        seen = np.isfinite(memory[:, -1])
        arrival, decay, worth = self._handed_over(memory, rows, shown, seen, 1.0)
        packed = np.column_stack([memory, shown]).tolist()
        return [
            Estimate(
                row=crawl.row, time=crawl.time, arrival=rate, decay=fades, worth=value,
                memory=tuple(numbers),
            )
            for crawl, rate, fades, value, numbers in zip(
                crawls, arrival.tolist(), decay.tolist(), worth.tolist(), packed, strict=True,
            )
        ]  # fmt: skip

    def apply(self, estimate: Estimate) -> None:
        """Believe it from now on; the memory of another kind of estimator tells nothing."""
        if len(estimate.memory) != _STAMPS + 1:
            return
        self._seen += math.isinf(self._memory[estimate.row, -1])
        self._memory[estimate.row] = estimate.memory[:_STAMPS]
        self._shown[estimate.row] = estimate.memory[_STAMPS]
        self._since = min(self._since, estimate.memory[7])

    def learn(self, visits: Visits) -> None:
        """Update and apply a batch; see `Estimator`."""
        super().learn(visits)
        self._seen = int(np.isfinite(self.answered).sum())
        some = visits.shown > 0
        self._shown[visits.row[some]] = visits.shown[some]

    # Who there is.

    def add(self, fleet: Fleet) -> Fleet:
        """New sources in the next rows; as they are handed over."""
        if len(fleet) and not (fleet.arrival > 0).all():
            raise BadInput("arrival is 0, which no observation could correct; give a small guess")
        first, fresh = len(self._fleet), StampEstimator(fleet)
        self._memory = np.concatenate([self._memory, fresh._memory])
        self._shown = np.concatenate([self._shown, np.full(len(fleet), np.inf)])
        self._fleet = self._fleet.concat(fleet)
        arrival, decay, worth = self.curves(np.arange(first, len(self._fleet)))
        return fleet.replace(arrival=arrival, decay=decay, worth=worth, window=np.inf)

    def relist(self, row: int, source: Source) -> Estimate:
        """The operator says something else about a source; what is handed over from now on."""
        changed = {}
        for name in ("decay", "worth", "cost", "window"):
            column = getattr(self._fleet, name).copy()
            column[row] = getattr(source, name)
            changed[name] = column
        self._fleet = self._fleet.replace(**changed)
        arrival, decay, worth = self.curves(np.array([row]))
        memory = (*self._memory[row].tolist(), float(self._shown[row]))
        return Estimate(
            row=row, time=self._refitted, arrival=float(arrival[0]), decay=float(decay[0]),
            worth=float(worth[0]), memory=memory,
        )  # fmt: skip

    # What it hands over.

    def mean(self) -> Fleet:
        """The fleet with its mean rates, and worths that say when a visit is worth its price."""
        arrival, decay, worth = self.curves(np.arange(len(self._fleet)))
        # How much a source shows is in its curve by now.
        return self._fleet.replace(arrival=arrival, decay=decay, worth=worth, window=np.inf)

    def curves(self, rows: Rows) -> Beliefs:
        """Rate, decay and worth of these sources as they would be handed over now."""
        found = np.empty((3, len(rows)))
        for at in range(0, len(rows), _BLOCK):
            found[:, at : at + _BLOCK] = self._of(rows[at : at + _BLOCK])
        return found[0], found[1], found[2]

    def _covered(
        self, visits: Visits, now: Array, age: Array, gap: Array, first: Mask, opening: Array
    ) -> Array:
        """The time up to now of which a visit has seen all items.

        A source that shows nothing at all has been silent for as long as others' records go back,
        however much it would show.
        """
        covered = super()._covered(visits, now, age, gap, first, opening)
        since = np.minimum.accumulate(np.minimum(opening, self._since))
        silent = first & (visits.shown == 0) & np.isfinite(since)
        return np.where(silent, np.maximum(now - since, 0.0), covered)

    # What they are like together.

    def refit_due(self, now: float) -> bool:
        """Whether prior and price should be found anew."""
        if math.isfinite(self._refitted) and now >= self._refitted + _REFIT:
            return True
        complete = self._seen == len(self._fleet) > self._known
        return complete or self._seen > _GROWTH * self._known + _FEW

    def refit(self) -> None:
        """Find the prior and the price from what is remembered."""
        super().refit()
        answered = self.answered
        seen = np.isfinite(answered)
        self._seen = self._known = int(seen.sum())
        self._refitted = float(answered[seen].max(initial=-np.inf))
        n = len(self._fleet)
        if not n or not self._budget:
            return
        stride = max(-(-n // _SAMPLE), 1)
        rows = np.arange(0, n, stride)
        self._settle(rows, self._budget / stride)

    def _settle(self, rows: Rows, budget: float) -> None:
        memory = self._memory[rows]
        traits = self._traits(memory, rows, self._shown[rows], np.isfinite(memory[:, -1]))
        belief = self._belief(memory, rows, self._faded(memory))
        self._market.budget = budget
        self._market.epoch = self._least * float(np.median(traits.decay))
        self.price, self._high = settle(
            self._market, belief, traits, silence_of(memory, self.reach),
            reach=self.reach, span=self.span, least=self._least,
        )  # fmt: skip

    def _of(self, rows: Rows) -> Beliefs:
        memory = self._memory[rows]
        seen = np.isfinite(memory[:, -1])
        return self._handed_over(memory, rows, self._shown[rows], seen, self._faded(memory))

    def _faded(self, memory: Array) -> Array:
        """What is left of the evidence at the time of the last refit."""
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            faded = np.exp(-np.maximum(self._refitted - memory[:, -1], 0.0) / self.reach)
        return np.where(np.isfinite(memory[:, -1]), faded, 1.0)

    def _handed_over(
        self, memory: Array, rows: Rows, shown: Array, seen: Mask, faded: Array | float
    ) -> Beliefs:
        belief = self._belief(memory, rows, faded)
        traits = self._traits(memory, rows, shown, seen)
        score = scores(belief, traits, self._market, self.reach, self.span)
        if self._high > 0:
            new = np.flatnonzero(~seen)
            score[new] = np.minimum(score[new], _FIRST_LOOK * self._high)
        ceiling, decay = plain_curves(score, self.price)
        decay = np.where(seen, decay, traits.decay)
        arrival = belief.mean
        worth = ceiling * decay * traits.cost / arrival
        return arrival, _rounded(decay), _rounded(worth)

    def _traits(self, memory: Array, rows: Rows, shown: Array, seen: Mask) -> Traits:
        fleet = self._fleet
        return Traits(
            # What never fades does so in a thousand years.
            decay=np.maximum(fleet.decay[rows], _SLOWEST),
            cost=fleet.cost[rows],
            worth=self._worth(memory, rows),
            window=np.minimum(shown, fleet.window[rows]),
            seen=seen,
            silent=silence_of(memory, self.reach).silent,
        )


def _rounded(numbers: Array) -> Array:
    """To seven digits: one source alone and among others then agree to the last bit."""
    return numbers.astype(np.float32).astype(np.float64)
