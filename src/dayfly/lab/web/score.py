"""What was caught of a simulated web, and what other rules would have caught of it.

Everybody is scored on the same items: those that sites which a polite visitor can read published
in the contest. An item is worth e^(−decay·wait) when it is seen. Field rules are replayed on the
same list, where a site that cannot be read shows nothing, and costs a visit whenever they come.
Nothing else ever goes wrong for them, and no host makes them wait: what they can do at best.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dayfly.index import relax
from dayfly.lab.web.documents import item_of
from dayfly.lab.web.plan import Plan
from dayfly.model import Array, Rows, Visits
from dayfly.policies import Contender, Contest
from dayfly.simulate import Trace, contenders, replay
from dayfly.store import StoredItem

#: Replayed rules choose so often, in seconds, and see so many items: as many as any site shows.
_EPOCH, _WINDOW = 300.0, 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Score:
    """What was caught, beside what there was."""

    #: Of the readable sites, by row: worth when seen, and worth when new.
    value: Array
    published: Array
    visits: int

    @property
    def share(self) -> float:
        """Value caught of value published."""
        return float(self.value.sum() / max(self.published.sum(), 1e-300))


def score_items(plan: Plan, items: Iterable[StoredItem], visits: int, until: float) -> Score:
    """What a crawler has stored, by the web's own times; an item is counted once."""
    trace, value = plan.trace, np.zeros(len(plan.sites))
    counted: set[tuple[int, int]] = set()
    for item in items:
        row, number = item_of(item.link)
        at = int(trace.start[row]) + number
        time = float(trace.time[at])
        if not plan.start <= time < until or (row, number) in counted:
            continue
        counted.add((row, number))
        wait = max(item.seen - time, 0.0)
        value[row] += float(trace.worth[at] * np.exp(-plan.truth.decay[row] * wait))
    return Score(value=value, published=_published(plan, until), visits=visits)


def score_rule(plan: Plan, name: str, budget: float, until: float, seed: int = 0) -> Score:
    """What a field rule would have caught with this budget (visits per second)."""
    trace = _shown(plan)
    make = contenders()[name]
    watched: list[_Watched] = []

    def watch(contest: Contest) -> Contender:
        watched.append(_Watched(make(contest)))
        return watched[0]

    run = replay(
        trace, watch, budget=budget * _EPOCH, epoch=_EPOCH, decay=1.0, start=plan.start,
        until=until, window=_WINDOW, seed=seed,
    )  # fmt: skip
    value = np.zeros(len(plan.sites))
    visits = watched[0].times(len(plan.sites))
    for row in np.flatnonzero(plan.readable).tolist():
        value[row] = _seen(plan, row, visits[row], until)
    return Score(value=value, published=_published(plan, until), visits=run.crawls)


def best_share(plan: Plan, budget: float) -> float:
    """Share of the published value that nobody can exceed on average who knows rates and ages."""
    fleet = plan.truth.take(np.flatnonzero(plan.readable))
    return relax(fleet, budget).bound / float(fleet.arrival @ fleet.worth)


class _Watched:
    """A contender, and when it visited whom."""

    def __init__(self, contender: Contender) -> None:
        self._contender = contender
        self._visits: list[tuple[float, Rows]] = []

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """What the contender chooses."""
        return self._contender.choose(now, k, rng)

    def observe(self, visits: Visits) -> None:
        """Note the visits, and pass them on."""
        self._visits.append((visits.time, visits.row))
        self._contender.observe(visits)

    def times(self, rows: int) -> list[Array]:
        """When each row was visited."""
        row = np.concatenate([some for _, some in self._visits])
        time = np.concatenate([np.full(len(some), now) for now, some in self._visits])
        order = np.lexsort((time, row))
        return np.split(time[order], np.searchsorted(row[order], np.arange(1, rows)))


def _seen(plan: Plan, row: int, visits: Array, until: float) -> float:
    """What visits at these times catch of a source: at the first visit that still shows it."""
    a, b = plan.trace.start[row : row + 2]
    times, worth = plan.trace.time[a:b], plan.trace.worth[a:b]
    which = np.searchsorted(visits, times, side="left")
    counts = (times >= plan.start) & (times < until) & (which < len(visits))
    (item,) = np.nonzero(counts)
    seen = visits[which[item]]
    newest = np.searchsorted(times, seen, side="right")
    shown = newest - item <= plan.sites[row].window
    wait = (seen - times[item])[shown]
    return float(worth[item][shown] @ np.exp(-plan.truth.decay[row] * wait))


def _published(plan: Plan, until: float) -> Array:
    trace = plan.trace
    inside = (trace.time >= plan.start) & (trace.time < until)
    found = np.bincount(trace.source[inside], trace.worth[inside], minlength=len(plan.sites))
    return np.where(plan.readable, found, 0.0)


def _shown(plan: Plan) -> Trace:
    """The same trace, with nothing from those who cannot be read."""
    trace = plan.trace
    many = np.where(plan.readable, np.diff(trace.start), 0)
    kept = plan.readable[trace.source]
    return Trace(
        sources=trace.sources,
        start=np.concatenate([[0], np.cumsum(many)]),
        time=trace.time[kept],
        worth=trace.worth[kept],
    )
