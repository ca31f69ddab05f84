"""Who lives in the simulated web: formats, manners and bad habits, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np

from dayfly.errors import BadInput

T = TypeVar("T", bound=str)


class Format(StrEnum):
    """What the documents are written in."""

    RSS = "rss"
    ATOM = "atom"
    JSON = "json"
    SITEMAP = "sitemap"


class Habit(StrEnum):
    """How a site behaves."""

    PLAIN = "plain"
    #: 301 to where the feed has moved, 302 to where it is today.
    MOVED = "moved"
    DETOUR = "detour"
    #: Not well-formed, though people can read it.
    MALFORMED = "malformed"
    #: Answers after some seconds; fails for an hour now and then; says 429 when asked too often.
    SLOW = "slow"
    FLAKY = "flaky"
    LIMITED = "limited"
    # From here on nothing of use ever comes, and most of it does harm.
    BROKEN = "broken"  # 500, always
    SILENT = "silent"  # accepts and says nothing
    RESET = "reset"  # hangs up
    CUT = "cut"  # promises more bytes than it sends
    DRIP = "drip"  # a byte per second
    ENDLESS = "endless"  # a body without end
    BOMB = "bomb"  # a few kilobytes that unpack to 64 MiB
    ENTITIES = "entities"  # a billion laughs
    DEEP = "deep"  # a million elements inside each other
    CIRCLE = "circle"  # redirects for ever
    LOGIN = "login"  # a page with a form, and 200


#: Nothing of value comes from these, whatever one does.
HOSTILE = tuple(Habit)[list(Habit).index(Habit.BROKEN) :]

#: How often each habit occurs among the others.
_HABITS = {
    Habit.PLAIN: 0.74,
    Habit.MOVED: 0.04,
    Habit.DETOUR: 0.04,
    Habit.MALFORMED: 0.05,
    Habit.SLOW: 0.04,
    Habit.FLAKY: 0.05,
    Habit.LIMITED: 0.04,
}
_FORMATS = {Format.RSS: 0.5, Format.ATOM: 0.25, Format.JSON: 0.15, Format.SITEMAP: 0.1}
#: What a site offers to ask conditionally with: an ETag, a date, both, or nothing.
_VALIDATORS = {"both": 0.5, "etag": 0.25, "date": 0.15, "none": 0.1}
#: What the robots.txt of a host says; "delay" is a Crawl-delay of 10 s, "closed" is for nobody.
_ROBOTS = {"absent": 0.5, "open": 0.34, "delay": 0.12, "closed": 0.04}
#: How many items are shown.
_WINDOWS = (10, 20, 30, 50)
#: Sites per host, on average.
_PER_HOST = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One source of the simulated web."""

    row: int
    #: Which of the addresses answers.
    host: int
    format: Format
    habit: Habit
    validators: str
    #: What the robots.txt of its host says.
    robots: str
    #: How many of its newest items it shows.
    window: int
    gzip: bool = False
    #: Seconds for which its answers may be kept, as `Cache-Control` says; 0: not said.
    max_age: int = 0

    @property
    def path(self) -> str:
        """Where it is, for those who list it."""
        ending = {Format.JSON: "json"}.get(self.format, "xml")
        return f"/{self.row}/{self.format}.{ending}"

    @property
    def readable(self) -> bool:
        """Whether a polite visitor ever gets anything of value here."""
        return self.habit not in HOSTILE and self.robots != "closed"


def draw_sites(n: int, *, seed: int, hostile: float = 0.0) -> list[Site]:
    """Sites drawn from a seed; the last ones are hostile, so many that they are this share."""
    if not 0.0 <= hostile < 1.0:
        raise BadInput(f"the hostile share must lie in [0, 1), got {hostile:g}")
    rng = np.random.default_rng([seed, 1])
    hosts = max(round(n / _PER_HOST), 1)
    robots = _drawn(rng, _ROBOTS, hosts)
    # Every host has a site; the others are spread unevenly, so that some hosts have many.
    host = np.concatenate([np.arange(min(n, hosts)), rng.zipf(1.7, max(n - hosts, 0)) % hosts])
    habits, formats = _drawn(rng, _HABITS, n), _drawn(rng, _FORMATS, n)
    validators, windows = _drawn(rng, _VALIDATORS, n), rng.choice(_WINDOWS, n)
    packed, aged = rng.random(n) < 0.3, rng.random(n) < 0.05
    healthy = [
        Site(
            row=row,
            host=int(host[row]),
            format=_fitting(formats[row], habits[row]),
            habit=habits[row],
            validators=validators[row],
            robots=robots[int(host[row])],
            window=int(windows[row]),
            gzip=bool(packed[row]),
            max_age=900 if aged[row] else 0,
        )
        for row in range(n)
    ]
    return healthy + _hostile(n, hosts, round(n * hostile / (1.0 - hostile)))


def _hostile(first: int, hosts: int, count: int) -> list[Site]:
    """Hostile sites on hosts of their own, every habit in turn."""
    return [
        Site(
            row=first + number,
            host=hosts + number,
            format=Format.RSS,
            habit=HOSTILE[number % len(HOSTILE)],
            validators="none",
            robots="absent",
            window=20,
        )
        for number in range(count)
    ]


def _fitting(format: Format, habit: Habit) -> Format:
    """Only feeds in XML are worth reading when they are broken."""
    return Format.RSS if habit == Habit.MALFORMED and format != Format.ATOM else format


def _drawn(rng: np.random.Generator, shares: dict[T, float], n: int) -> list[T]:
    names = list(shares)
    return [names[k] for k in rng.choice(len(names), n, p=list(shares.values()))]
