"""Learning: what an update of the timestamp estimator and a replay of the news trace take.

The yardstick of an update is the index of the same sources: in closed form and in slots of fifteen
minutes, as if they showed everything, and with the window of twenty items that they have. The plain
estimator, which forgets nothing and weighs no dates, shows what there is to gain at most.
"""

import math
import time
from collections.abc import Callable

import numpy as np

from benchmarks.measure import compare, show
from dayfly import whittle_index
from dayfly.errors import BadInput
from dayfly.estimate.arrivals import ArrivalEstimator
from dayfly.estimate.stamps import StampEstimator
from dayfly.lab.league import find_scenario
from dayfly.model import Fleet, Visits
from dayfly.simulate import contenders, replay

N, WINDOW = 100_000, 20
#: Seconds between two visits, and between two slots.
GAP, SLOT = 5e4, 900.0
#: Measured so often, each time with visits of their own.
ROUNDS = 7
#: Who is timed on the news trace, and the aim, in seconds of one core.
NAMES = ("dayfly", "azar", "lefortier", "posterior_mean", "proportional", "square_root", "greedy")
FIELD = ("b3_miniflux_entry_frequency.scaled", "b4_commafeed.scaled", "b7_stormcrawler.scaled")
AIM = 20.0


def run() -> None:
    updates()
    replays()


def updates() -> None:
    rng = np.random.default_rng(3)
    shown = Fleet(
        arrival=10 ** rng.uniform(-6, -3, N), decay=10 ** rng.uniform(-5, -3.5, N), window=WINDOW
    )
    everything, age = shown.replace(window=np.full(N, np.inf)), rng.uniform(0, 1e5, N)
    dated, plain = StampEstimator(shown), ArrivalEstimator(shown)
    begin = _visits(rng, 1e9, 20)
    for estimator in (dated, plain):
        estimator.learn(begin)
    # Visits that nobody has read yet, each one gap after those before: the same visits again would
    # come from the cache, and after no time at all.
    later = [_visits(rng, 1e9 + GAP * number, 1) for number in range(1, ROUNDS + 2)]
    to_dated, to_plain = iter(later), iter(later)

    def three(fleet: Fleet, epoch: float | None = None) -> Callable[[], object]:
        return lambda: [whittle_index(fleet, age, epoch=epoch, threads=1) for _ in range(3)]

    times = compare(
        {
            "3 evaluations of the index": three(everything),
            "3 evaluations in slots": three(everything, SLOT),
            "3 evaluations with the window": three(shown),
            "plain estimator: learn": lambda: plain.learn(next(to_plain)),
            "timestamp estimator: learn": lambda: dated.learn(next(to_dated)),
        },
        ROUNDS,
    )
    title = f"{N:,} sources, one visit each, about one new item of {WINDOW} shown (min / median)"
    show(title, times, "3 evaluations with the window")


def _visits(rng: np.random.Generator, now: float, new: float) -> Visits:
    """One visit to each source: twenty items, of which about so many are new."""
    many = np.minimum(rng.poisson(new, N), WINDOW)
    old = np.arange(WINDOW) < (WINDOW - many)[:, None]
    published = now - rng.uniform(0, GAP, (N, WINDOW)) - GAP * old
    return Visits(
        time=now, row=rng.permutation(N), gap=np.full(N, GAP),
        start=np.arange(N + 1) * WINDOW, published=np.sort(published, axis=1).ravel(),
        worth=np.ones(N * WINDOW), new=many, value=np.zeros(N),
    )  # fmt: skip


def replays() -> None:
    scenario = find_scenario("news-v1")
    try:
        trace = scenario.trace(1)
    except BadInput as error:
        print(f"\nreplay of the news trace: {error}")
        return
    make = contenders(trace)
    print(f"\nreplay of {scenario.name}, 6 h x 20: seconds of one core (aim: about {AIM:g})")
    for name in (*NAMES, *FIELD):
        begin = time.process_time()
        played = replay(
            trace, make[name], budget=20.0, epoch=scenario.epoch, decay=math.log(2) / 21600,
            start=scenario.start, until=scenario.until, window=scenario.window, seed=1,
        )  # fmt: skip
        taken = time.process_time() - begin
        print(f"  {name:<40} {taken:6.1f} s   {played.share:7.2%} of the value caught")
