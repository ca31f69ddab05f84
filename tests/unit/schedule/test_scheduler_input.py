"""What the scheduler is told may be wrong: it says so, and nothing has changed."""

from __future__ import annotations

import itertools
import math
import threading
from collections import Counter

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.estimate import Estimate, Estimates
from dayfly.model import Fleet
from dayfly.schedule import Limits, Scheduler
from dayfly.schedule.scheduler import AHEAD_S

START = 1_800_000_000.0
HOUR = 3600.0
NUMBERS = ("arrival", "decay", "worth", "cost")
BAD = (math.nan, math.inf, -math.inf, -1.0)


def make(n: int = 3, budget: float = 1.0, **given) -> Scheduler:
    """Sources that were all seen an hour ago."""
    fleet = Fleet(arrival=np.linspace(1e-2, 2e-2, n), decay=1e-4, host=["a.org"] * n)
    given.setdefault("last", [START - HOUR] * n)
    return Scheduler(fleet, budget, START, **given)


def believed(scheduler: Scheduler) -> dict[str, list[float]]:
    return {name: getattr(scheduler.fleet, name).tolist() for name in NUMBERS}


class TestRows:
    """Rows count from 0; there is no source before or after."""

    @pytest.mark.parametrize("row", [-1, 3, 10**12])
    @pytest.mark.parametrize(
        "say",
        [
            lambda s, row: s.crawled([row], START),
            lambda s, row: s.crawled([0, row], START, failed=[False, True]),
            lambda s, row: s.release([row]),
            lambda s, row: s.observe([row], [1.0], START),
            lambda s, row: s.remove(row),
            lambda s, row: s.remove([0, row]),
            lambda s, row: s.pause(row),
            lambda s, row: s.pause([0, row], START + 1),
            lambda s, row: s.explain(row, START),
            lambda s, row: s.source(row),
            lambda s, row: s.update(Estimates(row=[0, row], arrival=[1.0, 1.0])),
            lambda s, row: s.update(
                [Estimate(row=r, time=START, arrival=1.0, decay=1.0, worth=1.0) for r in (0, row)]
            ),
        ],
    )
    def test_an_unknown_row_is_refused_and_nothing_changes(self, say, row):
        scheduler, twin = make(), make()
        with pytest.raises(BadInput, match=str(row)):
            say(scheduler, row)
        assert believed(scheduler) == believed(twin)
        assert scheduler.due(START, 9).tolist() == twin.due(START, 9).tolist() == [2, 1, 0]

    @pytest.mark.parametrize("rows", [["a"], [0.5], [[0, 1]], None])
    def test_rows_are_whole_numbers(self, rows):
        with pytest.raises(BadInput):
            make().release(rows)

    @pytest.mark.parametrize("rows", [[0, 1], []])
    def test_one_row_is_explained_at_a_time(self, rows):
        with pytest.raises(BadInput, match="one row"):
            make().explain(rows, START)
        with pytest.raises(BadInput, match="one row"):
            make().source(rows)

    def test_no_rows_are_no_news(self):
        scheduler = make()
        scheduler.crawled([], START)
        scheduler.release([])
        scheduler.update([])
        scheduler.remove([])
        scheduler.pause([])
        scheduler.observe([], [], START)
        assert scheduler.due(START, 9).tolist() == [2, 1, 0]

    @pytest.mark.parametrize(
        "named", [{"not_before": [None]}, {"failed": [True] * 3}, {"spent": [1.0] * 3}]
    )
    def test_one_word_per_row(self, named):
        scheduler = make()
        assert scheduler.due(START, 9).tolist() == [2, 1, 0]
        with pytest.raises(ValueError):
            scheduler.crawled([0, 1], START, **named)
        # Nothing was taken in: all three are still in flight.
        assert scheduler.due(START + HOUR, 9).tolist() == []


