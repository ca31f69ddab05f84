"""A world with known truth: every item that every source will ever publish, drawn beforehand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dayfly.errors import BadInput
from dayfly.model import Array, Crawl, Fleet, Item, Status


class World:
    """Recorded arrivals, and what a visit at any time would have seen of them.

    Parameters
    ----------
    fleet
        The truth about the sources; `window` and `lifetime` decide what is visible.
    times
        For each source the instants at which its items appeared, ascending.
    worths
        For each source the worth of each item beside the source's own; 1 if None.

    Examples
    --------
    >>> fleet = Fleet(arrival=1.0, decay=0.1, window=2)
    >>> world = World(fleet, [[1.0, 2.0, 4.0]])
    >>> [item.published for item in world.visit(0, 4.5).items]
    [2.0, 4.0]
    """

    def __init__(
        self,
        fleet: Fleet,
        times: Sequence[Sequence[float] | Array],
        worths: Sequence[Sequence[float] | Array] | None = None,
    ) -> None:
        if len(times) != len(fleet) or (worths is not None and len(worths) != len(fleet)):
            raise BadInput(f"the fleet has {len(fleet)} sources, the record has {len(times)}")
        self.fleet = fleet
        self._times = [np.asarray(one, dtype=np.float64) for one in times]
        given = worths if worths is not None else [np.ones(len(one)) for one in self._times]
        self._worths = [np.asarray(one, dtype=np.float64) for one in given]
        for row, (when, what) in enumerate(zip(self._times, self._worths, strict=True)):
            if len(when) != len(what) or (np.diff(when) < 0).any():
                raise BadInput(f"source {row}: items need ascending times and one worth each")

    @classmethod
    def draw(
        cls,
        fleet: Fleet,
        *,
        start: float,
        until: float,
        rng: np.random.Generator,
        history: float = 0.0,
    ) -> World:
        """Poisson arrivals from `history` seconds before the start, so that feeds are not empty."""
        span = until - start + history
        counts = rng.poisson(fleet.arrival * span)
        owner = np.repeat(np.arange(len(fleet)), counts)
        when = start - history + span * rng.random(len(owner))
        when = when[np.lexsort((when, owner))]
        return cls(fleet, np.split(when, np.cumsum(counts)[:-1]))

    def visit(self, row: int, now: float) -> Crawl:
        """Every item that is visible now, in the shape of a real fetch."""
        times = self._times[row]
        last = int(np.searchsorted(times, now, side="right"))
        first = int(np.searchsorted(times, now - self.fleet.lifetime[row], side="right"))
        first = int(max(first, last - self.fleet.window[row]))
        items = tuple(
            Item(key=str(n), published=float(times[n]), worth=float(self._worths[row][n]))
            for n in range(first, last)
        )
        return Crawl(
            row=row,
            time=now,
            status=Status.CHANGED if items else Status.UNCHANGED,
            items=items,
            visible=len(items),
            oldest_s=now - items[0].published if items and items[0].published is not None else None,
            cost=float(self.fleet.cost[row]),
        )

    def published(self, start: float, until: float) -> Array:
        """Worth of all items that appeared in [start, until), when new, by source."""
        return np.array(
            [
                worth * what[np.searchsorted(when, start) : np.searchsorted(when, until)].sum()
                for worth, when, what in zip(
                    self.fleet.worth, self._times, self._worths, strict=True
                )
            ]
        )
