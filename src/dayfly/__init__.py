"""Decides which source to crawl next when what the sources publish is worth hours, not years."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dayfly.index import Relaxed, relax, stochastic_index, whittle_index, whittle_index_at
    from dayfly.model import Crawl, Fleet, Harvest, Source
    from dayfly.policies import Policy
    from dayfly.simulate import Run, simulate

__version__ = "0.1.0"

#: Public names and the room each lives in. They are imported when first used, so that
#: `dayfly --help` does not wait for numpy.
_ROOMS = {
    "Crawl": "model",
    "Fleet": "model",
    "Harvest": "model",
    "Policy": "policies",
    "Relaxed": "index",
    "Run": "simulate",
    "Source": "model",
    "relax": "index",
    "simulate": "simulate",
    "stochastic_index": "index",
    "whittle_index": "index",
    "whittle_index_at": "index",
}

__all__ = [
    "Crawl",
    "Fleet",
    "Harvest",
    "Policy",
    "Relaxed",
    "Run",
    "Source",
    "__version__",
    "relax",
    "simulate",
    "stochastic_index",
    "whittle_index",
    "whittle_index_at",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'dayfly' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dayfly.{_ROOMS[name]}"), name)
