"""The relaxed problem for a million sources.

Rivals: a plain Python loop over sources (scipy's brentq for each, bisection on the price), timed on
a sample and scaled up; and our own index on the same fleet, as the unit of work.
"""

import math

import numpy as np

from benchmarks.measure import compare, show
from dayfly import Fleet, relax, whittle_index

N, SAMPLE = 1_000_000, 300


def run() -> None:
    rng = np.random.default_rng(1)
    columns = {
        "arrival": rng.lognormal(0, 1, N),
        "decay": rng.lognormal(-1, 1, N),
        "worth": rng.lognormal(0, 1, N),
        "cost": rng.choice([0.5, 1.0, 2.0], N),
    }
    fleet = Fleet(**columns)
    few = Fleet(**{name: column[:SAMPLE] for name, column in columns.items()})
    age = rng.exponential(3.0, N)
    price = relax(few, 0.1 * SAMPLE).price
    assert math.isclose(loop(few, 0.1 * SAMPLE), price, rel_tol=1e-9), "the rivals disagree"
    times = compare(
        {
            "index, 1 thread": lambda: whittle_index(fleet, age, threads=1),
            "slotted index, 1 thread": lambda: whittle_index(fleet, age, 1.0, threads=1),
            "relax, continuous": lambda: relax(fleet, 0.1 * N, threads=1),
            "relax, slotted": lambda: relax(fleet, 0.1 * N, 1.0, threads=1),
            f"python loop, {SAMPLE} sources": lambda: loop(few, 0.1 * SAMPLE),
        },
        rounds=3,
    )
    show(f"relaxed problem, {N:,} sources (min / median)", times, "index, 1 thread")
    rival = times[f"python loop, {SAMPLE} sources"]
    for name, own in (
        ("relax, continuous", "index, 1 thread"),
        ("relax, slotted", "slotted index, 1 thread"),
    ):
        unit = times[own]
        least, median = times[name].least / unit.least, times[name].median / unit.median
        print(f"  {name}: {least:.1f} / {median:.1f} index evaluations (aim: at most 40)")
        scaled = rival.least * N / SAMPLE / times[name].least
        print(f"  {name}: {scaled:,.0f}x a python loop, scaled from the sample (aim: 100)")


def loop(fleet: Fleet, budget: float) -> float:
    """Price by bisection, every source by bisection: what a script would do."""
    from scipy.optimize import brentq

    sources = list(fleet)

    def spent(price: float) -> float:
        total = 0.0
        for s in sources:
            share = price * s.cost * s.decay / (s.arrival * s.worth)
            if share < 1:
                x = brentq(lambda x, y=share: -math.expm1(-x) - x * math.exp(-x) - y, 0, 60)
                total += s.cost * s.decay / x
        return total

    top = max(s.arrival * s.worth / s.decay / s.cost for s in sources)
    low, high = top * 1e-9, top
    while high - low > 1e-11 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if spent(middle) >= budget else (low, middle)
    return high
