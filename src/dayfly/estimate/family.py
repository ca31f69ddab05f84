"""Which rhythm a source follows: one of a small family, or none.

A single source has too few items for a profile of its own. It remembers counts and exposure in six
blocks of the day, and is compared with a family: no rhythm; and a few profiles, each shifted by
whole hours (another time zone). How common each member is, the fleet says (expectation–maximisation
over its sources); with that prior a source's belief is a weight per member, and the member nearest
to the mean of the belief is its profile. A source about which little is known where sources differ
has a mean without rhythm: then nothing is claimed.
"""

from __future__ import annotations

import numpy as np

from dayfly.estimate.mixture import mixing_weights, posterior
from dayfly.model import Array, Counts

#: Blocks of a day in which a source remembers what it saw.
BLOCKS = 6
#: How strongly a member follows its template, and by how many hours it may be shifted.
STRENGTHS = (0.3, 0.6, 1.0, 1.5)
SHIFTS = tuple(range(0, 24, 2))
#: A rhythm whose relative entropy is below this is none; a wave of ±14 % has so much.
_FAINT = 0.005


class Family:
    """Profiles by the hour, each at every shift, and no rhythm at all.

    Parameters
    ----------
    profiles
        Rate by hour, mean 1; shape (n_shapes, n_hours), whole days.

    Examples
    --------
    Six sources publish at night only, one at noon only:

    >>> count = np.array([[40, 2, 2, 2, 2, 40]] * 6 + [[2, 2, 40, 40, 2, 2]])
    >>> exposure, family = np.ones((7, 6)), Family(stronger(wave(24)))
    >>> family.fit(count, exposure)
    True
    >>> shape, shift = family.nearest(count, exposure)
    >>> shift.tolist()                      # hours after midnight at which they peak
    [0, 0, 0, 0, 0, 0, 12]
    """

    def __init__(self, profiles: Array) -> None:
        self.profiles = profiles
        members = [(shape, shift) for shape in range(len(profiles)) for shift in SHIFTS]
        self._which = np.array([(-1, 0), *members])
        self._blocks = np.array(
            [np.ones(BLOCKS), *(_blocks(np.roll(profiles[a], b)) for a, b in members)]
        )
        #: How common each member is; None where the sources have shown no rhythm.
        self._weights: Array | None = None

    def fit(self, count: Array, exposure: Array, burst: Array | float = 1.0) -> bool:
        """Learn how common each member is; whether there is any rhythm.

        Parameters
        ----------
        count, exposure
            Items, and the time in which they were seen, of each source in each block of the day.
        burst
            Items that come in bursts are less evidence than their number: n of them count like
            n/`burst`.
        """
        seen = count.sum(axis=1) > 0
        self._weights = None
        if not seen.any():
            return False
        likelihood = self._likelihood(count, exposure, burst)[seen]
        weights = mixing_weights(likelihood)
        beside = likelihood - likelihood[:, :1]
        most = beside.max(axis=1)
        gain = most + np.log(np.exp(beside - most[:, None]) @ weights)
        # A family so large fits something to any noise: half a unit per member, as is usual.
        if gain.sum() >= 0.5 * len(self._blocks):
            self._weights = weights
        return self._weights is not None

    def nearest(
        self, count: Array, exposure: Array, burst: Array | float = 1.0
    ) -> tuple[Counts, Counts]:
        """Which profile each source follows, −1 for none, and by how many hours later."""
        if self._weights is None:
            return np.full(len(count), -1, dtype=np.int64), np.zeros(len(count), dtype=np.int64)
        likelihood = self._likelihood(count, exposure, burst)
        belief = posterior(likelihood, self._weights) @ self._blocks
        # Nearest in relative entropy, and near to no rhythm is none.
        best = (belief @ np.log(self._blocks).T).argmax(axis=1)
        best[(belief * np.log(belief)).mean(axis=1) < _FAINT] = 0
        return self._which[best, 0], self._which[best, 1]

    def _likelihood(self, count: Array, exposure: Array, burst: Array | float) -> Array:
        """Log-likelihood of each source's counts under each member, its own rate profiled out."""
        covers = exposure @ self._blocks.T
        some = exposure.sum(axis=1) > 0
        mean = np.log(np.where(some[:, None], covers, 1.0))
        found: Array = count @ np.log(self._blocks).T - count.sum(axis=1)[:, None] * mean
        found /= np.broadcast_to(burst, len(count))[:, None]
        return found


def wave(hours: int) -> Array:
    """The logarithm of a plain wave with its peak at midnight, by the hour."""
    found: Array = np.cos(2 * np.pi * (np.arange(hours) + 0.5) / 24)
    return found


def stronger(log: Array) -> Array:
    """A template, given by its logarithm, at each strength: profiles of mean 1."""
    raised = [np.exp(strength * log) for strength in STRENGTHS]
    return np.array([s / s.mean() for s in raised])


def _blocks(profile: Array) -> Array:
    """A profile seen through the blocks of the day."""
    seen = profile.reshape(-1, BLOCKS, 24 // BLOCKS).mean(axis=(0, 2))
    found: Array = seen / seen.mean()
    return found
