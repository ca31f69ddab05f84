"""Arrival rates from the dates of items: what was seen fades, and the fleet lends its prior.

Three numbers say what a source is like, on three time scales.

**The mean rate.** A visit adds n new items over the time since the last answer. A feed that shows
K items, all of them new, may have pushed others out unseen: then it adds K items over the age of
the oldest of them. A first visit is evidence too: its dated items reach back in time. Where the
window is known and not filled, the source has shown all that it ever had, and was silent before,
as far back as the records of the fleet go: to the oldest item that any first visit has shown.
Evidence fades by half in `half_life`, because sources drift, die and wake up; what is left of it
meets the fleet's prior (`prior.py`).

**Burstiness.** Items that come in clusters are worth less evidence than their number: with gaps of
squared coefficient of variation φ (1 for a Poisson stream; for a renewal stream the variance of
counts over their mean) n items in a time e count like n/φ items in e/φ.

**The present level.** A bursty source is now above its mean, now below. Let the level stay for a
span θ and then be drawn anew from a Gamma law of shape κ around the mean m. Counts over one span
have variance mθ + (mθ)²/κ, which is φ times the mean for κ = mθ/(φ − 1). With n items lately in a
time e, both forgotten at rate 1/θ, the level is (κ + n)/(κ/m + e).

Dates are not trusted: an item first seen now came after the last visit and not after now, whatever
it says. An item without a date came now; at a first visit it says nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dayfly.errors import BadInput
from dayfly.estimate.base import Estimate
from dayfly.estimate.crawls import as_visits
from dayfly.estimate.credibility import credibility
from dayfly.estimate.evidence import add_evidence
from dayfly.estimate.memory import (
    ANSWERED,
    COUNT,
    LATE_TIME,
    LATELY,
    OLDEST,
    TIME,
    WORTH,
    blank,
    burstiness,
    put,
)
from dayfly.estimate.prior import Mixture, RatePrior
from dayfly.estimate.silence import Silence, silence_of
from dayfly.model import Array, Crawl, Fleet, Mask, Rows, Visits

_DAY = 86400.0
#: So many visits at a time: what is computed on the way stays in the cache.
_BLOCK = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Belief:
    """What is believed of some sources at some time; rates per second."""

    #: The mean rate, as a mixture of Gammas, in units of each source's `scale`.
    mixture: Mixture
    scale: Array
    #: Burstiness φ and the shape κ of the law of levels around the mean.
    burst: Array
    shape: Array
    #: The level at the last answer.
    level: Array

    @property
    def mean(self) -> Array:
        """The mean rate."""
        return self.mixture.mean * self.scale

    @property
    def certainty(self) -> Array:
        """Time over which a source must be watched to halve the variance of its mean rate."""
        with np.errstate(divide="ignore"):
            return self.burst * self.mixture.mean / self.mixture.variance / self.scale


class StampEstimator:
    """Learns `arrival` and `worth` from dated items; decay and the rest are taken as known.

    Parameters
    ----------
    fleet
        The sources as they are believed to be before the first crawl; `arrival` must be positive.
        A finite `window` says that a source shows so many items if it has them.
    half_life
        Time in which evidence loses half its weight, in seconds.
    span
        How long a level lasts, in seconds.

    Examples
    --------
    A first visit shows three items, the oldest two hours old:

    >>> from dayfly.model import Item, Status
    >>> estimator = StampEstimator(Fleet(arrival=1 / 3600, decay=1e-4))
    >>> items = tuple(Item(key=str(age), published=1e9 - age) for age in (600, 3600, 7200))
    >>> crawl = Crawl(row=0, time=1e9, status=Status.CHANGED, items=items, visible=3,
    ...               oldest_s=7200.0)
    >>> estimate = estimator.update(crawl)
    >>> 1.0 < estimate.arrival * 3600 < 1.5
    True
    >>> round(estimator.mean()[0].arrival * 3600, 6)         # not applied yet
    1.0
    >>> estimator.apply(estimate)
    >>> estimator.mean()[0].arrival == estimate.arrival
    True
    """

    def __init__(
        self, fleet: Fleet, *, half_life: float = 60 * _DAY, span: float = 1 * _DAY
    ) -> None:
        if len(fleet) and not (fleet.arrival > 0).all():
            row = int(np.flatnonzero(fleet.arrival <= 0)[0])
            raise BadInput(
                f"arrival[{row}] is 0, which no observation could correct; give a small guess"
            )
        for name, given in (("half_life", half_life), ("span", span)):
            if not (math.isfinite(given) and given > 0):
                raise BadInput(f"{name} must be positive and finite, got {given}")
        self._fleet = fleet
        #: Time for which evidence counts in all, ∫2^(−t/h)dt.
        self.reach = half_life / math.log(2.0)
        self.span = span
        self.prior = RatePrior()
        #: Mean worth of an item in the fleet, relative to what its source was listed with.
        self.worth = 1.0
        #: How many items of a source that mean weighs.
        self._worth_items = credibility(np.empty(0), np.empty(0))[1]
        self._memory = blank(len(fleet))
        #: The oldest date that a first visit has shown: how far back records go.
        self._since = np.inf

    @property
    def answered(self) -> Array:
        """When each source last answered; minus infinity if it never did."""
        found: Array = self._memory[:, ANSWERED]
        return found

    def update(self, crawl: Crawl) -> Estimate:
        """The belief after this crawl; see `Estimator`."""
        rows = np.array([crawl.row])
        memory = self._memory[rows]
        if crawl.answered:
            memory = self._after(as_visits([crawl], memory[:, ANSWERED]), np.array([crawl.time]))
        return Estimate(
            row=crawl.row,
            time=crawl.time,
            arrival=float(self._belief(memory, rows).mean[0]),
            decay=float(self._fleet.decay[crawl.row]),
            worth=float(self._worth(memory, rows)[0]),
            memory=tuple(memory[0].tolist()),
        )

    def apply(self, estimate: Estimate) -> None:
        """Believe it from now on."""
        self._memory[estimate.row] = estimate.memory
        self._since = min(self._since, estimate.memory[OLDEST])

    def learn(self, visits: Visits) -> None:
        """Update and apply a batch; see `Estimator`."""
        for first in range(0, len(visits.row), _BLOCK):
            some = visits.part(first, first + _BLOCK)
            after = self._after(some, np.full(len(some.row), visits.time))
            put(self._memory, some.row, after)
            self._since = min(self._since, float(after[:, OLDEST].min(initial=np.inf)))

    def mean(self) -> Fleet:
        """The fleet with posterior mean rates."""
        rows = np.arange(len(self._fleet))
        return self._fleet.replace(
            arrival=self._belief(self._memory, rows).mean, worth=self._worth(self._memory, rows)
        )

    def sample(self, rng: np.random.Generator) -> Fleet:
        """The fleet with rates drawn from the posterior."""
        rows = np.arange(len(self._fleet))
        belief = self._belief(self._memory, rows)
        return self._fleet.replace(
            arrival=belief.mixture.sample(rng) * belief.scale,
            worth=self._worth(self._memory, rows),
        )

    def refit(self) -> None:
        """Learn the fleet's prior, and its mean worth, from all that has been seen of it."""
        seen = np.flatnonzero(np.isfinite(self.answered))
        memory = self._memory[seen]
        burst = burstiness(memory, self.reach)
        scale = self._fleet.arrival[seen]
        self.prior.fit(memory[:, COUNT] / burst, memory[:, TIME] / burst * scale)
        self.worth, self._worth_items = credibility(memory[:, COUNT], memory[:, WORTH])

    def belief(self, rows: Rows, now: float) -> Belief:
        """What is believed of these sources if it is `now`: evidence has faded since the visit."""
        memory = self._memory[rows]
        faded = np.exp(-np.maximum(now - memory[:, ANSWERED], 0.0) / self.reach)
        return self._belief(memory, rows, np.where(np.isfinite(memory[:, ANSWERED]), faded, 1.0))

    def worth_of(self, rows: Rows) -> Array:
        """Mean worth of a new item at these sources."""
        return self._worth(self._memory[rows], rows)

    def silence(self, rows: Rows) -> Silence:
        """Who of these sources had nothing to show."""
        return silence_of(self._memory[rows], self.reach)

    def _belief(self, memory: Array, rows: Rows, faded: Array | float = 1.0) -> Belief:
        scale, burst = self._fleet.arrival[rows], burstiness(memory, self.reach)
        mixture = self.prior.belief(
            memory[:, COUNT] * faded / burst, memory[:, TIME] * faded / burst * scale
        )
        mean = mixture.mean * scale
        shape = mean * self.span / np.maximum(burst - 1.0, 1e-6)
        level = (shape + memory[:, LATELY]) / (shape / mean + memory[:, LATE_TIME])
        return Belief(mixture=mixture, scale=scale, burst=burst, shape=shape, level=level)

    def _worth(self, memory: Array, rows: Rows) -> Array:
        lean = self._worth_items
        share = (lean * self.worth + memory[:, WORTH]) / (lean + memory[:, COUNT])
        found: Array = self._fleet.worth[rows] * share
        return found

    def _after(self, visits: Visits, now: Array) -> Array:
        """What will be remembered of the sources visited, each at its own instant."""
        # By columns: each of them is read and written several times.
        memory = np.ascontiguousarray(self._memory.take(visits.row, axis=0).T)
        gap = np.maximum(now - memory[ANSWERED], 0.0)
        first, opening = np.isinf(gap), memory[OLDEST]
        # Dates lie far apart: only those are fetched that are looked at.
        fresh, full = np.flatnonzero(first), self._full(visits)
        opening[fresh] = _openings(visits, fresh)
        age = np.full(len(now), np.inf)
        age[full] = np.maximum(now[full] - visits.published[visits.start[full]], 0.0)
        covered = self._covered(visits, now, age, gap, first, opening)
        add_evidence(memory, visits, now, gap, covered, self.reach, self.span)
        return memory.T

    def _full(self, visits: Visits) -> Rows:
        """Visits that may have missed items: so many are new as the source can show."""
        window = self._fleet.window[visits.row]
        most = np.where(np.isinf(window), visits.shown, window)
        return np.flatnonzero((visits.new > 0) & (visits.new >= most))

    def _covered(
        self, visits: Visits, now: Array, age: Array, gap: Array, first: Mask, opening: Array
    ) -> Array:
        """The time up to now of which a visit has seen all items.

        `age` is that of the oldest item where others may have been pushed out, infinite elsewhere.
        """
        covered = np.minimum(age, gap)
        fresh = np.flatnonzero(first)
        if not len(fresh):
            return covered
        # Visits of one batch come one after the other: each knows of those before it.
        since = np.minimum.accumulate(np.minimum(opening[fresh], self._since))
        records = np.where(np.isfinite(since), np.maximum(now[fresh] - since, 0.0), 0.0)
        # A first visit to a feed that shows nothing, and who knows how much it would show.
        records[np.isinf(self._fleet.window[visits.row[fresh]])] = 0.0
        covered[fresh] = np.where(np.isinf(age[fresh]), records, covered[fresh])
        return covered


def _openings(visits: Visits, some: Rows) -> Array:
    """When the oldest item shown was published, for some visits; infinite if nothing was."""
    date = np.full(len(some), np.inf)
    start = visits.start[some]
    shows = visits.start[some + 1] > start
    date[shows] = visits.published[start[shows]]
    return date
