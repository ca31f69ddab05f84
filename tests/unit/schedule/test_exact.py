"""The same choice as looking at every source, whatever happened in between.

`Duel` drives the scheduler and its naive twin through random operations and demands the same rows
in the same order from every `due`. Times, rates and costs are multiples of powers of two in half of
the sequences, so that purses come out even and ties are ties; in the others they are any numbers.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.schedule.naive import DAY, NaiveScheduler

from dayfly.estimate import Estimate, Estimates
from dayfly.index import whittle_index
from dayfly.model import Fleet
from dayfly.schedule import (
    Limits,
    Scheduler,
    agenda,
    approach,
    calendar,
    chooser,
    front,
    lanes,
    load,
    market,
    marks,
    overdue,
    save,
    thrift,
)
from dayfly.schedule.pricing import Pricing
from dayfly.schedule.scheduler import AHEAD_S

#: How many sequences each case plays here; the acceptance test plays many more.
SEQUENCES = 8
START = 1_800_000_000.0
HOSTS, GROUPS = ("", "a.org", "b.org", "c.org", "d.org"), ("", "news", "blogs")
COLUMNS = ("arrival", "decay", "worth", "cost", "weight", "host", "group")


def price_of(real: Scheduler) -> Callable[[float], float]:
    """The price that its next decision will ask, by what is in the purse."""
    pricing, purse = Pricing(*real._desk.market.pricing.memory), real._desk.purse
    if purse.epoch is None:
        return lambda left: pricing.threshold(left / purse.burst if purse.burst > 0 else 1.0)
    if not real._desk.market.saves:
        return lambda _: -math.inf
    dearest = max(real._desk.roster.dearest, 1e-300)
    return lambda left: pricing.threshold(min(max((left - purse.budget) / dearest, 0.0), 1.0))


class Duel:
    """A scheduler and its naive twin, told the same things.

    Everything follows from the seed: `Duel(seed, …).play(n)` does the first n operations of the
    same sequence, whatever n is. There is a handful of sources and up to weeks between two
    operations, or a crowd that is asked again and again for a long time: lanes, small steps of the
    level and early arrivals meet only there.
    """

    def __init__(
        self, seed: int, *, slotted: bool, hosts: bool, mixed: bool, crowded: bool
    ) -> None:
        self.seed, self.mixed, self.hosts, self.crowded = seed, mixed, hosts, crowded
        self.rng = np.random.default_rng(seed)
        self.even = self.chance(0.5)
        self.epoch = self.pick(64.0, 600.0) if slotted else None
        self.now = START + (0.0 if self.even else self.rng.uniform(0, 100))
        self.costs = self.pick((1.0,), (0.5, 1.0, 2.0), (1.0, 8.0), (0.125, 1.0, 1.0, 1.0, 2.5))
        # Few different numbers make many ties.
        variety = self.pick(1, 2, 40)
        self.arrivals = [self.pick(0.0, self.power(-4, -1)), *self.powers(variety, -4, -1)]
        self.decays = [self.pick(0.0, self.power(-6, -3)), *self.powers(variety, -6, -3)]
        self.worths = [1.0, *self.powers(variety - 1, -1, 1)]
        n = int(self.rng.integers(25, 151)) if crowded else self.pick(1, 2, 3, 6, 12, 25, 40)
        leaps = (0.25, 1.0, 7.5, 60.0, 300.0, 3600.0)
        self.leaps = self.column(3, *leaps) if crowded else (*leaps, DAY, 15 * DAY)
        fleet, given = self.fleet(n), self.settings(n)
        self.words = [f"{n} sources", ", ".join(f"{k}={v}" for k, v in given.items())]
        self.real = Scheduler(fleet, now=self.now, **given)
        self.naive = NaiveScheduler(fleet, now=self.now, **given)

    # Drawing.

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def power(self, low: float, high: float) -> float:
        return float(10.0 ** self.rng.uniform(low, high))

    def powers(self, n: int, low: float, high: float) -> list[float]:
        return [self.power(low, high) for _ in range(n)]

    def rough(self, number: float) -> float:
        """The number itself, or one near it that is no multiple of anything."""
        return number if self.even else number * float(self.rng.uniform(0.7, 1.3))

    def column(self, n: int, *choices: Any) -> list[Any]:
        return [choices[at] for at in self.rng.integers(len(choices), size=n).tolist()]

    def fleet(self, n: int) -> Fleet:
        plain = ("ephemeral", "lifetime") if self.chance(0.3) else ("ephemeral",)
        other = ("window", "two_phase", "freshness") if self.mixed else ()
        kind = np.array(self.column(n, *plain, *other))
        two_phase = kind == "two_phase"
        return Fleet(
            arrival=self.column(n, *self.arrivals),
            decay=self.column(n, *self.decays),
            worth=self.column(n, *self.worths),
            cost=self.column(n, *self.costs),
            lifetime=np.where(kind == "lifetime", self.column(n, 2e3, 3e4, 5e5), np.inf),
            window=np.where(kind == "window", self.column(n, 1.0, 5.0, 20.0), np.inf),
            slow_decay=np.where(two_phase, self.column(n, 0.0, 1e-6), 0.0),
            slow_share=np.where(two_phase, self.column(n, 0.25, 0.5), 0.0),
            kind=[k if k in ("two_phase", "freshness") else "ephemeral" for k in kind.tolist()],
            host=self.column(n, *HOSTS) if self.hosts else None,
        )

    def settings(self, n: int) -> dict[str, Any]:
        least, most = self.pick(0.0, 1.0, 60.0, 300.0), self.pick(1024.0, DAY, 14 * DAY)
        apart = self.chance(0.3)
        given: dict[str, Any] = {
            "budget": self.budget(),
            "epoch": self.epoch,
            "min_interval": self.column(n, least, 2 * least, 0.0) if apart else least,
            "max_interval": self.column(n, most, 2 * most, 4 * most) if apart else most,
            "burst": self.pick(None, None, max(self.costs), 4 * max(self.costs)),
            "floor_share": self.pick(0.0625, 0.0625, 0.0, 0.5, 1.0),
        }
        past = (START - self.pick(0.0, 1.0, 60.0, 3600.0, DAY, 15 * DAY) for _ in range(4 * n))
        if self.chance(0.7):
            given["last"] = [self.pick(next(past), next(past), None) for _ in range(n)]
        if self.chance(0.3):
            given["not_before"] = self.column(n, None, math.nan, self.now + 60, self.now + 3600)
        if self.hosts:
            given["limits"] = self.limits()
            if self.chance(0.7):
                given["group"] = self.column(n, *GROUPS)
        return given

    def budget(self) -> float:
        if self.epoch is not None:
            return self.pick(0.0, 0.5, 1.0, 2.0, 5.0, 20.0)
        return self.rough(self.pick(0.0, 2.0**-12, 2.0**-8, 2.0**-5, 0.25, 4.0))

    def limits(self) -> Limits:
        rates = (0.5, 1.0, 4.0) if self.epoch is not None else (2.0**-10, 2.0**-6, 0.5)
        # Of a host limit and a group limit each may be the tighter one, for some sources or all.
        both = self.chance(0.5)
        none = () if both else (None, None)
        return Limits(
            spacing=self.pick(0.0, 0.0, self.rough(2.0), 60.0, {"a.org": 30.0, "b.org": 1000.0}),
            parallel=self.pick(None, 1, 2, {"a.org": 1, "c.org": 3}),
            host_budget=self.pick(*none, *rates, {"a.org": rates[0], "d.org": rates[1]}),
            group_budget=self.pick(*none, *rates, {"news": self.rough(rates[1])}),
        )

    # Operations.

    def play(self, steps: int | None = None) -> int:
        """Do so many operations; the answer is how many rows were chosen."""
        if steps is None:
            steps = 60 if self.crowded else int(self.rng.integers(10, 20))
        operations = (
            *(self.due,) * 12, *(self.crawled,) * 6, self.release, *(self.update,) * 2,
            self.observe, self.add, self.remove, self.pause, self.unpause, self.block_host,
            self.set_budget, self.throttle, self.restore,
        )  # fmt: skip
        chosen = 0
        for _ in range(steps):
            if self.chance(0.6):
                self.now += self.rough(self.pick(*self.leaps))
            chosen += self.pick(*operations)() or 0
        self.due()
        self.compare_beliefs()
        return chosen

    def tell(self, method: str, *args: Any, **named: Any) -> tuple[Any, Any]:
        """The same words to both; what each answers."""
        words = [*(repr(a) for a in args), *(f"{k}={v!r}" for k, v in named.items())]
        self.words.append(f"{method}({', '.join(words)})")
        try:
            price = {"price": price_of(self.real)} if method == "due" else {}
            answer = getattr(self.real, method)(*args, **named)
            return answer, getattr(self.naive, method)(*args, **named, **price)
        except Exception as error:
            error.add_note(self.story())
            raise

    def story(self) -> str:
        """All that is needed to see it again."""
        lines = [f"{n:3} {words}" for n, words in enumerate(self.words, -1)]
        return "\n".join([f"seed {self.seed}, after {len(self.words) - 2} operations:", *lines])

    def due(self) -> int:
        k = self.pick(0, 1, 2, 5, 1000)
        # A clock may be set back a little.
        now = self.now - self.pick(0.0, 0.0, 0.0, 0.0, 3.0)
        real, naive = self.tell("due", now, k)
        assert real.tolist() == naive, f"{real.tolist()} instead of {naive}; {self.story()}"
        return len(naive)

    def rows(self, most: int = 5) -> list[int]:
        size = min(int(self.rng.integers(1, most + 1)), len(self.naive))
        return self.rng.choice(len(self.naive), size, replace=False).tolist()

    def flying(self) -> list[int]:
        """Some of those in flight, in any order; first there must be some."""
        if not any(kept.in_flight for kept in self.naive.sources):
            self.due()
        rows = [row for row, kept in enumerate(self.naive.sources) if kept.in_flight]
        self.rng.shuffle(rows)
        return rows[: self.pick(1, len(rows), len(rows))]

    def crawled(self) -> None:
        if self.now > self.naive.now + AHEAD_S:
            self.due()  # visits do not take months
        # Now and then somebody else went there without asking.
        rows = self.flying() if self.chance(0.95) else self.rows()
        n, named = len(rows), {}
        if self.chance(0.2):
            named["not_before"] = self.column(n, None, self.now, self.now + 60, self.now + DAY)
        if self.chance(0.3):
            named["failed"] = self.column(n, True, False)
        if self.chance(0.2):
            named["spent"] = self.column(n, 0.0, 0.5, 1.0, 4.0)
        ended = self.now - self.pick(0.0, 0.0, 0.0, 2.0, 90.0)  # and is told only now
        self.tell("crawled", rows, ended, self.estimates(rows, self.pick(0, 1, 2)), **named)

    def release(self) -> None:
        self.tell("release", self.flying())

    def update(self) -> None:
        rows = self.rows(self.pick(1, 5, 40))
        self.tell("update", self.estimates(rows, self.pick(1, 2)))

    def estimates(self, rows: list[int], how: int) -> Any:
        """Nothing, one `Estimate` after the other, or columns."""
        n = len(rows)
        beliefs = [self.column(n, *c) for c in (self.arrivals, self.decays, self.worths)]
        if how == 0 or n == 0:
            return ()
        if how == 1:
            return [
                Estimate(row=row, time=self.now, arrival=arrival, decay=decay, worth=worth)
                for row, arrival, decay, worth in zip(rows, *beliefs, strict=True)
            ]
        others = [self.costs, (0.5, 1.0, 3.0), (*HOSTS, "new.org"), (*GROUPS, "new")]
        columns = [*beliefs, *(self.column(n, *choices) for choices in others)]
        wanted = [self.chance(0.4) and (self.hosts or name != "host") for name in COLUMNS]
        named = {name: c for name, c, on in zip(COLUMNS, columns, wanted, strict=True) if on}
        return Estimates(row=rows, **named)

    def observe(self) -> None:
        rows = self.rows()
        ceilings = self.naive.fleet.take(rows).harvest.value(np.full(len(rows), np.inf))
        states = [
            self.pick(0.0, 0.25, 0.5, 0.99, 1.0, 2.0) * (c if math.isfinite(c) else 100.0)
            for c in ceilings.tolist()
        ]
        self.tell("observe", rows, states, self.now)

    def add(self) -> None:
        n = self.pick(1, 2, 10)
        named = {"group": self.column(n, *GROUPS)} if self.hosts and self.chance(0.5) else {}
        real, naive = self.tell("add", self.fleet(n), **named)
        assert real.tolist() == naive

    def remove(self) -> None:
        self.tell("remove", self.rows(2) if self.chance(0.5) else self.rows(1)[0])

    def pause(self) -> None:
        until = self.pick(math.inf, self.now + 100, self.now + DAY)
        self.tell("pause", self.rows() if self.chance(0.5) else self.rows(1)[0], until)

    def unpause(self) -> None:
        self.tell("pause", self.rows(40), self.pick(self.now, -math.inf))

    def block_host(self) -> None:
        if self.hosts:
            until = self.now + self.pick(0.0, 30.0, 3600.0, math.inf)
            self.tell("block_host", self.pick("a.org", "b.org", "c.org"), until)

    def set_budget(self) -> None:
        self.tell("set_budget", self.budget(), self.now)

    def throttle(self) -> None:
        self.tell("throttle", self.pick(0.0, 0.25, 0.5, 1.0, 1.0), self.now)

    def restore(self) -> None:
        """Stop, and carry on from a file."""
        self.words.append("restore()")
        with tempfile.TemporaryDirectory() as folder:
            save(self.real, Path(folder) / "snapshot")
            self.real = load(Path(folder) / "snapshot")

    def compare_beliefs(self) -> None:
        real, naive = self.real.fleet, self.naive.fleet
        assert len(self.real) == len(self.naive) == len(real)
        for name in ("arrival", "decay", "worth", "cost", "host"):
            assert list(getattr(real, name)) == list(getattr(naive, name)), self.story()


#: Sizes that make a calendar of a handful of sources turn pages, cut pools and fill shelves.
TINY = {
    agenda: {
        "_PAGE": 0.1,
        "_LEAST_PAGE": 2,
        "_SLOTS": 4,
        "_SLIPS": 3,
        "_RUNS": 2,
        "_SAMPLE": 4,
        "_BLOCK": 7,
    },
    approach: {"_BLOCK": 5, "_FEW": 3, "_BATCH": 1, "_LARGE_BATCH": 3},
    marks: {"_LAST_EDITION": 18},
    calendar: {"_ROOM": 1, "_MORE": 2, "_KEEP": 1, "_PLENTY": 1, "_KEPT": 1, "CROWD": 2},
    front: {"_FEW": 2, "_MANY": 4, "_RUNS": 2, "_BLOCK": 3},
    chooser: {"CROWD": 2},
    lanes: {"_STALE": 0.1},
    overdue: {"_LEAST": 2, "_WINDOW": 3},
    thrift: {"_MOST": 3},
}


@pytest.fixture(params=["large pages", "tiny pages"])
def tiny_calendar(request, monkeypatch):
    """Once with a pool that holds all of a small fleet, once with one that is always too small."""
    if request.param == "tiny pages":
        for module, sizes in TINY.items():
            for name, size in sizes.items():
                monkeypatch.setattr(module, name, size)


def guess(fleet: Fleet, budget: float, epoch: float | None) -> Any:
    """In place of `relax`, which takes longer than all the rest: a price that some will reach."""
    rng = np.random.default_rng([len(fleet), int(1e6 * budget)])
    index = whittle_index(fleet, float(10.0 ** rng.uniform(1, 6)), epoch)
    price = float(np.quantile(index, rng.uniform(0, 1)))
    return SimpleNamespace(price=price, rate=np.ones(len(fleet)))


@pytest.fixture
def guessed_price(monkeypatch):
    """The choice is exact at any price; it need not be the best one."""
    monkeypatch.setattr(market, "relax", guess)


def test_due_chooses_as_if_it_looked_at_every_source_at_the_right_price():
    for seed in range(SEQUENCES):
        slotted, hosts, crowded = (seed >> bit & 1 == 1 for bit in range(3))
        Duel(seed, slotted=slotted, hosts=hosts, mixed=False, crowded=crowded).play()


@pytest.mark.usefixtures("tiny_calendar", "guessed_price")
@pytest.mark.parametrize("mixed", [False, True], ids=["plain", "mixed kinds"])
@pytest.mark.parametrize("hosts", [False, True], ids=["no hosts", "hosts"])
@pytest.mark.parametrize("slotted", [False, True], ids=["continuous", "slotted"])
def test_due_chooses_as_if_it_looked_at_every_source(slotted, hosts, mixed):
    chosen = 0
    for seed in range(SEQUENCES):
        crowded = seed % 4 == 0
        duel = Duel(seed, slotted=slotted, hosts=hosts, mixed=mixed, crowded=crowded)
        chosen += duel.play()
    assert chosen > SEQUENCES, "hardly anything was ever chosen: the test is empty"


@pytest.mark.usefixtures("tiny_calendar", "guessed_price")
def test_whose_index_is_the_same_but_for_the_last_bit():
    # Two kinds, one next to sources that never fade: alone it had another last bit than among all.
    Duel(90157, slotted=True, hosts=False, mixed=True, crowded=True).play()


class TestTheTwinItself:
    """Every rule of the contract once, with numbers that can be worked out by hand.

    Sources have decay 1 and arrival w, so that at an age of many seconds the index is w.
    """

    @staticmethod
    def make(arrival=(1.0, 2.0, 3.0), budget=1.0, *, seen=True, **given: Any) -> NaiveScheduler:
        cost, host = given.pop("cost", 1.0), given.pop("host", None)
        fleet = Fleet(arrival=list(arrival), decay=1.0, cost=cost, host=host)
        if seen:
            given.setdefault("last", [0.0] * len(fleet))
        return NaiveScheduler(fleet, budget, 0.0, **{"min_interval": 0.0, **given})

    def test_by_falling_index_from_the_price_on(self):
        naive = self.make([1.0, 3.0, 2.0, 3.0])
        assert naive.due(100.0, 9, price=2.5) == [1, 3]  # ties to the lower row
        assert naive.due(100.0, 9, price=2.5) == []  # in flight
        assert naive.due(100.0, 1, price=0.5) == [2]
        assert naive.due(100.0, 0) == []

    def test_the_index_is_per_cost(self):
        assert self.make([4.0, 3.0], cost=[2.0, 1.0]).due(100.0, 9) == [1, 0]

    def test_nothing_is_crawled_for_nothing(self):
        assert self.make([0.0, 1.0]).due(100.0, 9, price=0.0) == [1]
        assert self.make([0.0, 1.0], budget=2.0, epoch=1.0).due(100.0, 9) == [1, 0]  # the papers'

    def test_slotted_ages_count_whole_epochs(self):
        naive = self.make([1.0, 1.0], budget=1.0, epoch=10.0, last=[9.0, 11.0])
        assert naive._age(naive.sources[0], 19.0) == 10.0
        assert naive.due(19.0, 9) == [0]  # the other was seen in this very epoch
        assert naive.due(20.0, 9) == [1]

    def test_never_visited_first_then_the_longest_unseen(self):
        naive = self.make([3.0, 1.0, 1.0, 1.0], last=[1.0, None, 0.0, None], max_interval=99.0,
                          floor_share=1.0)  # fmt: skip
        assert naive.due(98.0, 2) == [1, 3]
        assert naive.due(100.0, 9) == [2, 0]
        # It is an attempt that counts: a failed visit is a visit here.
        naive.crawled([1, 3], 100.0, failed=[True, False])
        assert naive.due(199.5, 9) == [1, 3]

    def test_the_floor_has_a_purse_of_its_own(self):
        # One crawl to start with; it fills at 1/16 a second, and its last crawl may overdraw.
        naive = self.make([0.0] * 5, seen=False, floor_share=0.0625)
        assert naive.due(0.0, 9) == [0]
        assert naive.due(0.0, 9) == []
        assert naive.due(16.0, 9) == [1]
        assert naive.due(24.0, 9) == [2]  # half a crawl is there
        assert naive.due(25.0, 9) == []
        # Who is past the floor's means competes by its index.
        naive = self.make([0.0, 5.0, 7.0], seen=False)
        assert naive.due(0.0, 9) == [0, 2, 1]

    def test_continuous_a_crawl_starts_while_anything_is_left(self):
        naive = self.make([9.0, 8.0, 1.0], budget=0.25, burst=2.0, cost=[1.0, 2.0, 1.0])
        assert naive.due(8.0, 9) == [0, 1]  # 2 - 1 - 2 = -1
        assert naive.due(12.0, 9) == []  # 0 is not above 0
        assert naive.due(13.0, 9) == [2]

    def test_the_global_purse_holds_a_minute_and_ten_crawls(self):
        naive = self.make([1.0] * 40, budget=0.25)
        assert len(naive.due(0.0, 99)) == 0  # at age 0 nothing waits
        assert len(naive.due(1e4, 99)) == 25
        assert len(naive.due(1e4 + 8.0, 99)) == 2

    def test_slotted_a_crawl_must_fit_and_cheaper_ones_may(self):
        naive = self.make([9.0, 9.0, 1.0], budget=3.0, epoch=60.0, cost=[2.0, 2.0, 1.0])
        assert naive.due(120.0, 9) == [0, 1, 2]  # two incomes of 3, of which 3 + 2 are kept
        naive = self.make([9.0, 9.0, 1.0], budget=3.0, epoch=60.0, cost=[2.0, 2.0, 1.0], burst=3.0)
        assert naive.due(60.0, 9) == [0, 2]
        assert naive.due(119.0, 9) == []
        assert naive.due(120.0, 9) == [1]

    def test_minimum_interval(self):
        naive = self.make([1.0, 1.0], min_interval=[10.0, 20.0], last=[0.0, 0.0])
        assert naive.due(9.5, 9) == []
        assert naive.due(10.0, 9) == [0]
        assert naive.due(20.0, 9) == [1]
        slotted = self.make([1.0], epoch=10.0, min_interval=15.0, last=[9.0])
        assert slotted.due(19.0, 9) == []  # one whole slot later
        assert slotted.due(20.0, 9) == [0]

    def test_not_before_and_pauses(self):
        naive = self.make([3.0, 2.0, 1.0], not_before=[None, 50.0, math.nan])
        naive.pause(0, 60.0)
        assert naive.due(40.0, 9) == [2]
        assert naive.due(50.0, 9) == [1]
        naive.crawled([2, 1], 50.0, not_before=[90.0, None])
        naive.pause([0, 1])
        assert naive.due(80.0, 9) == []
        assert naive.due(90.0, 9) == [2]
        naive.pause([0, 1], 0.0)
        assert naive.due(91.0, 9) == [0, 1]

    def test_a_failed_visit_backs_off_and_what_waits_goes_on_waiting(self):
        naive = self.make([1.0], min_interval=10.0, last=[0.0])
        for at, wait in ((100.0, 10.0), (200.0, 20.0), (300.0, 40.0)):
            assert naive.due(at, 9) == [0]
            naive.crawled([0], at, failed=[True])
            assert naive.sources[0].since == 0.0
            assert naive.due(at + wait - 0.5, 9) == []
        assert naive.due(340.0, 9) == [0]
        naive.crawled([0], 340.0)
        assert (naive.sources[0].since, naive.sources[0].failures) == (340.0, 0)
        for _ in range(30):
            naive.crawled([0], 400.0, failed=[True])
        assert naive.due(400.0 + DAY - 1, 9) == []
        assert naive.due(400.0 + DAY, 9) == [0]

    def test_release_lets_it_be_chosen_again_but_the_money_is_gone(self):
        naive = self.make([1.0], budget=0.125, burst=1.0)
        assert naive.due(8.0, 9) == [0]
        naive.release([0])
        assert naive.due(8.0, 9) == []
        assert naive.due(9.0, 9) == [0]

    def test_what_a_visit_really_cost_is_put_right(self):
        naive = self.make([1.0, 1.0], budget=0.125, burst=1.0)
        assert naive.due(8.0, 9) == [0]
        naive.crawled([0], 8.0, spent=[0.5])
        assert naive.due(8.0, 9) == [1]

    def test_a_host_is_asked_now_and_then(self):
        naive = self.make([3.0, 2.0, 1.0], host=["a", "a", ""], limits=Limits(spacing=10.0))
        assert naive.due(100.0, 9) == [0, 2]
        assert naive.due(109.0, 9) == []
        assert naive.due(110.0, 9) == [1]

    def test_a_host_is_asked_by_so_many_at_once(self):
        naive = self.make([3.0, 2.0, 1.0, 1.0], host=["a", "a", "a", "b"],
                          limits=Limits(parallel={"a": 2}))  # fmt: skip
        assert naive.due(100.0, 9) == [0, 1, 3]
        naive.crawled([1], 100.0)
        assert naive.due(100.0, 9) == [2]
        naive.remove(0)  # it may never come back
        assert naive.due(101.0, 9) == [1]

    def test_a_host_that_asks_for_peace_has_it(self):
        naive = self.make([3.0, 1.0], host=["a", "b"])
        naive.block_host("a", 200.0)
        assert naive.due(100.0, 9) == [1]
        assert naive.due(200.0, 9) == [0]

    def test_hosts_and_groups_have_purses(self):
        limits = Limits(host_budget={"a": 0.0625}, group_budget={"g": 0.0})
        naive = self.make([1.0] * 9, budget=4.0, host=["a"] * 8 + [""], limits=limits)
        assert len(naive.due(100.0, 99)) == 5  # 60/16 = 3.75 and a fourth, beside the nameless
        naive = self.make([1.0] * 3, budget=4.0, group=["g", "", "g"], limits=limits)
        assert naive.due(100.0, 9) == [0, 1]
        assert naive.due(1e6, 9) == []

    def test_an_observed_state_decides_from_then_on(self):
        naive = self.make([1.0, 1.0, 1.0], last=[99.0, 99.0, 98.5])
        naive.observe([1], [0.9999999], 99.0)  # as after a long time
        assert naive.due(99.5, 9) == [1, 2, 0]
        # Twice the ceiling: it fades, and outranks what can ever wait elsewhere.
        naive = self.make([1.0, 1.0, 1.9], last=[0.0] * 3)
        naive.observe([0, 1], [3.0, 2.0], 100.0)
        assert naive._indices(100.0) == [3.0, 2.0, pytest.approx(1.9)]
        assert naive._indices(100.0 + math.log(2))[0] == pytest.approx(2.0)
        assert naive.due(100.0 + math.log(2), 9) == [0, 2, 1]
        naive.crawled([0], 101.0)
        assert naive._indices(101.0)[0] == 0.0

    def test_slotted_a_state_may_lie_between_two_epochs(self):
        naive = self.make([1.0], epoch=1.0)
        after_one, after_two = (1 - math.exp(-k) for k in (1, 2))
        naive.observe([0], [0.5 * (after_one + after_two)], 100.0)
        two = whittle_index(naive.fleet, [1.0], 1.0)[0], whittle_index(naive.fleet, [2.0], 1.0)[0]
        assert naive._indices(100.0) == pytest.approx([0.5 * sum(two)])
        naive.observe([0], [after_one], 100.0)
        assert naive._indices(101.0) == pytest.approx([two[1]])

    def test_beliefs_costs_weights_hosts_and_groups_may_change(self):
        limits = Limits(parallel={"a": 1})
        naive = self.make([1.0, 2.0, 3.0], host=["a", "a", "b"], limits=limits)
        naive.update([Estimate(row=0, time=0.0, arrival=5.0, decay=1.0, worth=1.0)])
        naive.update(Estimates(row=[2], cost=[2.0], weight=[4.0], host=["a"]))
        assert naive._indices(100.0) == pytest.approx([5.0, 2.0, 6.0])
        assert naive.due(100.0, 9) == [2]

    def test_sources_come_and_go(self):
        naive = self.make([1.0, 2.0])
        assert naive.add(Fleet(arrival=[3.0, 0.0], decay=1.0)) == [2, 3]
        naive.remove([1])
        assert naive.due(100.0, 9) == [2, 3, 0]

    def test_the_budget_may_change(self):
        naive = self.make([1.0] * 9, budget=1.0, burst=1.0)
        assert naive.due(100.0, 9) == [0]
        naive.set_budget(0.0, 100.0)
        assert naive.due(1e6, 9) == []
        naive.set_budget(1.0, 1e6)
        naive.throttle(0.25, 1e6)
        assert naive.due(1e6 + 1, 9) == [1]
        assert naive.due(1e6 + 4, 9) == []
        assert naive.due(1e6 + 5, 9) == [2]

    def test_time_stands_still_for_a_moment_but_does_not_run_back(self):
        naive = self.make([1.0], min_interval=5.0)
        assert naive.due(5.0, 0) == []
        assert naive.due(1.0, 9) == [0]
        with pytest.raises(ValueError, match="backwards"):
            naive.due(-1.0, 9)
