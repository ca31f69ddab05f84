"""From all that a visit saw to what was new, and what that was worth."""

from __future__ import annotations

import math
from collections.abc import Collection

from msgspec.structs import replace

from dayfly.model import Crawl, Source, Status


def keep_new(crawl: Crawl, unseen: Collection[str], source: Source) -> Crawl:
    """The same crawl with only its unseen items, their worth at that time, and the right status.

    Examples
    --------
    Two items are visible, one of them new and a half-life old:

    >>> from dayfly.model import Item
    >>> items = (Item(key="new", published=900.0), Item(key="known", published=100.0))
    >>> crawl = Crawl(row=0, time=1000.0, status=Status.CHANGED, items=items, visible=2)
    >>> source = Source(arrival=1.0, decay=math.log(2) / 100, worth=3.0)
    >>> kept = keep_new(crawl, {"new"}, source)
    >>> [item.key for item in kept.items], round(kept.value, 6)
    (['new'], 1.5)
    """
    if not crawl.answered:
        return crawl
    items = tuple(item for item in crawl.items if item.key in unseen)
    value = 0.0
    for item in items:
        # Without a date an item counts as new when it is first seen.
        published = crawl.time if item.published is None else item.published
        value += item.worth * _interest(source, crawl.time - published)
    status = Status.CHANGED if items else Status.UNCHANGED
    return replace(crawl, items=items, value=source.worth * value, status=status)


def _interest(source: Source, age: float) -> float:
    """Share of an item's worth that is left at this age."""
    age = max(age, 0.0)
    if age >= source.lifetime:
        return 0.0
    fast, slow = math.exp(-source.decay * age), math.exp(-source.slow_decay * age)
    return (1.0 - source.slow_share) * fast + source.slow_share * slow
