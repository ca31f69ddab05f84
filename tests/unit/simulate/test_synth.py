"""Each kind of trace against its law. Bounds are five standard deviations of what is measured."""

import numpy as np
import pytest

from dayfly.errors import BadInput, UnknownName
from dayfly.simulate import synth
from dayfly.simulate.laws import Laws
from dayfly.simulate.synth import KINDS, START

DAY = 86400.0
SPAN = 40 * DAY
EVEN = Laws(rate=20 / DAY, spread=0.3)
SIGMAS = 5.0


def draw(kind, seed, sources=300, laws=EVEN):
    print(f"seed {seed}")
    return synth(kind, sources, SPAN, seed=seed, laws=laws)


def counts(trace):
    return np.diff(trace.start)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_kind_publishes_at_its_true_rate(kind, seed):
    trace = draw(kind, seed)
    expected = trace.truth["rate"] * SPAN
    # Bursts make counts 1 / (1 − branching)² times as noisy as Poisson.
    noisy = np.isfinite(trace.truth.get("branching", np.full(len(trace), np.nan)))
    variance = expected * np.where(noisy, (1 - EVEN.branching) ** -2, 1.0)
    assert abs(counts(trace).sum() - expected.sum()) < SIGMAS * np.sqrt(variance.sum())
    score = (counts(trace) - expected) / np.sqrt(np.maximum(variance, 1.0))
    # A sum of squares of n standard scores: mean n, variance 2n and a little more.
    assert abs((score**2).sum() - len(trace)) < SIGMAS * np.sqrt(4 * len(trace))
    assert (trace.time >= START).all()
    assert (trace.time < START + SPAN).all()


def test_rates_are_lognormal_and_the_same_for_every_kind():
    laws = Laws(rate=2 / DAY, spread=1.0)
    trace = draw("poisson", 3, sources=4000, laws=laws)
    log = np.log(trace.truth["rate"])
    assert abs(log.mean() - (np.log(2 / DAY) - 0.5)) < SIGMAS / np.sqrt(4000)
    assert abs(log.std() - 1.0) < SIGMAS / np.sqrt(2 * 4000)
    other = draw("hawkes", 3, sources=4000, laws=laws)
    assert (other.truth["rate"] == trace.truth["rate"]).all()


def test_poisson_times_are_uniform():
    trace = draw("poisson", 4)
    part = (trace.time - START) / SPAN
    n = len(part)
    assert abs(part.mean() - 0.5) < SIGMAS * np.sqrt(1 / 12 / n)
    assert abs((part**2).mean() - 1 / 3) < SIGMAS * np.sqrt(4 / 45 / n)


def test_rhythm_follows_the_clock_of_each_source():
    trace = draw("rhythm", 5)
    phase = 2 * np.pi * (trace.time - START - trace.truth["peak_s"][trace.source]) / DAY
    a, n = EVEN.amplitude, len(phase)
    # The times of day are von Mises: the mean cosine is I1(a)/I0(a), the mean sine 0.
    from scipy.special import iv

    assert abs(np.cos(phase).mean() - iv(1, a) / iv(0, a)) < SIGMAS / np.sqrt(n)
    assert abs(np.sin(phase).mean()) < SIGMAS / np.sqrt(n)
    peaks = trace.truth["peak_s"] / DAY
    assert abs(peaks.mean() - 0.5) < SIGMAS * np.sqrt(1 / 12 / len(peaks))


