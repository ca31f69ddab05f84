"""Trials: large fleets, polite crawling, price control, back-pressure, cold starts.

Each one is a module with `run(*, quick=False, progress=None) -> Trial`, imported when it is run.
"""

from __future__ import annotations

import importlib

from dayfly.errors import UnknownName
from dayfly.lab.trials.base import Progress, Trial, TrialRow, as_document, to_png, write_trials

#: Names on the command line, in the order of running: where each one lives, and what it asks.
NAMES = {
    "large": ("dayfly.lab.trials.large", "Does a million sources earn what a scan of all earns?"),
    "hosts": ("dayfly.lab.trials.hosts", "What does politeness cost, beside the bound with it?"),
    "price": ("dayfly.lab.trials.price", "Does the price follow a budget that moves?"),
    "pressure": ("dayfly.lab.trials.pressure", "What if the consumer is slower than the crawl?"),
    "learning": (
        "dayfly.lab.trials.learning",
        "How soon does who knows nothing earn like who does?",
    ),
    "estimation": ("dayfly.lab.trials.estimation", "What are a few change bits per page worth?"),
    "rhythm": ("dayfly.lab.trials.rhythm", "What is it worth to know the time of day?"),
    "crawl": ("dayfly.lab.trials.crawl", "What does the whole crawler catch of a known web?"),
    "corpus": ("dayfly.lab.trials.corpus", "Is every document read or refused, and read right?"),
}


def run_trial(name: str, *, quick: bool = False, progress: Progress | None = None) -> Trial:
    """Run one trial by its name; `quick` is smaller, with the same rows."""
    if name not in NAMES:
        raise UnknownName("trial", name, NAMES)
    found: Trial = importlib.import_module(NAMES[name][0]).run(quick=quick, progress=progress)
    return found


__all__ = [
    "NAMES",
    "Progress",
    "Trial",
    "TrialRow",
    "as_document",
    "run_trial",
    "to_png",
    "write_trials",
]
