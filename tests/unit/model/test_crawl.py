"""What one visit saw."""

import pytest

from dayfly.model import Crawl, Item, Status


@pytest.mark.parametrize(
    ("status", "answered"),
    [
        (Status.CHANGED, True),
        (Status.UNCHANGED, True),
        (Status.FAILED, False),
        (Status.REFUSED, False),
    ],
)
def test_only_an_answer_tells_what_the_source_had(status, answered):
    assert Crawl(row=0, time=0.0, status=status).answered is answered


def test_a_status_is_its_word():
    assert Status("failed") is Status.FAILED
    assert f"{Status.REFUSED}" == "refused"


def test_a_crawl_cannot_be_rewritten():
    crawl = Crawl(row=3, time=9.0, status=Status.CHANGED, items=(Item(key="a", published=None),))
    with pytest.raises(AttributeError):
        crawl.row = 4
    with pytest.raises(TypeError):
        Crawl(3, 9.0, Status.CHANGED)  # names, not places
