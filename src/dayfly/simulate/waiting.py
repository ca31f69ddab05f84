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

#: Expected items drawn at once: some 100 MB, whatever is crawled.
BLOCK = 2_000_000


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
        self.fleet, self.law, self.epoch, self.rng = fleet, worth_law(law), epoch, rng
        # What is drawn at crawls has a stream of its own: the arrivals at the sources that carry
        # a state are then the same whatever a policy does.
        self.aside = rng.spawn(1)[0]
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
        late = np.flatnonzero(~kept)
        if len(late):
            items = np.cumsum(self.fleet.arrival[rows[late]] * age[late])
            for part in np.split(late, np.flatnonzero(np.diff(items // BLOCK)) + 1):
                found[part] = self._drawn_now(rows[part], age[part])
        self.visited[rows] = True
        return found

    def seen(self) -> Array:
        """The state where there is one."""
        return self.state.copy()

    def _drawn_now(self, rows: Rows, age: Array) -> Array:
        """The harvest of some sources, item by item, as of the moment of the crawl."""
        fleet, rng = self.fleet, self.aside
        copies = fleet.kind_code[rows] == KINDS.index("freshness")
        exposure = np.minimum(age, fleet.lifetime[rows])
        counts = rng.poisson(np.where(copies, 0.0, fleet.arrival[rows] * exposure))
        owner = np.repeat(np.arange(len(rows)), counts)
        ages = rng.random(len(owner)) * exposure[owner]
        ages = ages[np.lexsort((ages, owner))]
        newest = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
        shown = newest < fleet.window[rows][owner]
        owner, ages, source = owner[shown], ages[shown], rows[owner[shown]]
        slow = fleet.slow_share[source]
        left = (1 - slow) * np.exp(-fleet.decay[source] * ages)
        left += slow * np.exp(-fleet.slow_decay[source] * ages)
        left *= self._worths(owner, ages, exposure)
        found: Array = np.bincount(owner, left, len(rows)).astype(np.float64) * fleet.worth[rows]
        if copies.any():
            # A copy earns from its crawl until the source changes, or until the next crawl.
            with np.errstate(divide="ignore"):
                fresh = np.minimum(rng.standard_exponential(len(rows)) / fleet.decay[rows], age)
            earned = fleet.arrival[rows] * fleet.worth[rows] * fresh * self.visited[rows]
            found[copies] = earned[copies]
        return found

    def _worths(self, owner: Rows, ages: Array, exposure: Array) -> Array:
        """Relative worths of items; one per source and epoch if the law shares them."""
        if not self.law.shared:
            return self.law.draw(self.aside, len(ages))
        epochs = np.ceil(exposure / self.epoch).astype(np.int64)
        first = np.cumsum(epochs) - epochs
        slot = np.minimum((ages // self.epoch).astype(np.int64), epochs[owner] - 1)
        shared: Array = self.law.draw(self.aside, int(epochs.sum()))[first[owner] + slot]
        return shared


def plain(fleet: Fleet) -> Mask:
    """Rows whose waiting value is one number that fades and grows: [J 2] holds for them."""
    ephemeral = fleet.kind_code == KINDS.index("ephemeral")
    found: Mask = ephemeral & np.isinf(fleet.lifetime) & np.isinf(fleet.window)
    return found


def check_observed(fleet: Fleet, observed: Mask) -> None:
    """Only a state that one number describes can be observed."""
    wrong = observed & ~plain(fleet)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadInput(
            f"source {fleet.id[row]!r} cannot be observed in a Poisson world: with a window, a "
            "lifetime or two phases no single number says what waits there"
        )
