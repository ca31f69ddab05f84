"""The Whittle index of a source whose waiting value is random and seen [J §VIII].

Passive: X ← αX + U. Crawl: earn X, then X ← U. A threshold policy crawls when X ≥ x̌. For it let

    y = expected number of epochs until the next crawl if this one, at x̌, is passed over,
    h = expected harvest of that crawl,
    η = expected length of a whole cycle, from one crawl to the next,
    H = expected harvest at its end.

Solving (28), (29), (31) with ∫V dφ = 0 gives  Cγ(x̌) = η(x̌ − h)/y + H, and for a deterministic U
that is Theorem 1. (30) as printed, V(u) = 0, contradicts (25); `literal_index` shows the harm.

On a grid with linear interpolation the states below successive thresholds are nested, so the
triangular factors of one matrix hold the answers for all thresholds at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.errors import BadInput, DayflyError
from dayfly.index.compound import Lattice
from dayfly.index.law import EpochLaw
from dayfly.model import KINDS, Array, Fleet, Mask

#: A discount so close to 1 that no digit of an index feels it; it keeps the matrix regular at
#: thresholds that are crossed once in the age of the universe.
PATIENT = 1.0 - 1e-12
#: Largest matrix factored in one go, columns factored at once in larger ones, largest product: from
#: there on the linear algebra library would start threads, which on a busy machine wait a hundred
#: times longer than they work.
WHOLE, PANEL, PRODUCT = 128, 32, 1 << 18
_ABOVE = np.triu(np.ones((PANEL, PANEL)))


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """All threshold policies of one source, one per state of a grid; cost 1."""

    #: The thresholds, increasing from 0.
    state: Array
    #: Whittle index γ of a source in that state, per unit of cost if the cost is 1.
    index: Array
    #: Expected number of epochs from one crawl to the next, η; infinite where none ever comes.
    cycle: Array
    #: Expected value that a crawl finds, H.
    harvest: Array

    @property
    def activity(self) -> Array:
        """Crawls per epoch."""
        return 1.0 / self.cycle

    @property
    def reward(self) -> Array:
        """Value caught per epoch."""
        return self.harvest / self.cycle

    def index_at(self, state: Array) -> Array:
        """The index between the grid's states; far above them it approaches the state itself."""
        gain = np.interp(state, self.state, self.index - self.state, left=0.0)
        top = self.state[-1]
        gain *= np.square(top / np.maximum(state, top))
        return np.maximum(np.maximum(state, 0.0) + gain, 0.0)


def thresholds(law: EpochLaw, states: Array | int = 400, discount: float = 1.0) -> Thresholds:
    """Solve for every threshold on a grid, under the average or a discounted criterion.

    Parameters
    ----------
    law
        What an epoch adds to the source.
    states
        The grid, increasing from 0, or how many points to choose.
    discount
        Worth of a unit one epoch later (δ of [J 24]); 1 for the average reward.

    Examples
    --------
    Source 1 of Table I with Poisson arrivals, at .6 u*:

    >>> solved = thresholds(EpochLaw(arrival=250, decay=.7, epoch=1))
    >>> solved.index_at(np.array([.6 * 250 / .7])).round(1)
    array([125.2])
    """
    if not 0 < discount <= 1:
        raise BadInput(f"discount must lie in (0, 1], got {discount:g}")
    x = grid(law, states) if isinstance(states, int) else np.asarray(states, dtype=np.float64)
    if len(x) < 2 or x[0] != 0 or not (np.diff(x) > 0).all():
        raise BadInput("the grid of states must increase from 0")
    delta, alpha = min(discount, PATIENT), law.retention
    factors = _factors(kernel(law.lattice, alpha, x), delta)
    from scipy.linalg import lapack

    # Passing over x costs (1 − δα)x − δu in expectation: what it holds against what comes of it.
    passed = (np.ones(len(x)), (1 - delta * alpha) * x - delta * law.mean)
    # Both are scaled by one factor per row, which cancels in z / y.
    y, z = (lapack.dtrtrs(factors, cost, lower=0, trans=1)[0] for cost in passed)
    first = np.zeros(len(x))
    first[0] = 1.0  # a cycle starts like an epoch passed over in state 0
    visits = lapack.dtrtrs(factors, first, lower=1, unitdiag=1)[0]
    cycle = np.concatenate(([1.0], np.cumsum(visits * y)[:-1]))
    harvest = np.concatenate(([law.mean], -np.cumsum(visits * z)[:-1]))
    index = cycle * z / y + harvest
    index[0] = 0.0
    return Thresholds(state=x, index=np.maximum(index, 0.0), cycle=cycle, harvest=harvest)


def grid(law: EpochLaw, n: int) -> Array:
    """States from 0 to where the index is the state itself, densest around u*.

    They are u* ± 2·spread·(e^|q| − 1) for evenly spaced q: cells of a fraction of the spread near
    u*, wider outside.
    """
    if law.mean <= 0:
        return np.arange(n, dtype=np.float64)
    ceiling, spread, low, high = span(law)
    q = np.linspace(low, high, n)
    x = ceiling + np.sign(q) * 2 * spread * np.expm1(np.abs(q))
    x[0] = 0.0
    return x


