"""The fleet's prior: conjugate, heavy-tailed, learned."""

import numpy as np
from scipy import integrate, stats

from dayfly.estimate.prior import SHAPE, RatePrior


def test_before_anything_is_seen_the_mean_is_the_guess() -> None:
    belief = RatePrior().belief(np.zeros(1), np.zeros(1))
    assert np.isclose(belief.mean[0], 1.0)
    assert belief.variance[0] > 10  # and it could be anything


def test_a_belief_is_the_posterior_by_integration() -> None:
    prior = RatePrior()
    count, exposure = 3.0, 0.7
    rates = SHAPE / prior._rate

    def density(rate: float) -> float:
        each = stats.gamma.pdf(rate, SHAPE, scale=rates / SHAPE)
        return float((prior.weight * each).sum() * rate**count * np.exp(-rate * exposure))

    grid = np.geomspace(1e-5, 1e5, 200_001)
    at = np.array([density(r) for r in grid[::50]])
    total = integrate.simpson(at, x=grid[::50])
    mean = integrate.simpson(at * grid[::50], x=grid[::50]) / total
    square = integrate.simpson(at * grid[::50] ** 2, x=grid[::50]) / total
    belief = prior.belief(np.array([count]), np.array([exposure]))
    assert np.isclose(belief.mean[0], mean, rtol=1e-4)
    assert np.isclose(belief.variance[0], square - mean**2, rtol=1e-3)


def test_it_learns_a_heavy_tailed_fleet() -> None:
    rng = np.random.default_rng(1)
    print("seed 1")
    rate = np.exp(rng.normal(-1.0, 2.0, 4000))
    exposure = np.full(4000, 20.0)
    count = rng.poisson(rate * exposure).astype(float)
    prior = RatePrior()
    prior.fit(count, exposure)
    # One item in a twentieth of the time: what is it in truth of sources that show this?
    again = rng.poisson(rate * 1.0)
    for seen in (0, 1, 3):
        told = prior.belief(np.array([float(seen)]), np.array([1.0])).mean[0]
        assert np.isclose(told, rate[again == seen].mean(), rtol=0.2)


def test_fitting_forgets_what_it_knew_before() -> None:
    rng = np.random.default_rng(2)
    print("seed 2")
    count, exposure = rng.poisson(5.0, 50).astype(float), np.ones(50)
    fresh, used = RatePrior(), RatePrior()
    used.fit(np.full(10, 1000.0), np.ones(10))
    for prior in (fresh, used):
        prior.fit(count, exposure)
    assert (fresh.weight == used.weight).all()


def test_draws_have_the_mean_of_the_belief() -> None:
    rng = np.random.default_rng(3)
    print("seed 3")
    belief = RatePrior().belief(np.full(20_000, 4.0), np.full(20_000, 2.0))
    assert np.isclose(belief.sample(rng).mean(), belief.mean[0], rtol=0.03)
