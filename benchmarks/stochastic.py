"""The stochastic index of a thousand different sources.

Rival: `markovianbandit`, the exact solver for finite arms, on each source cut into 1,000 states; it
takes about a second per source, so a few are timed and scaled up. Both include all they need: the
table is built within the time of ours. The error is that of the table against a direct solution of
every source, in units of u*.
"""

import contextlib
import io

import numpy as np

from benchmarks.measure import compare, show
from dayfly import Fleet, stochastic_index
from dayfly.index import EpochLaw
from dayfly.index.stochastic import kernel, thresholds
from dayfly.index.table import table_of

SOURCES, STATES, TIMED = 1000, 1000, 2


def run() -> None:
    rng = np.random.default_rng(2)
    decay = -np.log(rng.uniform(0.3, 0.95, SOURCES))
    fleet = Fleet(arrival=10 ** rng.uniform(0, 3, SOURCES), decay=decay, worth=rng.random(SOURCES))
    ceiling = fleet.arrival * fleet.worth / fleet.decay
    state = ceiling * rng.uniform(0, 1.5, SOURCES)
    for law in ("constant", "exponential", "epoch_exponential"):

        def fresh(law=law):
            table_of.cache_clear()
            anew = fleet.take(slice(None))  # what was looked up for a fleet is kept with it
            return stochastic_index(anew, state, 1.0, law)

        times = compare(
            {
                f"markovianbandit, {TIMED} of {SOURCES} sources": lambda law=law: [
                    rival(fleet, row, law) for row in range(TIMED)
                ],
                "table built from nothing": fresh,
                "table at hand": lambda law=law: stochastic_index(fleet, state, 1.0, law),
            },
            rounds=3,
        )
        name = f"markovianbandit, {TIMED} of {SOURCES} sources"
        show(f"stochastic index, worth {law} (min / median)", times, name)
        scale = SOURCES / TIMED
        for ours in ("table built from nothing", "table at hand"):
            ratio = scale * times[name].least / times[ours].least
            print(f"  {ours}: {ratio:,.0f}x the rival for {SOURCES} sources (aim: 1,000)")
        error = worst_error(fleet, state, law, ceiling)
        print(f"  largest error of the table: {error:.1e} u* (aim: 1e-3)")


def worst_error(fleet, state, law, ceiling):
    found, worst = stochastic_index(fleet, state, 1.0, law), 0.0
    for row in range(0, SOURCES, 10):
        source = fleet[row]
        alone = EpochLaw(
            arrival=source.arrival, decay=source.decay, worth=source.worth, epoch=1.0, law=law
        )
        direct = thresholds(alone, 1000).index_at(state[row : row + 1])[0]
        worst = max(worst, abs(found[row] - direct) / ceiling[row])
    return worst


def rival(fleet, row, law):
    """The same arm, cut into states, solved by the referee."""
    before = np.geterr()
    import markovianbandit

    np.seterr(**before)  # importing it changes numpy's error handling for everybody
    source = fleet[row]
    alone = EpochLaw(
        arrival=source.arrival, decay=source.decay, worth=source.worth, epoch=1.0, law=law
    )
    states = np.linspace(0, 2.5 * source.arrival * source.worth / source.decay, STATES)
    passive = kernel(alone.lattice, alone.retention, states)
    active = np.tile(passive[0], (STATES, 1))  # a crawl empties the source: the next state is U
    with contextlib.redirect_stdout(io.StringIO()):
        arm = markovianbandit.restless_bandit_from_P0P1_R0R1(
            passive, active, np.zeros(STATES), states
        )
        return arm.whittle_indices(check_indexability=False)
