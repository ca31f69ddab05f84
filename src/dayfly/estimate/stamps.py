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
from dayfly.estimate.credibility import credibility
from dayfly.estimate.prior import Mixture, RatePrior
from dayfly.model import Array, Counts, Crawl, Fleet, Mask, Rows, Visits

_DAY = 86400.0
#: Burstiness of a source of which little was seen, and how many items that guess weighs.
_BURST, _BURST_ITEMS = 1.5, 4.0
#: A single silence must not outweigh all that came after it.
_MOST_BURST = 16.0
_BLOCK = 1 << 13
#: Columns of what is remembered of a source.
_COUNT, _TIME, _SQUARES, _NEWEST, _LATELY, _LATE_TIME, _WORTH, _OLDEST, _ANSWERED = range(9)


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Silence:
    """What is known of sources that had nothing to show when they were first looked at."""

    #: Who has shown nothing to this day, and who has begun since.
    silent: Mask
    woken: Mask
    #: How much of each beginning is still remembered, and the time for which all of them together
    #: were silent, in seconds, as far as that is.
    remembered: Array
    watched: float


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
        self._memory = np.zeros((len(fleet), 9))
        self._memory[:, [_NEWEST, _ANSWERED]] = -np.inf
        self._memory[:, _OLDEST] = np.inf
        #: The oldest date that a first visit has shown: how far back records go.
        self._since = np.inf

    @property
    def answered(self) -> Array:
        """When each source last answered; minus infinity if it never did."""
        found: Array = self._memory[:, _ANSWERED]
        return found

    def update(self, crawl: Crawl) -> Estimate:
        """The belief after this crawl; see `Estimator`."""
        rows = np.array([crawl.row])
        memory = self._memory[rows]
        if crawl.answered:
            memory = self._after(
                _of_crawl(crawl, float(memory[0, _ANSWERED])), np.array([crawl.time])
            )
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
        self._since = min(self._since, estimate.memory[_OLDEST])

    def learn(self, visits: Visits) -> None:
        """Update and apply a batch; see `Estimator`."""
        # Some at a time: what is computed on the way stays in the cache.
        for first in range(0, len(visits.row), _BLOCK):
            some = visits.part(first, first + _BLOCK)
            after = self._after(some, np.full(len(some.row), visits.time))
            self._memory[some.row] = after
            self._since = min(self._since, float(after[:, _OLDEST].min(initial=np.inf)))

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
        burst = self._burst(memory)
        scale = self._fleet.arrival[seen]
        self.prior.fit(memory[:, _COUNT] / burst, memory[:, _TIME] / burst * scale)
        self.worth, self._worth_items = credibility(memory[:, _COUNT], memory[:, _WORTH])

    def belief(self, rows: Rows, now: float) -> Belief:
        """What is believed of these sources if it is `now`: evidence has faded since the visit."""
        memory = self._memory[rows]
        faded = np.exp(-np.maximum(now - memory[:, _ANSWERED], 0.0) / self.reach)
        return self._belief(memory, rows, np.where(np.isfinite(memory[:, _ANSWERED]), faded, 1.0))

    def worth_of(self, rows: Rows) -> Array:
        """Mean worth of a new item at these sources."""
        return self._worth(self._memory[rows], rows)

    def silence(self, rows: Rows) -> Silence:
        """Who of these sources had nothing to show."""
        return silence_of(self._memory[rows], self.reach)

    def _belief(self, memory: Array, rows: Rows, faded: Array | float = 1.0) -> Belief:
        scale, burst = self._fleet.arrival[rows], self._burst(memory)
        mixture = self.prior.belief(
            memory[:, _COUNT] * faded / burst, memory[:, _TIME] * faded / burst * scale
        )
        mean = mixture.mean * scale
        shape = mean * self.span / np.maximum(burst - 1.0, 1e-6)
        level = (shape + memory[:, _LATELY]) / (shape / mean + memory[:, _LATE_TIME])
        return Belief(mixture=mixture, scale=scale, burst=burst, shape=shape, level=level)

    def _burst(self, memory: Array) -> Array:
        """φ, from the squares of the gaps, the one that is still open among them; at least 1."""
        count, time = memory[:, _COUNT] + 1.0, memory[:, _TIME]
        with np.errstate(invalid="ignore"):
            still_open = self._effective(memory[:, _ANSWERED] - memory[:, _NEWEST])
        squares = memory[:, _SQUARES] + np.where(np.isnan(still_open), 0.0, still_open) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.where(time > 0, count * squares / time**2 - 1.0, _BURST)
        found = (_BURST_ITEMS * _BURST + count * spread) / (_BURST_ITEMS + count)
        return np.clip(found, 1.0, _MOST_BURST)

    def _worth(self, memory: Array, rows: Rows) -> Array:
        lean = self._worth_items
        share = (lean * self.worth + memory[:, _WORTH]) / (lean + memory[:, _COUNT])
        found: Array = self._fleet.worth[rows] * share
        return found

    def _effective(self, time: Array) -> Array:
        """A stretch of time that ends now, as far as it is remembered."""
        return -np.expm1(-np.maximum(time, 0.0) / self.reach) * self.reach

    def _after(self, visits: Visits, now: Array) -> Array:
        """What will be remembered of the sources visited, each at its own instant."""
        rows = visits.row
        # By columns: each of them is read and written several times.
        old = np.ascontiguousarray(self._memory.take(rows, axis=0).T)
        answered = old[_ANSWERED]
        first = np.isinf(answered)
        gap = np.where(first, np.inf, np.maximum(now - answered, 0.0))
        age = now - visits.opening
        opening = np.where(first, np.nan_to_num(now - age, nan=np.inf), old[_OLDEST])
        covered = self._covered(visits, now, age, gap, first, opening)
        fade, fade_fast = np.exp(-gap / self.reach), np.exp(-gap / self.span)
        kept = np.repeat(visits.start[1:] - visits.new, visits.new) + _counting(visits.new)
        visit = np.repeat(np.arange(len(rows)), visits.new)
        # Whatever its date says, an item first seen now came since the last visit.
        earliest = np.maximum(now - covered, -1e300)
        date = np.minimum(np.maximum(visits.published[kept], earliest[visit]), now[visit])
        since = date - now[visit]
        weight = np.exp(since / self.reach)
        missing = (covered < gap) & ~first
        silence = self._effective(_silence(date, visit, old, missing))

        def total(value: Array) -> Array:
            return np.bincount(visit, value, minlength=len(rows)).astype(np.float64, copy=False)

        newest = np.where(first, now - covered, old[_NEWEST])
        newest[visit] = date  # oldest first, so the last one stays
        new = np.empty_like(old)
        new[_COUNT] = old[_COUNT] * fade + total(weight)
        new[_TIME] = old[_TIME] * fade + self._effective(covered)
        new[_SQUARES] = old[_SQUARES] * fade + total(
            weight * silence**2 * np.where(missing, fade, 1.0)[visit]
        )
        new[_NEWEST] = newest
        new[_LATELY] = old[_LATELY] * fade_fast + total(np.exp(since / self.span))
        new[_LATE_TIME] = old[_LATE_TIME] * fade_fast - self.span * np.expm1(-covered / self.span)
        new[_WORTH] = old[_WORTH] * fade + total(weight * visits.worth[kept])
        new[_OLDEST] = opening
        new[_ANSWERED] = np.where(first, now, np.maximum(answered, now))
        return new.T

    def _covered(
        self, visits: Visits, now: Array, age: Array, gap: Array, first: Mask, opening: Array
    ) -> Array:
        """The time up to now of which a visit has seen all items."""
        # Visits of one batch come one after the other: each knows of those before it.
        since = np.minimum.accumulate(np.minimum(opening, self._since))
        records = np.where(np.isfinite(since), np.maximum(now - since, 0.0), 0.0)
        window = self._fleet.window[visits.row]
        unknown = np.isinf(window)
        full = (visits.new > 0) & (visits.new >= np.where(unknown, visits.shown, window))
        oldest = np.maximum(np.nan_to_num(age, nan=0.0), 0.0)
        covered = np.where(full, np.minimum(oldest, gap), np.where(first, records, gap))
        # A first visit to a feed that shows nothing, and who knows how much it would show.
        return np.where(first & unknown & ~full, 0.0, covered)