class TestTime:
    """A clock may be set back a little; more than that is a mistake."""

    def test_within_the_slack_time_stands_still(self):
        scheduler, twin = make(min_interval=HOUR), make(min_interval=HOUR)
        assert scheduler.due(START + 4.0, 1).tolist() == twin.due(START + 4.0, 1).tolist() == [2]
        assert scheduler.due(START - 1.0, 1).tolist() == twin.due(START + 4.0, 1).tolist() == [1]
        assert scheduler.due(START + 4.0, 1).tolist() == [0]

    @pytest.mark.parametrize(
        "say",
        [
            lambda s, now: s.due(now, 1),
            lambda s, now: s.set_budget(1.0, now),
            lambda s, now: s.throttle(0.5, now),
        ],
    )
    @pytest.mark.parametrize("now", [START + 94.0, START - HOUR, -math.inf, math.nan, math.inf])
    def test_beyond_it_an_error_and_nothing_changes(self, say, now):
        scheduler, twin = make(), make()
        for one in (scheduler, twin):
            one.due(START + 100.0, 0)
        with pytest.raises(BadInput):
            say(scheduler, now)
        assert scheduler.budget == twin.budget
        assert scheduler.due(START + 100.0, 9).tolist() == twin.due(START + 100.0, 9).tolist()
        assert scheduler.price == twin.price

    def test_the_error_says_by_how_much(self):
        scheduler = make()
        scheduler.due(START + 100.0, 0)
        with pytest.raises(BadInput, match="back"):
            scheduler.due(START + 90.0, 1)

    @pytest.mark.parametrize("now", [math.nan, math.inf])
    def test_a_visit_has_an_instant(self, now):
        scheduler = make()
        rows = scheduler.due(START, 9)
        with pytest.raises(BadInput):
            scheduler.crawled(rows, now)
        with pytest.raises(BadInput):
            scheduler.observe([0], [1.0], now)
        assert scheduler.due(START + HOUR, 9).tolist() == []  # still in flight

    def test_no_visit_ended_in_a_far_future(self):
        scheduler = make(max_interval=HOUR / 2)
        rows = scheduler.due(START, 9)
        for ahead in (AHEAD_S + 1.0, 1000 * START):  # milliseconds
            with pytest.raises(BadInput, match="POSIX seconds"):
                scheduler.crawled(rows, START + ahead)
        assert scheduler.due(START + HOUR, 9).tolist() == []  # still in flight
        # A machine that was asleep tells of what ended when it woke up, or first asks again.
        scheduler.crawled(rows[:1], START + HOUR + AHEAD_S)
        scheduler.due(START + 2 * AHEAD_S, 0)
        scheduler.crawled(rows[1:], START + 2 * AHEAD_S)

    def test_it_starts_at_an_instant(self):
        for now in (math.nan, math.inf, -math.inf):
            with pytest.raises(BadInput):
                Scheduler(Fleet(arrival=1.0, decay=1.0), 1.0, now)


