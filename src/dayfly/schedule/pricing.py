"""The price of one unit of budget, learnt from what the purse says.

A source is crawled when its index reaches the price, so the price decides how much is spent. The
solved price is a first guess: it comes from a sample of the believed fleet, and knows nothing of
fetches that fail, of constraints, of workers that are slow. Two parts make it right.

*Patience* (at once): the price asked falls as the purse fills and rises as it empties.

    asked = base · patience(full),   patience = min(1.05 − 0.5·full, 8.4·(1 − full))

It is 1 with a tenth of the burst in the purse, and 0 where the purse would overflow.

*Learning* (slowly): the base follows the price that was really in force,

    d ln base / dt = (ln in_force − ln base) / T,   T = 10 · burst / budget.

In force is the price asked when the choice ended; or, where purse or k ended it and somebody worth
the price was left over, the index of the last one chosen. So the purse settles where patience is 1;
where money is short the price rises to what clears the market; and where workers are few it
follows what they take, instead of falling because the purse overflows.

Why it does not oscillate. Let x be ln price minus its right value, z the same of the base, y the
purse above its level, in bursts, F = burst / budget the time to fill it, and R the time between
visits, each weighted by elasticity. When the price falls, all sources between the old and the new
one are due at once, and later all come more often: F·y′ = e·x + R·x′, where e ≥ 1/2 is the
elasticity of the spending (an index grows at most like age²). With x = z − y/2 and z′ = −y/(2T):

    (F + R/2)·s² + (e + R/T)/2·s + e/(2T) = 0.

Every coefficient is positive, so it is stable for any fleet and any T. The damping is
½ (e + R/T) √(T / (2e(F + R/2))); with T = 10 F it is above 0.77 whatever e and R are. Echoes (who
was crawled together is due together) die out because sources differ. Far from the right value
patience itself clears the market, and the base follows what it found.
"""

from __future__ import annotations

import math

import numpy as np

from dayfly.errors import BadInput
from dayfly.model import Array

#: Patience: the line, where it ends, and how steeply it falls to nothing there.
_EMPTY, _SLOPE, _END = 1.05, 0.5, 8.4
#: The base follows the price in force within so many times what it takes to fill the purse.
_SLOW = 10.0
#: … and counts as at most so far below, in logarithms.
_FALL = 3.0


class Pricing:
    """The price that is asked now, and the one that is learnt.

    Parameters
    ----------
    price
        The first guess.

    Examples
    --------
    The purse is almost full after the choice: few were worth the price, and it comes down.

    >>> pricing = Pricing(1.0)
    >>> pricing.learn(elapsed=30, fill=60, full=0.95)
    >>> round(pricing.base, 3)
    0.959
    """

    def __init__(self, price: float) -> None:
        if not (math.isfinite(price) and price >= 0):
            raise BadInput(f"price must be finite and not negative, got {price}")
        #: The learnt price.
        self.base = float(price)

    @property
    def memory(self) -> tuple[float, ...]:
        """All there is to remember: `Pricing(*memory)` carries on from here, bit for bit."""
        return (self.base,)

    def threshold(self, full: float) -> float:
        """The price asked now; `full` is purse over burst, negative where it is overdrawn."""
        return self.base * max(min(_EMPTY - _SLOPE * full, _END * (1.0 - full)), 0.0)

    def worth_it(self, index: Array, full: Array) -> int:
        """How many of these, best first, reach the price when their turn comes.

        `full` is the purse as those before them leave it. One price for a whole call would let
        everybody in who is above the price of a full purse, and empty it at one go.

        >>> Pricing(1.0).worth_it(np.array([1.5, 0.99, 0.93, 0.92]), np.array([.5, .4, .3, .2]))
        3
        """
        asked = self.base * np.minimum(_EMPTY - _SLOPE * full, _END * (1.0 - full))
        below = np.flatnonzero(index < asked)
        return int(below[0]) if len(below) else len(index)

    def learn(
        self,
        *,
        elapsed: float,
        fill: float,
        full: float,
        marginal: float = math.nan,
        short: bool = False,
    ) -> None:
        """Once per choice, after it.

        Parameters
        ----------
        elapsed
            Seconds since the last choice.
        fill
            Seconds in which the budget, as far as it is used, fills the purse.
        full
            Purse over burst, after the choice.
        marginal
            Index of the last source chosen for its index; NaN if there is none.
        short
            Whether somebody who was worth the price and free to be crawled was left over, because
            purse or workers ended the choice.
        """
        if not (elapsed > 0 and 0 < fill < math.inf):
            return  # no time went by, or no budget came in: nothing was tried
        force = self.threshold(full)
        if short:
            force = max(force, marginal) if not math.isnan(marginal) else 0.0
        if force <= 0:
            # An empty purse buys nothing, and where a full one buys nothing no price is to blame.
            return
        if self.base <= 0:
            self.base = force
            return
        # One call after a long silence teaches no more than one purse.
        share = -math.expm1(-min(elapsed / fill, 1.0) / _SLOW)
        # A purse that overflows says that the price is too high, but not by how much.
        self.base *= math.exp(share * max(math.log(force / self.base), -_FALL))

    def steer(self, factor: float) -> None:
        """The solved price changed by this factor: budget or fleet are different now.

        A factor that says nothing (from a price of 0, or to one) is passed over; the purse tells.
        """
        if math.isfinite(factor) and factor > 0:
            self.base *= factor
