"""A simulated web before anybody visits it: its sites, and all that they will ever publish."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dayfly.lab.web.sites import HOSTILE, Site, draw_sites
from dayfly.model import Array, Fleet, Mask
from dayfly.simulate import Trace, synth
from dayfly.simulate.laws import Laws
from dayfly.simulate.synth import START
from dayfly.store import Listing

_DAY, _HOUR = 86400.0, 3600.0
#: So long before the start sites have published already, so that nobody finds them empty.
HISTORY = 7 * _DAY
#: Items per second of a site on average, and how unequal they are.
LAWS = Laws(rate=8.0 / _DAY, spread=1.5)
#: Half-lives of what is published.
_HALF_LIVES = (1 * _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, 24 * _HOUR)
#: The first address of the simulated web.
FIRST = "127.0.0.2"


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """Sites, what is true about them, and the items of each with their times."""

    sites: Sequence[Site]
    #: Rates, decays and windows as they really are; a hostile site publishes nothing.
    truth: Fleet
    #: By row; times are whole seconds, because most formats can say no more.
    trace: Trace
    #: Crawling may start then; what came before is history.
    start: float
    until: float

    @property
    def hosts(self) -> int:
        """How many addresses answer."""
        return max(site.host for site in self.sites) + 1

    @functools.cached_property
    def readable(self) -> Mask:
        """Which rows a polite visitor can get something from."""
        return np.array([site.readable for site in self.sites])

    def address(self, host: int, first: str = FIRST) -> str:
        """The address that plays this host."""
        return str(ipaddress.IPv4Address(first) + host)

    def allowed(self, port: int, first: str = FIRST) -> list[str]:
        """What a guard must be told so that it lets visitors in: CIDR:PORT."""
        begin = ipaddress.IPv4Address(first)
        blocks = ipaddress.summarize_address_range(begin, begin + (self.hosts - 1))
        return [f"{block}:{port}" for block in blocks]

    def url(self, row: int, port: int, first: str = FIRST) -> str:
        """Where a source is found."""
        site = self.sites[row]
        return f"http://{self.address(site.host, first)}:{port}{site.path}"

    def listings(self, port: int, first: str = FIRST) -> list[Listing]:
        """The sources as an operator lists them: how fast news fades, nothing about rates."""
        return [
            Listing(
                id=f"feed-{site.row:03d}",
                url=self.url(site.row, port, first),
                decay=float(self.truth.decay[site.row]),
            )
            for site in self.sites
        ]


def draw_plan(
    n: int = 300,
    *,
    seed: int,
    span: float,
    start: float = START + HISTORY,
    hostile: float = 0.0,
    kind: str = "poisson",
    laws: Laws = LAWS,
) -> Plan:
    """Draw a web of n sites that publish until `span` seconds after the start.

    With a hostile share there are more sites than n, and the first n are the same as without.

    Examples
    --------
    >>> plan = draw_plan(10, seed=1, span=3600.0, hostile=0.5)
    >>> len(plan.sites), plan.sites[0].path, plan.url(0, 8000)
    (20, '/0/atom.xml', 'http://127.0.0.2:8000/0/atom.xml')
    >>> bool(plan.readable[10:].any())
    False
    """
    sites = draw_sites(n, seed=seed, hostile=hostile)
    drawn = synth(kind, n, HISTORY + span, seed=seed, laws=laws)
    assert drawn.truth is not None
    rate: Array = np.zeros(len(sites))
    rate[:n] = drawn.truth["rate"]
    bad = len(sites) - n
    rng = np.random.default_rng([seed, 2])
    half_life = np.concatenate([rng.choice(_HALF_LIVES, n), np.full(bad, _HALF_LIVES[2])])
    trace = Trace(
        sources=tuple(f"feed-{site.row:03d}" for site in sites),
        start=np.concatenate([drawn.start, np.full(bad, drawn.start[-1])]),
        time=np.floor(drawn.time - START + start - HISTORY),
        worth=drawn.worth,
    )
    truth = Fleet(arrival=rate, decay=np.log(2) / half_life, window=[site.window for site in sites])
    assert not any(site.habit in HOSTILE for site in sites[:n])
    return Plan(sites=sites, truth=truth, trace=trace, start=start, until=start + span)