class TestEstimates:
    """A belief that is no number is refused as a whole; the old one stays."""

    @pytest.mark.parametrize("bad", BAD)
    @pytest.mark.parametrize("name", ["arrival", "decay", "worth"])
    def test_one_bad_estimate_spoils_the_batch(self, name, bad):
        scheduler = make()
        before = believed(scheduler)
        good = {"time": START, "arrival": 5.0, "decay": 5.0, "worth": 5.0}
        batch = [Estimate(row=0, **good), Estimate(row=1, **{**good, name: bad})]
        with pytest.raises(BadInput, match=name):
            scheduler.update(batch)
        assert believed(scheduler) == before
        # With a crawl: the visit is not taken in either, so that it can be told again.
        rows = scheduler.due(START, 9).tolist()
        assert rows == [2, 1, 0]
        with pytest.raises(BadInput, match=name):
            scheduler.crawled([0, 1], START, batch)
        assert believed(scheduler) == before
        assert scheduler.due(START + HOUR, 9).tolist() == []
        scheduler.crawled(rows, START)
        assert believed(scheduler) == before

    @pytest.mark.parametrize(
        ("name", "bad"), [*itertools.product([*NUMBERS, "weight"], BAD), ("cost", 0.0)]
    )
    def test_bad_columns_are_refused(self, name, bad):
        scheduler, twin = make(), make()
        columns = {"arrival": [5.0, 5.0], "worth": [5.0, 5.0], name: [1.0, bad]}
        with pytest.raises(BadInput, match=name):
            scheduler.update(Estimates(row=[0, 1], **columns))
        assert believed(scheduler) == believed(twin)
        assert scheduler.due(START, 9).tolist() == twin.due(START, 9).tolist()
        assert scheduler.price == twin.price

    def test_columns_have_one_number_per_row(self):
        scheduler = make()
        before = believed(scheduler)
        with pytest.raises(BadInput):
            scheduler.update(Estimates(row=[0, 1], arrival=[1.0, 1.0, 1.0]))
        with pytest.raises(BadInput):
            scheduler.update(Estimates(row=[0, 1], arrival=[5.0, 5.0], host=["a.org"]))
        assert believed(scheduler) == before

    def test_a_row_is_there_once(self):
        scheduler = make()
        with pytest.raises(BadInput, match="twice"):
            scheduler.update(Estimates(row=[1, 1], arrival=[5.0, 6.0]))
        assert believed(scheduler) == believed(make())

    def test_what_can_never_be_afforded_is_refused(self):
        scheduler = make(burst=2.0)
        before = believed(scheduler)
        with pytest.raises(BadInput, match="burst"):
            scheduler.update(Estimates(row=[0], arrival=[5.0], cost=[3.0]))
        with pytest.raises(BadInput, match="burst"):
            scheduler.crawled([1], START, Estimates(row=[0], arrival=[5.0], cost=[3.0]))
        with pytest.raises(BadInput, match="burst"):
            scheduler.add(Fleet(arrival=1.0, decay=1.0, cost=3.0))
        assert believed(scheduler) == before
        assert len(scheduler) == 3

    def test_income_must_be_a_number_too(self):
        scheduler = make()
        with pytest.raises(BadInput):
            scheduler.update(Estimates(row=[0], arrival=[1e200], worth=[1e200]))
        assert believed(scheduler) == believed(make())

    @pytest.mark.parametrize("bad", [math.nan, -1.0, math.inf])
    def test_a_state_is_a_number(self, bad):
        scheduler, twin = make(), make()
        with pytest.raises(BadInput):
            scheduler.observe([0, 1], [1.0, bad], START)
        assert scheduler.due(START, 9).tolist() == twin.due(START, 9).tolist()

    @pytest.mark.parametrize("bad", [math.nan, -1.0, math.inf])
    def test_what_a_visit_cost_is_a_number(self, bad):
        scheduler = make()
        rows = scheduler.due(START, 9)
        with pytest.raises(BadInput, match="spent"):
            scheduler.crawled(rows, START, spent=[1.0, 1.0, bad])
        assert scheduler.due(START + HOUR, 9).tolist() == []


