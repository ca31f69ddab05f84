"""A web of feeds with known truth on loopback, for demonstrations, trials, tests and benchmarks."""

from dayfly.lab.web.answers import Answers, Manner, Said
from dayfly.lab.web.documents import item_of
from dayfly.lab.web.log import Log, Served, read_log
from dayfly.lab.web.plan import Plan, draw_plan
from dayfly.lab.web.server import SimulatedWeb, serve
from dayfly.lab.web.sites import HOSTILE, Format, Habit, Site, draw_sites

__all__ = [
    "HOSTILE",
    "Answers",
    "Format",
    "Habit",
    "Log",
    "Manner",
    "Plan",
    "Said",
    "Served",
    "SimulatedWeb",
    "Site",
    "draw_plan",
    "draw_sites",
    "item_of",
    "read_log",
    "serve",
]
