"""Ours in a live crawl: the score of `learner.py`, handed over as curves that a calendar can keep.

What each source is handed over with crosses the price when its score does (`curves.py`). A source
that was never visited is worth what the prior says waits there and all that a first look teaches,
up to ten times the price (or the highest score at which anybody is visited, where the rules hold
sources back for longer): so it comes before nearly all others. More would be said in vain, and
harm: a first look is made once, and a price that has followed such worths up takes long to come
down when there is nothing left to discover; meanwhile the budget would not be spent.

The price is the one at which all sources, visited when their scores reach it, spend the budget.
It is found when the prior is, and so is who has which rhythm, from the memories alone; between two
refits all of them stand still.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dayfly.errors import BadInput
from dayfly.estimate import Estimate
from dayfly.estimate.crawls import as_visits
from dayfly.estimate.daytime import NUMBERS, after, no_hours, packed, unpacked
from dayfly.estimate.memory import ANSWERED, OLDEST, burstiness
from dayfly.estimate.silence import silence_of
from dayfly.estimate.stamps import StampEstimator
from dayfly.learn.clearing import settle
from dayfly.learn.curves import Beliefs, handed_over
from dayfly.learn.explore import Market
from dayfly.learn.score import Traits, harvests, scores
from dayfly.learn.timing import Timing
from dayfly.model import NUMBERS as COLUMNS
from dayfly.model import Array, Crawl, Fleet, Mask, Rows, Source, Visits

_DAY = 86400.0
#: Prior and price are found anew so often, in seconds …
_REFIT = 1.0 * _DAY
#: … and whenever the number of sources that were ever seen has grown by this factor: the first of
#: all at once, or the others would be held to what was guessed of them before anything was known.
_GROWTH = 1.3
#: The price is found on a sample of so many sources; beliefs are worked out so many at a time.
_SAMPLE, _BLOCK = 2048, 4096
_SLOWEST = 1e-3 / (365 * _DAY)
#: How many numbers of a memory are the stamps'; how much was shown comes next, then the hours,
#: which memories of earlier versions do not have.
_STAMPS = 9
_WITHOUT_HOURS = _STAMPS + 1


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
        #: At what time of day each has published, and what follows from it.
        self._hours, self._timing = no_hours(len(fleet)), Timing(len(fleet))
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
        memory, shown, hours = self._memory[rows], self._shown[rows], self._hours[rows]
        part = np.flatnonzero([crawl.answered for crawl in crawls])
        if len(part):
            answered = [crawls[at] for at in part.tolist()]
            now, last = np.array([crawl.time for crawl in answered]), memory[part, ANSWERED]
            visits = as_visits(answered, last)
            memory[part] = self._after(visits, now)
            hours[part] = after(hours[part], visits, now, last, self.reach)
            some = visits.shown > 0
            shown[part[some]] = visits.shown[some]
        seen = np.isfinite(memory[:, ANSWERED])
        arrival, decay, worth = self._handed_over(memory, rows, shown, seen, 1.0)
        numbers = np.column_stack([memory, shown, packed(hours)]).tolist()
        return [
            Estimate(
                row=crawl.row, time=crawl.time, arrival=rate, decay=fades, worth=value,
                memory=tuple(remembered),
            )
            for crawl, rate, fades, value, remembered in zip(
                crawls, arrival.tolist(), decay.tolist(), worth.tolist(), numbers, strict=True,
            )
        ]  # fmt: skip

    def apply(self, estimate: Estimate) -> None:
        """Believe it from now on; the memory of another kind of estimator tells nothing."""
        row, memory = estimate.row, estimate.memory
        if len(memory) not in (_WITHOUT_HOURS, _WITHOUT_HOURS + NUMBERS):
            return
        self._seen += math.isinf(self._memory[row, ANSWERED])
        self._memory[row] = memory[:_STAMPS]
        self._shown[row] = memory[_STAMPS]
        hours = memory[_WITHOUT_HOURS:]
        self._hours[row] = unpacked(hours) if hours else 0.0
        self._since = min(self._since, memory[OLDEST])

    def learn(self, visits: Visits) -> None:
        """Update and apply a batch; see `Estimator`."""
        rows, now = visits.row, np.full(len(visits.row), visits.time)
        last = self.answered[rows]
        self._hours[rows] = after(self._hours[rows], visits, now, last, self.reach)
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
        self._hours = np.concatenate([self._hours, no_hours(len(fleet))])
        self._timing.add(len(fleet))
        self._fleet = self._fleet.concat(fleet)
        arrival, decay, worth = self.curves(np.arange(first, len(self._fleet)))
        return fleet.replace(arrival=arrival, decay=decay, worth=worth, window=np.inf)

    def relist(self, rows: Rows, sources: Sequence[Source]) -> list[Estimate]:
        """The operator says something else about these; what is handed over from now on."""
        fleet, said = self._fleet, Fleet.of(sources)
        columns = {name: getattr(fleet, name) for name in COLUMNS}
        for name in ("decay", "worth", "cost", "window"):
            columns[name] = columns[name].copy()
            columns[name][rows] = getattr(said, name)
        # All others were checked before: to do it again would take longer the more there are.
        self._fleet = Fleet.assemble(
            columns, kind_code=fleet.kind_code, host_code=fleet.host_code, hosts=fleet.hosts
        )
        shown = self._shown[rows]
        memory = np.column_stack([self._memory[rows], shown, packed(self._hours[rows])])
        return [
            Estimate(
                row=row, time=self._refitted, arrival=rate, decay=fades, worth=value,
                memory=tuple(remembered),
            )
            for row, rate, fades, value, remembered in zip(
                rows.tolist(), *(column.tolist() for column in self.curves(rows)), memory.tolist(),
                strict=True,
            )
        ]  # fmt: skip

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
        return complete or self._seen > _GROWTH * self._known

    def refit(self) -> None:
        """Find the prior and the price from what is remembered."""
        super().refit()
        answered = self.answered
        seen = np.isfinite(answered)
        self._seen = self._known = int(seen.sum())
        self._refitted = float(answered[seen].max(initial=-np.inf))
        burst = burstiness(self._memory, self.reach)
        rhythm = self._timing.fit(self._hours, burst, self._fleet.decay)
        n = len(self._fleet)
        if not n or not self._budget:
            return
        stride = max(-(-n // _SAMPLE), 1)
        rows = np.arange(0, n, stride)
        self._settle(rows, self._budget / stride)
        if rhythm and self.price > 0:
            self._keep_time(rows[seen[rows]])

    def _settle(self, rows: Rows, budget: float) -> None:
        memory = self._memory[rows]
        traits = self._traits(memory, rows, self._shown[rows], np.isfinite(memory[:, ANSWERED]))
        belief = self._belief(memory, rows, self._faded(memory))
        self._market.budget = budget
        self._market.epoch = self._least * float(np.median(traits.decay))
        self.price, self._high = settle(
            self._market, belief, traits, silence_of(memory, self.reach),
            reach=self.reach, span=self.span, least=self._least,
        )  # fmt: skip

    def _keep_time(self, rows: Rows) -> None:
        """What the price is at each hour, as these sources are visited at theirs."""
        memory = self._memory[rows]
        known = np.ones(len(rows), dtype=np.bool_)
        traits = self._traits(memory, rows, self._shown[rows], known)
        belief = self._belief(memory, rows, self._faded(memory))
        harvest = harvests(belief, traits, self.span)
        score = scores(harvest, belief, traits, self._market, self.reach, self.span)
        self._timing.balance(rows, score, harvest, self.price, cost=traits.cost, least=self._least)

    def _of(self, rows: Rows) -> Beliefs:
        memory = self._memory[rows]
        seen = np.isfinite(memory[:, ANSWERED])
        return self._handed_over(memory, rows, self._shown[rows], seen, self._faded(memory))

    def _faded(self, memory: Array) -> Array:
        """What is left of the evidence at the time of the last refit."""
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            faded = np.exp(-np.maximum(self._refitted - memory[:, ANSWERED], 0.0) / self.reach)
        return np.where(np.isfinite(memory[:, ANSWERED]), faded, 1.0)

    def _handed_over(
        self, memory: Array, rows: Rows, shown: Array, seen: Mask, faded: Array | float
    ) -> Beliefs:
        return handed_over(
            self._belief(memory, rows, faded), self._traits(memory, rows, shown, seen),
            rows, memory[:, ANSWERED], market=self._market, timing=self._timing,
            price=self.price, high=self._high, reach=self.reach, span=self.span,
        )  # fmt: skip

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
