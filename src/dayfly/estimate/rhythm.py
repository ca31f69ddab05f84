"""When sources publish: the fleet's hour-of-week profile, and each source's own version of it.

A rate by the clock is items over *exposure* (`exposure.py`). The fleet's profile has 168 cells,

    s(h) ∝ (n_h + κ)/(E_h·mean rate + κ)

A single source has too few items for that: it follows a member of a family (`family.py`), the
fleet's profile, weaker or stronger and shifted by whole hours, or a plain wave, if it follows any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.errors import BadInput
from dayfly.estimate.exposure import DAY, HOUR, MONDAY, WEEK, cell_of, covered_since, time_in_cells
from dayfly.estimate.family import BLOCKS, Family, stronger, wave
from dayfly.model import Array, Counts, Mask, Rows, Visits

CELLS = 168
#: Items that one cell of the fleet's profile weighs against the mean before any was seen.
_KAPPA = 20.0
#: A rate that is never quite 0: a profile must not rule out what it has not seen yet.
_LEAST = 0.02


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
        begins = covered_since(visits, now, self.answered_[row])
        self.exposure_[row] += time_in_cells(now, DAY, BLOCKS) - time_in_cells(begins, DAY, BLOCKS)
        # The item that opens the interval says when it opens, not how often items come.
        inside = visits.is_new & (visits.published > np.repeat(begins, visits.shown))
        inside &= visits.published <= now
        when = visits.published[inside]
        which = np.repeat(row, visits.shown)[inside]
        np.add.at(self.count_, (which, cell_of(when, DAY, BLOCKS)), 1.0)
        self.answered_[row] = now
        self._learn_fleet(row, begins, now, when)

    def _learn_fleet(self, row: Rows, begins: Array, now: float, when: Array) -> None:
        time = self.exposure_[row].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(time > 0, self.count_[row].sum(axis=1) / time, 0.0)
        covers = time_in_cells(now, WEEK, CELLS) - time_in_cells(begins, WEEK, CELLS)
        self.expected_ += rate @ covers
        self.items_ += np.bincount(cell_of(when, WEEK, CELLS), minlength=CELLS)

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
        family = Family(np.array([*stronger(np.log(self.profile())), *stronger(wave(CELLS))]))
        family.fit(self.count_, self.exposure_, burst)
        shape, shift = family.nearest(self.count_, self.exposure_, burst)
        return Rhythms(profiles=family.profiles, shape=shape, shift=shift)

    @property
    def known(self) -> Mask:
        """Whether anything is known about each source."""
        known: Mask = self.count_.sum(axis=1) > 0
        return known


def hour_of_week(time: float) -> float:
    """Hours since Monday, 0:00 UTC, as a fraction: 0 ≤ h < 168."""
    return (time + MONDAY) % WEEK / HOUR
