"""Scoring a fleet, and choosing the best thousand of it.

Rivals: the formula in one line of numpy with `argpartition`; the time it takes merely to move the
columns through memory.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.measure import compare, show
from dayfly import Fleet, whittle_index
from dayfly.policies import best, top

M = 1000


def run() -> None:
    for n in (10**6, 10**7):
        rng = np.random.default_rng(0)
        arrival, decay, worth = rng.lognormal(0, 1, n), rng.lognormal(-1, 1, n), rng.random(n)
        age = rng.exponential(3.0, n)
        fleet = Fleet(arrival=arrival, decay=decay, worth=worth)
        ceiling = fleet.harvest.ceiling  # the one-line form gets u* for nothing, as ours does
        out = np.empty(n)

        def one_line(u=ceiling, decay=decay, age=age):
            return u * (1 - np.exp(-decay * age) * (1 + decay * age))

        def one_line_best(n=n):
            return np.argpartition(one_line(), n - M)[n - M :]

        def move(u=ceiling, decay=decay, age=age, out=out, n=n):
            def half(part):
                np.multiply(u[part], decay[part], out=out[part])
                np.add(out[part], age[part], out=out[part])

            with ThreadPoolExecutor(2) as pool:
                blocks = [slice(at, at + 32768) for at in range(0, n, 32768)]
                list(pool.map(lambda parts: [half(p) for p in parts], (blocks[::2], blocks[1::2])))

        assert (
            set(one_line_best())
            == set(best(fleet, age, M))
            == set(top(whittle_index(fleet, age), M))
        )
        times = compare(
            {
                "numpy, one line": one_line,
                "whittle_index, 1 thread": lambda f=fleet, a=age: whittle_index(f, a, threads=1),
                "whittle_index, all cores": lambda f=fleet, a=age: whittle_index(f, a),
                "memory bound (3 read, 1 written)": move,
            }
        )
        show(f"index of {n:,} sources (min / median)", times, "numpy, one line")
        times = compare(
            {
                "numpy, one line + argpartition": one_line_best,
                "whittle_index + top": lambda f=fleet, a=age: top(whittle_index(f, a), M),
                "best": lambda f=fleet, a=age: best(f, a, M),
                "memory bound (3 read, 1 written)": move,
            }
        )
        show(f"best {M:,} of {n:,} (min / median)", times, "numpy, one line + argpartition")
