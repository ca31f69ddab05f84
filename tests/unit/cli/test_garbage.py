"""How often garbage is looked for."""

import gc
import weakref

import pytest

from dayfly.cli.garbage import rare_collections


class Circle:
    """Something that only the collector can take away."""

    def __init__(self):
        self.itself = self


def _fail_rarely():
    with rare_collections():
        raise KeyError


def test_it_is_rare_during_the_block_and_as_before_afterwards():
    usual = gc.get_threshold()
    with rare_collections():
        assert gc.get_threshold()[0] > usual[0]
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == usual
    assert gc.get_freeze_count() == 0


def test_settings_are_put_back_after_an_error():
    usual = gc.get_threshold()
    with pytest.raises(KeyError):
        _fail_rarely()
    assert gc.get_threshold() == usual


def test_circles_are_still_found():
    with rare_collections():
        circles = [weakref.ref(Circle()) for _ in range(10)]
        assert any(circle() is not None for circle in circles)
        made = [[] for _ in range(3 * gc.get_threshold()[0])]  # as in a crawl
        assert all(circle() is None for circle in circles)
        assert made
