"""Crawls as a batch of visits."""

import numpy as np

from dayfly.estimate.crawls import as_visits
from dayfly.model import Crawl, Item, Status

NOW = 1e9


def crawl(row, published, *, visible, oldest_s=None, time=NOW):
    items = tuple(Item(key=str(n), published=date) for n, date in enumerate(published))
    return Crawl(
        row=row, time=time, status=Status.CHANGED, items=items, visible=visible, oldest_s=oldest_s
    )


def test_new_items_come_last_and_in_order_and_what_was_seen_before_counts_as_the_oldest():
    visits = as_visits(
        [crawl(3, [NOW - 10, NOW - 20], visible=4, oldest_s=90.0), crawl(1, [], visible=0)],
        np.array([NOW - 60.0, -np.inf]),
    )
    assert visits.row.tolist() == [3, 1]
    assert visits.start.tolist() == [0, 4, 4]
    assert visits.published.tolist() == [NOW - 90, NOW - 90, NOW - 20, NOW - 10]
    assert visits.new.tolist() == [2, 0]
    assert visits.gap.tolist() == [60.0, np.inf]


def test_an_item_without_a_date_came_now_and_says_nothing_at_a_first_visit():
    again, first = ([crawl(0, [None, NOW - 5], visible=2, oldest_s=5.0)] for _ in range(2))
    later = as_visits(again, np.array([NOW - 60.0]))
    assert later.published[-2:].tolist() == [NOW - 5, NOW]
    assert as_visits(first, np.array([-np.inf])).published.tolist() == [NOW - 5]


def test_many_are_each_as_alone():
    crawls = [crawl(n, [NOW - 7.0 * k for k in range(n)], visible=n + 1) for n in range(4)]
    together = as_visits(crawls, np.full(4, NOW - 100.0))
    for n, one in enumerate(crawls):
        alone, part = as_visits([one], np.array([NOW - 100.0])), together.part(n, n + 1)
        for name in ("row", "gap", "start", "published", "worth", "new", "value"):
            assert getattr(alone, name).tolist() == getattr(part, name).tolist()