def silence_of(memory: Array, reach: float) -> Silence:
    """Who of the sources with these memories had nothing to show; memories fade in `reach`."""
    empty = np.isinf(memory[:, _OLDEST]) & np.isfinite(memory[:, _ANSWERED])
    silent = empty & (memory[:, _COUNT] == 0)
    woken = empty & ~silent
    # A time t is remembered as T = R (1 − e^(−t/R)). When in that time somebody woke is not known:
    # any moment is as likely as another. On average T/t is left of that moment, and
    # of the silence before it R (T/t − e^(−t/R)).
    time = memory[woken, _TIME]
    left = np.maximum(1.0 - time / reach, 1e-9)
    passed = -reach * np.log(left)
    with np.errstate(invalid="ignore"):
        remembered = np.where(time > 0, time / passed, 1.0)
    watched = float(memory[silent, _TIME].sum()) + reach * float((remembered - left).sum())
    return Silence(silent=silent, woken=woken, remembered=remembered, watched=watched)


def _silence(date: Array, visit: Rows, old: Array, missing: Mask) -> Array:
    """The time that passed before each item without any; 0 where that is not known."""
    before = np.concatenate([date[:1], date[:-1]])
    opens = np.concatenate([[True], visit[1:] != visit[:-1]])[: len(date)]
    newest, answered = old[_NEWEST][visit], old[_ANSWERED][visit]
    # Where items were pushed out unseen, the silence that was known before has ended at some time.
    until = np.where(missing[visit], answered, date)
    with np.errstate(invalid="ignore"):
        known = np.where(np.isfinite(newest), until - newest, 0.0)
    return np.maximum(np.where(opens, known, date - before), 0.0)


def _counting(counts: Counts) -> Counts:
    """0, 1, … for each count: [2, 3] gives 0 1 0 1 2."""
    ends = np.cumsum(counts)
    found: Counts = np.arange(int(counts.sum())) - np.repeat(ends - counts, counts)
    return found


def _of_crawl(crawl: Crawl, answered: float) -> Visits:
    """One crawl as a batch: its new items last, others that were visible before them."""
    first = math.isinf(answered)
    items = [item for item in crawl.items if item.published is not None or not first]
    dates = np.array(
        [crawl.time if item.published is None else item.published for item in items],
        dtype=np.float64,
    )
    order = np.argsort(dates, kind="stable")
    worth = np.array([item.worth for item in items], dtype=np.float64)[order]
    # Who shows items without dates is not empty.
    hidden = max(crawl.visible - (len(crawl.items) if items else 0), 0)
    oldest = crawl.time - (crawl.oldest_s if crawl.oldest_s is not None else 0.0)
    return Visits(
        time=crawl.time,
        row=np.array([crawl.row]),
        gap=np.array([crawl.time - answered]),
        start=np.array([0, hidden + len(items)]),
        published=np.concatenate([np.full(hidden, oldest), dates[order]]),
        worth=np.concatenate([np.ones(hidden), worth]),
        new=np.array([len(items)]),
        value=np.array([crawl.value]),
    )
