"""A run refuses policies that break the rules, and does not claim a share it cannot know."""

import numpy as np
import pytest

from dayfly import Fleet, simulate
from dayfly.errors import BadInput
from dayfly.policies import Whittle

FLEET = Fleet(arrival=250, decay=[0.7, 0.35, 0.7, 0.21], worth=[1, 0.7, 0.2, 0.08])


class Always:
    def __init__(self, *rows):
        self.rows = np.array(rows)

    def choose(self, view, budget, rng):
        return self.rows


@pytest.mark.parametrize(
    ("rows", "said"), [((0, 0), "twice"), ((-1,), "outside"), ((4,), "outside"), ((0, 1), "spent")]
)
def test_breaking_a_rule_is_an_error_not_a_score(rows, said):
    with pytest.raises(BadInput, match=said):
        simulate(FLEET, Always(*rows), budget=1, epochs=3, burst=0)


def test_without_a_bound_there_is_no_share():
    run = simulate(FLEET, Whittle(), 1, 2, continuous=True, arrivals="poisson", observed=True)
    assert np.isnan(run.bound)
    assert np.isnan(run.share)
