"""The price settles where the purse is in balance, from wherever it starts."""

import math

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.index import relax, whittle_index
from dayfly.model import Fleet
from dayfly.schedule.pricing import Pricing
from dayfly.schedule.purse import NEUTRAL


def fleet_of(n: int, seed: int) -> Fleet:
    rng = np.random.default_rng(seed)
    return Fleet(
        arrival=rng.lognormal(-5.0, 1.0, n),
        decay=rng.lognormal(-6.5, 0.5, n),
        cost=rng.choice((0.5, 1.0, 2.0), n),
    )


class Crawl:
    """The scheduler's rule by a scan: the whole world that a price lives in."""

    def __init__(self, fleet: Fleet, budget: float, pricing: Pricing, *, seed: int) -> None:
        self.fleet, self.budget, self.pricing = fleet, budget, pricing
        self.burst = 60 * budget + 10 * float(fleet.cost.max())
        self.left = NEUTRAL * self.burst
        plan = relax(fleet, budget)
        ages = np.minimum(plan.age, 3600.0)
        self.since = -ages * np.random.default_rng(seed).random(len(fleet))
        self.now, self.spent, self.value = 0.0, 0.0, 0.0

    def step(self, *, tick: float = 1.0, k: int = 10**6) -> float:
        self.now += tick
        self.left = min(self.left + self.budget * tick, self.burst)
        index = whittle_index(self.fleet, self.now - self.since)
        order = np.argsort(-index, kind="stable")
        order = order[index[order] > 0]
        cost = self.fleet.cost[order]
        before = np.cumsum(cost) - cost
        wanted = self.pricing.worth_it(index[order], (self.left - before) / self.burst)
        taken = min(int(np.count_nonzero(before < self.left)), wanted, k)
        rows = order[:taken]
        self.value += float(self.fleet.take(rows).harvest.value(self.now - self.since[rows]).sum())
        self.left -= float(cost[:taken].sum())
        self.spent += float(cost[:taken].sum())
        self.since[rows] = self.now
        self.pricing.learn(
            elapsed=tick,
            fill=self.burst / self.budget,
            full=self.left / self.burst,
            marginal=float(index[rows[-1]]) if taken else math.nan,
            short=taken < wanted,
        )
        return self.pricing.base


def test_the_price_asked_falls_as_the_purse_fills():
    pricing = Pricing(2.0)
    asked = [pricing.threshold(full) for full in np.linspace(-0.5, 1.0, 100)]
    assert (np.diff(asked) < 0).all()
    assert pricing.threshold(NEUTRAL) == pytest.approx(2.0)
    assert asked[-1] == 0
    assert pricing.threshold(1.5) == 0


def test_worth_it_asks_as_the_purse_empties():
    seed = 1
    rng = np.random.default_rng(seed)
    for _ in range(200):
        pricing = Pricing(float(rng.uniform(0, 2)))
        index = -np.sort(-rng.uniform(0, 3, 20))
        full = -np.sort(-rng.uniform(-0.2, 1, 20))
        one_by_one = 0
        while one_by_one < 20 and index[one_by_one] >= pricing.threshold(full[one_by_one]):
            one_by_one += 1
        assert pricing.worth_it(index, full) == one_by_one, f"seed {seed}"


