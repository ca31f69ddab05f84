"""Scores handed over as curves that a calendar can keep.

A scheduler keeps one harvest curve per source and looks at it when its index reaches the price λ.
So all that counts of a score is *when* it reaches the price. For each source the age τ* is found at
which its score does (`score.py`), at the hours at which it publishes (`timing.py`); handed over is
the worth of an item that lets the plain curve cross the price at that very age:

    worth = λ·C·μ / (Λ·P(2, μτ*)).

The rate stays what it is believed to be, so that people can read it; what a look teaches is in the
worth. Whose score never gets so far is handed over with the highest that it has.
"""

from __future__ import annotations

import numpy as np

from dayfly.estimate.stamps import Belief
from dayfly.learn.explore import Market
from dayfly.learn.score import Traits, harvests, plain_curves, scores
from dayfly.learn.timing import Timing
from dayfly.model import Array, Rows
from dayfly.model.special import rise_inverse

#: A first look is worth so many times the price, or the highest score of others, at most.
_FIRST_LOOK = 10.0
#: Who is visited at its hour has a curve that ends so far above the price at least: it is crossed
#: when it should be, whatever comes later.
_ABOVE = 2.0

#: Rates, decays and worths.
Beliefs = tuple[Array, Array, Array]


def handed_over(
    belief: Belief,
    traits: Traits,
    rows: Rows,
    since: Array,
    *,
    market: Market,
    timing: Timing,
    price: float,
    high: float,
    reach: float,
    span: float,
) -> Beliefs:
    """Rate, decay and worth of sources as a scheduler should see them.

    Parameters
    ----------
    belief, traits
        What is known of the sources.
    rows, since
        Which they are, and when each answered last; minus infinity if it never did.
    market, timing
        What looks teach, and what hours make of a harvest.
    price, high
        The price, and the highest score at which anybody is visited.
    reach, span
        How long a mean is remembered and how long a level lasts, in seconds.
    """
    harvest = harvests(belief, traits, span)
    score = scores(harvest, belief, traits, market, reach, span)
    if high > 0:
        new = np.flatnonzero(~traits.seen)
        score[new] = np.minimum(score[new], _FIRST_LOOK * high)
    ceiling, decay = plain_curves(score, price)
    if price > 0:
        some, age, top = timing.due(rows, since, score, harvest, price)
        ceiling[some] = np.maximum(top, _ABOVE * price)
        decay[some] = rise_inverse(price / ceiling[some]) / age
    decay = np.where(traits.seen, decay, traits.decay)
    worth = ceiling * decay * traits.cost / belief.mean
    return belief.mean, _rounded(decay), _rounded(worth)


def _rounded(numbers: Array) -> Array:
    """To seven digits: one source alone and among others then agree to the last bit."""
    return numbers.astype(np.float32).astype(np.float64)
