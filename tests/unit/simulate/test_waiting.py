"""What waits in the two worlds: recursions written out, and means of many draws."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.model import Fleet
from dayfly.simulate import waiting
from dayfly.simulate.waiting import MeanField, Poisson, check_observed, plain

KINDS = {
    "plain": {},
    "lifetime": {"lifetime": 2.5},
    "window": {"window": 3},
    "window and lifetime": {"window": 5, "lifetime": 2.5},
    "two_phase": {"kind": "two_phase", "slow_share": 0.4, "slow_decay": 0.05},
    "freshness": {"kind": "freshness"},
    "never fades": {"decay": 0.0},
    "never changes": {"decay": 0.0, "kind": "freshness"},
}


def fleet_of(kind, n=1):
    return Fleet(**{"arrival": np.full(n, 2.0), "decay": 0.6, "worth": 1.5, **KINDS[kind]})


def drawn_world(fleet, seed, law="constant"):
    nobody = np.zeros(len(fleet), dtype=bool)
    rng = np.random.default_rng(seed)
    return Poisson(fleet, np.zeros(len(fleet)), nobody, law, 1.0, rng)


# ------------------------------------------------------------------ mean field
def test_mean_field_is_the_recursion_of_the_papers():
    """X ← αX + u, a crawl brings X and leaves u for the next epoch [J 1–3]."""
    fleet = Fleet(arrival=[250.0, 100.0], decay=[0.7, 0.2], worth=[1.0, 0.5])
    alpha = np.exp(-fleet.decay)
    u = fleet.arrival * fleet.worth / fleet.decay * (1 - alpha)
    world, x, age = MeanField(fleet, np.zeros(2), np.ones(2)), u.copy(), np.ones(2)
    rng = np.random.default_rng(1)
    for _ in range(50):
        rows = np.flatnonzero(rng.random(2) < 0.4)
        np.testing.assert_allclose(world.seen(), x, rtol=1e-12)
        np.testing.assert_allclose(world.harvest(rows, age[rows]), x[rows], rtol=1e-12)
        x[rows], age[rows] = 0.0, 0.0
        world.advance(1.0)
        x, age = alpha * x + u, age + 1.0


def test_mean_field_above_the_ceiling_fades_towards_it():
    fleet = Fleet(arrival=2.0, decay=0.5)  # ceiling 4
    world, x = MeanField(fleet, np.array([6.0]), np.array([np.inf])), 10.0
    for _ in range(5):
        assert world.seen()[0] == pytest.approx(x)
        world.advance(1.0)
        x = x * np.exp(-0.5) + 4 * (1 - np.exp(-0.5))
    assert world.harvest(np.array([0]), np.array([np.inf]))[0] == pytest.approx(x)
    world.advance(1.0)
    assert world.seen()[0] == pytest.approx(4 * (1 - np.exp(-0.5)))


def test_a_fresh_copy_pays_from_the_second_visit_on():
    fleet = Fleet(arrival=2.0, decay=[0.5, 0.5], kind=["freshness", "ephemeral"])
    rows, age = np.array([0, 1]), np.ones(2)
    expected = fleet.harvest.value(age)
    world = MeanField(fleet, np.zeros(2), age)
    assert world.harvest(rows, age).tolist() == [0.0, expected[1]]
    assert world.harvest(rows, age).tolist() == expected.tolist()
    drawn = drawn_world(fleet, seed=2)
    assert drawn.harvest(rows, age)[0] == 0.0
    assert drawn.harvest(rows, age)[0] > 0.0


# ------------------------------------------------------------------ Poisson
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("age", [0.3, 2.0, 7.0])
@pytest.mark.parametrize("law", ["constant", "exponential", "epoch_exponential"])
def test_a_harvest_drawn_at_the_crawl_has_the_mean_of_the_curve(kind, age, law):
    seed = 3
    print("seed", seed)
    n = 6000
    fleet = fleet_of(kind, n)
    world, rows = drawn_world(fleet, seed, law), np.arange(n)
    world.harvest(rows, np.full(n, age))
    found = world.harvest(rows, np.full(n, age))
    right = fleet.harvest.value(np.full(n, age))[0]
    error = found.std() / np.sqrt(n)
    assert abs(found.mean() - right) <= 4 * error + 1e-12


def test_variance_of_a_drawn_harvest_is_campbells():
    """Var = Λ E ξ² ∫ e^(−2μt) dt, here for a lifetime; exponential worths double it."""
    seed, n = 4, 20_000
    print("seed", seed)
    fleet = fleet_of("lifetime", n)
    for law, second in (("constant", 1.0), ("exponential", 2.0)):
        found = drawn_world(fleet, seed, law).harvest(np.arange(n), np.full(n, 9.0))
        right = second * 2.0 * 1.5**2 * (1 - np.exp(-2 * 0.6 * 2.5)) / (2 * 0.6)
        assert found.var() == pytest.approx(right, rel=0.06)


def test_one_draw_per_epoch_is_shared_by_the_items_of_an_epoch_only():
    """Two epochs: Var = Σ over epochs of second moment·spread + (second − 1)·mean²."""
    seed, n = 5, 20_000
    print("seed", seed)
    fleet = Fleet(arrival=np.full(n, 40.0), decay=0.6, lifetime=99.0)
    found = drawn_world(fleet, seed, "epoch_exponential").harvest(np.arange(n), np.full(n, 2.0))
    right = 0.0
    for start in (0.0, 1.0):
        spread = 40 * (np.exp(-1.2 * start) - np.exp(-1.2 * (start + 1))) / 1.2
        mean = 40 * (np.exp(-0.6 * start) - np.exp(-0.6 * (start + 1))) / 0.6
        right += 2 * spread + mean**2
    assert found.var() == pytest.approx(right, rel=0.06)


def test_a_window_never_shows_more_than_its_size():
    fleet = Fleet(arrival=np.full(500, 50.0), decay=0.0, window=4)
    found = drawn_world(fleet, seed=6).harvest(np.arange(500), np.full(500, 3.0))
    assert (found == 4).all()


def test_a_carried_state_follows_the_recursion_and_starts_as_told():
    n = 20_000
    fleet = Fleet(arrival=np.full(n, 5.0), decay=0.4, worth=2.0)
    everybody = np.ones(n, dtype=bool)
    seed = 7
    print("seed", seed)
    world = Poisson(
        fleet, np.full(n, 100.0), everybody, "constant", 1.0, np.random.default_rng(seed)
    )
    assert (world.seen() == 100).all()
    alpha, u = np.exp(-0.4), 5 * 2 / 0.4 * (1 - np.exp(-0.4))
    world.advance(1.0)
    error = world.seen().std() / np.sqrt(n)
    assert world.seen().mean() == pytest.approx(100 * alpha + u, abs=4 * error)
    seen = world.seen()
    assert np.array_equal(world.harvest(np.arange(n), np.full(n, 2.0)), seen)
    assert (world.seen() == 0).all()
    world.advance(1.0)
    assert world.seen().mean() == pytest.approx(u, abs=4 * error)


def test_blocks_of_items_change_nothing_in_law(monkeypatch):
    monkeypatch.setattr(waiting, "BLOCK", 50)
    n, seed = 6000, 8
    print("seed", seed)
    fleet = fleet_of("window", n)
    found = drawn_world(fleet, seed).harvest(np.arange(n), np.full(n, 2.0))
    right = fleet.harvest.value(np.full(n, 2.0))[0]
    assert abs(found.mean() - right) <= 4 * found.std() / np.sqrt(n)


def test_only_a_state_of_one_number_can_be_observed():
    fleet = Fleet(
        arrival=np.ones(5),
        decay=1.0,
        lifetime=[np.inf, 2.0, np.inf, np.inf, np.inf],
        window=[np.inf, np.inf, 3, np.inf, np.inf],
        slow_share=[0, 0, 0, 0.5, 0],
        kind=["ephemeral"] * 3 + ["two_phase", "freshness"],
    )
    assert plain(fleet).tolist() == [True, False, False, False, False]
    check_observed(fleet, plain(fleet))
    for row in range(1, 5):
        with pytest.raises(BadInput, match=f"'{row}'"):
            check_observed(fleet, np.arange(5) == row)
