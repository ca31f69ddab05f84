"""Crawls as a batch of visits, so that live crawls and replays are learned from alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dayfly.model import Array, Crawl, Visits


def as_visits(crawls: Sequence[Crawl], answered: Array) -> Visits:
    """Crawls as columns: of each its new items last, others that were visible before them.

    Parameters
    ----------
    crawls
        At least one, of different sources; each answered.
    answered
        When each source answered before; minus infinity if it never did.
    """
    time = max(crawl.time for crawl in crawls)
    dates: list[float] = []
    worths: list[float] = []
    hidden, oldest, new = [], [], []
    for crawl, first in zip(crawls, np.isinf(answered).tolist(), strict=True):
        # An item without a date came now; at a first visit it says nothing.
        items = [
            (crawl.time if item.published is None else item.published, item.worth)
            for item in crawl.items
            if item.published is not None or not first
        ]
        items.sort()
        dates += [date for date, _ in items]
        worths += [value for _, value in items]
        new.append(len(items))
        # Who shows items without dates is not empty.
        hidden.append(max(crawl.visible - (len(crawl.items) if items else 0), 0))
        oldest.append(crawl.time - (crawl.oldest_s if crawl.oldest_s is not None else 0.0))
    # Of what was seen before, only its number and the oldest are known.
    shown = np.array(hidden) + np.array(new)
    start = np.concatenate([[0], np.cumsum(shown)])
    known = np.arange(start[-1]) < np.repeat(start[:-1] + hidden, shown)
    published, worth = np.repeat(np.array(oldest), shown), np.ones(len(known))
    published[~known], worth[~known] = dates, worths
    return Visits(
        time=time,
        row=np.array([crawl.row for crawl in crawls]),
        gap=time - answered,
        start=start,
        published=published,
        worth=worth,
        new=np.array(new),
        value=np.array([crawl.value for crawl in crawls]),
    )
