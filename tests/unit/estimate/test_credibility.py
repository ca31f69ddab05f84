"""How far the fleet's mean worth outweighs a source's own items."""

import numpy as np
import pytest

from dayfly.estimate.credibility import credibility


def test_items_that_are_all_worth_the_same_have_that_worth() -> None:
    mean, items = credibility(np.array([0.3, 7.0, 1e4]), np.array([0.3, 7.0, 1e4]))
    assert mean == 1.0
    # Whatever the fleet weighs, the mean of ones is one to the last bit.
    count = np.array([0.0, 0.1, 3.7, 1e5])
    assert ((items * mean + count) / (items + count) == 1.0).all()


def test_nothing_seen_and_nothing_of_worth() -> None:
    assert credibility(np.zeros(0), np.zeros(0))[0] == 1.0
    assert credibility(np.zeros(3), np.zeros(3))[0] == 1.0
    assert credibility(np.ones(3), np.zeros(3))[0] == 0.0


@pytest.mark.parametrize("shape", [0.5, 1.0, 4.0])
def test_it_finds_the_spread_that_sources_were_drawn_with(shape: float) -> None:
    """Exponential items around Gamma means: k = (A + m²)/A = 1 + shape."""
    seed = 3
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 60, 20_000).astype(np.float64)
    total = rng.gamma(count) * 5.0 * rng.gamma(shape, size=len(count)) / shape
    mean, items = credibility(count, total)
    assert mean == pytest.approx(5.0, rel=0.05)
    assert items == pytest.approx(1.0 + shape, rel=0.1)


def test_the_guess_that_leans_on_the_fleet_errs_less() -> None:
    seed = 4
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    truth = 5.0 * rng.lognormal(sigma=0.3, size=2000)
    count = rng.integers(1, 20, len(truth))
    each = zip(truth, count, strict=True)
    # Heavier than exponential: a few items make most of the worth.
    draws = [one * rng.lognormal(-1.0, np.sqrt(2.0), n).sum() for one, n in each]
    total = np.array(draws)
    mean, items = credibility(count.astype(np.float64), total)
    leaning = (items * mean + total) / (items + count)
    assert ((leaning - truth) ** 2).mean() < 0.5 * ((total / count - truth) ** 2).mean()
