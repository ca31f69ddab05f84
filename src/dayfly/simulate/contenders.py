"""Everybody who can take part in a replay, by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial

import numpy as np

from dayfly.errors import BadInput
from dayfly.model import Rows, Visits
from dayfly.policies import Contender, Contest
from dayfly.simulate.oracle import Oracle
from dayfly.simulate.trace import Trace


def contenders(trace: Trace | None = None) -> dict[str, Callable[[Contest], Contender]]:
    """What makes each contender, by name; `oracle` is made from the trace.

    >>> "round_robin" in contenders()
    True
    """
    found: dict[str, Callable[[Contest], Contender]] = {
        "oracle": _nobody if trace is None else partial(Oracle, trace),
        "round_robin": RoundRobin,
    }
    for room, names in (
        ("dayfly.policies.field", ("FIELD", "RIVALS")),
        ("dayfly.learn", ("LEARNERS",)),
    ):
        module = importlib.import_module(room)
        for name in names:
            found |= getattr(module, name, {})
    return found


class RoundRobin:
    """One after the other, by row."""

    def __init__(self, contest: Contest) -> None:
        self._sources, self._next = contest.sources, 0

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """The next k rows."""
        rows = (self._next + np.arange(min(k, self._sources))) % self._sources
        self._next = (self._next + len(rows)) % self._sources
        return rows

    def observe(self, visits: Visits) -> None:
        """Nothing that was seen changes the order."""


def _nobody(_: Contest) -> Contender:
    raise BadInput("the oracle is made from a trace; ask for contenders(trace)")
