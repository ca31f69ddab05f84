"""The seam of the field rules: how many minutes after this poll is the source due again?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dayfly.model import Array
from dayfly.policies.field.polls import Polls

#: What a rule adds at random to the minutes it asks for; drawn when sources are chosen.
Jitter = Callable[[Array, np.random.Generator], Array]


class Rule(Protocol):
    """Sets an interval for every source on its own, whatever the budget. It has a state."""

    def after(self, polls: Polls) -> Array:
        """Minutes from each poll until its source is due again; more than 0."""
        ...


class Fixed:
    """B1: every source after the same time (FreshRSS, tt-rss, changedetection.io, …)."""

    def __init__(self, minutes: float) -> None:
        self.minutes = minutes

    def after(self, polls: Polls) -> Array:
        """The same for all."""
        return np.full(len(polls.row), self.minutes)