@pytest.mark.parametrize("first", [0.25, 0.5, 2.0, 4.0])
@pytest.mark.parametrize("n", [300, 3000])
def test_a_wrong_first_price_becomes_right_and_does_not_swing(first, n):
    """Beyond the right price it goes by a few percent at most, and the purse comes to rest."""
    seed = 7
    fleet = fleet_of(n, seed)
    right = relax(fleet, 5.0).price
    crawl = Crawl(fleet, 5.0, Pricing(first * right), seed=seed)
    # Looked at much more often than sources are visited, or the price must make up for the delay.
    tick = 1.0 if n < 1000 else 5.0
    course = np.array([crawl.step(tick=tick) for _ in range(int(7500 / tick))]) / right
    note = f"seed {seed}: {course[:: len(course) // 15].round(3)}"
    beyond = course.min() if first > 1 else 2 - course.max()
    assert beyond > 0.85, note
    assert abs(course[-len(course) // 5 :] - 1).max() < 0.05, note
    assert crawl.left / crawl.burst == pytest.approx(NEUTRAL, abs=0.1), note
    assert crawl.spent == pytest.approx(5.0 * crawl.now, rel=0.02), note


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [3, 10])
def test_learning_does_not_hurt_small_fleets(seed, n):
    """Beside the same rule with the solved price, and no learning."""

    class Fixed(Pricing):
        def learn(self, **_):
            pass

    rng = np.random.default_rng([seed, n])
    fleet = Fleet(
        arrival=rng.lognormal(2.0, 1.0, n),
        decay=rng.lognormal(-1.0, 0.5, n) * 3 / n,
        cost=rng.choice((0.5, 1.0, 2.0), n),
    )
    plan = relax(fleet, 1.0)
    found = []
    for kind in (Pricing, Fixed):
        crawl = Crawl(fleet, 1.0, kind(plan.price), seed=seed)
        crawl.burst = 10 * float(fleet.cost.max())
        for _ in range(2400):
            crawl.step(tick=0.5)
        found.append(crawl.value - plan.price * crawl.spent)
    assert found[0] > found[1] - 0.005 * plan.bound * crawl.now, f"seed {seed}: {found}"


def test_slow_workers_do_not_make_the_price_fall():
    """The purse overflows, and the price follows what the few that are crawled are worth."""
    seed = 3
    fleet = fleet_of(1000, seed)
    usual, scarce = relax(fleet, 5.0).price, relax(fleet, 1.0).price
    crawl = Crawl(fleet, 5.0, Pricing(usual), seed=seed)
    for _ in range(10000):
        crawl.step(k=1)
    assert crawl.left == pytest.approx(crawl.burst, rel=0.01)
    assert crawl.pricing.base > 0.5 * scarce > 1.2 * usual, f"seed {seed}: {crawl.pricing.base}"


def test_nothing_is_learnt_from_nothing():
    for given in (
        {"elapsed": 0.0, "fill": 60.0, "full": 0.9},
        {"elapsed": 1.0, "fill": math.inf, "full": 0.9},
        {"elapsed": 1.0, "fill": 60.0, "full": 1.0},
        {"elapsed": 1.0, "fill": 60.0, "full": -0.01, "short": True},
        {"elapsed": 1.0, "fill": 60.0, "full": NEUTRAL},
    ):
        pricing = Pricing(3.0)
        pricing.learn(**given)
        assert pricing.base == pytest.approx(3.0, rel=1e-12), given


def test_a_long_silence_teaches_no_more_than_one_purse():
    one, long = Pricing(1.0), Pricing(1.0)
    one.learn(elapsed=60.0, fill=60.0, full=0.99)
    long.learn(elapsed=86400.0, fill=60.0, full=0.99)
    assert long.base == one.base > 0.7


def test_a_price_of_nothing_rises_when_money_runs_short():
    pricing = Pricing(0.0)
    pricing.learn(elapsed=1.0, fill=60.0, full=-0.01, marginal=0.3, short=True)
    assert pricing.base == 0.3


def test_it_is_steered_by_factors_that_say_something():
    pricing = Pricing(2.0)
    pricing.steer(1.5)
    for nothing in (0.0, math.inf, math.nan, -1.0):
        pricing.steer(nothing)
    assert pricing.base == 3.0


def test_its_memory_is_all_of_it():
    first = Pricing(1.0)
    for full in np.linspace(0, 0.99, 50):
        first.learn(elapsed=0.7, fill=60.0, full=float(full))
    second = Pricing(*first.memory)
    for pricing in (first, second):
        pricing.learn(elapsed=0.3, fill=61.0, full=0.4)
    assert second.memory == first.memory


@pytest.mark.parametrize("price", [-1.0, math.nan, math.inf])
def test_a_first_price_that_is_none_is_refused(price):
    with pytest.raises(BadInput, match="price must be finite"):
        Pricing(price)
