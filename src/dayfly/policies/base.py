"""What a policy sees and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dayfly.model import Array, Fleet, Mask, Rows


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """Everything a policy may look at: beliefs, never the truth behind them."""

    #: The sources as they are believed to be.
    fleet: Fleet
    now: float
    #: Time since each source was last crawled, shape (n_sources,); infinite if never.
    age: Array
    #: Time between decision instants; None in continuous time.
    epoch: float | None
    #: Cost units per epoch (per unit of time if continuous) in the long run. What may be spent
    #: at this instant is the `budget` of `choose`; it differs by what was carried over.
    pace: float
    #: How full the purse of saved budget is, 0 to 1; at 1, budget that accrues is lost.
    full: float = 0.0
    #: What waits at each source, NaN where that is not observed; None if nothing is.
    state: Array | None = None
    #: Who may be crawled now; None if all may.
    allowed: Mask | None = None


class Policy(Protocol):
    """Chooses the sources to crawl now: pure, the same answer for the same question."""

    def choose(self, view: View, budget: float, rng: np.random.Generator) -> Rows:
        """Rows to crawl now, best first, of total cost at most `budget`; ties to the lower row."""
        ...
