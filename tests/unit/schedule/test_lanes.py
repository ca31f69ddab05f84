"""A crowded host gets a lane, and the lane does not change who is chosen."""

import numpy as np
import pytest

from dayfly.model import Fleet
from dayfly.schedule import Limits, Scheduler
from dayfly.schedule.lanes import Lanes
from dayfly.schedule.roster import Roster


def roster(host: list[str], group: list[str]) -> Roster:
    found = Roster(None, (0.0, 1e9), named=False)
    never = np.full(len(host), -np.inf)
    fleet = Fleet(arrival=np.ones(len(host)), decay=1.0, host=host)
    found.add(fleet, group=group, last=never, not_before=never)
    return found


def test_lanes_are_opened_one_by_one_and_keep_their_levels():
    n = 200
    some = roster([f"h{number}" for number in range(n)], ["news"] * n)
    lanes = Lanes(some)
    stages = lanes.noted.shape[1]
    group = lanes.open("group", 1, [3.0] * stages)
    assert lanes.of(np.array([5])).tolist() == [group]
    lanes.noted[group] = [9.0] + [4.0] * (stages - 1)
    columns = set()
    for code in range(n):
        lane = lanes.open("host", code, [5.0] * stages)
        # Until now its source was noted for the lane of the group, or for the common level.
        assert lanes.noted[lane].tolist() == [9.0] + [5.0] * (stages - 1)
        lanes.level[lane] = code
        columns.add(id(lanes.level.base))
        assert lanes.open("host", code, [0.0] * stages) == lane
    assert len(columns) < 10, "a column is copied now and then, not for every lane"
    rows = np.array([0, 7, n - 1])
    assert lanes.level[lanes.of(rows)].tolist() == rows.tolist()
    assert len(lanes.level) == len(lanes.step) == len(lanes.host) == len(lanes) == n + 1
    lanes.level = 2 * lanes.level
    assert lanes.level[lanes.of(rows)].tolist() == (2 * rows).tolist()


def test_who_moves_is_found_at_its_new_host_and_not_at_the_old():
    some = roster(["a", "b"] * 50, ["news"] * 100)
    lanes = Lanes(some)
    everybody = np.arange(100)
    lanes.open("host", 0, np.zeros(lanes.noted.shape[1]))
    chosen = np.array([True])
    for step in range(30):
        expected = np.flatnonzero(some.host[:100] == 0)
        assert lanes.at_host(0).tolist() == expected.tolist()
        assert lanes.rows(chosen).tolist() == expected.tolist()
        assert lanes.at_host(0).tolist() == expected.tolist()
        moving = everybody[step : step + 3]
        some.host[moving] = 1 - some.host[moving]
        lanes.moved(moving)


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
    lanes = scheduler._desk.calendar.lanes
    assert len(lanes) == 1
    assert identical or scheduler.explain(0, 400.0).host_price > 0
    tally = scheduler.tally
    assert tally.scored < 30 * tally.chosen
