"""A crowd on one host, at the sizes of real runs: the same choices as the twin that scans all."""

import numpy as np
import pytest
from tests.unit.schedule.naive import NaiveScheduler
from tests.unit.schedule.test_exact import price_of

from dayfly.estimate import Estimates
from dayfly.model import Fleet
from dayfly.schedule import Limits, Scheduler


@pytest.mark.acceptance
def test_a_crowd_on_one_host_whose_weights_jump_while_the_price_trembles():
    """Lanes, held sources and a level that moves at every call, with the sizes of real runs."""
    n, crowd, calls, compared = 8000, 400, 120, 0
    for seed in range(3):
        print(f"seed {seed}")
        rng, now = np.random.default_rng(seed), 1.8e9
        arrival, decay = 10 ** rng.uniform(-4, -2, n), 10 ** rng.uniform(-4, -2.5, n)
        host = ["big"] * crowd + [f"h{row}" for row in range(n - crowd)]
        fleet = Fleet(arrival=arrival, decay=decay, host=host)
        given = {
            "min_interval": 0.0, "floor_share": 0.0,
            "last": (now - rng.uniform(0, 1500, n)).tolist(),
            "limits": Limits(spacing={"big": float(rng.choice([10, 20, 40]))}),
        }  # fmt: skip
        both = real, naive = (
            Scheduler(fleet, 10.0, now, **given),
            NaiveScheduler(fleet, 10.0, now, **given),
        )
        for call in range(calls):
            now += 1.0
            real._desk.market.pricing.base *= float(np.exp(rng.normal(0, 0.03)))
            price = price_of(real)
            rows = real.due(now, 1000).tolist()
            assert rows == naive.due(now, 1000, price), f"seed {seed}, call {call}"
            compared += len(rows)
            for each in both:
                each.crawled(rows, now)
            if rng.random() < 0.25:
                some = np.arange(60)
                change = Estimates(row=some, weight=np.full(60, float(rng.choice([0.05, 20.0]))))
                for each in both:
                    each.update(change)
    print(f"{compared:,} choices of {3 * calls} calls compared, no difference")
    assert compared > 1000
