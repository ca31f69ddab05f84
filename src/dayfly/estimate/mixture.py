"""A prior that the fleet itself writes: how common each member of a family is.

The nonparametric maximum-likelihood mixture over a fixed set of members: expectation–maximisation
on its weights, each round of which raises the likelihood. It starts from equal weights always, so
that it is a function of what was seen and of nothing else.
"""

from __future__ import annotations

import numpy as np

from dayfly.model import Array

_ROUNDS, _LOOSE = 60, 0.1


def posterior(log_likelihood: Array, weights: Array) -> Array:
    """Weight of each member for each source; shape (n_sources, n_members).

    >>> posterior(np.log([[0.5, 0.5], [0.9, 0.1]]), np.array([0.5, 0.5]))
    array([[0.5, 0.5],
           [0.9, 0.1]])
    """
    with np.errstate(divide="ignore"):
        log = log_likelihood + np.log(weights)
    raised = np.exp(log - log.max(axis=1, keepdims=True))
    found: Array = raised / raised.sum(axis=1, keepdims=True)
    return found


def mixing_weights(log_likelihood: Array, rounds: int = _ROUNDS) -> Array:
    """How common each member is, from the log-likelihoods of all sources under all members.

    A tenth of a source is spread over all members, so that none is ruled out for ever.

    >>> weights = mixing_weights(np.log([[0.9, 0.1], [0.8, 0.2], [0.9, 0.1]]))
    >>> bool(weights[0] > 0.8)
    True
    """
    n, members = log_likelihood.shape
    share = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    weights = np.full(members, 1.0 / members)
    for _ in range(rounds):
        each = share * weights
        each /= each.sum(axis=1, keepdims=True)
        weights = (each.sum(axis=0) + _LOOSE / members) / (n + _LOOSE)
    return weights
