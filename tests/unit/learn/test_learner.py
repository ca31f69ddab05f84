"""Ours against a world with known truth, and the price of knowing."""

import numpy as np
import pytest

from dayfly.estimate.silence import Silence
from dayfly.learn import LEARNERS, Dayfly
from dayfly.learn.explore import Market
from dayfly.model import Array, Visits
from dayfly.policies import Contest

DAY, START = 86400.0, 1.6e9


def contest(n: int, budget: float = 1.0) -> Contest:
    return Contest(
        sources=n,
        start=START,
        epoch=900.0,
        budget=budget,
        decay=np.log(2) / 21600,
        window=20,
        span=9e9,
    )


def play(name: str, feeds: list[Array], days: int, k: int) -> tuple[float, Array]:
    """Value caught, and visits per source."""
    told = contest(len(feeds), budget=k)
    learner, rng = LEARNERS[name](told), np.random.default_rng(0)
    last, visits, value = np.full(len(feeds), -np.inf), np.zeros(len(feeds)), 0.0
    for now in (START + 900.0 * np.arange(96 * days)).tolist():
        rows = learner.choose(now, k, rng)
        assert len(rows) <= k
        assert len(set(rows.tolist())) == len(rows)
        shown = [feeds[i][: np.searchsorted(feeds[i], now, side="right")][-20:] for i in rows]
        new = np.array([int((one > last[i]).sum()) for one, i in zip(shown, rows, strict=True)])
        gains = [
            float(np.exp(-told.decay * (now - one[one > max(last[i], START)])).sum())
            for one, i in zip(shown, rows, strict=True)
        ]
        learner.observe(
            Visits(
                time=now,
                row=rows,
                gap=now - last[rows],
                start=np.concatenate([[0], np.cumsum([len(one) for one in shown])]),
                published=np.concatenate(shown) if shown else np.zeros(0),
                worth=np.ones(sum(len(one) for one in shown)),
                new=new,
                value=np.array(gains),
            )
        )
        last[rows] = now
        visits[rows] += 1
        value += sum(gains)
    return value, visits


