"""WHAT is out there: sources, what waits at them, and what one visit saw."""

from dayfly.model.arrays import Array, Mask, Rows
from dayfly.model.checks import check_harvest
from dayfly.model.crawl import Crawl, Item, Status, compared, told_as
from dayfly.model.fleet import KINDS, Fleet, Source
from dayfly.model.harvest import Ephemeral, Freshness, Harvest, TwoPhase
from dayfly.model.mixed import Mixed
from dayfly.model.robots import RobotsCopy
from dayfly.model.rules import NUMBERS
from dayfly.model.table import LONGEST_LINE, read_csv, write_csv
from dayfly.model.visits import Counts, Visits
from dayfly.model.window import Windowed

__all__ = [
    "KINDS",
    "LONGEST_LINE",
    "NUMBERS",
    "Array",
    "Counts",
    "Crawl",
    "Ephemeral",
    "Fleet",
    "Freshness",
    "Harvest",
    "Item",
    "Mask",
    "Mixed",
    "RobotsCopy",
    "Rows",
    "Source",
    "Status",
    "TwoPhase",
    "Visits",
    "Windowed",
    "check_harvest",
    "compared",
    "read_csv",
    "told_as",
    "write_csv",
]
