"""Level and decay from rewards alone: what is learned, how fast, and how it is kept."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dayfly.errors import BadInput
from dayfly.estimate import check_estimator
from dayfly.estimate.rewards import FLOATS, NODES, RewardEstimator, rewarded
from dayfly.index import draw
from dayfly.model import Crawl, Fleet, Status

GAPS = np.array([1.0, 2.0, 1.0, 4.0, 3.0, 1.0, 8.0, 2.0])


def guess(n=1, **changes):
    return Fleet(**{"arrival": np.ones(n), "decay": 0.3, **changes})


def taught(truth, visits, seed, **options):
    """An estimator after so many visits to every source, at the gaps above, arrivals drawn."""
    rng = np.random.default_rng(seed)
    estimator = RewardEstimator(guess(len(truth)), **options)
    rows, log = np.arange(len(truth)), []
    for number in range(visits):
        gap = GAPS[number % len(GAPS)]
        value = draw(rng, truth.arrival, truth.decay, truth.worth, gap)
        estimator.learn(rewarded(number, rows, np.full(len(rows), gap), value))
        log.append((gap, value))
    return estimator, log


def test_it_keeps_the_promises_of_an_estimator_in_61_floats():
    check_estimator(RewardEstimator, floats=64)
    assert FLOATS == 61


@pytest.mark.parametrize("decay", [0.05, 0.3, 0.9, 1.8])
def test_level_and_decay_are_found(decay):
    seed = 3
    print("seed", seed)
    truth = Fleet(arrival=250.0, decay=np.full(20, decay), worth=0.5)
    estimator, _ = taught(truth, 200, seed)
    found = estimator.mean()
    ceiling = found.arrival * found.worth / found.decay
    assert np.median(np.abs(np.log(found.decay / decay))) < 0.05
    assert np.median(np.abs(np.log(ceiling * decay / 125.0))) < 0.05
    harvest = found.harvest.value(np.full(20, 2.0))
    np.testing.assert_allclose(harvest, truth.harvest.value(np.full(20, 2.0)), rtol=0.03)


def test_running_sums_agree_with_a_search_over_all_visits():
    """Quasi-likelihood of every visit, maximised by scipy: no grid, no sums, no prior."""
    seed = 11
    print("seed", seed)
    truth = Fleet(arrival=[250.0, 40.0, 900.0], decay=[0.7, 0.2, 1.5], worth=[1.0, 2.0, 0.1])
    estimator, log = taught(truth, 400, seed)
    found = estimator.mean()
    for row in range(3):

        def loss(x, row=row):
            total = 0.0
            for gap, value in log:
                mean = np.exp(x[0]) * -np.expm1(-np.exp(x[1]) * gap)
                total -= value[row] * np.log(mean) - mean
            return total

        best = minimize(loss, [4.0, -1.0], method="Nelder-Mead", options={"xatol": 1e-6}).x
        assert np.log(found.decay[row]) == pytest.approx(best[1], abs=0.03)
        ceiling = found.arrival[row] * found.worth[row] / found.decay[row]
        assert np.log(ceiling) == pytest.approx(best[0], abs=0.03)


def test_one_gap_alone_leaves_the_decay_in_doubt_and_two_settle_it():
    value = {gap: 357.1 * (1 - np.exp(-0.7 * gap)) for gap in (1.0, 2.0, 6.0)}
    same, varied = RewardEstimator(guess()), RewardEstimator(guess())
    for number in range(30):
        same.learn(rewarded(number, [0], [2.0], [value[2.0]]))
        gap = (1.0, 6.0)[number % 2]
        varied.learn(rewarded(number, [0], [gap], [value[gap]]))
    assert same.doubt_[0] > 1.0
    assert varied.doubt_[0] < 0.2
    # What was seen is known all the same.
    assert same.mean().harvest.value(np.array([2.0]))[0] == pytest.approx(value[2.0], rel=0.01)


def test_what_is_believed_covers_the_truth_as_often_as_it_should():
    seed = 5
    print("seed", seed)
    rng = np.random.default_rng(seed)
    decay = 0.3 * np.exp(rng.uniform(-2, 2, 400))
    truth = Fleet(arrival=rng.lognormal(3, 0.5, 400), decay=decay)
    # Outer nodes stand at 1/14 and 13/14: 6/7 expected. Cautious at first, then as it should be.
    for visits, low, high in ((4, 6 / 7, 1.0), (100, 0.78, 0.93)):
        estimator, _ = taught(truth, visits, seed)
        rank = (estimator.node_decay_ < decay[:, None]).sum(axis=1)
        assert low < np.mean((rank > 0) & (rank < NODES)) <= high, visits


def test_draws_spread_as_the_nodes_do():
    seed = 7
    print("seed", seed)
    estimator, _ = taught(Fleet(arrival=np.full(2000, 20.0), decay=0.5), 3, seed)
    drawn = np.log(estimator.sample(np.random.default_rng(seed)).decay)
    assert (drawn - np.log(estimator.decay_)).std() == pytest.approx(
        np.sqrt(np.mean(estimator.doubt_**2)), rel=0.1
    )


def test_silence_makes_a_source_small_but_never_nothing():
    estimator = RewardEstimator(guess(2))
    for number in range(50):
        estimator.learn(rewarded(number, [0], [5.0], [0.0]))
    found = estimator.mean()
    assert 0 < found.arrival[0] < 0.1 * found.arrival[1]


def test_with_forgetting_a_source_that_changed_is_followed():
    change = [(np.full(60, 20.0), "before"), (np.full(60, 200.0), "after")]
    steady, quick = RewardEstimator(guess()), RewardEstimator(guess(), keep=10)
    for value, _ in change:
        for number, one in enumerate(value):
            gap = GAPS[number % len(GAPS)]
            for estimator in (steady, quick):
                estimator.learn(rewarded(number, [0], [gap], [one * (1 - np.exp(-0.5 * gap))]))
    assert quick.ceiling_[0] == pytest.approx(200.0, rel=0.1)
    assert steady.ceiling_[0] < 150


def test_a_fleet_lends_its_sources_a_prior():
    seed = 9
    print("seed", seed)
    rng = np.random.default_rng(seed)
    truth = Fleet(arrival=rng.lognormal(0, 1, 300), decay=0.1 * rng.lognormal(0, 0.3, 300))
    estimator, _ = taught(truth, 4, seed)

    def error(found):
        return np.mean(np.log(found.decay / truth.decay) ** 2)

    before = error(estimator.mean())
    estimator.refit()
    assert error(estimator.mean()) < 0.5 * before


def test_first_visits_and_clocks_set_back_teach_nothing():
    estimator = RewardEstimator(guess())
    before = estimator.mean()[0]
    estimator.learn(rewarded(5.0, [0], [np.inf], [100.0]))
    crawl = Crawl(row=0, time=3.0, status=Status.CHANGED, value=50.0)
    estimator.apply(estimator.update(crawl))
    assert estimator.mean()[0] == before


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"arrival": 0.0}, "arrival"), ({"decay": 0.0}, "decay"), ({"worth": 0.0}, "worth")],
)
def test_a_guess_of_nothing_is_refused(changes, what):
    with pytest.raises(BadInput, match=rf"{what}\[0\] is 0"):
        RewardEstimator(guess(**changes))


def test_a_memory_of_one_visit_is_refused():
    with pytest.raises(BadInput, match="keep"):
        RewardEstimator(guess(), keep=1.0)
