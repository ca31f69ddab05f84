"""The contests of the league, each with a name and a version.

Whoever changes what a scenario plays gives it a new version; figures under one name can be
compared for good.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dayfly.errors import UnknownName
from dayfly.lab.league import recorded
from dayfly.simulate import Trace, synth
from dayfly.simulate.laws import Laws
from dayfly.simulate.synth import START

_DAY, _HOUR = 86400.0, 3600.0
#: 2020-11-03, 2020-08-01 and 2013-04-01, midnight UTC.
_NEWS, _SOCIAL, _FORUMS = 1_604_361_600.0, 1_596_240_000.0, 1_364_774_400.0
#: Days that the social and the forum trace are cut to, and that a drawn one lasts.
_CUT, _DRAWN = 120, 42
#: Quick: so many sources, drawn from the checksum of their names, history and days in all.
_QUICK_SOURCES, _QUICK_HISTORY, _QUICK_DAYS = 300, 7, 30


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A trace, and how it is played: every budget with every half-life is one cell."""

    name: str
    about: str
    #: The trace; a drawn one depends on the seed, a recorded one is always the same.
    load: Callable[[int], Trace]
    #: The recorded file that it is read from; empty if it is drawn.
    file: str = ""
    #: Where days are counted from, POSIX seconds; crawling starts on one day and ends with another.
    origin: float
    history_days: int
    days: int
    #: Visits per epoch, and seconds.
    budgets: tuple[float, ...]
    half_lives: tuple[float, ...]
    epoch: float = 900.0
    window: int | None = 20
    #: So many days at the end count as settled.
    settled_days: int = 30
    quick: bool = False

    @property
    def drawn(self) -> bool:
        """Whether it is drawn anew for each seed."""
        return not self.file

    @property
    def start(self) -> float:
        """The first instant."""
        return self.origin + self.history_days * _DAY

    @property
    def until(self) -> float:
        """The end, excluded."""
        return self.origin + self.days * _DAY

    @property
    def cells(self) -> list[Cell]:
        """All cells, by half-life and then budget."""
        return [
            Cell(scenario=self.name, budget=budget, epoch=self.epoch, half_life=half_life)
            for half_life in self.half_lives
            for budget in self.budgets
        ]

    def trace(self, seed: int) -> Trace:
        """What is played with this seed."""
        trace = self.load(seed)
        return few(trace, _QUICK_SOURCES) if self.quick else trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One contest: a scenario at one budget and one half-life."""

    scenario: str
    #: Visits per epoch, and both in seconds.
    budget: float
    epoch: float
    half_life: float

    @property
    def decay(self) -> float:
        """Loss of interest per second."""
        return math.log(2) / self.half_life


def _synthetic(name: str, kind: str, about: str, laws: Laws | None = None) -> Scenario:
    return Scenario(
        name=name,
        about=f"1,000 sources drawn anew for each seed: {about}. 28 days after 14 of history.",
        load=partial(_draw, kind, laws),
        origin=START,
        history_days=14,
        days=_DRAWN,
        budgets=(1.0, 4.0, 16.0),
        half_lives=(6 * _HOUR,),
        settled_days=14,
    )


def _draw(kind: str, laws: Laws | None, seed: int) -> Trace:
    return synth(kind, 1000, _DRAWN * _DAY, seed=seed, laws=laws)


def _news(_: int) -> Trace:
    return recorded.news()


def _social(_: int) -> Trace:
    return recorded.social(_SOCIAL, _CUT)


def _forums(_: int) -> Trace:
    return recorded.forums(_FORUMS, _CUT)


def _all() -> list[Scenario]:
    hours = (1 * _HOUR, 6 * _HOUR, 24 * _HOUR)
    return [
        Scenario(
            name="news-v1",
            about="Articles of 6,626 publishers, 3 November 2020 to 31 January 2021; an aggregator"
            " is left out. 76 days after 14 of history.",
            load=_news,
            file=recorded.NEWS,
            origin=_NEWS,
            history_days=14,
            days=90,
            budgets=(5.0, 20.0, 80.0),
            half_lives=hours,
        ),
        # Budgets as in the news: all sources once in about 12 days, 3 days, 18 hours.
        Scenario(
            name="social-v1",
            about="Posts of 1,134 accounts, 1 August to 28 November 2020, in bursts. 106 days after"
            " 14 of history. About as many visits per source as in the news.",
            load=_social,
            file=recorded.SOCIAL,
            origin=_SOCIAL,
            history_days=14,
            days=_CUT,
            budgets=(1.0, 4.0, 16.0),
            half_lives=hours,
        ),
        Scenario(
            name="forums-v1",
            about="Posts of 471 small forums, 1 April to 29 July 2013, each worth its score, or"
            " nothing where that is below 0. 106 days after 14 of history. About as many visits per"
            " source as in the news.",
            load=_forums,
            file=recorded.FORUMS,
            origin=_FORUMS,
            history_days=14,
            days=_CUT,
            budgets=(0.5, 1.5, 6.0),
            half_lives=hours,
        ),
        _synthetic("poisson-v1", "poisson", "items at random, at rates that differ widely"),
        _synthetic("diurnal-v1", "rhythm", "each with a time of day of its own"),
        _synthetic(
            "bursty-v1",
            "hawkes",
            "every item provokes 0.7 others within hours, 4 items a day on average",
            Laws(rate=4 / _DAY),
        ),
        _synthetic("drift-v1", "drift", "the rate of each moves once"),
        _synthetic("deaths-v1", "deaths", "some fall silent, some wake up late"),
    ]


#: All scenarios by name, in the order of playing.
SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in _all()}


def find_scenario(name: str, *, quick: bool = False) -> Scenario:
    """A scenario by its name; quick: some of its sources, few days, and the cell in the middle."""
    if name not in SCENARIOS:
        raise UnknownName("scenario", name, SCENARIOS)
    scenario = SCENARIOS[name]
    return _quick(scenario) if quick else scenario


def _quick(scenario: Scenario) -> Scenario:
    # Fewer sources share a budget that is cut alike, so that the cell stays what it is.
    sources = {"news-v1": 6626, "social-v1": 1134, "forums-v1": 471}.get(scenario.name, 1000)
    middle = scenario.budgets[len(scenario.budgets) // 2] * _QUICK_SOURCES / sources
    half_life = scenario.half_lives[len(scenario.half_lives) // 2]
    return replace(
        scenario,
        quick=True,
        history_days=_QUICK_HISTORY,
        days=_QUICK_DAYS,
        settled_days=(_QUICK_DAYS - _QUICK_HISTORY) // 2,
        budgets=(round(middle, 2),),
        half_lives=(half_life,),
    )


def few(trace: Trace, sources: int) -> Trace:
    """The first rows of a trace. Of a recorded one that is a sample: rows are in random order."""
    end = int(trace.start[min(sources, len(trace))])
    truth = trace.truth
    return Trace(
        sources=trace.sources[:sources],
        start=trace.start[: sources + 1],
        time=trace.time[:end],
        worth=trace.worth[:end],
        truth=None if truth is None else {name: one[:sources] for name, one in truth.items()},
    )


def true_bound(trace: Trace, scenario: Scenario, cell: Cell) -> float | None:
    """Share of the value published that no rule can exceed which knows mean rates and ages alone.

    It is solved for the rates that a trace was drawn from; None where nobody knows those. Who knows
    the moment, by the time of day or by a burst that is under way, may get beyond it.
    """
    from dayfly.index import relax
    from dayfly.model import Fleet

    if trace.truth is None:
        return None
    fleet = Fleet(
        arrival=np.asarray(trace.truth["rate"], dtype=np.float64),
        decay=cell.decay,
        window=np.inf if scenario.window is None else scenario.window,
    )
    published = float(fleet.arrival.sum()) * cell.epoch
    return relax(fleet, cell.budget, cell.epoch, threads=1).bound / published
