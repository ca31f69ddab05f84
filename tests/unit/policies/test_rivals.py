"""The research rules: optimal rates by a second method, counting, and what gets visited."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dayfly.model import Visits
from dayfly.policies import Contest
from dayfly.policies.rivals import RIVALS, Rates
from dayfly.policies.rivals.solve import azar, harmonic, proportional, square_root


def instance(seed, n=6):
    rng = np.random.default_rng(seed)
    print("seed", seed)
    return 10 ** rng.uniform(-2, 1, n), 10 ** rng.uniform(-1, 1, n), float(10 ** rng.uniform(-1, 1))


def best(cost, n, budget, least=0.0):
    """The cheapest rates that add up to the budget, by a general method from several starts."""
    rng = np.random.default_rng(0)
    found = [
        minimize(
            lambda share: cost(budget * share),
            rng.dirichlet(np.ones(n)),
            method="SLSQP",
            bounds=[(max(least / budget, 1e-12), 1.0)] * n,
            constraints={"type": "eq", "fun": lambda share: share.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        for _ in range(3)
    ]
    return min(float(one.fun) for one in found)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("floor", [0.0, 0.4])
def test_azar_is_optimal(seed, floor):
    weight, change, budget = instance(seed)
    least = floor * budget / len(weight)

    def cost(rate):
        return float((weight * change / (rate + change)).sum())

    rate = azar(weight, change, budget, least)
    assert rate.sum() == pytest.approx(budget, rel=1e-12)
    assert (rate >= least).all()
    assert cost(rate) <= best(cost, len(weight), budget, least) * (1 + 1e-7)
    # One price for all above the floor; below it nobody would pay it.
    price = weight * change / (rate + change) ** 2
    above = rate > least
    assert price[above] == pytest.approx(price[above].max(), rel=1e-9)
    assert (price[~above] <= price[above].max() * (1 + 1e-9)).all()


@pytest.mark.parametrize("seed", range(6))
def test_lambdacrawl_is_optimal(seed):
    weight, change, budget = instance(seed)

    def cost(rate):
        return float(-(weight * np.log(rate / (rate + change))).sum())

    rate = harmonic(weight, change, budget)
    assert rate.sum() == pytest.approx(budget, rel=1e-12)
    assert cost(rate) <= best(cost, len(weight), budget) * (1 + 1e-6)
    price = weight * change / (rate * (rate + change))
    assert price == pytest.approx(np.full(len(weight), price[0]), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_square_root_is_optimal_for_delay(seed):
    weight, _, budget = instance(seed)

    def cost(rate):
        return float((weight / (2 * rate)).sum())

    rate = square_root(weight, budget)
    assert rate.sum() == pytest.approx(budget, rel=1e-12)
    assert cost(rate) <= best(cost, len(weight), budget) * (1 + 1e-7)


def test_importance_on_any_scale_meets_the_budget():
    weight, change, budget = instance(11, n=300)
    for scale in (1e-9, 1.0, 1e9):
        for rate in (
            azar(scale * weight, change, budget),
            harmonic(scale * weight, change, budget),
        ):
            assert rate.sum() == pytest.approx(budget, rel=1e-12)
        assert harmonic(scale * weight, change, budget) == pytest.approx(
            harmonic(weight, change, budget), rel=1e-9
        )


def test_sources_without_importance():
    weight, change = np.array([0.0, 1.0]), np.ones(2)
    assert azar(weight, change, 3.0).tolist() == [0, 3]
    assert harmonic(weight, change, 3.0) == pytest.approx([0, 3])
    for solve in (azar, harmonic):
        assert solve(np.zeros(2), change, 3.0).tolist() == [1.5, 1.5]
    assert proportional(np.zeros(2), 3.0).tolist() == [1.5, 1.5]


def test_with_changes_at_the_rate_of_arrivals_all_are_the_proportional_rule():
    arrival, _, budget = instance(12)
    expected = proportional(arrival, budget)
    assert azar(arrival, arrival, budget) == pytest.approx(expected)
    assert harmonic(arrival, arrival, budget) == pytest.approx(expected)


def visits(time, row, gap, ages, new, worth=None):
    """One visit that showed items of these ages, oldest first."""
    return Visits(
        time=time, row=np.array([row]), gap=np.array([gap]), start=np.array([0, len(ages)]),
        published=time - np.array(ages, dtype=float), new=np.array([new]), value=np.array([0.0]),
        worth=np.ones(len(ages)) if worth is None else np.array(worth, dtype=float),
    )  # fmt: skip


def test_exposure_follows_the_window():
    rates = Rates(1, window=3)
    for seen, count, exposure in (
        (visits(1000.0, 0, np.inf, [500, 100], 2), 2, 500),  # first: since the oldest shown
        (visits(1200.0, 0, 200.0, [700, 300, 50], 1), 3, 700),  # part of the window: the gap
        (visits(1500.0, 0, 300.0, [30, 20, 10], 3), 6, 730),  # all of it: since the oldest shown
        (visits(1900.0, 0, 400.0, [430, 420, 410], 0), 6, 1130),  # nothing: the gap
    ):
        rates.learn(seen)
        assert (rates.count[0], rates.exposure[0]) == (count, exposure)


def test_rates_of_a_truncated_poisson_source_are_right():
    rng = np.random.default_rng(13)
    print("seed 13")
    sources, rate, window = 150, 3.0, 5
    rates = Rates(sources, window)
    items = [np.sort(rng.uniform(-100, 60, rng.poisson(rate * 160))) for _ in range(sources)]
    for row, times in enumerate(items):
        last = -np.inf
        for now in np.cumsum(rng.uniform(0.5, 4.0, 15)):
            shown = times[times <= now][-window:]
            new = int((shown > last).sum())
            rates.learn(visits(1e4 * now, row, 1e4 * (now - last), 1e4 * (now - shown), new))
            last = now
    found = 1e4 * rates.count.sum() / rates.exposure.sum()  # without the prior
    assert found == pytest.approx(rate, rel=0.03)


def test_worth_is_that_of_new_items_and_leans_on_the_fleet():
    rates = Rates(2, window=None)
    assert rates.worth.tolist() == [1, 1]
    rates.learn(visits(100.0, 0, np.inf, [30, 20, 10], 2, worth=[100, 4, 6]))
    assert rates.worth == pytest.approx([5, 5])
    rates.learn(visits(100.0, 1, np.inf, [10], 1, worth=[2]))
    assert rates.worth == pytest.approx([(10 + 4) / 3, (2 + 4) / 2])


RATE = np.array([8.0, 4.0, 2.0, 1.0, 0.5, 0.0])


def play(name, instants=600, k=1, decay=0.3, seed=14):
    """Visits to each of a few sources, of which the first publishes most."""
    rng = np.random.default_rng(seed)
    print("seed", seed)
    contender = RIVALS[name](
        Contest(sources=len(RATE), start=0.0, epoch=1.0, budget=float(k), decay=decay,
                window=None, span=float(instants))
    )  # fmt: skip
    last, chosen = np.full(len(RATE), -np.inf), []
    for now in np.arange(instants, dtype=float):
        rows = contender.choose(now, k, rng)
        for row in rows:
            gap = now - last[row]
            times = rng.uniform(now - min(gap, 50.0), now, rng.poisson(RATE[row] * min(gap, 50.0)))
            contender.observe(visits(now, row, gap, now - np.sort(times), len(times)))
        last[rows] = now
        chosen.append(rows)
    return chosen


@pytest.mark.parametrize("name", RIVALS)
def test_everybody_is_visited_once_first_and_nobody_is_forgotten(name):
    chosen = np.concatenate(play(name))
    assert chosen[: len(RATE)].tolist() == list(range(len(RATE)))
    count = np.bincount(chosen, minlength=len(RATE))
    assert count.sum() == 600
    # A twentieth of the visits goes to the longest unseen, and there are six sources.
    assert count.min() >= 0.05 * 600 / len(RATE) - 1


@pytest.mark.parametrize("name", sorted(set(RIVALS) - {"uniform"}))
def test_who_publishes_more_is_visited_more(name):
    count = np.bincount(np.concatenate(play(name)), minlength=len(RATE))
    assert (np.diff(count) <= 2).all()
    assert count[0] > 2 * count[4]


def test_visits_to_the_busy_are_in_the_proportions_of_the_rule():
    # The longest unseen are never among these.
    for name, ratio in (("square_root", [2**0.5, 2]), ("proportional", [2, 4])):
        count = np.bincount(np.concatenate(play(name, 1000)), minlength=6)
        assert count[0] / count[1:3] == pytest.approx(ratio, rel=0.15)


def test_more_budget_than_sources():
    assert [len(rows) for rows in play("azar", instants=5, k=9)] == [6] * 5
