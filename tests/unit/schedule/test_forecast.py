"""When a source is due, against stepping through all ages."""

import math

import numpy as np
import pytest

from dayfly.index import whittle_index
from dayfly.model import Fleet
from dayfly.schedule.forecast import due_age


@pytest.mark.parametrize("price", [0.0, 1e-3, 0.7, 5.0, 60.0, 200.0])
@pytest.mark.parametrize("cost", [1.0, 3.0])
def test_the_slotted_age_is_the_first_epoch_that_reaches_the_price(price, cost):
    one = Fleet(arrival=20.0, decay=0.3, cost=cost)
    epoch = 0.5
    reached = [k * epoch for k in range(1, 400) if whittle_index(one, k * epoch, epoch)[0] >= price]
    assert due_age(one, price, epoch) == (reached[0] if reached else math.inf)


def test_in_continuous_time_the_index_at_the_due_age_is_the_price():
    one = Fleet(arrival=20.0, decay=0.3, cost=2.0)
    age = due_age(one, 11.0, None)
    assert whittle_index(one, age)[0] == pytest.approx(11.0, rel=1e-12)
    assert due_age(one, 1e6, None) == np.inf
