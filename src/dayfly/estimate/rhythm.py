"""When sources publish: the fleet's hour-of-week profile, and each source's own version of it.

A rate by the clock is items over *exposure*, and a visit covers only the time that its timestamps
speak of: since the last visit, or since the oldest item shown where the window may have hidden
older ones. The fleet's profile has 168 cells,

    s(h) ∝ (n_h + κ)/(E_h·mean rate + κ)

A single source has too few items for that. It remembers counts and exposure in six blocks of the
day, and is compared with a small family: no rhythm; the fleet's profile, weaker or stronger and
shifted by whole hours (another time zone); and a plain wave. How common each member is, the fleet
says (expectation–maximisation over all sources); with that prior a source's belief is a weight per
member, and the member nearest to the mean of the belief is its profile. A source about which little
is known where sources differ has a mean without rhythm: then nothing is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.errors import BadInput
from dayfly.estimate.mixture import mixing_weights, posterior
from dayfly.model import Array, Counts, Mask, Rows, Visits

HOUR, DAY, WEEK = 3600.0, 86400.0, 604800.0
#: 1970-01-01 was a Thursday; weeks are counted from Monday.
_MONDAY = 3 * DAY
CELLS, BLOCKS = 168, 6
#: How strongly a member follows its template, and by how many hours it may be shifted.
STRENGTHS = (0.3, 0.6, 1.0, 1.5)
SHIFTS = tuple(range(0, 24, 2))
#: Items that one cell of the fleet's profile weighs against the mean before any was seen.
_KAPPA = 20.0
#: A rate that is never quite 0: a profile must not rule out what it has not seen yet.
_LEAST = 0.02
#: A rhythm whose relative entropy is below this is none; a wave of ±14 % has so much.
_FAINT = 0.005


@dataclass(frozen=True, kw_only=True, eq=False)
class Rhythms:
    """The profile of every source as a member of a small family.

    The profile of a source is `profiles[shape]`, later by `shift` hours; shape −1 has none.
    """

    #: Rate by hour of the week, mean 1; shape (n_shapes, 168).
    profiles: Array
    #: Of each source: which profile, and by how many hours it comes later.
    shape: Counts
    shift: Counts


class RhythmEstimator:
    """Learns when each source publishes, from the timestamps that visits show.

    Thirteen floats per source, two per hour of the week for the fleet. It says nothing about how
    much a source publishes; that is for the estimators of rates.

    Examples
    --------
    >>> RhythmEstimator(2).rhythms().shape          # nothing seen: no rhythm
    array([-1, -1])
    """

    def __init__(self, sources: int) -> None:
        if sources < 0:
            raise BadInput(f"there cannot be {sources} sources")
        #: Per source: items and time covered in each block of the day, and the last visit.
        self.count_ = np.zeros((sources, BLOCKS))
        self.exposure_ = np.zeros((sources, BLOCKS))
        self.answered_ = np.full(sources, -np.inf)
        #: Of the fleet: items and expected items (time covered × rate of the source) by hour.
        self.items_ = np.zeros(CELLS)
        self.expected_ = np.zeros(CELLS)

    def learn(self, visits: Visits) -> None:
        """What these visits say; each answered."""
        row, now = visits.row, visits.time
        last = self.answered_[row]
        hidden = (visits.new >= visits.shown) & (visits.shown > 0)
        # A date from the future covers nothing; one from long ago covers no more than a gap.
        opens = np.where(hidden, np.fmax(last, np.minimum(now - visits.oldest, now)), last)
        known = np.isfinite(opens) & (opens < now)
        begins = np.where(known, opens, now)
        self.exposure_[row] += _covered(now, DAY, BLOCKS) - _covered(begins, DAY, BLOCKS)
        # The item that opens the interval says when it opens, not how often items come.
        inside = visits.is_new & (visits.published > np.repeat(begins, visits.shown))
        inside &= visits.published <= now
        when = visits.published[inside]
        which = np.repeat(row, visits.shown)[inside]
        np.add.at(self.count_, (which, _cell(when, DAY, BLOCKS)), 1.0)
        self.answered_[row] = now
        self._learn_fleet(row, begins, now, when)

    def _learn_fleet(self, row: Rows, begins: Array, now: float, when: Array) -> None:
        time = self.exposure_[row].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(time > 0, self.count_[row].sum(axis=1) / time, 0.0)
        covers = _covered(now, WEEK, CELLS) - _covered(begins, WEEK, CELLS)
        self.expected_ += rate @ covers
        self.items_ += np.bincount(_cell(when, WEEK, CELLS), minlength=CELLS)

    def profile(self) -> Array:
        """Rate of the fleet by hour of the week, relative to the mean."""
        s = (self.items_ + _KAPPA) / (self.expected_ + _KAPPA)
        # Neighbouring hours say much about each other.
        s = 0.25 * np.roll(s, 1) + 0.5 * s + 0.25 * np.roll(s, -1)
        s = np.maximum(s / s.mean(), _LEAST)
        found: Array = s / s.mean()
        return found

    def rhythms(self, burst: Array | float = 1.0) -> Rhythms:
        """The profile of every source, as far as it can be told.

        Items that come in bursts are less evidence than their number: n of them count like
        n/`burst`.
        """
        profiles = np.array([*_stronger(np.log(self.profile())), *_stronger(_WAVE)])
        members = [(shape, shift) for shape in range(len(profiles)) for shift in SHIFTS]
        which = np.array([(-1, 0), *members])
        blocks = np.array(
            [np.ones(BLOCKS), *(_blocks(np.roll(profiles[a], b)) for a, b in members)]
        )
        likelihood = self._likelihood(blocks) / np.broadcast_to(burst, len(self.count_))[:, None]
        seen = self._counted() > 0
        nobody = Rhythms(
            profiles=profiles,
            shape=np.full(len(seen), -1, dtype=np.int64),
            shift=np.zeros(len(seen), dtype=np.int64),
        )
        if not seen.any():
            return nobody
        weights = mixing_weights(likelihood[seen])
        beside = likelihood[seen] - likelihood[seen, :1]
        most = beside.max(axis=1)
        gain = most + np.log(np.exp(beside - most[:, None]) @ weights)
        # A family so large fits something to any noise: half a unit per member, as is usual.
        if gain.sum() < 0.5 * len(blocks):
            return nobody
        belief = posterior(likelihood, weights) @ blocks
        # Nearest in relative entropy, and near to no rhythm is none.
        best = (belief @ np.log(blocks).T).argmax(axis=1)
        best[(belief * np.log(belief)).mean(axis=1) < _FAINT] = 0
        return Rhythms(profiles=profiles, shape=which[best, 0], shift=which[best, 1])

    def _counted(self) -> Array:
        total: Array = self.count_.sum(axis=1)
        return total

    def _likelihood(self, blocks: Array) -> Array:
        """Log-likelihood of each source's counts under each member, its own rate profiled out."""
        covers = self.exposure_ @ blocks.T
        some = self.exposure_.sum(axis=1) > 0
        mean = np.log(np.where(some[:, None], covers, 1.0))
        found: Array = self.count_ @ np.log(blocks).T - self._counted()[:, None] * mean
        return found

    @property
    def known(self) -> Mask:
        """Whether anything is known about each source."""
        return self._counted() > 0


