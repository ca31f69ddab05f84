"""Our learner on rewards and on dates, in lessons whose truth is known."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.estimate.rewards import rewarded
from dayfly.index import whittle_index
from dayfly.lab.cold import Oracle, unequal_fleet
from dayfly.lab.table1 import TABLE_ONE
from dayfly.learn.dated import DatedLearner
from dayfly.learn.rewards import RewardLearner, bold_index
from dayfly.model import Fleet
from dayfly.policies import Contest
from dayfly.simulate.lesson import Shop, teach


def contest(sources):
    return Contest(
        sources=sources, start=-1.0, epoch=1.0, budget=1.0, decay=np.nan, window=None, span=1.0
    )


def test_table_one_from_nothing():
    shares = [
        teach(TABLE_ONE, RewardLearner, 1, 100, seed=seed).rewards.mean() / 260.3899
        for seed in range(4)
    ]
    print("seeds 0 to 3", shares)
    assert np.mean(shares) > 0.96


def test_everybody_is_seen_once_before_anybody_is_seen_twice():
    learner = RewardLearner(contest(5))
    rng = np.random.default_rng(0)
    seen = []
    for now in range(5):
        rows = learner.choose(float(now), 1, rng)
        learner.observe(rewarded(now, rows, [np.inf], [10.0 - now]))
        seen += rows.tolist()
    assert seen == [0, 1, 2, 3, 4]


def test_a_first_reward_was_gathered_since_the_start():
    one, two = RewardLearner(contest(1)), RewardLearner(contest(1))
    one.observe(rewarded(4.0, [0], [np.inf], [50.0]))
    two.estimator.learn(rewarded(4.0, [0], [5.0], [50.0]))
    assert one.estimator.ceiling_[0] == two.estimator.ceiling_[0]


def test_bad_luck_does_not_starve_a_source():
    """Silent in its first visits, rich ever after: it is found out."""
    learner = RewardLearner(contest(3))
    rng = np.random.default_rng(0)
    last, visits = np.full(3, -1.0), np.zeros(3)
    for now in range(500):
        rows = learner.choose(float(now), 1, rng)
        row = int(rows[0])
        gap = now - last[row]
        rich = 30.0 if row == 2 and visits[row] >= 2 else (0.0 if row == 2 else 10.0)
        learner.observe(rewarded(now, rows, [gap], [rich * (1 - np.exp(-0.3 * gap))]))
        last[row] = now
        visits[row] += 1
    assert visits[2] > 100


def test_the_bold_index_is_the_index_where_nothing_is_in_doubt():
    age = np.array([1.0, 2.0, 3.0, 9.0])
    ceiling = np.repeat((TABLE_ONE.arrival * TABLE_ONE.worth / TABLE_ONE.decay)[:, None], 7, axis=1)
    decay = np.repeat(TABLE_ONE.decay[:, None], 7, axis=1)
    found = bold_index(ceiling, decay, np.zeros(4), age, 1.0)
    np.testing.assert_allclose(found, whittle_index(TABLE_ONE, age, 1.0), rtol=1e-6)
    assert (bold_index(ceiling, decay, np.full(4, 0.1), age, 1.0) > found).all()


@pytest.mark.parametrize(("make", "dated", "least"), [(RewardLearner, False, 0.93),
                                                      (DatedLearner, True, 0.96)])  # fmt: skip
def test_a_fleet_from_nothing(make, dated, least):
    seed = 2
    print("seed", seed)
    fleet = unequal_fleet(100, seed)
    best = teach(fleet, lambda c: Oracle(fleet, c), 10, 300, seed=seed).rewards
    ours = teach(fleet, make, 10, 300, dated=dated, seed=seed).rewards
    assert ours[100:].sum() > least * best[100:].sum()


def test_dates_tell_rate_worth_and_decay():
    seed = 3
    print("seed", seed)
    fleet = Fleet(arrival=[2.0, 5.0], decay=[0.2, 0.6], worth=[3.0, 1.0])
    kept = []

    def make(given):
        kept.append(DatedLearner(given))
        return kept[0]

    teach(fleet, make, 1, 400, dated=True, seed=seed)
    learner = kept[0]
    found = (0.5 + learner.rates.count_) / learner.rates.exposure_
    np.testing.assert_allclose(found, fleet.arrival, rtol=0.15)
    np.testing.assert_allclose(learner.values.decay_, fleet.decay, rtol=0.1)
    np.testing.assert_allclose(learner.values.ceiling_, fleet.worth, rtol=0.05)


# ------------------------------------------------------------------ the lesson itself
def test_all_contenders_of_a_seed_meet_the_same_arrivals():
    shops = [Shop(TABLE_ONE, 1.0, seed=4) for _ in range(2)]
    for now in range(3):
        for shop in shops:
            shop.open(float(now))
        shops[0].sell(np.array([now]), float(now))
    for rows in ([3],):
        one, two = (shop.sell(np.array(rows), 3.0) for shop in shops)
        np.testing.assert_array_equal(one[1], two[1])


def test_the_oracle_earns_what_the_simulator_says():
    lesson = teach(TABLE_ONE, lambda c: Oracle(TABLE_ONE, c), 1, 600, seed=1)
    assert lesson.rewards.mean() == pytest.approx(260.35, abs=2.5)
    assert lesson.visits.tolist() == [300, 300, 0, 0]


def test_visits_show_what_the_lesson_says():
    seen = []

    class Watch(Oracle):
        def observe(self, visits):
            super().observe(visits)
            seen.append(visits)

    fleet = Fleet(arrival=[3.0, 3.0, 3.0], decay=0.5, worth=2.0)
    teach(fleet, lambda c: Watch(fleet, c), 2, 20, dated=True, seed=1)
    assert np.isinf(seen[0].gap).all()
    for visits in seen:
        assert visits.new.tolist() == visits.shown.tolist()
        for j in range(len(visits.row)):
            times = visits.published[visits.start[j] : visits.start[j + 1]]
            assert (np.diff(times) >= 0).all()
            worth = 2.0 * np.exp(-0.5 * (visits.time - times)).sum()
            assert visits.value[j] == pytest.approx(worth)


def test_a_lesson_that_cannot_be_held_is_refused():
    with pytest.raises(BadInput, match="plain"):
        teach(Fleet(arrival=1.0, decay=1.0, lifetime=2.0), RewardLearner, 1, 10)
    with pytest.raises(BadInput, match="positive"):
        teach(TABLE_ONE, RewardLearner, 0, 10)
