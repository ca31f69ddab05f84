"""A world with known truth."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.model import Fleet, Status
from dayfly.simulate.world import World


def test_a_visit_shows_what_is_there_now():
    fleet = Fleet(arrival=1.0, decay=0.1, window=[np.inf, 2], cost=[1.0, 3.0])
    world = World(fleet, [[1.0, 2.0, 5.0], [1.0, 2.0, 5.0]], [[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
    everything, newest = world.visit(0, 5.0), world.visit(1, 5.0)
    assert [item.published for item in everything.items] == [1.0, 2.0, 5.0]
    assert [item.worth for item in everything.items] == [1.0, 2.0, 3.0]
    assert (everything.visible, everything.oldest_s, everything.cost) == (3, 4.0, 1.0)
    assert [item.published for item in newest.items] == [2.0, 5.0]
    assert (newest.row, newest.visible, newest.oldest_s, newest.cost) == (1, 2, 3.0, 3.0)
    assert everything.items[1].key != everything.items[2].key
    before = world.visit(0, 0.5)
    assert (before.status, before.items, before.oldest_s) == (Status.UNCHANGED, (), None)


def test_items_past_their_lifetime_are_gone():
    world = World(Fleet(arrival=1.0, decay=0.1, lifetime=3.0), [[1.0, 2.0, 4.0]])
    assert [item.published for item in world.visit(0, 4.9).items] == [2.0, 4.0]
    assert [item.published for item in world.visit(0, 5.0).items] == [4.0]


def test_an_item_keeps_its_key_from_visit_to_visit():
    world = World(Fleet(arrival=1.0, decay=0.1, window=2), [[1.0, 2.0, 3.0, 4.0]])
    keys = {item.published: item.key for item in world.visit(0, 3.0).items}
    assert {item.published: item.key for item in world.visit(0, 4.0).items}[3.0] == keys[3.0]


def test_drawn_arrivals_are_poisson_and_repeat_with_the_seed():
    seed = 17
    print("seed", seed)
    fleet = Fleet(arrival=np.repeat([0.5, 3.0], 2000), decay=0.1)
    world = World.draw(fleet, start=100.0, until=110.0, rng=np.random.default_rng(seed), history=5)
    for half, rate in ((slice(0, 2000), 0.5), (slice(2000, 4000), 3.0)):
        counts = np.array([len(times) for times in world._times[half]])
        assert counts.mean() == pytest.approx(15 * rate, abs=4 * np.sqrt(15 * rate / 2000))
        assert counts.var() == pytest.approx(15 * rate, rel=0.15)
        times = np.concatenate(world._times[half])
        assert times.min() >= 95.0
        assert times.max() < 110.0
        spread = np.histogram(times, bins=10, range=(95, 110))[0]
        expected = len(times) / 10
        assert ((spread - expected) ** 2 / expected).sum() < 28  # chi-square, 9 degrees, 0.1 %
    again = World.draw(fleet, start=100.0, until=110.0, rng=np.random.default_rng(seed), history=5)
    assert all((a == b).all() for a, b in zip(world._times, again._times, strict=True))


def test_what_was_published_is_counted_by_worth():
    world = World(Fleet(arrival=1.0, decay=0.1, worth=[1.0, 2.0]), [[1.0, 2.0, 3.0], [2.5]])
    assert world.published(2.0, 3.0).tolist() == [1.0, 2.0]


def test_a_record_that_does_not_fit_is_refused():
    fleet = Fleet(arrival=1.0, decay=0.1)
    with pytest.raises(BadInput, match="1 sources, the record has 2"):
        World(fleet, [[1.0], [2.0]])
    with pytest.raises(BadInput, match="ascending"):
        World(fleet, [[2.0, 1.0]])
    with pytest.raises(BadInput, match="one worth each"):
        World(fleet, [[1.0]], [[1.0, 2.0]])
