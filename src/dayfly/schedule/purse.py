"""The budget as a purse: it fills at a pace, holds at most its burst, and is never overdrawn."""

from __future__ import annotations

import math

from dayfly.errors import BadInput

#: What may be saved up in continuous time, unless the caller says otherwise: a minute's budget and
#: ten crawls. Sources fall due at random, so a small budget loses much if it cannot wait for them.
_SAVED_S, _SAVED_CRAWLS = 60.0, 10.0


class Purse:
    """What may be spent now, in cost units.

    In continuous time it starts full and fills steadily; in slotted time it starts with the budget
    of one epoch and receives as much at each multiple of `epoch`.
    """

    def __init__(
        self,
        budget: float,
        now: float,
        *,
        epoch: float | None,
        burst: float | None,
        dearest: float,
    ) -> None:
        if not (math.isfinite(budget) and budget >= 0):
            raise BadInput(f"budget must be finite and not negative, got {budget}")
        if epoch is not None and not (math.isfinite(epoch) and epoch > 0):
            raise BadInput(f"epoch must be positive, or None for continuous time, got {epoch}")
        self.budget, self.epoch = budget, epoch
        self._burst = burst
        self._at = now
        self.fit(dearest)
        self._left = min(self.burst if epoch is None and budget > 0 else budget, self.burst)

    def fit(self, dearest: float) -> None:
        """Make room for the dearest single crawl, or say why it can never be afforded."""
        if self._burst is not None:
            if self._burst < dearest:
                raise BadInput(f"one crawl costs {dearest:g}, more than the burst {self._burst:g}")
            self.burst = self._burst
        else:
            continuous = self.budget * _SAVED_S + dearest * _SAVED_CRAWLS
            # Slotted, what did not fit is less than one crawl: it waits for the next income.
            self.burst = continuous if self.epoch is None else self.budget + dearest

    def since(self, now: float) -> float:
        """From when on earlier spending could still be felt now."""
        if self.epoch is not None:
            return slot(now, self.epoch) * self.epoch
        return now - self.burst / self.budget if self.budget > 0 else -math.inf

    def left(self, now: float) -> float:
        """What may be spent, after what came in since the last time."""
        # A clock that was set back brings nothing; a leap forward brings at most one burst.
        if self.epoch is None:
            income = max(now - self._at, 0.0)
        else:
            income = max(slot(now, self.epoch) - slot(self._at, self.epoch), 0.0)
        self._left = min(self._left + self.budget * income, self.burst)
        self._at = now
        return self._left

    def affords(self, cost: float) -> bool:
        """Whether this much may be spent; a rounding error does not count as debt."""
        return cost <= self._left + 1e-9 * self.burst

    def spend(self, cost: float) -> None:
        """Take it out."""
        self._left -= cost

    def ready(self, cost: float, now: float) -> float:
        """When this much may be spent if nothing else is."""
        lacking = cost - self.left(now)
        if self.affords(cost):
            return now
        if self.budget <= 0:
            return math.inf
        if self.epoch is None:
            return now + lacking / self.budget
        return (slot(now, self.epoch) + math.ceil(lacking / self.budget - 1e-9)) * self.epoch


def slot(now: float, epoch: float) -> float:
    """Which epoch an instant belongs to; an instant a rounding error early is on time."""
    return math.floor(now / epoch + 1e-9)
