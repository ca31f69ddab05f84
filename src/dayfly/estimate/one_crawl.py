"""One crawl as a batch of visits, so that live crawls and replays are learned from alike."""

from __future__ import annotations

import math

import numpy as np

from dayfly.model import Crawl, Visits


def as_visits(crawl: Crawl, answered: float) -> Visits:
    """One crawl as a batch: its new items last, others that were visible before them."""
    first = math.isinf(answered)
    items = [item for item in crawl.items if item.published is not None or not first]
    dates = np.array(
        [crawl.time if item.published is None else item.published for item in items],
        dtype=np.float64,
    )
    order = np.argsort(dates, kind="stable")
    worth = np.array([item.worth for item in items], dtype=np.float64)[order]
    # Who shows items without dates is not empty.
    hidden = max(crawl.visible - (len(crawl.items) if items else 0), 0)
    oldest = crawl.time - (crawl.oldest_s if crawl.oldest_s is not None else 0.0)
    return Visits(
        time=crawl.time,
        row=np.array([crawl.row]),
        gap=np.array([crawl.time - answered]),
        start=np.array([0, hidden + len(items)]),
        published=np.concatenate([np.full(hidden, oldest), dates[order]]),
        worth=np.concatenate([np.ones(hidden), worth]),
        new=np.array([len(items)]),
        value=np.array([crawl.value]),
    )
