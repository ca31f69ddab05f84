"""HOW MUCH one crawl is worth now: closed forms, price and bound, stochastic index."""

from dayfly.index.relax import Relaxed, relax
from dayfly.index.whittle import whittle_index, whittle_index_at

__all__ = ["Relaxed", "relax", "whittle_index", "whittle_index_at"]
