"""What waits at the sources of a world with known truth.

`MeanField` is the papers' deterministic model [J 1–3]: everything happens as expected. `Poisson`
draws every arrival [J 23]: plain ephemeral sources carry their state from epoch to epoch, so that
it can be observed; the others (window, lifetime, two phases, freshness) are drawn when somebody
looks, which is the same in law and needs no memory.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dayfly.errors import BadInput
from dayfly.index import AnyLaw, draw, worth_law
from dayfly.model import KINDS, Array, Fleet, Mask, Rows


class Waiting(Protocol):
    """A world as the simulator needs it."""

    def advance(self, elapsed: float) -> None:
        """Let time pass at every source."""
        ...

    def harvest(self, rows: Rows, age: Array) -> Array:
        """What a crawl of these rows brings home, given the time since their last crawl."""
        ...

    def seen(self) -> Array:
        """What waits at each source, NaN where the world keeps no state."""
        ...


class MeanField:
    """Everything happens as expected; `excess` is what waits beyond the ceiling at the start."""

    def __init__(self, fleet: Fleet, excess: Array, start_age: Array) -> None:
        self.fleet, self.excess = fleet, excess.copy()
        self.age = start_age.copy()
        self.visited = np.zeros(len(fleet), dtype=bool)
        self.pays_late = fleet.kind_code == KINDS.index("freshness")

    def advance(self, elapsed: float) -> None:
        """Let time pass at every source."""
        self.age += elapsed
        if self.excess.any():
            self.excess *= np.exp(-self.fleet.decay * elapsed)

    def harvest(self, rows: Rows, age: Array) -> Array:
        """The expected harvest; a fresh copy earns from its second visit on."""
        found = self.fleet.take(rows).harvest.value(age) + self.excess[rows]
        found[self.pays_late[rows] & ~self.visited[rows]] = 0.0
        self.visited[rows] = True
        self.excess[rows] = 0.0
        self.age[rows] = 0.0
        return found

    def seen(self) -> Array:
        """What is expected to wait: in this world, what does."""
        return self.fleet.harvest.value(self.age) + self.excess


class Poisson:
    """Every arrival is drawn; `carried` says which rows keep their state between crawls."""

    def __init__(
        self,
        fleet: Fleet,
        start: Array,
        carried: Mask,
        law: AnyLaw,
        epoch: float,
        rng: np.random.Generator,
    ) -> None:
        self.fleet, self.law, self.epoch, self.rng = fleet, law, epoch, rng
        self.rows = np.flatnonzero(carried)
        self.carried = carried
        self.state = np.where(carried, start, np.nan)
        self.visited = np.zeros(len(fleet), dtype=bool)

    def advance(self, elapsed: float) -> None:
        """X ← αX + U for the rows that carry a state [J 23]."""
        rows, fleet = self.rows, self.fleet
        if not len(rows):
            return
        fresh = draw(
            self.rng, fleet.arrival[rows], fleet.decay[rows], fleet.worth[rows], elapsed, self.law
        )
        self.state[rows] = self.state[rows] * np.exp(-fleet.decay[rows] * elapsed) + fresh

    def harvest(self, rows: Rows, age: Array) -> Array:
        """What waits at these rows; afterwards nothing does."""
        found = np.zeros(len(rows))
        kept = self.carried[rows]
        found[kept] = self.state[rows[kept]]
        self.state[rows[kept]] = 0.0
        for at in np.flatnonzero(~kept):
            found[at] = self._drawn_now(int(rows[at]), float(age[at]))
        self.visited[rows] = True
        return found

    def seen(self) -> Array:
        """The state where there is one."""
        return self.state.copy()

    def _drawn_now(self, row: int, age: float) -> float:
        """The harvest of one source, item by item, as of the moment of the crawl."""
        source, rng = self.fleet[row], self.rng
        if source.kind == "freshness":
            fresh = min(rng.exponential(1 / source.decay) if source.decay > 0 else age, age)
            return source.arrival * source.worth * fresh if self.visited[row] else 0.0
        exposure = min(age, source.lifetime)
        ages = rng.random(rng.poisson(source.arrival * exposure)) * exposure
        ages.sort()
        if len(ages) > source.window:
            ages = ages[: int(source.window)]
        worth = worth_law(self.law)
        if worth.shared:
            slot = (ages // self.epoch).astype(np.int64)
            drawn = worth.draw(rng, int(slot.max(initial=0)) + 1)[slot]
        else:
            drawn = worth.draw(rng, len(ages))
        left = (1 - source.slow_share) * np.exp(-source.decay * ages)
        left += source.slow_share * np.exp(-source.slow_decay * ages)
        return float(np.dot(drawn, left)) * source.worth


def plain(fleet: Fleet) -> Mask:
    """Rows whose waiting value is one number that fades and grows: [J 2] holds for them."""
    ephemeral = fleet.kind_code == KINDS.index("ephemeral")
    return ephemeral & np.isinf(fleet.lifetime) & np.isinf(fleet.window)


def check_observed(fleet: Fleet, observed: Mask) -> None:
    """Only a state that one number describes can be observed."""
    wrong = observed & ~plain(fleet)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadInput(
            f"source {fleet.id[row]!r} cannot be observed in a Poisson world: with a window, a "
            "lifetime or two phases no single number says what waits there"
        )
