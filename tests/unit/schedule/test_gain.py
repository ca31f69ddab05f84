"""What was new, and what it was worth."""

import math

import pytest

from dayfly.model import Crawl, Item, Source, Status
from dayfly.schedule import keep_new

SOURCE = Source(arrival=1.0, decay=0.1, worth=2.0)


def crawl(*items: Item, status: Status = Status.CHANGED) -> Crawl:
    return Crawl(row=0, time=100.0, status=status, items=items, visible=len(items), etag="e")


def test_value_is_what_is_left_of_each_new_items_worth():
    seen = crawl(
        Item(key="a", published=90.0), Item(key="b", published=80.0, worth=3.0),
        Item(key="known", published=99.0), Item(key="undated", published=None),
    )  # fmt: skip
    kept = keep_new(seen, {"a", "b", "undated"}, SOURCE)
    assert [item.key for item in kept.items] == ["a", "b", "undated"]
    assert kept.value == pytest.approx(2.0 * (math.exp(-1) + 3 * math.exp(-2) + 1.0))
    assert (kept.visible, kept.etag, kept.status) == (4, "e", Status.CHANGED)


def test_nothing_new_means_unchanged():
    kept = keep_new(crawl(Item(key="a", published=1.0)), set(), SOURCE)
    assert (kept.status, kept.items, kept.value, kept.visible) == (Status.UNCHANGED, (), 0.0, 1)


def test_a_date_ahead_of_us_is_not_worth_more_than_new():
    assert keep_new(crawl(Item(key="a", published=999.0)), {"a"}, SOURCE).value == 2.0


def test_interest_may_have_two_phases_and_an_end():
    item = Item(key="a", published=90.0)
    two = Source(arrival=1, decay=0.1, slow_decay=0.01, slow_share=0.25, kind="two_phase")
    expected = 0.75 * math.exp(-1) + 0.25 * math.exp(-0.1)
    assert keep_new(crawl(item), {"a"}, two).value == pytest.approx(expected)
    gone = Source(arrival=1, decay=0.1, lifetime=10.0)
    assert keep_new(crawl(item), {"a"}, gone).value == 0.0


@pytest.mark.parametrize("status", [Status.FAILED, Status.REFUSED])
def test_a_visit_without_an_answer_stays_as_it_is(status):
    failed = crawl(status=status)
    assert keep_new(failed, set(), SOURCE) is failed
