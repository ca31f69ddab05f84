"""A million sources for a hundred epochs, in memory that does not grow with the epochs."""

import tracemalloc

import numpy as np
import pytest

from dayfly.model import Fleet
from dayfly.policies import Whittle
from dayfly.simulate import simulate

pytestmark = pytest.mark.acceptance

N = 1_000_000


@pytest.mark.parametrize("arrivals", ["mean", "poisson"])
@pytest.mark.parametrize("cost", ["equal", "unequal"])
def test_a_million_sources_run_in_bounded_memory(arrivals, cost):
    seed = 1
    print("seed", seed)
    rng = np.random.default_rng(seed)
    fleet = Fleet(
        arrival=10 ** rng.uniform(-3, -1, N),
        decay=10 ** rng.uniform(-2, 0, N),
        cost=1.0 if cost == "equal" else rng.choice([0.5, 1.0, 2.0], N),
    )
    peaks = []
    for epochs in (10, 90):
        tracemalloc.start()
        run = simulate(fleet, Whittle(), 2000.0, epochs, burn_in=10, arrivals=arrivals)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert run.spent == pytest.approx(2000.0, rel=1e-3)
    print(f"{peaks[1] / 1e6:.0f} MB at most")
    # A column of a million floats is 8 MB: some thirty of them, however long the run.
    assert peaks[1] < 250e6
    assert peaks[1] < 1.2 * peaks[0] + 20e6
