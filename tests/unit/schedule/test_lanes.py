"""A crowded host gets a lane, and the lane does not change who is chosen."""

import numpy as np
import pytest

from dayfly.model import Fleet
from dayfly.schedule import Limits, Scheduler


@pytest.mark.parametrize("identical", [False, True], ids=["different", "alike"])
@pytest.mark.parametrize("epoch", [None, 1.0], ids=["continuous", "slotted"])
def test_of_a_crowded_host_the_best_is_taken(identical, epoch):
    """Two thousand sources on a host that allows one every five seconds, ten elsewhere."""
    seed, n = 3, 2000
    rng = np.random.default_rng(seed)
    arrival = np.full(n, 0.05) if identical else rng.lognormal(-3, 1, n)
    fleet = Fleet(
        arrival=np.concatenate([arrival, np.full(10, 0.05)]), decay=1e-3,
        host=["big"] * n + [f"h{i}" for i in range(10)],
    )  # fmt: skip
    scheduler = Scheduler(
        fleet, 1.0, 0.0, epoch=epoch, min_interval=0.0, max_interval=1e9, floor_share=0.0,
        limits=Limits(spacing={"big": 5.0}), burst=2.0,
    )  # fmt: skip
    since, free = np.full(n + 10, -np.inf), 0.0
    for now in np.arange(1.0, 400.0).tolist():
        rows = scheduler.due(now, 5)
        index = scheduler.fleet.harvest
        worth = (
            index.index(np.maximum(now - since, 0.0))
            if epoch is None
            else index.slotted(np.maximum(now - since, 0.0), epoch)
        )
        big = rows[rows < n]
        if len(big):
            assert now >= free, f"seed {seed}: the host had not rested"
            best = np.flatnonzero(worth[:n] == worth[:n].max())[0]
            assert big.tolist() == [best], f"seed {seed} at {now}"
            free = now + 5.0
        since[rows] = now
        scheduler.crawled(rows, now)
    lanes = scheduler._calendar.lanes
    assert len(lanes) == 1
    assert identical or scheduler.explain(0, 400.0).host_price > 0
    tally = scheduler.tally
    assert tally.scored < 30 * tally.chosen