class TestWrongKinds:
    """Text, None and the like where a number, a name or sources are wanted."""

    @pytest.mark.parametrize("bad", ["5", None, [1.0, 2.0], "x", b"5", {}, 10**400])
    @pytest.mark.parametrize(
        "say",
        [
            lambda s, bad: s.due(bad, 1),
            lambda s, bad: s.crawled([0], bad),
            lambda s, bad: s.observe([0], [1.0], bad),
            lambda s, bad: s.explain(0, bad),
            lambda s, bad: s.set_budget(bad, START),
            lambda s, bad: s.set_budget(1.0, bad),
            lambda s, bad: s.throttle(bad, START),
            lambda s, bad: s.throttle(0.5, bad),
            lambda s, bad: s.pause(0, bad),
            lambda s, bad: s.block_host("a.org", bad),
            lambda s, bad: make(floor_share=bad),
            lambda s, bad: make(budget=bad),
            lambda s, bad: make(min_interval=[bad] * 3),
            lambda s, bad: make(max_interval={"a": bad}),
            lambda s, bad: make(last=[[bad]] * 3),
            lambda s, bad: Scheduler(s.fleet, 1.0, bad),
            lambda s, bad: Scheduler(bad, 1.0, START),
            lambda s, bad: s.add(bad),
        ],
    )
    def test_are_refused(self, say, bad):
        scheduler, twin = make(), make()
        with pytest.raises(BadInput):
            say(scheduler, bad)
        assert scheduler.due(START, 9).tolist() == twin.due(START, 9).tolist() == [2, 1, 0]

    @pytest.mark.parametrize(
        "say",
        [
            lambda s: s.crawled([0], START, None),
            lambda s: s.crawled([0], START, [1.0]),
            lambda s: s.update("ab"),
            lambda s: s.update([Estimate(row="a", time=0.0, arrival=1.0, decay=1.0, worth=1.0)]),
            lambda s: s.update([Estimate(row=0, time=0.0, arrival="5", decay=1.0, worth=1.0)]),
            lambda s: s.update(Estimates(row=[0], arrival=["5"])),
            lambda s: s.update(Estimates(row=[0], host=[None])),
            lambda s: s.crawled([0], START, not_before=["5"]),
            lambda s: s.crawled([0], START, failed=["yes"]),
            lambda s: s.crawled([0], START, spent=["5"]),
            lambda s: s.observe([0], ["5"], START),
            lambda s: s.due(START, 1.5),
            lambda s: s.due(START, "5"),
            lambda s: s.add(s.fleet, group=["news", None, ""]),
            lambda s: s.add(s.fleet, group=5),
            lambda s: make(epoch="60"),
            lambda s: make(burst="60"),
            lambda s: make(last=["5", "6", "7"]),
            lambda s: make(last=5.0),
            lambda s: make(limits={"spacing": 1.0}),
            lambda s: s.block_host("", START + HOUR),
            lambda s: s.block_host(None, START + HOUR),
            lambda s: s.block_host(["a.org"], START + HOUR),
        ],
    )
    def test_and_so_are_these(self, say):
        scheduler, twin = make(), make()
        with pytest.raises(BadInput):
            say(scheduler)
        assert believed(scheduler) == believed(twin)
        assert scheduler.due(START, 9).tolist() == twin.due(START, 9).tolist() == [2, 1, 0]

    def test_numbers_of_any_kind_are_numbers(self):
        scheduler = make(
            budget=np.float32(1.0), min_interval=np.int64(0), limits=Limits(parallel=3)
        )
        assert scheduler.due(np.float64(START), np.int64(9)).tolist() == [2, 1, 0]


class TestHosts:
    """Who may be asked, also where things change on the way."""

    def test_a_host_that_nobody_has_yet_may_be_blocked(self):
        scheduler = make()
        scheduler.block_host("new.org", START + HOUR)
        rows = scheduler.add(Fleet(arrival=1.0, decay=1e-4, host=["new.org"])).tolist()
        assert scheduler.explain(rows[0], START).held_by == "blocked host"
        assert rows[0] not in scheduler.due(START, 9)
        assert rows[0] in scheduler.due(START + HOUR, 9)

    @pytest.mark.parametrize("lane", [False, True])
    def test_a_block_may_be_shortened(self, lane):
        n = 60 if lane else 3
        scheduler = make(n, budget=100.0, limits=Limits(spacing=1.0) if lane else None)
        scheduler.block_host("a.org", math.inf)
        assert scheduler.due(START, 9).tolist() == []
        scheduler.block_host("a.org", START + 10.0)
        assert scheduler.due(START + 9.0, 9).tolist() == []
        assert scheduler.due(START + 10.0, 1).tolist() == [n - 1]

    def test_who_is_removed_in_flight_does_not_keep_its_door(self):
        scheduler = make(4, budget=10.0, min_interval=0.0, limits=Limits(parallel=1))
        assert scheduler.due(START, 9).tolist() == [3]
        assert scheduler.due(START, 9).tolist() == []
        scheduler.remove(3)
        scheduler.remove([3, 3])  # once is enough
        assert scheduler.due(START + 1, 9).tolist() == [2]
        # Told after all: it has no door to give back, only its cost is put right.
        left = scheduler._desk.purse.left
        scheduler.crawled([3], START + 2, spent=[1.5])
        assert scheduler._desk.purse.left == left - 0.5
        assert scheduler.due(START + 3, 9).tolist() == []
        scheduler.release([2, 3])
        assert scheduler.due(START + 4, 9).tolist() == [2]

    def test_nobody_long_unseen_waits_behind_one_that_is_paused(self):
        # All but the last are never worth a crawl; they are visited because they never were.
        arrival, host = [0.0, 0.0, 0.0, 0.0, 1.0], ["a.org"] * 4 + [""]
        scheduler = Scheduler(
            Fleet(arrival=arrival, decay=1e-4, host=host), 0.1, START, floor_share=1.0,
            last=[None] * 4 + [START], limits=Limits(parallel=1),
        )  # fmt: skip
        assert scheduler.due(START, 1).tolist() == [0]
        assert scheduler.due(START + 60, 1).tolist() == []  # the others are at the door
        scheduler.pause(1)
        scheduler.release([0])
        scheduler.remove(0)
        assert scheduler.due(START + 61, 1).tolist() == [2]

    def test_who_changed_its_host_in_flight_and_is_removed_leaves_the_old_one(self):
        scheduler = make(4, budget=10.0, min_interval=0.0, limits=Limits(parallel=1))
        assert scheduler.due(START, 9).tolist() == [3]
        scheduler.update(Estimates(row=[3], host=["b.org"]))
        assert scheduler.due(START + 1, 9).tolist() == []
        scheduler.remove(3)
        assert scheduler.due(START + 2, 9).tolist() == [2]
        scheduler.update(Estimates(row=[1, 3], host=["b.org", "a.org"]))
        assert scheduler.due(START + 3, 9).tolist() == [1]


