"""Very many sources that look alike, and sources that are held: nobody is looked at for nothing."""

import numpy as np
from tests.unit.schedule.naive import NaiveScheduler
from tests.unit.schedule.test_exact import price_of

from dayfly.estimate import Estimates
from dayfly.model import Fleet
from dayfly.schedule import Limits, Scheduler, calendar


def test_a_fresh_list_of_sources_that_look_alike_stays_on_the_shelf():
    """The price ends the choice: those on the shelf are worth less than it and need no look."""
    n, now = 5000, 1.8e9
    scheduler = Scheduler(Fleet(arrival=np.full(n, 1 / 86400), decay=3e-5), n / 172800, now)
    for call in range(60):
        rows = scheduler.due(now + call, 1000)
        scheduler.crawled(rows, now + call)
    assert scheduler.tally.scored < 5 * n


def test_a_host_that_has_saved_up_serves_thousands_who_look_alike_at_one_go():
    n = 60_000
    scheduler = Scheduler(
        Fleet(arrival=np.full(n, 0.05), decay=1e-3, host=["big"] * n), 4000.0, 0.0,
        min_interval=0.0, max_interval=1e9, floor_share=0.0,
        limits=Limits(host_budget={"big": 400.0}),
    )  # fmt: skip
    for now in (1.0, 2.0, 100.0):
        before, rows = scheduler.tally.scored, scheduler.due(now, n)
        scheduler.crawled(rows, now)
    assert rows.tolist() == list(range(24_400, 48_400))
    assert scheduler.tally.scored - before < 10 * len(rows)


def test_who_is_held_while_its_lane_rises_and_falls_is_not_forgotten(monkeypatch):
    for name, size in {"_ROOM": 1, "_MORE": 2, "_KEEP": 1, "_PLENTY": 1}.items():
        monkeypatch.setattr(calendar, name, size)
    n, rng = 60, np.random.default_rng(1)
    arrival = np.concatenate([rng.uniform(1, 2, n), rng.uniform(0.5, 1.5, 40)])
    last = [-4000.0] * n + rng.uniform(-2000, 0, 40).tolist()
    fleet = Fleet(arrival=arrival, decay=1e-3, host=["big"] * n + [""] * 40)
    given = {"min_interval": 0.0, "max_interval": 1e9, "floor_share": 0.0, "last": last,
             "limits": Limits(spacing={"big": 100.0})}  # fmt: skip
    both = real, naive = (
        Scheduler(fleet, 0.2, 0.0, **given),
        NaiveScheduler(fleet, 0.2, 0.0, **given),
    )
    strong = np.argsort(arrival[:n])[:25]
    for now in (1.0, 2.0, 3.0, 5.0, 6.0, 7.0, *np.arange(95.0, 500.0, 20.0).tolist()):
        for each in both:
            if now == 3.0:  # 25 of the host are worth much more: its lane rises
                each.update(Estimates(row=strong, arrival=np.full(25, 200.0)))
            if now == 5.0:  # the price falls, and with it the level
                each.set_budget(1.0, now)
            if now == 95.0:  # the lane comes down again
                each.set_budget(0.2, now)
                each.remove(strong)
        price = price_of(real)
        rows = real.due(now, 5).tolist()
        assert rows == naive.due(now, 5, price=price), f"at {now}"
        for each in both:
            each.crawled(rows, now)
