"""Crawling a recorded world: what is learnt and caught."""

import numpy as np
import pytest

from dayfly.estimate import ArrivalEstimator
from dayfly.index import relax
from dayfly.model import Fleet
from dayfly.schedule import Scheduler
from dayfly.simulate.crawl import crawl_world
from dayfly.simulate.world import World

HOUR = 3600.0


def test_rates_are_learnt_and_most_of_the_bound_is_earned():
    """Twenty sources, all believed alike at first, ten days: rates right, value near the bound."""
    seed = 23
    print("seed", seed)
    rng = np.random.default_rng(seed)
    truth = Fleet(arrival=10 ** rng.uniform(-0.7, 1.3, 20) / HOUR, decay=0.3 / HOUR)
    start, days = 1e9, 10
    until = start + days * 24 * HOUR
    shown = truth.replace(window=np.full(20, 60.0))  # ample between two visits
    world = World.draw(shown, start=start, until=until, rng=rng, history=24 * HOUR)
    believed = truth.replace(arrival=np.full(20, 1 / HOUR))
    estimator = ArrivalEstimator(believed)
    budget = 10 / HOUR
    scheduler = Scheduler(believed, budget, start, max_interval=2 * 24 * HOUR)
    choices = crawl_world(world, scheduler, estimator, start=start, until=until, tick=120.0)
    learnt = estimator.mean().arrival
    # Three times the spread of a count, and a tenth for what ten days cannot tell.
    seen = truth.arrival * (until - start)
    assert (np.abs(learnt / truth.arrival - 1) < 3 / np.sqrt(seen) + 0.1).all()
    settled = start + 24 * HOUR
    earned = sum(c.value for choice in choices if choice.time >= settled for c in choice.crawls)
    bound = relax(truth, budget).bound * (until - settled)
    assert 0.93 * bound < earned < 1.03 * bound


def test_no_item_is_counted_twice_and_none_before_it_appears():
    seed = 29
    print("seed", seed)
    fleet = Fleet(arrival=[0.2, 0.05], decay=0.1, window=[3, np.inf])
    world = World.draw(fleet, start=0.0, until=500.0, rng=np.random.default_rng(seed))
    scheduler = Scheduler(fleet, 1.0, 0.0, epoch=5.0, min_interval=0.0)
    choices = crawl_world(world, scheduler, ArrivalEstimator(fleet), start=0.0, until=500.0, tick=5)
    assert [choice.time for choice in choices] == [5.0 * n for n in range(100)]
    seen = set()
    for choice in choices:
        assert len(choice.rows) == len(choice.crawls) == 1
        for crawl in choice.crawls:
            for item in crawl.items:
                assert item.published <= choice.time
                assert (crawl.row, item.key) not in seen
                seen.add((crawl.row, item.key))
    assert len(seen) == pytest.approx(125, abs=4 * np.sqrt(125))