class TestBudget:
    """A budget is a finite number that is not negative; 0 is one."""

    @pytest.mark.parametrize("budget", [math.inf, -math.inf, math.nan, -1.0])
    def test_what_is_no_budget_is_refused(self, budget):
        with pytest.raises(BadInput, match="budget"):
            make(budget=budget)
        scheduler, twin = make(), make()
        with pytest.raises(BadInput, match="budget"):
            scheduler.set_budget(budget, START)
        assert scheduler.budget == 1.0
        assert scheduler.due(START, 9).tolist() == twin.due(START, 9).tolist()

    @pytest.mark.parametrize("epoch", [None, 60.0])
    def test_without_money_nothing_is_crawled_until_there_is_some(self, epoch):
        scheduler = make(budget=0.0, epoch=epoch, max_interval=2 * HOUR)
        for now in (START, START + HOUR, START + 30 * 24 * HOUR):
            assert scheduler.due(now, 9).tolist() == []
        scheduler.set_budget(1.0, now)
        assert len(scheduler.due(now + 60.0, 9)) > 0

    @pytest.mark.parametrize("share", [math.nan, -0.1, 1.1, math.inf])
    def test_a_share_lies_between_0_and_1(self, share):
        with pytest.raises(BadInput):
            make().throttle(share, START)
        with pytest.raises(BadInput):
            make(floor_share=share)

    @pytest.mark.parametrize("bad", [math.nan, -1.0])
    @pytest.mark.parametrize("name", ["spacing", "host_budget", "group_budget", "parallel"])
    def test_limits_are_numbers(self, name, bad):
        for given in (bad, {"a.org": bad}):
            with pytest.raises(BadInput, match=name):
                make(limits=Limits(**{name: given}))

    def test_k_is_not_negative_and_may_be_0(self):
        scheduler = make()
        assert scheduler.due(START, 0).tolist() == []
        assert scheduler.due(START, 0).dtype.kind == "i"
        with pytest.raises(BadInput):
            scheduler.due(START, -1)


