"""Whether everybody can be visited once in a while, and what the budget allows if not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.model import Array
from dayfly.schedule import rests, worth
from dayfly.schedule.roster import COST, REMOVED, Roster
from dayfly.units import show_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """How long a source may go unseen, whatever is believed about it."""

    #: The longest interval that was asked for, in seconds.
    max_interval: float
    #: The interval that the share of the budget for the long unseen can afford; infinite if none.
    affordable_interval: float

    @property
    def kept(self) -> bool:
        """Whether that share of the budget is enough."""
        return self.affordable_interval <= self.max_interval

    def __str__(self) -> str:
        if self.kept:
            return f"everybody is visited at least every {show_duration(self.max_interval)}"
        return (
            f"not everybody can be visited every {show_duration(self.max_interval)}:"
            f" the budget for the long unseen affords {show_duration(self.affordable_interval)};"
            " raise the budget or floor_share, or ask for a longer max_interval"
        )


def promise(roster: Roster, price: float, pace: float, sample: int) -> Promise:
    """What `pace` cost units per second can promise, judging by a sample of the sources.

    Whoever reaches the price within its interval is visited for its own sake; only the others need
    this part of the budget.
    """
    rows, stride = roster.sample(sample)
    rows = rows[(roster.flags[rows] & REMOVED) == 0]
    most: Array = np.broadcast_to(rests.interval(roster, "most", rows), (len(rows),))
    longest = float(most.max(initial=0.0)) or roster.most
    record = roster.look_up(rows)
    slow = worth.curves(roster, rows, record).index(most) < price * record[COST]
    needed = stride * float((record[COST] / most)[slow].sum())
    if needed <= 0:
        return Promise(max_interval=longest, affordable_interval=longest)
    afforded = longest * needed / pace if pace > 0 else np.inf
    return Promise(max_interval=longest, affordable_interval=max(float(afforded), 0.0))
