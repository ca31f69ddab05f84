"""Runs side by side are the runs of the simulator."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.index import EpochLaw, draw, stochastic_index, whittle_index, whittle_index_at
from dayfly.lab.batch import (
    Lane,
    arrivals,
    best,
    by_age,
    by_form,
    by_harvest,
    by_stochastic_index,
    compare,
    paper_scores,
    tiled,
)
from dayfly.lab.table1 import TABLE_ONE, ceiling, first_state
from dayfly.model import Fleet
from dayfly.policies import Greedy, RoundRobin, StochasticWhittle, Whittle
from dayfly.simulate import simulate

LAWS = ("constant", "epoch_exponential", "exponential")
TWINS = {
    "whittle": (Whittle(), by_form(whittle_index_at)),
    "greedy": (Greedy(), by_harvest),
    "round_robin": (RoundRobin(), by_age),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("budget", [1, 2])
def test_on_the_same_arrivals_a_lane_earns_what_the_simulator_earns(law, name, budget):
    policy, score = TWINS[name]
    run = simulate(
        TABLE_ONE, policy, budget, 200, arrivals="poisson", law=law, observed=True, seed=7
    )
    world = np.random.default_rng([7, 0])  # the stream of the simulator's world
    lane = Lane(TABLE_ONE, score, budget, 1, 1.0)
    columns = (TABLE_ONE.arrival, TABLE_ONE.decay, TABLE_ONE.worth)
    rewards = [lane.step(draw(world, *columns, 1.0, law))[0][0] for _ in range(200)]
    np.testing.assert_allclose(rewards, run.rewards, rtol=1e-12)


def test_the_stochastic_index_that_is_looked_up_makes_the_choices_of_the_policy():
    law = "epoch_exponential"
    run = simulate(
        TABLE_ONE,
        StochasticWhittle(law),
        1,
        300,
        arrivals="poisson",
        law=law,
        observed=True,
        seed=3,
    )
    world = np.random.default_rng([3, 0])
    lane = Lane(TABLE_ONE, by_stochastic_index(TABLE_ONE, law), 1, 1, 1.0)
    columns = (TABLE_ONE.arrival, TABLE_ONE.decay, TABLE_ONE.worth)
    rewards = [lane.step(draw(world, *columns, 1.0, law))[0][0] for _ in range(300)]
    np.testing.assert_allclose(rewards, run.rewards, rtol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_looking_the_stochastic_index_up_adds_no_error_that_matters(law):
    rng = np.random.default_rng(11)
    many = tiled(TABLE_ONE, 500)
    top = np.tile(ceiling(TABLE_ONE), 500)
    state = rng.uniform(0, 1.5, len(many)) * top
    state[:40] *= 30  # far above the table
    looked_up = by_stochastic_index(TABLE_ONE, law)(many, state, state)
    error = np.abs(looked_up - stochastic_index(many, state, 1.0, law)) / top
    assert error.max() < 3e-4


@pytest.mark.parametrize(("budget", "mean"), [(1, 260.3006), (2, 337.6508)])
def test_with_mean_arrivals_it_is_the_deterministic_model(budget, mean):
    def by_index(fleet, state, age):
        return whittle_index(fleet, age, 1.0)

    lane = Lane(TABLE_ONE, by_index, budget, 3, 1.0)
    added = np.tile(first_state(TABLE_ONE), 3)
    rewards = np.array([lane.step(added)[0] for _ in range(1000)])
    np.testing.assert_allclose(rewards.mean(axis=0), mean, atol=1e-4)


def test_how_runs_are_grouped_changes_nothing():
    scores = {"greedy": by_harvest, "whittle": by_form(whittle_index_at)}
    together = compare(TABLE_ONE, scores, 1, "exponential", seeds=[4, 5, 6], epochs=250)
    apart = [compare(TABLE_ONE, scores, 1, "exponential", seeds=[s], epochs=250) for s in (4, 5, 6)]
    for name, earned in together.items():
        np.testing.assert_allclose(earned, [one[name][0] for one in apart], rtol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_arrivals_follow_their_law(law):
    seeds = [21, 22, 23]
    print("seeds", seeds)
    drawn = np.concatenate(list(arrivals(TABLE_ONE, law, seeds=seeds, epochs=450)))
    assert drawn.shape == (450, 3, 4)
    for i, source in enumerate(TABLE_ONE):
        one = EpochLaw(
            arrival=source.arrival, decay=source.decay, worth=source.worth, epoch=1.0, law=law
        )
        sample = drawn[:, :, i].reshape(-1)
        assert abs(sample.mean() - one.mean) < 4 * np.sqrt(one.variance / len(sample))
        assert sample.var() == pytest.approx(one.variance, rel=0.25)


def test_ties_go_to_the_lower_row():
    score = np.array([[2.0, 2.0, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0]])
    assert best(score, 1).nonzero()[1].tolist() == [0, 1]
    assert best(score, 2).nonzero()[1].tolist() == [0, 1, 1, 2]


def test_runs_side_by_side_refuse_costs():
    with pytest.raises(BadInput, match="cost"):
        Lane(Fleet(arrival=1.0, decay=0.1, cost=[1, 2]), by_age, 1, 1, 1.0)


def test_the_comparison_has_the_six_policies_of_the_report():
    assert list(paper_scores(TABLE_ONE, "constant")) == [
        "round_robin", "greedy", "whittle_slides", "whittle_literal", "whittle",
        "whittle_stochastic",
    ]  # fmt: skip
