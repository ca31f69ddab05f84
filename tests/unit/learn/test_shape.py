"""How the index of a source that shows few items at a time grows."""

import numpy as np
import pytest

from dayfly import Fleet, whittle_index
from dayfly.learn.shape import Shape


def test_where_little_comes_it_is_the_plain_index():
    age = np.array([0.0, 900.0, 9000.0, 90000.0])
    rare = Fleet(arrival=np.full(4, 1e-7), decay=1e-4, worth=1e-4 / 1e-7)
    found = Shape(1e-4, 900.0, 20).at(rare.arrival, age)
    assert found == pytest.approx(whittle_index(rare, age, epoch=900.0), rel=0.01)


def test_a_source_is_never_worth_more_before_its_visit_than_after():
    shape = Shape(1e-4, 900.0, 20)
    before, at_once = shape.at(np.array([1e-4, 1e-4]), np.array([-9000.0, 0.0]))
    assert before == at_once


def test_the_longest_ages_are_all_alike():
    found = Shape(1e-4, 900.0, 20).at(np.full(3, 1e-4), np.array([1e12, 1e300, np.inf]))
    assert found.min() == found.max()
