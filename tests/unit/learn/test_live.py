"""The estimator of a live crawl: scores handed over as curves."""

import numpy as np
import pytest
from msgspec.structs import replace

from dayfly.errors import BadInput
from dayfly.estimate import Estimate, check_estimator
from dayfly.learn.live import LiveEstimator
from dayfly.learn.score import AGES, due_ages, plain_curves
from dayfly.model import Crawl, Fleet, Item, Source, Status
from dayfly.model.special import rise

DAY = 86400.0
DECAY = np.log(2) / 21600.0
NIGHT = 19_000 * DAY


def crawl(row: int, now: float, ages=(), *, visible=None, answered=True) -> Crawl:
    items = tuple(Item(key=str(age), published=now - age) for age in ages)
    status = (Status.CHANGED if items else Status.UNCHANGED) if answered else Status.FAILED
    return Crawl(
        row=row, time=now, status=status, items=items,
        visible=len(items) if visible is None else visible,
        oldest_s=max(ages) if ages else None,
    )  # fmt: skip


def learned(n: int = 40, seed: int = 0) -> LiveEstimator:
    """After a first visit to each of n sources of very different rates."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    estimator = LiveEstimator(Fleet(arrival=np.full(n, 1 / DAY), decay=DECAY), budget=n / DAY)
    for row in range(n):
        gaps = rng.exponential(DAY / 10 ** rng.uniform(-1, 2), 15)
        estimate = estimator.update(crawl(row, 1e9, tuple(np.cumsum(gaps))))
        estimator.apply(estimate)
    return estimator


def test_it_keeps_the_promises_of_an_estimator():
    check_estimator(lambda fleet: LiveEstimator(fleet, budget=1e-3))


def test_many_at_once_teach_what_each_teaches_alone():
    crawls = [crawl(row, 1e9, (60.0 * (row + 1), 3600.0)) for row in range(8)]
    crawls[3] = crawl(3, 1e9, answered=False)
    fleet = Fleet(arrival=np.full(8, 1 / DAY), decay=DECAY)
    together = LiveEstimator(fleet, budget=1e-3).update_all(crawls)
    alone = LiveEstimator(fleet, budget=1e-3)
    for one in together:
        assert one == alone.update(crawls[one.row])
        # Each knows of those before it: how far back records go.
        alone.apply(one)


def test_visits_at_different_times_are_told_apart():
    estimator = LiveEstimator(Fleet(arrival=np.full(3, 1 / DAY), decay=DECAY), budget=1e-3)
    times = (1e9, 1e9 + 50.0, 1e9 + 50.2)
    found = estimator.update_all([crawl(row, now, (600.0,)) for row, now in enumerate(times)])
    assert [estimate.time for estimate in found] == list(times)
    assert [estimate.memory[8] for estimate in found] == list(times)


def test_plain_curves_reach_the_price_when_the_score_does():
    rng = np.random.default_rng(1)
    ceiling, decay = 10 ** rng.uniform(-1, 2, 50), 10 ** rng.uniform(-6, -3, 50)
    score = ceiling[:, None] * rise(np.outer(decay, AGES).ravel()).reshape(50, -1)
    found, slow = plain_curves(score, 0.5)
    due = due_ages(score, 0.5)
    some = np.isfinite(due) & (due > AGES[0]) & (ceiling > 1.0)
    assert some.sum() > 10
    assert found[some] * rise(slow[some] * due[some]) == pytest.approx(0.5, rel=1e-6)
    assert found == pytest.approx(score.max(axis=1))


def test_what_was_never_seen_is_worth_a_look_and_what_was_is_worth_less_of_one():
    estimator = LiveEstimator(Fleet(arrival=np.full(2, 1 / DAY), decay=DECAY), budget=1 / DAY)
    before = estimator.mean()
    assert (before.arrival * before.worth / before.decay > estimator.price).all()
    estimator.apply(estimator.update(crawl(0, 1e9, tuple(DAY * n for n in range(1, 30)))))
    after = estimator.mean()
    assert after.arrival[0] == pytest.approx(1 / DAY, rel=0.2), "the rate is told as it is"
    hour_later = after.arrival * after.worth / after.decay * rise(after.decay * 3600.0)
    assert hour_later[0] < estimator.price < (before.arrival * before.worth / before.decay)[0]


def test_a_source_that_shows_nothing_has_been_silent_for_as_long_as_records_go_back():
    estimator = learned()
    silent = estimator.add(Fleet(arrival=[1 / DAY] * 2, decay=DECAY))
    assert len(silent) == 2
    estimate = estimator.update(crawl(40, 1e9 + 60.0))
    assert estimate.memory[1] > DAY
    assert estimate.arrival < float(silent.arrival[0])


def test_a_busy_source_is_due_before_its_window_overflows():
    """A hundred items an hour, ten shown: it is visited again before ten have come."""
    fleet = Fleet(arrival=[1 / DAY] * 2, decay=DECAY)
    estimator = LiveEstimator(fleet, budget=2 / DAY)
    ages = tuple(36.0 * n for n in range(1, 11))
    for row, visible in ((0, 10), (1, 10)):
        estimator.apply(estimator.update(crawl(row, 1e9, ages, visible=visible)))
    estimator._shown[1] = 1e6
    estimator.refit()
    fleet = estimator.mean()
    due = [float(fleet.harvest.age_at(np.full(2, estimator.price))[row]) for row in (0, 1)]
    assert due[0] < due[1]


def test_refits_are_due_daily_and_when_much_more_is_known():
    estimator = learned(10)
    assert estimator.refit_due(1e9), "all are known for the first time"
    estimator.refit()
    assert estimator.refit_due(1e9 + 2 * DAY)
    assert not estimator.refit_due(1e9 + 0.5 * DAY)
    many = learned(60)
    many.refit()
    many.add(Fleet(arrival=np.full(100, 1 / DAY), decay=DECAY))
    for row in range(60, 160):
        many.apply(many.update(crawl(row, 1e9, (3600.0,))))
    assert many.refit_due(1e9)


def test_what_the_first_source_shows_makes_the_others_worth_a_look_at_once():
    # Otherwise they would be held to the guess of an item a day, and the price follows the first.
    fleet = Fleet(arrival=np.full(5, 1 / DAY), decay=DECAY)
    estimator = LiveEstimator(fleet, budget=1 / 60)
    before = estimator.mean().worth[1:]
    busy = tuple(1200.0 * n for n in range(10))
    estimator.apply(estimator.update(crawl(0, 1e9, busy)))
    assert estimator.refit_due(1e9)
    estimator.refit()
    found = estimator.mean()
    highest = found.arrival * found.worth / found.decay
    assert (highest[1:] > estimator.price).all()
    assert (highest[1:] > 3 * before * fleet.arrival[1:] / fleet.decay[1:]).all()


def test_what_is_restored_is_what_was():
    first = learned(seed=3)
    first.refit()
    second = LiveEstimator(Fleet(arrival=np.full(40, 1 / DAY), decay=DECAY), budget=40 / DAY)
    for row in range(40):
        memory = (*first._memory[row].tolist(), float(first._shown[row]))
        second.apply(Estimate(row=row, time=1e9, arrival=1.0, decay=1.0, worth=1.0, memory=memory))
    second.refit()
    assert second.price == first.price
    for name in ("arrival", "decay", "worth"):
        assert np.array_equal(getattr(first.mean(), name), getattr(second.mean(), name))


def test_a_memory_of_another_kind_is_no_memory():
    estimator = learned(3)
    before = estimator.mean().arrival.tolist()
    estimator.apply(
        Estimate(row=0, time=1e9, arrival=9.0, decay=1.0, worth=1.0, memory=(1.0, 2.0, 3.0))
    )
    assert estimator.mean().arrival.tolist() == before


def test_a_heavier_source_is_worth_more_at_once():
    estimator = learned()
    estimator.refit()
    before = estimator.mean()[5]
    after = estimator.relist(np.array([5]), [Source(arrival=1 / DAY, decay=DECAY, worth=10.0)])[0]
    assert after.arrival == before.arrival
    ceilings = [one.arrival * one.worth / one.decay for one in (before, after)]
    assert ceilings[1] > 3 * ceilings[0]


def test_many_that_are_listed_anew_are_what_each_would_be_alone():
    together, alone = learned(seed=4), learned(seed=4)
    rows = np.array([7, 2, 30])
    sources = [
        Source(arrival=1 / DAY, decay=DECAY * n, worth=n, cost=n, window=10.0 * n)
        for n in (1.0, 2.0, 3.0)
    ]
    found = together.relist(rows, sources)
    for row, source, estimate in zip(rows, sources, found, strict=True):
        assert alone.relist(np.array([row]), [source]) == [estimate]
    for name in ("arrival", "decay", "worth", "cost"):
        assert np.array_equal(getattr(together.mean(), name), getattr(alone.mean(), name))


def test_nonsense_is_refused():
    with pytest.raises(BadInput, match="budget"):
        LiveEstimator(Fleet(arrival=1.0, decay=1.0), budget=-1.0)
    with pytest.raises(BadInput, match="arrival"):
        learned(2).add(Fleet(arrival=0.0, decay=1.0))


def test_a_first_look_is_worth_more_than_the_price_and_not_beyond_measure():
    """Else the price would follow it up, and stay there when all have been seen."""
    estimator = learned(40)
    estimator.refit()
    fleet = Fleet(arrival=np.full(5, 1 / DAY), decay=DECAY)
    new = estimator.add(fleet)
    ceiling = new.arrival * new.worth / new.decay
    assert (ceiling > estimator.price).all()
    assert (ceiling <= 10.0 * estimator._high * (1 + 1e-6)).all()


def test_where_visits_are_cheap_all_first_looks_come_before_any_second():
    """Four quiet feeds and more budget than they need: nobody waits for its first visit."""
    now = 1.8e9
    estimator = LiveEstimator(Fleet(arrival=np.full(4, 1 / DAY), decay=DECAY), budget=1.0)
    estimator.apply(estimator.update(crawl(0, now, [DAY * (10 * at + 5) for at in range(20)])))
    fleet = estimator.mean()
    index = fleet.arrival * fleet.worth / fleet.decay
    # At the age of a minute the one that was seen is worth less than those that were not.
    again = index[0] * rise(fleet.decay[:1] * 60.0)[0]
    assert (index[1:] > 10 * again).all()


def by_the_clock(n: int = 40, days: int = 12, seed: int = 5) -> LiveEstimator:
    """Half the sources publish after midnight, half after noon, for six hours; refitted."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    estimator = LiveEstimator(Fleet(arrival=np.full(n, 1 / DAY), decay=DECAY), budget=n / DAY)
    for step in range(4 * days):
        now = NIGHT + (step + 1) * DAY / 4
        crawls = []
        for row in range(n):
            news = rng.poisson(4) if step % 4 == 2 * (row % 2) else 0
            ages = rng.uniform(0, DAY / 4, news).tolist()
            crawls.append(replace(crawl(row, now, ages, visible=30), oldest_s=9 * DAY))
        for estimate in estimator.update_all(crawls):
            estimator.apply(estimate)
    estimator.refit()
    return estimator