class TestSmallFleets:
    """None, one, and all of them gone."""

    @pytest.mark.parametrize("epoch", [None, 60.0])
    def test_an_empty_fleet_has_nothing_to_do_and_may_grow(self, epoch):
        scheduler = Scheduler(Fleet(arrival=[], decay=[]), 1.0, START, epoch=epoch)
        assert len(scheduler) == 0
        assert scheduler.due(START, 9).tolist() == []
        assert scheduler.price >= 0.0
        scheduler.set_budget(2.0, START)
        scheduler.throttle(0.5, START)
        scheduler.block_host("a.org", START + 1)
        with pytest.raises(BadInput):
            scheduler.crawled([0], START)
        assert scheduler.add(Fleet(arrival=[], decay=[])).tolist() == []
        assert scheduler.add(Fleet(arrival=1.0, decay=1.0)).tolist() == [0]
        assert scheduler.due(START + HOUR, 9).tolist() == [0]

    @pytest.mark.parametrize("epoch", [None, 60.0])
    def test_a_fleet_of_one(self, epoch):
        fleet = Fleet(arrival=1e-2, decay=1e-4)
        scheduler = Scheduler(fleet, 1.0, START, epoch=epoch)
        assert scheduler.due(START, 9).tolist() == [0]
        assert scheduler.due(START, 9).tolist() == []
        scheduler.crawled([0], START)
        assert scheduler.due(START + 299.0, 9).tolist() == []  # the minimum interval
        assert scheduler.due(START + 14 * 24 * HOUR, 9).tolist() == [0]
        assert scheduler.explain(0, START + 14 * 24 * HOUR).held_by == "in flight"

    def test_all_of_them_gone(self):
        scheduler = make()
        scheduler.remove([0, 1, 2])
        assert scheduler.due(START, 9).tolist() == []
        assert scheduler.due(START + 30 * 24 * HOUR, 9).tolist() == []
        assert scheduler.price >= 0.0
        assert scheduler.add(Fleet(arrival=1.0, decay=1.0)).tolist() == [3]
        assert scheduler.due(START + 30 * 24 * HOUR, 9).tolist() == [3]


class TestTwoThreads:
    """All public methods take one lock: two threads may call at once."""

    CALLS = 300

    def test_no_row_is_chosen_twice_while_in_flight(self):
        scheduler = make(200, budget=1000.0, min_interval=0.0)
        flying: Counter[int] = Counter()
        guard = threading.Lock()
        # One clock for both. All calls lie within the slack, however long one of them has to wait.
        clock = (START + tick / 512 for tick in itertools.count())
        chosen, wrong, errors = [0, 0], [], []
        start = threading.Barrier(2)

        def tell() -> float:
            with guard:
                return next(clock)

        def work(me: int) -> None:
            rng = np.random.default_rng(me)
            start.wait(timeout=30)
            try:
                for _ in range(self.CALLS):
                    rows = scheduler.due(tell(), 5).tolist()
                    with guard:
                        flying.update(rows)
                        wrong.extend(row for row in rows if flying[row] > 1)
                    chosen[me] += len(rows)
                    if rng.random() < 0.3:
                        scheduler.update(Estimates(row=[int(rng.integers(200))], arrival=[2e-2]))
                    # Out of the count first: the other may choose them the moment they are back.
                    with guard:
                        flying.subtract(rows)
                    if rng.random() < 0.05:
                        scheduler.crawled(rows, tell())
                    else:
                        scheduler.release(rows)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(me,)) for me in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
        assert not any(thread.is_alive() for thread in threads)
        assert not errors
        assert not wrong
        tally = scheduler.tally
        assert tally.calls == 2 * self.CALLS
        assert tally.chosen == sum(chosen) > self.CALLS
        # Nobody was left in flight: everyone can be chosen again.
        later = START + 30 * 24 * HOUR
        scheduler.set_budget(1000.0, later)
        assert sorted(scheduler.due(later + 60.0, 1000).tolist()) == list(range(200))

    def test_one_may_choose_while_the_other_brings_sources(self):
        scheduler = make(10, budget=100.0, min_interval=0.0)
        errors: list[Exception] = []
        seen: list[int] = []
        start = threading.Barrier(2)

        def choose() -> None:
            start.wait(timeout=30)
            for call in range(self.CALLS):
                seen.extend(scheduler.due(START + call, 7).tolist())

        def bring() -> None:
            start.wait(timeout=30)
            for call in range(self.CALLS):
                rows = scheduler.add(Fleet(arrival=[1e-2, 2e-2], decay=1e-4))
                if call % 3 == 0:
                    scheduler.remove(rows[0])

        def guarded(work) -> None:
            try:
                work()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=guarded, args=(work,)) for work in (choose, bring)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
        assert not any(thread.is_alive() for thread in threads)
        assert not errors
        assert len(scheduler) == 10 + 2 * self.CALLS
        assert len(seen) == len(set(seen)), "chosen twice while in flight"
        assert max(seen, default=0) < len(scheduler)
        assert scheduler.tally.chosen == len(seen)
