"""Whoever was not seen for too long has its turn, whatever doors it stands behind."""

from dayfly.estimate import Estimates
from dayfly.model import Fleet
from dayfly.schedule import Limits, Scheduler


def test_who_stands_behind_two_doors_holds_up_nobody():
    n = 7
    # Worth nothing: only the floor visits them.
    fleet = Fleet(arrival=[0.0] * n, decay=1e-3, host=["a"] * 4 + ["b"] * 3)
    scheduler = Scheduler(
        fleet, 1.0, 0.0, min_interval=0.0, floor_share=1.0, limits=Limits(spacing=10.0)
    )
    scheduler.due(0.0, 0)
    seen = set(scheduler.due(60.0, 10).tolist())
    assert seen == {0, 4}
    scheduler.update(Estimates(row=[1], host=["b"]))  # one and the same now waits at both
    assert scheduler.due(65.0, 10).tolist() == []
    scheduler.crawled([0, 4], 66.0)
    for now in range(71, 200, 11):
        rows = scheduler.due(float(now), 10).tolist()
        scheduler.crawled(rows, now + 0.5)
        seen |= set(rows)
    assert seen == set(range(n))
