"""A rule that learns as it goes: what a replay lets compete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dayfly.model import Rows, Visits


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """What a contender is told at its birth; all else it has to find out."""

    #: How many sources there are; nothing is known about any of them.
    sources: int
    #: The first instant, POSIX seconds, and the seconds between two instants.
    start: float
    epoch: float
    #: Visits per epoch; every visit costs one.
    budget: float
    #: How fast news fades, per second: ln 2 over the half-life.
    decay: float
    #: A source shows so many of its newest items; None: all of them.
    window: int | None
    #: How long it lasts, in seconds. For rules that are scaled to the budget; a learner that
    #: looked at it would know what no crawler knows.
    span: float


class Contender(Protocol):
    """Chooses, is told what its own visits saw, and nothing else. It has a state."""

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """At most k different rows to visit now."""
        ...

    def observe(self, visits: Visits) -> None:
        """What the visits just chosen saw."""
        ...
