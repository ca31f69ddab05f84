"""Hosts that are asked too much, each by itself."""

import numpy as np
import pytest

from dayfly.index import relax
from dayfly.index.limits import Limits
from dayfly.index.response import Response
from dayfly.model import Fleet


def test_without_limits_nothing_is_held():
    fleet = Fleet(arrival=[1.0, 2.0], decay=0.5, cost=[1.0, 3.0], host=["a", "b"])
    limits = Limits(fleet, None)
    rate = np.array([0.5, 0.25])
    assert not limits.any
    assert limits.spent(rate) == 1.25
    held, asks = limits.hold(Response(fleet, 1.0), 0.3, rate)
    assert held.tolist() == [0.5, 0.25]
    assert asks.tolist() == [0.3, 0.3]


@pytest.mark.parametrize("epoch", [None, 1.0])
@pytest.mark.parametrize("price", [0.01, 0.2])
def test_every_host_is_held_to_exactly_what_it_allows(epoch, price):
    seed = 3
    print("seed", seed)
    rng = np.random.default_rng(seed)
    n = 60
    fleet = Fleet(
        arrival=rng.random(n), decay=rng.uniform(0.1, 1, n), cost=rng.choice([0.5, 1, 2], n),
        host=[f"h{i}" for i in rng.integers(0, 7, n)],
    )  # fmt: skip
    response = Response(fleet, epoch)
    limits = Limits(fleet, {"h0": 0.0, "h1": 0.4, "h2": 1.3, "h3": 1e9, "h4": 0.1})
    rate = response.rate(np.full(n, price))
    before, held_rate = limits.by_host(rate), limits.hold(response, price, rate)
    held, asks = held_rate
    after = limits.by_host(held)
    np.testing.assert_allclose(after, np.minimum(before, limits.allowed), rtol=1e-9)
    assert (asks[before <= limits.allowed] == price).all()
    assert (asks[before > limits.allowed] > price).all()
    assert limits.spent(rate) == pytest.approx(after.sum())
    # Only rows of hosts that were asked too much have changed, and only downwards.
    over = (before > limits.allowed)[fleet.host_code]
    assert np.array_equal(held[~over], rate[~over])
    assert (held <= rate * (1 + 1e-12)).all()


def test_equal_sources_of_a_host_share_its_limit():
    fleet = Fleet(arrival=[1.0] * 4, decay=0.5, host=["a", "a", "a", "b"])
    for epoch in (None, 1.0):
        best = relax(fleet, 1.0, epoch, host_limit={"a": 0.3})
        np.testing.assert_allclose(best.rate, [0.1, 0.1, 0.1, 0.7], rtol=1e-9)
        assert best.host_price["a"] > 0


def test_one_limit_for_all_is_that_limit_for_each():
    rng = np.random.default_rng(4)
    fleet = Fleet(
        arrival=rng.random(12), decay=rng.uniform(0.1, 1, 12), host=[f"h{i % 3}" for i in range(12)]
    )
    one = relax(fleet, 2.0, 1.0, host_limit=0.8)
    each = relax(fleet, 2.0, 1.0, host_limit=dict.fromkeys(fleet.hosts, 0.8))
    assert one.bound == each.bound
    assert one.host_price == each.host_price
    assert relax(fleet, 2.0, 1.0, host_limit=1e9).bound == pytest.approx(
        relax(fleet, 2.0, 1.0).bound, rel=1e-12
    )


def test_many_hosts_at_once():
    """Twenty thousand sources at five thousand hosts: every one within its limit."""
    rng = np.random.default_rng(5)
    n, hosts = 20_000, 5000
    fleet = Fleet(
        arrival=10 ** rng.uniform(-2, 1, n), decay=rng.uniform(0.05, 1, n),
        host=[f"h{i}" for i in rng.integers(0, hosts, n)],
    )  # fmt: skip
    best = relax(fleet, 0.2 * n, None, host_limit=1.0)
    limits = Limits(fleet, 1.0)
    asked = limits.by_host(best.rate)
    assert asked.max() <= 1 + 1e-9
    assert float(best.rate.sum()) == pytest.approx(0.2 * n, rel=1e-9)
    full = [name for name, load in zip(fleet.hosts, asked, strict=True) if load > 1 - 1e-9]
    assert set(best.host_price) <= set(full)
    assert len(full) > 100
    assert best.value.sum() == pytest.approx(best.bound, rel=1e-9)
