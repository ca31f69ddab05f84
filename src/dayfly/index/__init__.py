"""HOW MUCH one crawl is worth now: closed forms, price and bound, stochastic index."""

from dayfly.index.bound import stochastic_bound
from dayfly.index.law import AnyLaw, EpochLaw, WorthLaw, draw, worth_law
from dayfly.index.relaxed import Relaxed, relax
from dayfly.index.table import stochastic_index
from dayfly.index.whittle import whittle_index, whittle_index_at

__all__ = [
    "AnyLaw",
    "EpochLaw",
    "Relaxed",
    "WorthLaw",
    "draw",
    "relax",
    "stochastic_bound",
    "stochastic_index",
    "whittle_index",
    "whittle_index_at",
    "worth_law",
]
