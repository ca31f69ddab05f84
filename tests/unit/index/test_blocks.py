"""Blocks and threads are about speed alone: the numbers are those of one plain evaluation."""

import numpy as np
import pytest

from dayfly.index import blocks, relax, whittle_index
from dayfly.index.blocks import in_blocks
from dayfly.model import Fleet


def mixed_fleet(n: int, seed: int) -> tuple[Fleet, np.ndarray]:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    kind = rng.choice(["ephemeral", "two_phase", "freshness"], n)
    ephemeral, two_phase = kind == "ephemeral", kind == "two_phase"
    fleet = Fleet(
        arrival=10 ** rng.uniform(-2, 2, n),
        decay=10 ** rng.uniform(-3, 1, n),
        cost=rng.choice([0.5, 1, 2], n),
        lifetime=np.where(ephemeral & (rng.random(n) < 0.3), rng.uniform(0.5, 9, n), np.inf),
        slow_share=np.where(two_phase, 0.3, 0.0),
        slow_decay=np.where(two_phase, 1e-3, 0.0),
        kind=kind.tolist(),
    )
    return fleet, 10 ** rng.uniform(-3, 2, n)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 100, 1001])
@pytest.mark.parametrize("threads", [1, 2, 3, 50, None])
def test_slices_cover_every_row_exactly_once(monkeypatch, n, threads):
    monkeypatch.setattr(blocks, "_BLOCK", 8)
    monkeypatch.setattr(blocks, "_ALONE", 20)
    seen = np.zeros(n, dtype=int)

    def work(block: slice) -> None:
        assert block.stop - block.start <= 8
        seen[block] += 1

    in_blocks(work, n, threads)
    assert (seen == 1).all()


@pytest.mark.parametrize("epoch", [None, 0.5])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_do_not_depend_on_blocks_or_threads_to_the_last_bit(monkeypatch, epoch, threads):
    fleet, age = mixed_fleet(1500, seed=5)
    whole = whittle_index(fleet, age, epoch, threads=1)
    solved = relax(fleet, 150.0, epoch)
    monkeypatch.setattr(blocks, "_BLOCK", 37)
    monkeypatch.setattr(blocks, "_ALONE", 100)
    assert np.array_equal(whittle_index(fleet, age, epoch, threads=threads), whole)
    again = relax(fleet, 150.0, epoch)
    assert np.array_equal(again.rate, solved.rate)
    assert again.price == solved.price


@pytest.mark.parametrize("epoch", [None, 0.5])
def test_a_window_does_not_depend_on_its_neighbours_beyond_rounding(monkeypatch, epoch):
    rng = np.random.default_rng(7)
    n = 500
    fleet = Fleet(
        arrival=10 ** rng.uniform(-2, 2, n), decay=10 ** rng.uniform(-3, 1, n),
        window=rng.integers(1, 30, n),
    )  # fmt: skip
    age = 10 ** rng.uniform(-3, 2, n)
    whole = whittle_index(fleet, age, epoch, threads=1)
    monkeypatch.setattr(blocks, "_BLOCK", 37)
    np.testing.assert_allclose(whittle_index(fleet, age, epoch), whole, rtol=1e-13)


def test_a_long_fleet_of_one_kind_is_the_same_on_one_core_and_on_many():
    rng = np.random.default_rng(6)
    n = blocks._ALONE + 12_345
    fleet = Fleet(arrival=rng.random(n), decay=rng.random(n))
    age = rng.random(n) * 10
    one, many = (whittle_index(fleet, age, 1.0, threads=t) for t in (1, 3))
    assert np.array_equal(one, many)
    plain = fleet.harvest
    assert np.array_equal(one, plain.slotted(age, 1.0))
    np.testing.assert_allclose(one, plain.index(age) + age * plain.bend(age, 1.0), rtol=1e-13)


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK", 8)
    monkeypatch.setattr(blocks, "_ALONE", 20)

    def work(block: slice) -> None:
        if block.start >= 500:
            raise ArithmeticError("block")

    with pytest.raises(ArithmeticError, match="block"):
        in_blocks(work, 1000, 3)
