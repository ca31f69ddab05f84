"""Table I of the papers: the four sources that all of their numbers are about.

Equation numbers throughout `lab`: [J] Avrachenkov and Borkar, *Whittle Index Policy for Crawling
Ephemeral Content*, IEEE Trans. Control of Network Systems 5(1), 2018; [C] its conference version,
CDC 2015; [S] the slides of MAS 2016; [L] the learning paper, Allerton 2019.
"""

from __future__ import annotations

from dayfly.model import Array, Fleet

#: The papers' crawling period T, which is also their unit of time.
EPOCH = 1.0

#: ξ̄, μ and Λ of [J, Table I]; every crawl costs 1.
TABLE_ONE = Fleet(
    arrival=250.0,
    decay=[0.7, 0.35, 0.7, 0.21],
    worth=[1.0, 0.7, 0.2, 0.08],
    id=["source 1", "source 2", "source 3", "source 4"],
)


def first_state(fleet: Fleet, epoch: float = EPOCH) -> Array:
    """What one epoch adds on average, u of [J 1]; every run of [J] starts here.

    >>> first_state(TABLE_ONE).round(2)
    array([179.79, 147.66,  35.96,  18.04])
    """
    return fleet.harvest.value(fleet.decay * 0.0 + epoch)


def ceiling(fleet: Fleet) -> Array:
    """What waits at a source that is never crawled, u* = Λξ̄/μ.

    >>> ceiling(TABLE_ONE).round(2)
    array([357.14, 500.  ,  71.43,  95.24])
    """
    return fleet.arrival * fleet.worth / fleet.decay
