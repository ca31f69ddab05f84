"""What the sources of a fleet are like, learned from the fleet: a heavy-tailed prior of rates.

Rates of real sources span six powers of ten, and no single Gamma law does. A mixture of Gammas of
one shape a, with means spaced by a factor of two, does, and it stays conjugate: after n items in a
time e, component g (rate b_g) has become Gamma(a + n, b_g + e), and its weight is

    w_g ∝ π_g · b_g^a / (b_g + e)^(a + n)

because what else stands in the marginal likelihood is the same for all of them. The weights π of
the fleet are those that make what was seen most likely (non-parametric maximum likelihood), found
by EM: π_g is the mean of w_g over the sources that were seen.

Rates are relative to the guess with which each source was listed: a source that its operator
expects to be busy starts busy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.model import Array

#: Means of the components: a thousandth of the guess to a thousand times it.
_MEANS: Array = 2.0 ** np.arange(-10, 11, dtype=np.float64)
#: One component is about as wide as the step to the next, so that the mixture has no holes.
SHAPE = 2.0
_EM_STEPS = 40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mixture:
    """Beliefs about some rates: for each a mixture of Gammas with one shape."""

    #: Shape (n_sources,); rate and weight (n_sources, n_components), weights summing to 1.
    shape: Array
    rate: Array
    weight: Array

    @property
    def component_mean(self) -> Array:
        """Mean of each component, shape (n_sources, n_components)."""
        return self.shape[:, None] / self.rate

    @property
    def mean(self) -> Array:
        """Mean of each belief."""
        found: Array = np.einsum("ng,ng->n", self.weight, self.component_mean)
        return found

    @property
    def variance(self) -> Array:
        """Variance of each belief: within the components and between them."""
        square = self.component_mean**2 * (1.0 + 1.0 / self.shape)[:, None]
        found: Array = np.einsum("ng,ng->n", self.weight, square) - self.mean**2
        return np.maximum(found, 0.0)

    def sample(self, rng: np.random.Generator) -> Array:
        """One draw from each belief."""
        at = (np.cumsum(self.weight, axis=1) < rng.random(len(self.shape))[:, None]).sum(axis=1)
        at = np.minimum(at, self.rate.shape[1] - 1)
        drawn: Array = rng.gamma(self.shape) / self.rate[np.arange(len(at)), at]
        return drawn


class RatePrior:
    """The law of relative rates in a fleet; before anything is seen it is wide, with mean 1.

    Examples
    --------
    >>> prior = RatePrior()
    >>> round(float(prior.belief(np.zeros(1), np.zeros(1)).mean[0]), 6)
    1.0

    A fleet in which one source in ten is 128 times as busy as the others:

    >>> count, exposure = np.array([64.0] * 90 + [8192.0] * 10), np.full(100, 64.0)
    >>> prior.fit(count, exposure)
    >>> round(float(prior.belief(np.zeros(1), np.zeros(1)).mean[0]), 1)
    13.6
    """

    def __init__(self) -> None:
        self._rate: Array = SHAPE / _MEANS
        # Equal in log rate, leaning to the slow so far that the mean is the guess.
        first = _MEANS**-0.5
        self.weight: Array = first / first.sum()
        self._first = self.weight

    def belief(self, count: Array, exposure: Array) -> Mixture:
        """What is believed of sources with so many items in so much (relative) time."""
        shape, rate = SHAPE + count, self._rate + exposure[:, None]
        log = _log_likelihood(shape, rate, self._rate)
        weight = self.weight * np.exp(log - log.max(axis=1, keepdims=True))
        return Mixture(shape=shape, rate=rate, weight=weight / weight.sum(axis=1, keepdims=True))

    def fit(self, count: Array, exposure: Array) -> None:
        """Make what was seen of the fleet most likely; nothing earlier is remembered.

        The first guess counts like one source, so that no component dies for ever.
        """
        self.weight = self._first
        n = len(count)
        if not n:
            return
        log = _log_likelihood(SHAPE + count, self._rate + exposure[:, None], self._rate)
        likelihood = np.exp(log - log.max(axis=1, keepdims=True))
        for _ in range(_EM_STEPS):
            mixed = likelihood @ self.weight
            share = self.weight * (likelihood.T @ (1.0 / mixed))
            self.weight = (share + self._first) / (n + 1.0)


def _log_likelihood(shape: Array, rate: Array, prior_rate: Array) -> Array:
    """Of what was seen, for each source and component, but for what all components share."""
    found: Array = SHAPE * np.log(prior_rate) - shape[:, None] * np.log(rate)
    return found
