"""WHAT is out there: sources, what waits at them, and what one visit saw."""

from dayfly.model.arrays import Array, Mask, Rows
from dayfly.model.crawl import Crawl, Item, Status
from dayfly.model.fleet import KINDS, NUMBERS, Fleet, Source
from dayfly.model.harvest import Ephemeral, Freshness, Harvest, TwoPhase
from dayfly.model.window import Windowed

__all__ = [
    "KINDS",
    "NUMBERS",
    "Array",
    "Crawl",
    "Ephemeral",
    "Fleet",
    "Freshness",
    "Harvest",
    "Item",
    "Mask",
    "Rows",
    "Source",
    "Status",
    "TwoPhase",
    "Windowed",
]
