"""Pings: the state they predict is the mean of what waits."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.estimate.signals import Pings
from dayfly.model import Fleet


def test_the_predicted_state_is_right_on_average():
    seed = 6
    print("seed", seed)
    rng = np.random.default_rng(seed)
    n, rate, decay, precision, recall = 4000, 0.8, 0.3, 0.5, 0.6
    pings = Pings(Fleet(arrival=np.full(n, rate), decay=decay), precision=precision, recall=recall)
    waits, step = np.zeros(n), 0.05
    for now in np.arange(step, 4.0 + step / 2, step):
        items = rng.poisson(rate * step, n)
        waits = waits * np.exp(-decay * step) + items
        heard = rng.binomial(items, recall)
        false = rng.poisson(rate * step * recall * (1 - precision) / precision, n)
        pings.heard(np.repeat(np.arange(n), heard + false), now)
    state = pings.state(np.full(n, 4.0), 4.0)
    assert state.mean() == pytest.approx(waits.mean(), rel=0.05)
    # It is a forecast source by source, too: where much is predicted, much waits.
    many = state > np.median(state)
    assert waits[many].mean() == pytest.approx(state[many].mean(), rel=0.05)
    assert waits[many].mean() > 1.3 * waits[~many].mean()


def test_a_visit_empties_a_source_and_news_fade():
    pings = Pings(Fleet(arrival=[1.0, 1.0], decay=1.0, worth=2.0), precision=1.0, recall=1.0)
    pings.heard(np.array([0, 0, 1]), now=0.0)
    np.testing.assert_allclose(pings.state(np.ones(2), now=1.0), [4 / np.e, 2 / np.e])
    pings.crawled(np.array([0]))
    assert pings.state(np.ones(2), now=1.0)[0] == 0.0


def test_shares_are_checked():
    with pytest.raises(BadInput, match="recall"):
        Pings(Fleet(arrival=1.0, decay=1.0), precision=1.0, recall=1.5)
