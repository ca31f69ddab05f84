"""The law of what one epoch adds to a source: U = Σ ξ_n e^(−μ·age_n) over its arrivals [J §VIII].

Arrivals are Poisson. An item's worth is a constant, or drawn per item, or drawn once per source
and epoch and shared by all of the epoch's items; the papers' figures use the last, their text the
second.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput, UnknownName
from dayfly.index.compound import Lattice, Shape, compound
from dayfly.model import Array

#: Draws worths relative to a source's mean worth, so with mean 1: sampler(rng, size) -> array.
Sampler: TypeAlias = Callable[[np.random.Generator, int], Array]

#: Items drawn at once: 32 MB of ages, whatever the fleet.
BLOCK = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorthLaw:
    """How the worth of items scatters around a source's mean worth."""

    #: constant, exponential, or sampled.
    shape: str = "constant"
    #: Draws relative worths, where the shape is sampled.
    sampler: Sampler | None = None
    #: One draw per source and epoch, shared by all of the epoch's items.
    shared: bool = False

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Relative worths, mean 1."""
        if self.shape == "constant":
            return np.ones(size)
        if self.sampler is None:
            return rng.standard_exponential(size)
        drawn = np.asarray(self.sampler(rng, size), dtype=np.float64)
        if drawn.shape != (size,) or not (drawn >= 0).all() or not np.isfinite(drawn).all():
            raise BadInput(f"a worth sampler must return {size} finite numbers, none negative")
        return drawn

    @property
    def values(self) -> Shape:
        """The law as the numerics want it: its name, or points of equal weight."""
        return self.shape if self.sampler is None else _points(self.sampler)

    @property
    def second_moment(self) -> float:
        """E ξ² of the relative worth."""
        values = self.values
        if isinstance(values, str):
            return {"constant": 1.0, "exponential": 2.0}[values]
        return float(np.mean(np.square(values)))


#: What a caller may write for a law.
AnyLaw: TypeAlias = str | Sampler | WorthLaw

NAMED = {
    "constant": WorthLaw(),
    "exponential": WorthLaw(shape="exponential"),
    "epoch_exponential": WorthLaw(shape="exponential", shared=True),
}


def worth_law(law: AnyLaw) -> WorthLaw:
    """A law by name, from a sampler (one draw per item), or as it is."""
    if isinstance(law, WorthLaw):
        if (law.shape == "sampled") != (law.sampler is not None):
            raise BadInput("a worth law has a sampler if and only if its shape is 'sampled'")
        if law.shape not in ("constant", "exponential", "sampled"):
            raise UnknownName("shape of a worth law", law.shape, ("constant", "exponential"))
        return law
    if callable(law):
        return WorthLaw(shape="sampled", sampler=law)
    if law not in NAMED:
        raise UnknownName("worth law", str(law), NAMED)
    return NAMED[law]


@dataclass(frozen=True, kw_only=True)
class EpochLaw:
    """The law of U for one source.

    Examples
    --------
    Source 1 of the papers' Table I: 250 items per epoch, a quarter of them still fresh at its end.

    >>> law = EpochLaw(arrival=250, decay=.7, epoch=1)
    >>> round(law.mean, 4), round(law.variance, 3)
    (179.791, 134.536)
    >>> points, weights = law.atoms(40)
    >>> round(float(points @ weights), 4)
    179.791
    """

    arrival: float
    decay: float
    epoch: float
    worth: float = 1.0
    lifetime: float = np.inf
    law: AnyLaw = "constant"

    def __post_init__(self) -> None:
        for name in ("arrival", "decay", "worth"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise BadInput(f"{name} must be finite and not negative: {getattr(self, name)}")
        if not (np.isfinite(self.epoch) and self.epoch > 0):
            raise BadInput(f"epoch must be positive and finite, got {self.epoch}")
        if not self.lifetime > 0:
            raise BadInput(f"lifetime must be positive, got {self.lifetime}")
        object.__setattr__(self, "law", worth_law(self.law))

    @property
    def _law(self) -> WorthLaw:
        return worth_law(self.law)

    @property
    def exposure(self) -> float:
        """How far back the epoch's surviving items reach."""
        return min(self.epoch, self.lifetime)

    @property
    def retention(self) -> float:
        """Share of the waiting value that the next epoch still finds, α; none of it if all expires.

        An item lifetime longer than the epoch, but not endless, needs the items' ages and has no
        such number.
        """
        if self.lifetime <= self.epoch:
            return 0.0
        if np.isfinite(self.lifetime):
            raise BadInput(
                f"items that expire after {self.lifetime:g}, later than the epoch of "
                f"{self.epoch:g}, leave no state of one number; use the index by age"
            )
        return float(np.exp(-self.decay * self.epoch))

    @property
    def count(self) -> float:
        """Expected number of items."""
        return self.arrival * self.exposure

    @property
    def mean(self) -> float:
        """E U, u of [J 1]."""
        return self.worth * self.count * _faded(self.decay * self.exposure)

    @property
    def variance(self) -> float:
        """Var U, by Campbell's formula."""
        second = self._law.second_moment
        spread = self.worth**2 * self.count * _faded(2 * self.decay * self.exposure)
        if not self._law.shared:
            return second * spread
        return second * spread + (second - 1.0) * self.mean**2

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Independent draws of U, every arrival simulated."""
        column = np.full(size, self.arrival)
        return draw(rng, column, self.decay, self.worth, self.epoch, self._law, self.lifetime)

    @functools.cached_property
    def lattice(self) -> Lattice:
        """The law on a fine lattice, deterministic: it gives E(t − U)⁺ at any t."""
        return compound(
            count=self.count, fade=self.decay * self.exposure, worth=self.worth,
            values=self._law.values, shared=self._law.shared,
        )  # fmt: skip

    def atoms(self, n: int = 64) -> tuple[Array, Array]:
        """Points and weights of a law on at most `n` points with the same mean, zero among them."""
        if n < 2:
            raise BadInput(f"a law needs at least 2 points, got {n}")
        points, weights = self.lattice.merged(n)
        total = float(points @ weights)
        return points * (self.mean / total if total > 0 else 1.0), weights


def draw(
    rng: np.random.Generator,
    arrival: npt.ArrayLike,
    decay: npt.ArrayLike,
    worth: npt.ArrayLike,
    epoch: float,
    law: AnyLaw = "constant",
    lifetime: npt.ArrayLike = np.inf,
) -> Array:
    """One epoch of many sources at once: U of each, every arrival simulated.

    Memory stays bounded however many items there are: they are drawn in blocks that may end in
    the middle of a source.

    >>> rng = np.random.default_rng(1)
    >>> draw(rng, [250, 0, 250], [.7, .7, 0], 1.0, 1.0).round(1)
    array([179.8,   0. , 241. ])
    """
    drawn = worth_law(law)
    rate, fading, scale, life = np.broadcast_arrays(
        *(np.asarray(column, dtype=np.float64) for column in (arrival, decay, worth, lifetime))
    )
    exposure = np.minimum(life, epoch)
    counts = rng.poisson(rate * exposure)
    ends = np.cumsum(counts)
    total = np.zeros(len(counts))
    per_item = drawn.shape != "constant" and not drawn.shared
    done, last = 0, int(ends[-1]) if len(ends) else 0
    while done < last:
        stop = min(done + BLOCK, last)
        # The rows whose items lie in [done, stop), and how many of each.
        first, behind = (int(i) for i in np.searchsorted(ends, [done, stop - 1], side="right"))
        rows = slice(first, behind + 1)
        share = np.minimum(ends[rows], stop) - np.maximum(ends[rows] - counts[rows], done)
        value = rng.random(stop - done)
        value *= np.repeat(-fading[rows] * exposure[rows], share)
        np.exp(value, out=value)
        if per_item:
            value *= drawn.draw(rng, stop - done)
        some = np.flatnonzero(share)
        ahead = np.cumsum(share)[some] - share[some]
        total[first + some] += np.add.reduceat(value, ahead)
        done = stop
    if drawn.shared:
        total *= drawn.draw(rng, len(total))
    total *= scale
    return total


def _faded(x: float) -> float:
    """(1 − e^(−x))/x, 1 at 0."""
    return float(-np.expm1(-x) / x) if x > 0 else 1.0


@functools.lru_cache(maxsize=32)
def _points(sampler: Sampler) -> tuple[float, ...]:
    """A sampler's law as 512 points of equal weight and mean 1: means of groups of sorted draws.

    The seed is fixed, so that an index computed twice is the same number.
    """
    drawn = np.sort(
        WorthLaw(shape="sampled", sampler=sampler).draw(np.random.default_rng(0), 2**17)
    )
    error = drawn.std() / np.sqrt(len(drawn))
    if abs(drawn.mean() - 1.0) > 6 * error + 1e-9:
        raise BadInput(
            f"a worth sampler must have mean 1 (the source's worth multiplies it), "
            f"its mean is {drawn.mean():.4g} ± {error:.2g}"
        )
    groups = drawn.reshape(512, -1).mean(axis=1)
    return tuple(groups / groups.mean())