def fleet(seed: int, n: int, days: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    print("seed", seed)
    rate = np.exp(rng.normal(-1.5, 2.0, n))
    spans = (START - 14 * DAY, START + days * DAY)
    return [np.sort(rng.uniform(*spans, rng.poisson(r * (14 + days)))) for r in rate]


# Thompson sampling may draw a rate near 0 for a source and then never visit it.
@pytest.mark.parametrize("name", ["dayfly", "posterior_mean"])
def test_learners_visit_everybody_when_there_is_budget(name: str) -> None:
    _, visits = play(name, fleet(7, 30, 2), days=2, k=5)
    assert (visits > 0).all()


def test_ours_catches_more_than_the_floor_where_visits_are_few() -> None:
    feeds = fleet(8, 600, 8)
    ours, _ = play("dayfly", feeds, days=8, k=1)
    floor, _ = play("posterior_mean", feeds, days=8, k=1)
    assert ours > floor


def test_it_is_deterministic() -> None:
    feeds = fleet(9, 50, 1)
    assert play("dayfly", feeds, 1, 2)[0] == play("dayfly", feeds, 1, 2)[0]


def test_a_source_long_unseen_becomes_attractive_again() -> None:
    learner = Dayfly(contest(40))
    rng = np.random.default_rng(0)
    first = learner.choose(START, 40, rng)
    busy = np.tile(START - 600.0 * np.arange(20, 0, -1), 8)
    learner.observe(
        Visits(
            time=START,
            row=first,
            gap=np.full(40, np.inf),
            start=np.concatenate([20 * np.arange(9), np.full(32, 160)]),
            published=busy,
            worth=np.ones(160),
            new=np.concatenate([np.full(8, 20), np.zeros(32, dtype=np.int64)]),
            value=np.zeros(40),
        )
    )
    learner.choose(START + DAY, 1, rng)
    soon = learner.score(START + DAY)[first[-1]]
    learner.choose(START + 400 * DAY, 1, rng)
    late = learner.score(START + 400 * DAY)[first[-1]]
    assert soon < learner.market.price < late


def test_the_surplus_is_the_best_there_is() -> None:
    market = Market(decay=1e-4, epoch=60.0, budget=1 / 3600)
    market.settle(np.array([1e-3, 2e-3, 5e-4]), np.ones(3))
    ages = np.geomspace(60.0, 1e7, 200_001)
    for income in (3e-4, 1e-3, 4e-3, 1.0):
        by_hand = ((income / 1e-4 * -np.expm1(-1e-4 * ages) - market.price) / ages).max()
        found = market.surplus(np.array([income]))[0]
        assert np.isclose(found, max(by_hand, 0.0), rtol=0.02, atol=2e-6)


def test_the_price_spends_the_budget() -> None:
    market = Market(decay=1e-4, epoch=60.0, budget=1 / 3600)
    income = np.array([1e-3, 2e-3, 5e-4])
    market.settle(income, np.ones(3))
    assert np.isclose((1 / market._age(income, market.price)).sum(), 1 / 3600, rtol=0.05)


def test_knowing_is_worth_most_near_the_price_and_nothing_for_the_steady() -> None:
    market = Market(decay=1e-4, epoch=60.0, budget=1 / 3600)
    market.settle(np.array([1e-3, 2e-3, 5e-4]), np.ones(3))
    at_price = np.array([market.price * 1e-4])
    wide, narrow = (
        market.gain_of_level(at_price, np.ones(1)),
        market.gain_of_level(at_price, np.full(1, 1e6)),
    )
    assert wide[0] > 100 * narrow[0]
    assert market.gain_of_level(at_price / 1e6, np.ones(1))[0] < 1e-6 * wide[0]


def silence(woken: int, watched: float) -> Silence:
    """So many have woken, just now."""
    all_of_them = np.ones(woken, bool)
    return Silence(
        silent=~all_of_them, woken=all_of_them, remembered=np.ones(woken), watched=watched
    )


def test_silence_is_worth_a_look_when_the_loss_of_waiting_has_reached_the_price() -> None:
    """Looks at price λ every τ, and h·s·τ²/2 lost to waking unseen: dearest per look at λ."""
    market = Market(decay=1e-4, epoch=60.0, budget=1 / 3600)
    market.settle(np.array([1e-3, 2e-3, 5e-4]), np.ones(3))
    market.await_waking(np.full(5, 1e-3), np.full(19, 2e-3), silence(19, 1999 * DAY), 1 * DAY)
    assert market.calm == pytest.approx(100 * DAY)
    one, two = market.surplus(np.array([1e-3, 2e-3]))
    assert market.waking == pytest.approx((one + 19 * two) / 20)
    ages = np.geomspace(600.0, 10 * DAY, 100_001)
    lost = market.waking / market.calm * ages**2 / 2
    best = ages[((market.price + lost) / ages).argmin()]
    assert market.gain_of_waking(np.array([best]))[0] == pytest.approx(market.price, rel=0.05)


def test_silence_is_worth_little_where_nobody_wakes() -> None:
    market = Market(decay=1e-4, epoch=60.0, budget=1 / 3600)
    market.settle(np.array([1e-3, 2e-3, 5e-4]), np.ones(3))
    age = np.array([10 * DAY])
    market.await_waking(np.full(5, 1e-3), np.zeros(0), silence(0, 0.0), 86 * DAY)
    before = market.gain_of_waking(age)[0]
    market.await_waking(np.full(5, 1e-3), np.zeros(0), silence(0, 8600 * DAY), 86 * DAY)
    assert market.gain_of_waking(age)[0] < 0.02 * before


def test_a_source_that_begins_late_is_found() -> None:
    """Eight of twelve are silent at first; four of those begin, one after the other."""
    steady = [START + np.arange(-14 * DAY, 9 * DAY, 7200.0 * (1 + i)) for i in range(4)]
    late = [START + np.arange(day * DAY, 9 * DAY, 3600.0) for day in (1, 2, 3, 4)]
    never = [np.zeros(0)] * 4
    _, visits = play("dayfly", [*steady, *late, *never], days=8, k=1)
    assert (visits[4:8] > 4 * visits[8:].max()).all()
