"""The rules that everybody compares with."""

import numpy as np
import pytest

from dayfly.model import Fleet
from dayfly.policies import NAMES, Greedy, Myopic, Random, RoundRobin, make
from dayfly.policies.base import View
from dayfly.simulate import play, simulate

TABLE_I = Fleet(arrival=250, decay=[0.7, 0.35, 0.7, 0.21], worth=[1, 0.7, 0.2, 0.08])
RNG = np.random.default_rng(0)


def test_round_robin_goes_round():
    rows = [step.rows.tolist() for step in play(TABLE_I, RoundRobin(), 1.0, 9)]
    assert rows == [[0], [1], [2], [3]] * 2 + [[0]]
    pairs = [step.rows.tolist() for step in play(TABLE_I, RoundRobin(), 2.0, 4)]
    assert pairs == [[0, 1], [2, 3]] * 2


def test_greedy_takes_the_largest_expected_harvest_per_cost():
    age = np.array([1.0, 2.0, 5.0, 9.0])
    fleet = TABLE_I.replace(cost=[1.0, 0.5, 0.1, 1.0])
    view = View(fleet=fleet, now=0.0, age=age, epoch=1.0, pace=1.0)
    waiting = fleet.arrival * fleet.worth / fleet.decay * (1 - np.exp(-fleet.decay * age))
    order = np.argsort(-waiting / fleet.cost)
    assert Greedy().choose(view, 9.0, RNG).tolist() == order.tolist()


def test_greedy_alternates_like_whittle_on_table_1():
    run = simulate(TABLE_I, Greedy(), 1.0, 1000)
    assert run.mean == pytest.approx(260.3006, abs=1e-3)


def test_myopic_takes_what_it_sees_and_expects_the_rest():
    state = np.array([np.nan, 10.0, np.nan, 500.0])
    view = View(fleet=TABLE_I, now=0.0, age=np.ones(4), epoch=1.0, pace=1.0, state=state)
    assert Myopic().choose(view, 4.0, RNG).tolist() == [3, 0, 2, 1]
    blind = View(fleet=TABLE_I, now=0.0, age=np.ones(4), epoch=1.0, pace=1.0)
    assert Myopic().choose(blind, 4.0, RNG).tolist() == Greedy().choose(blind, 4.0, RNG).tolist()


def test_random_visits_everybody_alike():
    run = simulate(TABLE_I, Random(), 1.0, 4000, seed=1)
    assert run.crawls.sum() == 4000
    assert (np.abs(run.crawls - 1000) < 4 * np.sqrt(750)).all()


def test_every_name_makes_a_policy():
    for name in NAMES:
        assert hasattr(make(name), "choose")