def span(law: EpochLaw) -> tuple[float, float, float, float]:
    """u*, the stationary standard deviation of an uncrawled source, and the range of q."""
    alpha = law.retention
    if alpha >= 1.0:
        raise BadInput("a source whose items never fade has no stationary state; its index is 0")
    ceiling = law.mean / (1.0 - alpha)
    spread = float(np.sqrt(law.variance / (1.0 - alpha**2)))
    reach = 12 * spread + 12 * law.worth
    low, high = -np.log1p(ceiling / (2 * spread)), np.log1p(reach / (2 * spread))
    return ceiling, spread, float(low), float(high)


def kernel(lattice: Lattice, alpha: float, states: Array) -> Array:
    """Passive transition matrix: the law of αx + U, split linearly between the grid's states.

    Splitting keeps the mean, and the value function is continuous at the price that is its index,
    so the error is of second order in the cell. All that passes the last state counts as there:
    it lies above every threshold, and harvests are accounted for exactly elsewhere.
    """
    n = len(states)
    matrix = np.zeros((n, n))
    width = 1.0 / np.diff(states)
    moved, reach = alpha * states, lattice.start + lattice.step * len(lattice.weight)
    for start in range(0, n, 32):  # a band of rows stays in the cache
        rows = slice(start, start + 32)
        # Nothing falls below αx, and next to nothing rises beyond the lattice.
        first = max(int(np.searchsorted(states, moved[start])) - 1, 0)
        last = min(int(np.searchsorted(states, moved[rows][-1] + reach)) + 1, n - 1)
        short = lattice.shortfall(states[None, first : last + 1] - moved[rows, None])
        slope = np.subtract(short[:, 1:], short[:, :-1])
        slope *= width[first:last]
        band = matrix[rows, first : last + 1]
        band[:, 0] = slope[:, 0]
        np.subtract(slope[:, 1:], slope[:, :-1], out=band[:, 1:-1])
        np.subtract(1.0, slope[:, -1], out=band[:, -1])
        np.maximum(band, 0.0, out=band)
    return matrix


def _factors(matrix: Array, delta: float) -> Array:
    """Triangular factors of (1 − δP)ᵀ with nothing exchanged: leading blocks have leading factors.

    The rows of 1 − δP are dominated by their diagonal, which is computed as a sum so that it stays
    so after rounding; transposed, LAPACK's pivot is then always the diagonal.
    """
    from scipy.linalg import lapack

    n = len(matrix)
    system = np.multiply(matrix, -delta, out=matrix)
    diagonal = system.reshape(-1)[:: n + 1]
    diagonal[:] = 0.0
    diagonal[:] = 1.0 - delta - system.sum(axis=1)
    factors = system.T
    panel = n if n <= WHOLE else PANEL
    for start in range(0, n, panel):
        stop = min(start + panel, n)
        corner, pivots, _ = lapack.dgetrf(factors[start:stop, start:stop])
        if (pivots != np.arange(stop - start)).any():
            raise DayflyError("the threshold equations lost their order to rounding; fewer states?")
        factors[start:stop, start:stop] = corner
        if stop == n:
            break
        # Only so many rows and columns have anything in common with the panel.
        low = stop + _extent(factors[stop:, start:stop])
        wide = stop + _extent(factors[start:stop, stop:].T)
        below, right = factors[stop:low, start:stop], factors[start:stop, stop:wide]
        upper = lapack.dtrtri(corner)[0] * _ABOVE[: len(corner), : len(corner)]
        lower = (
            lapack.dtrtri(corner, lower=1, unitdiag=1)[0] * _ABOVE.T[: len(corner), : len(corner)]
        )
        np.fill_diagonal(lower, 1.0)
        below[...] = below @ upper
        right[...] = lower @ right
        width = max(PRODUCT // (PANEL * max(low - stop, 1)), 8)
        for column in range(stop, wide, width):
            part = slice(column - stop, column - stop + width)
            factors[stop:low, stop:wide][:, part] -= below @ right[:, part]
    return factors


def _extent(block: Array) -> int:
    """How many rows there are up to the last that is not empty."""
    used = np.flatnonzero(block.any(axis=1))
    return int(used[-1]) + 1 if len(used) else 0


def scalar_state(fleet: Fleet, epoch: float) -> Mask:
    """The sources whose waiting value alone is a Markov state under Poisson arrivals.

    Not so: two-phase decay and lifetimes beyond the epoch (the items' ages matter), a feed that
    shows only its newest items (so does their number), freshness (nothing accumulates).
    """
    simple: Mask = (fleet.kind_code == KINDS.index("ephemeral")) & np.isinf(fleet.window)
    return simple & (np.isinf(fleet.lifetime) | (fleet.lifetime <= epoch))