def test_hawkes_counts_are_as_noisy_as_their_branching_says():
    trace = draw("hawkes", 6, laws=Laws(rate=20 / DAY, spread=0.0))
    bins = 20
    day = ((trace.time - START) // (SPAN / bins)).astype(int)
    table = np.zeros((len(trace), bins))
    np.add.at(table, (trace.source, day), 1)
    # Var N(T) = Λ [T/(1−n)² + (1 − 1/(1−n)²)(1 − e^(−gT))/g], g = (1−n)/memory.
    n, length = EVEN.branching, SPAN / bins
    g = (1 - n) / EVEN.memory
    edges = (1 - (1 - n) ** -2) * -np.expm1(-g * length) / g
    expected = EVEN.rate * (length / (1 - n) ** 2 + edges)
    assert abs(table.mean() - EVEN.rate * length) < SIGMAS * np.sqrt(expected / table.size)
    # The scatter of a variance, with half as much again for the tails of bursts.
    assert abs(table.var() / expected - 1) < SIGMAS * np.sqrt(3 / table.size)


def test_hawkes_is_as_busy_at_the_start_as_later():
    trace = draw("hawkes", 7)
    early = (trace.time < START + DAY).sum()
    expected = (trace.truth["rate"] * DAY).sum()
    assert abs(early - expected) < SIGMAS * np.sqrt(expected) / (1 - EVEN.branching)


def test_drift_changes_the_rate_when_it_says():
    trace = draw("drift", 8)
    truth, row = trace.truth, trace.source
    before = trace.time < truth["change_s"][row]
    length = truth["change_s"] - START
    for part, rate, span in (
        (before, truth["rate_before"], length),
        (~before, truth["rate_after"], SPAN - length),
    ):
        found, expected = np.bincount(row[part], minlength=len(trace)), rate * span
        assert abs(found.sum() - expected.sum()) < SIGMAS * np.sqrt(expected.sum())
    factor = np.log(truth["rate_after"] / truth["rate_before"])
    assert abs(factor.std() - EVEN.jump) < SIGMAS * EVEN.jump / np.sqrt(2 * len(trace))


def test_deaths_are_for_good_and_births_are_late():
    trace = draw("deaths", 9, sources=1000)
    truth, row = trace.truth, trace.source
    assert not (trace.time > truth["death_s"][row]).any()
    assert not (trace.time < np.floor(truth["birth_s"][row])).any()
    for column, share in (("death_s", EVEN.dying), ("birth_s", EVEN.waking)):
        found = np.isfinite(truth[column]).mean()
        assert abs(found - share) < SIGMAS * np.sqrt(share * (1 - share) / 1000)
    alive = np.isnan(truth["death_s"]) & np.isnan(truth["birth_s"])
    assert truth["rate"][alive] == pytest.approx(truth["rate_alive"][alive])


def test_mixed_has_some_of_everything():
    trace = draw("mixed", 10, sources=1000)
    names, found = np.unique(trace.truth["kind"].astype(str), return_counts=True)
    assert sorted(names) == sorted(set(KINDS) - {"mixed"})
    assert (np.abs(found - 200) < SIGMAS * np.sqrt(160)).all()


def test_the_seed_decides_everything():
    one, two, other = (synth("mixed", 50, DAY, seed=seed) for seed in (1, 1, 2))
    assert (one.time == two.time).all()
    assert len(one.time) != len(other.time) or (one.time != other.time).any()


def test_who_publishes_nothing_keeps_a_row():
    trace = synth("poisson", 500, DAY, seed=0)
    assert len(trace) == 500
    assert (counts(trace) == 0).any()
    assert (np.round(trace.time, 3) == trace.time).all()


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"sources": 0}, "sources must be at least 1"),
        ({"span": 0.0}, "span must be positive"),
        ({"span": 1e15}, "items are too many"),
        ({"laws": Laws(rate=-1.0)}, "rate must be positive"),
        ({"laws": Laws(branching=1.0)}, "branching must lie between 0 and 1"),
        ({"laws": Laws(jump=-1.0)}, "jump must lie between 0 and 20"),
    ],
)
def test_what_cannot_be_drawn_is_refused(asked, what):
    with pytest.raises(BadInput, match=what):
        synth(**{"kind": "poisson", "sources": 10, "span": DAY} | asked)


def test_an_unknown_kind_suggests_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'hawkes'"):
        synth("hawks", 10, DAY)
