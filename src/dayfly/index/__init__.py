"""HOW MUCH one crawl is worth now: closed forms, price and bound, stochastic index."""

from dayfly.index.bound import stochastic_bound
from dayfly.index.discounted import discounted_index
from dayfly.index.law import AnyLaw, EpochLaw, WorthLaw, draw, worth_law
from dayfly.index.learned import approximate, two_time_scales
from dayfly.index.relaxed import Relaxed, relax
from dayfly.index.table import stochastic_index
from dayfly.index.whittle import whittle_index, whittle_index_at

__all__ = [
    "AnyLaw",
    "EpochLaw",
    "Relaxed",
    "WorthLaw",
    "approximate",
    "discounted_index",
    "draw",
    "relax",
    "stochastic_bound",
    "stochastic_index",
    "two_time_scales",
    "whittle_index",
    "whittle_index_at",
    "worth_law",
]
