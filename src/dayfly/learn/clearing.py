"""The price at which all sources, visited when their scores reach it, spend the budget.

Of the sources that were seen it is known what they earn; of the others, what the prior says that
they are. Where sources may not be visited as soon as they should, the highest scores are well above
the price: how high they are is told as well.
"""

from __future__ import annotations

import math

import numpy as np

from dayfly.estimate.silence import Silence
from dayfly.estimate.stamps import Belief
from dayfly.learn.explore import Market
from dayfly.learn.score import AGES, Traits, due_ages, harvests, scores
from dayfly.model import Array
from dayfly.model.special import rise


def settle(
    market: Market,
    belief: Belief,
    traits: Traits,
    silence: Silence,
    *,
    reach: float,
    span: float,
    least: float,
) -> tuple[float, float]:
    """Let a market find its price, and the one at which exploration is paid for, too.

    Parameters
    ----------
    market
        With the budget of these sources; what it says of prices and gains is changed.
    belief, traits, silence
        What is known of the sources that share the budget.
    reach, span
        How long a mean is remembered and how long a level lasts, in seconds.
    least
        Seconds between two visits of a source, at least.

    Returns
    -------
    the price, and the highest score at which anybody is visited.
    """
    weight = traits.decay * traits.cost
    old, new = np.flatnonzero(traits.seen), np.flatnonzero(~traits.seen)
    income, number = (belief.mean * traits.unit)[old], weight[old]
    if len(new):
        # Of those never seen nobody is average: they are what the prior says they are.
        part = belief.mixture.component_mean[new] * (belief.scale * traits.unit)[new, None]
        share = belief.mixture.weight[new] * weight[new, None]
        income = np.concatenate([income, part.ravel()])
        number = np.concatenate([number, share.ravel()])
    market.settle(income, number)
    earns = belief.mean * traits.unit
    market.await_waking(earns[old], earns, silence, reach)
    harvest = harvests(belief, traits, span)
    score = scores(harvest, belief, traits, market, reach, span)[old]
    price = market.price
    # Where nobody was seen yet: an average source, as soon as it may be visited again.
    typical = earns * rise(traits.decay * least)
    high = max(price, float(typical.max(initial=0.0)))
    if len(old):
        # Exploration spends too: the price at which all is paid for.
        price = _clearing(score, traits.cost[old], least, market.budget, price)
        # Who is left alone for longer than it should be has a higher score when its time comes.
        soonest = score[:, min(int(np.searchsorted(AGES, least)), len(AGES) - 1)]
        high = max(price, float(soonest.max()))
    return price, high


def _clearing(score: Array, cost: Array, least: float, budget: float, guess: float) -> float:
    """The price at which sources visited when their scores reach it spend the budget."""
    low, high = guess, guess

    def spent(price: float) -> float:
        return float((cost / np.maximum(due_ages(score, price), least)).sum())

    while spent(high) > budget and high < 1e12 * guess:
        low, high = high, 2.0 * high
    for _ in range(12):
        middle = math.sqrt(low * high) if low > 0 else 0.5 * high
        low, high = (middle, high) if spent(middle) > budget else (low, middle)
    return high
