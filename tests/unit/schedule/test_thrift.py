"""What is left of an epoch's budget goes to whoever fits, without a look at everybody."""

import numpy as np
import pytest

from dayfly.estimate import Estimates
from dayfly.model import Fleet
from dayfly.schedule import Scheduler, thrift


def make(cost, n=6000, budget=50.0) -> Scheduler:
    rng = np.random.default_rng(1)
    return Scheduler(
        Fleet(arrival=rng.lognormal(-7, 1, n), decay=rng.lognormal(-8, 1, n), cost=cost),
        budget, 0.0, epoch=60.0, last=-rng.uniform(0, 60 * n / budget, n), min_interval=0.0,
        max_interval=1e9, floor_share=0.0,
    )  # fmt: skip


def test_one_cheap_source_does_not_make_every_choice_a_scan():
    cost = np.ones(6000)
    cost[5] = 0.01
    scheduler = make(cost)
    for epoch in range(1, 60):
        rows = scheduler.due(60.0 * epoch, 1000)
        scheduler.crawled(rows, 60.0 * epoch)
    assert 5 in rows, "it fits, whatever it is worth"
    assert scheduler.tally.scans < 3


@pytest.mark.parametrize("most", [3, 1024])
def test_the_list_holds_all_that_cost_less(most, monkeypatch):
    monkeypatch.setattr(thrift, "_MOST", most)
    seed = 5
    rng = np.random.default_rng(seed)
    scheduler = make(rng.choice([0.5, 1.0, 2.0, 4.0], 40), n=40)
    roster, kept = scheduler._desk.roster, scheduler._desk.chooser.thrift
    for _ in range(200):
        kind = rng.integers(3)
        if kind == 0:
            scheduler.add(Fleet(arrival=1.0, decay=1.0, cost=[rng.choice([0.25, 3.0])]))
        elif kind == 1:
            rows = rng.choice(len(scheduler), 3, replace=False)
            scheduler.update(Estimates(row=rows, cost=rng.choice([0.5, 1.0, 8.0], 3)))
        else:
            scheduler.remove(int(rng.integers(len(scheduler))))
        below = kept.below()
        room = float(np.nextafter(below, 0.0))
        cost = roster.record[: roster.n, 2]
        fits = np.flatnonzero((cost <= room) & ~roster.out(np.arange(roster.n)))
        assert kept.fitting(room, 1e9).tolist() == fits.tolist(), f"seed {seed}"
