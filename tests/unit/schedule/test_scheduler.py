"""What a scheduler does over time; that each choice is exact is shown in `test_exact`."""

import math

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.estimate import Estimate
from dayfly.index import relax, whittle_index
from dayfly.model import Fleet
from dayfly.schedule import Scheduler

DAY = 86400.0


def estimate(row: int, arrival: float, decay: float = 1e-4, worth: float = 1.0) -> Estimate:
    return Estimate(row=row, time=0.0, arrival=arrival, decay=decay, worth=worth)


def visited(scheduler: Scheduler, rows, now: float) -> None:
    """Visited, and nothing new is believed."""
    scheduler.crawled(rows, now, [])


def test_the_price_is_that_of_the_relaxed_problem():
    """At it the whole fleet, each source at its due age, spends the budget."""
    from dayfly.schedule.forecast import due_age

    fleet = Fleet(arrival=[1e-2, 3e-3, 1e-3], decay=[1e-4, 3e-5, 1e-5], cost=[1, 2, 1])
    scheduler = Scheduler(fleet, 1e-3, 0.0)
    ages = [due_age(fleet.take([row]), scheduler.price, None) for row in range(3)]
    assert np.dot(fleet.cost, 1 / np.array(ages)) == pytest.approx(1e-3, rel=1e-6)
    assert scheduler.price == relax(fleet, 1e-3).price


def test_the_price_follows_the_beliefs():
    fleet = Fleet(arrival=[1e-3] * 4, decay=1e-4)
    scheduler = Scheduler(fleet, 1e-3, 0.0)
    before = scheduler.price
    scheduler.update([estimate(0, 1.0000001e-3)])
    assert scheduler.price == before  # hardly moved
    scheduler.update([estimate(row, 2e-3) for row in range(4)])
    anew = relax(fleet.replace(arrival=2e-3 * np.ones(4)), 1e-3).price
    assert scheduler.price == pytest.approx(anew, rel=1e-12)
    assert scheduler.source(2).arrival == 2e-3
    assert scheduler.fleet.arrival.tolist() == [2e-3] * 4


def test_over_a_long_time_it_spends_its_budget_and_no_more():
    seed = 5
    print("seed", seed)
    rng = np.random.default_rng(seed)
    fleet = Fleet(
        arrival=10 ** rng.uniform(-4, -2, 40),
        decay=10 ** rng.uniform(-5, -4, 40),
        cost=rng.choice([0.5, 1.0, 2.0], 40),
    )
    budget, step, steps = 0.004, 60.0, 6000
    for epoch, pace in ((None, budget), (step * 5, budget * step * 5)):
        scheduler = Scheduler(fleet, pace, 0.0, epoch=epoch, min_interval=0.0)
        spent = 0.0
        for n in range(steps):
            now = n * step
            rows = scheduler.due(now, 1000)
            spent += fleet.cost[rows].sum()
            assert spent <= scheduler._desk.purse.burst + budget * now + 1e-6
            visited(scheduler, rows, now)
        assert spent >= 0.97 * budget * steps * step


def test_slotted_it_earns_what_the_papers_say():
    """Table I with two crawls per epoch: rates 1, 4/7, 2/7, 1/7."""
    fleet = Fleet(arrival=250, decay=[0.7, 0.35, 0.7, 0.21], worth=[1, 0.7, 0.2, 0.08])
    scheduler = Scheduler(
        fleet, 2.0, 0.0, epoch=1.0, min_interval=0.0, max_interval=1e9, last=[-1.0] * 4
    )
    earned, visits, last = 0.0, np.zeros(4), np.full(4, -1.0)
    burn, epochs = 700, 7000
    for now in range(burn + epochs):
        rows = scheduler.due(float(now), 4)
        if now >= burn:
            earned += fleet.harvest.value(now - last)[rows].sum()
            visits[rows] += 1
        last[rows] = now
        visited(scheduler, rows, float(now))
    assert earned / epochs == pytest.approx(337.7745, abs=1e-4)
    assert visits / epochs == pytest.approx([1, 4 / 7, 2 / 7, 1 / 7], abs=1e-9)


def test_a_visit_counts_for_the_epoch_in_which_it_ended_however_late():
    fleet = Fleet(arrival=[1.0, 1.0], decay=0.1)
    scheduler = Scheduler(fleet, 2.0, 0.0, epoch=10.0, min_interval=10.0)
    assert scheduler.due(0.0, 2).tolist() == [0, 1]
    scheduler.crawled([0], 0.3, [])
    scheduler.crawled([1], 9.9, [])
    assert scheduler.due(9.95, 2).tolist() == []  # the epoch is not over
    assert scheduler.due(10.0, 2).tolist() == [0, 1]  # equal ages: ties to the lower row


def test_a_restart_brings_no_money():
    fleet = Fleet(arrival=[1.0] * 30, decay=0.1)
    spent = 0
    last = np.full(30, -np.inf)
    for start in range(20):  # twenty restarts in twenty seconds
        now = float(start)
        scheduler = Scheduler(fleet, 0.1, now, burst=5.0, min_interval=0.0, last=last)
        rows = scheduler.due(now, 30)
        last[rows] = now
        spent += len(rows)
    assert spent <= 5 + 0.1 * 20


