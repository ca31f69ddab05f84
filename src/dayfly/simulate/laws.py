"""How sources publish: the laws from which a trace with known truth is drawn.

Each law takes long-run rates of shape (n_sources,) and a span from 0 on, both in seconds, and
answers with the rows and times of the items, unsorted, and with what it drew about each source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dayfly.model import Array, Rows

_DAY = 86400.0

#: Rows and times of the items; what is true about each source.
Drawn = tuple[Rows, Array, dict[str, Array]]
Law = Callable[[Array, float, np.random.Generator, "Laws"], Drawn]


@dataclass(frozen=True, slots=True, kw_only=True)
class Laws:
    """The numbers in the laws."""

    #: Items per second of a source on average, and the standard deviation of the rates' logarithm.
    #: As wide as the publishers of a news aggregator: one in fifty publishes about half of it all.
    rate: float = 1.0 / _DAY
    spread: float = 2.0
    #: rhythm: rate ∝ e^(amplitude·cos(2π(t − peak)/day)), the peak uniform over the day.
    amplitude: float = 1.5
    #: hawkes: items that one item provokes, and the mean time until it does.
    branching: float = 0.7
    memory: float = 2 * 3600.0
    #: drift: standard deviation of the logarithm of the factor by which a rate moves.
    jump: float = 1.5
    #: deaths: shares of the sources that fall silent for good, and that are silent at first.
    dying: float = 0.5
    waking: float = 0.25


def poisson(rate: Array, span: float, rng: np.random.Generator, _: Laws) -> Drawn:
    """Items at random, at a constant rate."""
    row, time = _uniform(rate, 0.0, span, rng)
    return row, time, {"rate": rate}


def rhythm(rate: Array, span: float, rng: np.random.Generator, laws: Laws) -> Drawn:
    """A time of day at which a source publishes most; `rate` is the mean over a whole day."""
    a, peak = laws.amplitude, _DAY * rng.random(len(rate))
    # Drawn at the highest rate throughout, then thinned.
    row, time = _uniform(rate * np.exp(a) / np.i0(a), 0.0, span, rng)
    phase = 2 * np.pi * (time - peak[row]) / _DAY
    kept = rng.random(len(row)) < np.exp(a * (np.cos(phase) - 1.0))
    truth = {"rate": rate, "amplitude": np.full(len(rate), a), "peak_s": peak}
    return row[kept], time[kept], truth


def hawkes(rate: Array, span: float, rng: np.random.Generator, laws: Laws) -> Drawn:
    """Every item provokes others, which provoke others: bursts. `rate` counts them all."""
    n, m = laws.branching, laws.memory
    # Families that began long before the start still reach into it; the rest of a family dies out
    # by e^(−(1 − n)t/m).
    early = 30.0 * m / (1.0 - n)
    row, time = _uniform(rate * (1.0 - n), -early, span, rng)
    rows, times = [row], [time]
    while len(row):
        children = rng.poisson(n, len(row))
        row, time = np.repeat(row, children), np.repeat(time, children)
        time = time + rng.exponential(m, len(time))
        row, time = row[time < span], time[time < span]
        rows.append(row)
        times.append(time)
    row, time = np.concatenate(rows), np.concatenate(times)
    truth = {
        "rate": rate,
        "branching": np.full(len(rate), n),
        "memory_s": np.full(len(rate), m),
    }
    return row[time >= 0], time[time >= 0], truth


def drift(rate: Array, span: float, rng: np.random.Generator, laws: Laws) -> Drawn:
    """Once, at a time uniform over the span, the rate moves by a lognormal factor of mean 1."""
    change = span * rng.random(len(rate))
    after = rate * rng.lognormal(-0.5 * laws.jump**2, laws.jump, len(rate))
    row_before, before_ = _uniform(rate, 0.0, change, rng)
    row_after, after_ = _uniform(after, change, span, rng)
    truth = {
        "rate": (rate * change + after * (span - change)) / span,
        "rate_before": rate,
        "rate_after": after,
        "change_s": change,
    }
    row, time = np.concatenate([row_before, row_after]), np.concatenate([before_, after_])
    return row, time, truth


def deaths(rate: Array, span: float, rng: np.random.Generator, laws: Laws) -> Drawn:
    """Some sources are silent at first, some fall silent for good; a constant rate in between."""
    n = len(rate)
    born = np.where(rng.random(n) < laws.waking, span * rng.random(n), 0.0)
    dies = rng.random(n) < laws.dying
    died = np.where(dies, born + (span - born) * rng.random(n), span)
    row, time = _uniform(rate, born, died, rng)
    truth = {
        "rate": rate * (died - born) / span,
        "rate_alive": rate,
        "birth_s": np.where(born > 0, born, np.nan),
        "death_s": np.where(dies, died, np.nan),
    }
    return row, time, truth


#: The laws by the name that the command line uses.
LAWS: dict[str, Law] = {
    "poisson": poisson,
    "rhythm": rhythm,
    "hawkes": hawkes,
    "drift": drift,
    "deaths": deaths,
}


def _uniform(
    rate: Array, begin: Array | float, end: Array | float, rng: np.random.Generator
) -> tuple[Rows, Array]:
    """A Poisson process of constant rate on [begin, end) for each row."""
    first, length = np.broadcast_to(begin, rate.shape), np.broadcast_to(end, rate.shape) - begin
    row = np.repeat(np.arange(len(rate)), rng.poisson(rate * length))
    time: Array = first[row] + length[row] * rng.random(len(row))
    return row, time
