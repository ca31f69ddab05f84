"""The equations (28)–(31) of [J §VIII] for one threshold, as printed and as they must be read.

V = A + pB + βD solves (28)–(29) for any price p and gain β; a normalisation fixes β and (31) fixes
p. The journal prints V(u) = 0 as (30); the dynamic programming equation (25) rests on ∫V dφ = 0
instead, and only that gives the index: printed, source 1 of Table I with one draw per epoch has
70.9 at .45 u* where 106.4 is right.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from dayfly.errors import BadInput, UnknownName
from dayfly.index.law import EpochLaw
from dayfly.model import Array

NORMALISATIONS = ("corrected", "printed")


@dataclass(frozen=True, kw_only=True)
class Equations:
    """(28)–(29) below one threshold, on a grid whose last point is the threshold's left limit."""

    law: EpochLaw
    threshold: float
    state: Array
    #: Passive transition weights between the grid's states.
    matrix: Array
    #: Chance to cross the threshold in one step, and the expected value found then.
    crossing: Array
    found: Array

    @classmethod
    def at(cls, law: EpochLaw, threshold: float, points: int = 400) -> Equations:
        """Set up the equations; above the threshold everything is exact."""
        if not (np.isfinite(threshold) and threshold > 0):
            raise BadInput(f"a threshold must be positive and finite, got {threshold}")
        x = np.linspace(0.0, threshold, points)
        alpha, lattice = law.retention, law.lattice
        moved = alpha * x[:, None]
        short = lattice.shortfall(x[None, :] - moved)
        slope = np.diff(short, axis=1) / np.diff(x)
        half = lattice.step / 2
        gap = threshold - moved[:, 0]
        below = np.diff(lattice.shortfall(np.stack((gap - half, gap + half))), axis=0)[0] / (
            2 * half
        )
        matrix = np.diff(slope, axis=1, prepend=0.0, append=below[:, None])
        found = moved[:, 0] + law.mean - (threshold * below - short[:, -1])
        return cls(
            law=law, threshold=threshold, state=x, matrix=matrix, crossing=1 - below, found=found
        )

    @functools.cached_property
    def parts(self) -> tuple[Array, Array, Array]:
        """A, B and D of V = A + pB + βD."""
        # [J 28] V = p − β + ∫V(αx + u)φ(du), with [J 29] V = x − β above the threshold.
        right = np.column_stack((self.found, np.ones(len(self.state)), -1.0 - self.crossing))
        a, b, d = np.linalg.solve(np.eye(len(self.state)) - self.matrix, right).T
        return a, b, d

    def normal(self, normalisation: str = "corrected") -> tuple[float, float, float]:
        """The normalisation as a row: its coefficients of 1, p and β, which sum to zero."""
        a, b, d = self.parts
        u = self.law.mean
        if normalisation == "corrected":  # ∫V dφ = V(0) − p + β, because αx + U is U at x = 0
            return float(a[0]), float(b[0]) - 1.0, float(d[0]) + 1.0
        if normalisation != "printed":
            raise UnknownName("normalisation", normalisation, NORMALISATIONS)
        if u >= self.threshold:  # [J 30] V(u) = 0 in the active region
            return u, 0.0, -1.0
        one, p, beta = (float(np.interp(u, self.state, part)) for part in (a, b, d))
        return one, p, beta

    def gain(self, price: float, normalisation: str = "corrected") -> float:
        """β at a price p = Cγ."""
        one, p, beta = self.normal(normalisation)
        return -(one + price * p) / beta

    def value(self, price: float, gain: float) -> Array:
        """V on the grid."""
        a, b, d = self.parts
        return a + price * b + gain * d


def literal_index(
    law: EpochLaw,
    threshold: float,
    normalisation: str = "corrected",
    cost: float = 1.0,
    points: int = 400,
) -> float:
    """γ(x̌) by the route of [J §VIII]: V = A + pB + βD, normalised, closed with (31).

    >>> law = EpochLaw(arrival=250, decay=.7, epoch=1, law="epoch_exponential")
    >>> ceiling = 250 / .7
    >>> round(literal_index(law, .45 * ceiling), 1)
    106.4
    >>> round(literal_index(law, .45 * ceiling, "printed"), 1)
    70.9
    """
    equations = Equations.at(law, threshold, points)
    a, b, d = (float(part[-1]) for part in equations.parts)
    # [J 31] p + ∫V(αx̌ + u)φ(du) = x̌; by (28) the left side is V(x̌−) + β.
    one, p, beta = equations.normal(normalisation)
    price, _ = np.linalg.solve([[b, d + 1.0], [p, beta]], [threshold - a, -one])
    return float(price) / cost
