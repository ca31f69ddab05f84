"""What no policy can beat where states are seen."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.index import bound as module
from dayfly.index import relax
from dayfly.index.bound import stochastic_bound
from dayfly.index.law import draw
from dayfly.index.table import stochastic_index
from dayfly.model import Fleet

TABLE_I = Fleet(arrival=250, decay=[0.7, 0.35, 0.7, 0.21], worth=[1, 0.7, 0.2, 0.08])


@pytest.mark.parametrize(
    ("budget", "law", "expected"),
    [
        (1, "constant", 260.97),
        (1, "exponential", 261.5),
        (1, "epoch_exponential", 309.4),
        (2, "constant", 338.4),
        (2, "exponential", 338.7),
        (2, "epoch_exponential", 364.2),
    ],
)
def test_the_bounds_of_table_1(budget, law, expected):
    assert stochastic_bound(TABLE_I, budget, 1.0, law) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("law", ["constant", "epoch_exponential"])
@pytest.mark.parametrize("budget", [1, 2])
def test_a_simulated_policy_stays_below_and_comes_near(law, budget):
    seed = 4
    print("seed", seed)
    rng = np.random.default_rng(seed)
    alpha = np.exp(-TABLE_I.decay)
    x, total = np.zeros(4), []
    for epoch in range(3000):
        x = x + draw(rng, TABLE_I.arrival, TABLE_I.decay, TABLE_I.worth, 1.0, law)
        rows = np.argsort(-stochastic_index(TABLE_I, x, 1.0, law), kind="stable")[:budget]
        if epoch >= 50:
            total.append(x[rows].sum())
        x[rows] = 0.0
        x *= alpha
    error = np.std(total) / np.sqrt(len(total))
    bound = stochastic_bound(TABLE_I, budget, 1.0, law)
    assert np.mean(total) < bound + 3 * error
    assert np.mean(total) > 0.93 * bound - 3 * error


def test_seeing_less_bounds_less_and_seeing_nothing_is_the_relaxed_problem():
    bounds = [
        stochastic_bound(TABLE_I, 1, 1.0, "epoch_exponential", observed=np.arange(4) < seen)
        for seen in range(5)
    ]
    assert (np.diff(bounds) >= -1e-6).all()
    assert bounds[0] == pytest.approx(relax(TABLE_I, 1, 1.0).bound, rel=1e-7)
    assert bounds[4] == stochastic_bound(TABLE_I, 1, 1.0, "epoch_exponential")


def test_a_budget_for_all_catches_every_epoch_and_none_catches_nothing():
    everything = TABLE_I.harvest.value(np.ones(4)).sum()
    assert stochastic_bound(TABLE_I, 4, 1.0) == pytest.approx(everything, rel=1e-6)
    assert stochastic_bound(TABLE_I, 9, 1.0) == pytest.approx(everything, rel=1e-6)
    assert stochastic_bound(TABLE_I, 0, 1.0) == pytest.approx(0.0, abs=1e-6)


def test_items_that_never_fade_are_all_caught_and_empty_sources_add_nothing():
    fleet = Fleet(arrival=[3, 0, 5], decay=[0, 0.2, 0], worth=[2, 1, 1])
    assert stochastic_bound(fleet, 0.5, 1.0) == pytest.approx(11.0, rel=1e-6)
    short = Fleet(arrival=20, decay=0.2, lifetime=[0.5, 1.0])
    assert stochastic_bound(short, 2, 1.0) == pytest.approx(
        short.harvest.value(np.ones(2)).sum(), rel=1e-6
    )


def test_the_table_of_profits_agrees_with_solving_each_source(monkeypatch):
    seed = 6
    print("seed", seed)
    rng = np.random.default_rng(seed)
    fleet = Fleet(
        arrival=np.exp(rng.uniform(-1, 6, 60)), decay=rng.uniform(0.05, 1.5, 60),
        worth=rng.lognormal(0, 1, 60), cost=rng.choice([0.5, 1, 2], 60),
    )  # fmt: skip
    solved = stochastic_bound(fleet, 8, 1.0, states=300)
    monkeypatch.setattr(module, "SOLVED", 10)
    assert stochastic_bound(fleet, 8, 1.0) == pytest.approx(solved, rel=3e-3)
    monkeypatch.setattr(module, "SAMPLE", 20)
    # A price from a few rows still gives a bound, if a looser one.
    assert (1 - 3e-3) * solved < stochastic_bound(fleet, 8, 1.0) < 1.05 * solved


def test_bad_questions_are_refused():
    with pytest.raises(BadInput, match="budget"):
        stochastic_bound(TABLE_I, -1, 1.0)
    with pytest.raises(BadInput, match="epoch"):
        stochastic_bound(TABLE_I, 1, None)
    with pytest.raises(BadInput, match="row 1"):
        stochastic_bound(Fleet(arrival=[1, 1], decay=1, window=[np.inf, 5]), 1, 1.0)