def hour_of_week(time: float) -> float:
    """Hours since Monday, 0:00 UTC, as a fraction: 0 ≤ h < 168."""
    return (time + _MONDAY) % WEEK / HOUR


#: A plain wave with its peak at midnight.
_WAVE = np.cos(2 * np.pi * (np.arange(CELLS) + 0.5) / 24)


def _stronger(log: Array) -> list[Array]:
    """A template at each strength."""
    raised = [np.exp(strength * log) for strength in STRENGTHS]
    return [s / s.mean() for s in raised]


def _blocks(profile: Array) -> Array:
    """A profile of the week seen through the blocks of the day."""
    seen = profile.reshape(7, BLOCKS, -1).mean(axis=(0, 2))
    found: Array = seen / seen.mean()
    return found


def _cell(time: Array, period: float, cells: int) -> Counts:
    found: Counts = ((time + _MONDAY) % period // (period / cells)).astype(np.int64)
    return np.minimum(found, cells - 1)


def _covered(until: float | Array, period: float, cells: int) -> Array:
    """Time that each cell has had up to an instant; differences of it are exposures."""
    t = np.atleast_1d(np.asarray(until, dtype=np.float64) + _MONDAY)[:, None]
    width = period / cells
    whole = np.floor(t / period)
    found: Array = whole * width + np.clip(t - whole * period - width * np.arange(cells), 0, width)
    return found