def due_hour(estimator: LiveEstimator, estimates) -> np.ndarray:
    """At what time of the day the sources are due."""
    rate, decay, worth = (
        np.array([getattr(one, name) for one in estimates])
        for name in ("arrival", "decay", "worth")
    )
    fleet = Fleet(arrival=rate, decay=decay, worth=worth)
    age = fleet.harvest.age_at(np.full(len(rate), estimator.price))
    return (np.array([one.time for one in estimates]) + age) % DAY / 3600.0


def test_whoever_publishes_by_the_clock_is_due_by_the_clock():
    """Those who publish after midnight by the morning, those who publish after noon by night."""
    estimator = by_the_clock()
    for hour in (0.0, 6.0, 12.0, 18.0):
        now = NIGHT + 12 * DAY + hour * 3600.0
        estimates = estimator.update_all([crawl(row, now, (), visible=30) for row in range(40)])
        found = due_hour(estimator, estimates)
        assert np.median(np.abs((found[0::2] - 5.0 + 12) % 24 - 12)) < 4
        assert np.median(np.abs((found[1::2] - 17.0 + 12) % 24 - 12)) < 4


def test_what_is_known_of_hours_survives_a_restart_bit_for_bit():
    first = by_the_clock()
    second = LiveEstimator(Fleet(arrival=np.full(40, 1 / DAY), decay=DECAY), budget=40 / DAY)
    for estimate in first.relist(np.arange(40), list(first._fleet)):
        second.apply(estimate)
    second.refit()
    assert (second._timing._table >= 0).any()
    for name in ("arrival", "decay", "worth"):
        assert np.array_equal(getattr(first.mean(), name), getattr(second.mean(), name))
    seen = crawl(7, NIGHT + 13 * DAY, (3600.0, 7200.0), visible=30)
    assert first.update(seen) == second.update(seen)


def test_with_rhythms_too_many_at_once_teach_what_each_teaches_alone():
    estimator = by_the_clock()
    crawls = [
        crawl(row, NIGHT + 12 * DAY + 600.0 * row, (60.0 * row + 1, 3600.0), visible=30)
        for row in range(40)
    ]
    for together, alone in zip(estimator.update_all(crawls), crawls, strict=True):
        assert together == estimator.update(alone)


def test_memories_of_earlier_versions_are_believed_and_know_no_hours():
    first, second = learned(seed=6), learned(seed=6)
    second._hours[:] = 1.0
    for row in range(40):
        memory = first.relist(np.array([row]), [first._fleet[row]])[0].memory
        assert len(memory) == 16
        second.apply(
            Estimate(row=row, time=1e9, arrival=1.0, decay=1.0, worth=1.0, memory=memory[:10])
        )
    assert not second._hours.any()
    first._hours[:] = 0.0
    first.refit()
    second.refit()
    for name in ("arrival", "decay", "worth"):
        assert np.array_equal(getattr(first.mean(), name), getattr(second.mean(), name))
