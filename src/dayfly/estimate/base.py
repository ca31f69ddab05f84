"""What an estimator promises, and what it hands over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dayfly.model import Crawl, Fleet, Visits


class Estimate(Struct, frozen=True, kw_only=True, gc=False):
    """What is believed about one source after one crawl."""

    #: The source, by its row in the fleet.
    row: int
    #: When the crawl ended that led to this belief, POSIX seconds.
    time: float
    #: Items per second, loss of interest per second, worth of a new item: as in `Source`.
    arrival: float
    decay: float
    worth: float
    #: All that the estimator must know to carry on from here; only it can read this.
    memory: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates:
    """What is believed about many sources, as columns; None leaves a column as it is.

    Besides beliefs it carries what an operator may change: cost, weight, host and group.

    >>> Estimates(row=[4, 7], arrival=[0.1, 0.2], weight=2.0).arrival
    [0.1, 0.2]
    """

    #: The sources, by row; no row twice.
    row: npt.ArrayLike
    arrival: npt.ArrayLike | None = None
    decay: npt.ArrayLike | None = None
    worth: npt.ArrayLike | None = None
    cost: npt.ArrayLike | None = None
    #: Multiplies `worth`; 1 where nobody ever said anything.
    weight: npt.ArrayLike | None = None
    host: str | Sequence[str] | None = None
    group: str | Sequence[str] | None = None

    @classmethod
    def of(cls, estimates: Estimates | Iterable[Estimate]) -> Estimates:
        """The same beliefs as columns; of two about one source the later counts."""
        if isinstance(estimates, Estimates):
            return estimates
        last = {estimate.row: estimate for estimate in estimates}
        return cls(
            row=np.array(list(last), dtype=np.int64),
            arrival=np.array([estimate.arrival for estimate in last.values()]),
            decay=np.array([estimate.decay for estimate in last.values()]),
            worth=np.array([estimate.worth for estimate in last.values()]),
        )


class Estimator(Protocol):
    """Learns what each source is like from crawls; which source is next is not its business.

    `update` and `apply` are two steps so that nothing is believed that was not also stored: the
    loop asks for an estimate, commits it together with the crawl, and only then applies it. After
    a restart the stored estimates, applied to a new estimator, bring the belief back bit for bit.

    What one visit teaches concerns its source alone. An estimator whose sources share a prior
    refits it in a method `refit()` of its own, when it is told to; the prior is a function of the
    memories and nothing else, so that a restored estimator refits to the same one.
    """

    def update(self, crawl: Crawl) -> Estimate:
        """The belief about the crawl's source in the light of it: pure, nothing is applied yet.

        `crawl.items` are the new items only; a crawl that did not answer is accepted too.
        """
        ...

    def apply(self, estimate: Estimate) -> None:
        """Believe it from now on."""
        ...

    def learn(self, visits: Visits) -> None:
        """The same as `update` and `apply` of each visit, for all of them at once.

        This is what a replay calls; every visit of a batch answered.
        """
        ...

    def mean(self) -> Fleet:
        """The fleet as it most likely is."""
        ...

    def sample(self, rng: np.random.Generator) -> Fleet:
        """The fleet as it may well be: one draw from the belief."""
        ...