def test_nothing_is_crawled_for_nothing():
    """However much budget there is: at a price of 0 sources that publish nothing still wait."""
    for arrival, due in (([1.0, 0.0], [0]), ([0.0, 0.0], [])):
        fleet = Fleet(arrival=arrival, decay=0.1)
        scheduler = Scheduler(fleet, 1e6, 0.0, min_interval=0.0, last=[0.0, 0.0])
        assert scheduler.due(1.0, 9).tolist() == due
    assert scheduler.price == 0.0


def test_sources_may_come_and_go_and_rest():
    fleet = Fleet(arrival=[1e-2, 1e-2], decay=1e-4, id=["a", "b"])
    scheduler = Scheduler(fleet, 10.0, 0.0, burst=100.0, min_interval=0.0)
    assert scheduler.add(Fleet(arrival=[1.0], decay=1e-4, cost=3.0, id=["c"])).tolist() == [2]
    assert len(scheduler) == 3
    scheduler.pause(0)
    scheduler.remove(1)
    assert scheduler.due(1.0, 9).tolist() == [2]
    scheduler.release([2])
    scheduler.pause(0, until=5.0)
    assert scheduler.due(4.0, 9).tolist() == [2]
    assert scheduler.due(5.0, 9).tolist() == [0]
    assert scheduler.fleet.id == ("a", "b", "c")
    with pytest.raises(BadInput, match="burst"):
        scheduler.add(Fleet(arrival=1.0, decay=1.0, cost=101.0))


def test_an_empty_fleet_has_nothing_to_do():
    scheduler = Scheduler(Fleet(arrival=[], decay=[]), 1.0, 0.0)
    assert scheduler.due(1.0, 5).tolist() == []
    assert scheduler.price == 0.0


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"budget": -1.0}, "budget"),
        ({"min_interval": -1.0}, "min_interval"),
        ({"min_interval": 10.0, "max_interval": 10.0}, "max_interval"),
        ({"last": [1.0]}, "one per source"),
        ({"epoch": math.nan}, "epoch"),
    ],
)
def test_nonsense_is_refused(changes, what):
    given = {"fleet": Fleet(arrival=[1.0, 1.0], decay=1.0), "budget": 1.0, "now": 0.0} | changes
    with pytest.raises(BadInput, match=what):
        Scheduler(**given)


class TestExplain:
    """Why a source waits: every constraint by name, and a forecast that comes true."""

    FLEET = Fleet(arrival=[1e-2, 1e-3], decay=[1e-4, 1e-4], cost=[1.0, 2.0])

    def make(self, **changes) -> Scheduler:
        given = {"last": [0.0, 0.0], "min_interval": 300.0, "burst": 5.0} | changes
        return Scheduler(self.FLEET, 2e-3, 0.0, **given)

    @pytest.mark.parametrize("epoch", [None, 600.0])
    @pytest.mark.parametrize("row", [0, 1])
    def test_the_forecast_comes_true(self, epoch, row):
        scheduler = self.make(epoch=epoch)
        told = scheduler.explain(row, 1.0)
        assert told.due > 301
        early = told.due - (1e-3 if epoch is None else epoch)
        assert whittle_index(self.FLEET, early, epoch)[row] < told.price
        # The purse fills while nothing is crawled, and the price falls: not later than foretold.
        assert row in self.make(epoch=epoch).due(told.due + 1e-6, 2)

    def test_each_constraint_has_its_name(self):
        scheduler = self.make(not_before=[None, 5000.0])
        told = scheduler.explain(0, 100.0)
        assert (told.held_by, told.until) == ("min_interval", 300.0)
        assert (told.age, told.index) == (100.0, whittle_index(self.FLEET, 100.0)[0])
        assert told.waiting == self.FLEET.harvest.value(np.full(2, 100.0))[0]
        told = scheduler.explain(1, 400.0)
        assert (told.held_by, told.until) == ("not_before", 5000.0)
        assert told.due >= 5000.0
        told = scheduler.explain(0, 301.0)
        assert (told.held_by, told.until) == ("price", told.due)
        scheduler.pause(0)
        told = scheduler.explain(0, 1e5)
        assert (told.held_by, told.until, told.due) == ("paused", math.inf, math.inf)
        scheduler.pause(0, until=0.0)
        assert scheduler.explain(0, 1e5).held_by == ""
        assert 0 in scheduler.due(1e5, 2)
        told = scheduler.explain(0, 1e5)
        assert (told.held_by, told.until) == ("in flight", None)
        scheduler.remove(0)
        assert scheduler.explain(0, 1e5).held_by == "removed"

    def test_a_lack_of_budget_is_told_with_its_end(self):
        scheduler = self.make(burst=2.0, last=None)
        assert scheduler.explain(1, 1.0).held_by == ""
        assert scheduler.due(1.0, 2).tolist() == [0]  # which leaves a debt of 0.798
        told = scheduler.explain(1, 1.0)
        assert told.held_by == "budget"
        assert told.until == told.due == pytest.approx(1.0 + 0.798 / 2e-3)

    def test_asking_changes_nothing(self):
        one, two = self.make(), self.make()
        for now in (10.0, 400.0, 5000.0):
            one.explain(0, now)
            one.explain(1, now)
        assert one.due(5000.0, 2).tolist() == two.due(5000.0, 2).tolist()


def test_sources_without_names_can_be_added():
    scheduler = Scheduler(Fleet(arrival=[1.0, 2.0], decay=1.0), 1.0, 0.0)
    assert scheduler.add(Fleet(arrival=[3.0], decay=1.0)).tolist() == [2]
    assert scheduler.fleet.arrival.tolist() == [1.0, 2.0, 3.0]
