"""How good a plan is that rests on a few visits per page, beside one that knows the rates.

5,000 pages with lognormal change rates are visited at random times, once a day on average, and
each visit says only whether the page changed; how often each page is asked for is known. Then a
budget of a fifth of a visit per page and day is planned for the estimated rates, and freshness is
what the plan gives at the true ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from dayfly.estimate.changes import ChangeEstimator, bias_reduced, most_likely, naive
from dayfly.index import relax
from dayfly.lab.trials.base import Progress, Trial, TrialRow
from dayfly.model import Array, Fleet, Mask, Visits

SEED = 5
PAGES, BUDGET = 5_000, 0.2
#: Change rates per day: median, and spread of the logarithm; spread of how often pages are asked
#: for, which is known.
MEDIAN, SPREAD, WANTED = 0.25, 1.3, 1.0
VISITS = (5, 14, 50)
AIM = 0.97
#: A page that never changed is given this rate per day by the rules that would say 0.
_LEAST = 1e-4
_DAY = 86400.0


def run(*, quick: bool = False, progress: Progress | None = None) -> Trial:
    """Every estimator after 5, 14 and 50 visits, over several fleets."""
    seeds = 3 if quick else 10
    found: dict[tuple[str, int], list[float]] = {}
    for seed in range(seeds):
        for name, n, share in _one(np.random.default_rng([SEED, seed]), quick):
            found.setdefault((name, n), []).append(share)
        if progress is not None:
            progress(seed + 1, seeds)
    rows = []
    for (name, n), shares in found.items():
        aimed = name == "empirical Bayes" and n == 5
        value = float(np.mean(shares))
        rows.append(
            TrialRow(
                name=f"{name}, {n} visits", value=value, unit="%",
                aim="≥ 97 %" if aimed else "", ok=value >= AIM if aimed else None,
                note=f"freshness beside known rates; {seeds} fleets, standard deviation between"
                f" them at most {_spread(found):.2%}".replace("%", " %"),
            )
        )  # fmt: skip
    return Trial(
        name="estimation",
        question="How much of the freshness of known rates is left after a few change bits?",
        rows=rows,
        series={"visits": np.array(VISITS, dtype=np.float64)},
        seed=SEED,
    )


def _spread(found: dict[tuple[str, int], list[float]]) -> float:
    return max(float(np.std(shares, ddof=1)) for shares in found.values())


def _one(rng: np.random.Generator, quick: bool) -> list[tuple[str, int, float]]:
    pages = PAGES // 5 if quick else PAGES
    true = MEDIAN * np.exp(SPREAD * rng.standard_normal(pages))
    wanted = np.exp(WANTED * rng.standard_normal(pages))
    interval = rng.exponential(1.0, (max(VISITS), pages))
    changed = rng.random(interval.shape) < -np.expm1(-true * interval)
    best = _freshness(true, true, wanted)
    rules: dict[str, Callable[..., Array]] = {
        "changes over time": naive,
        "Cho and Garcia-Molina": bias_reduced,
        "likelihood, pseudo-intervals": functools.partial(most_likely, pseudo=0.5),
    }
    found = []
    for n in VISITS:
        row = np.tile(np.arange(pages), n)
        seen = (row, interval[:n].ravel(), changed[:n].ravel(), pages)
        for name, rule in rules.items():
            found.append(
                (name, n, _freshness(np.maximum(rule(*seen), _LEAST), true, wanted) / best)
            )
        rate = _empirical_bayes(interval[:n], changed[:n])
        found.append(("empirical Bayes", n, _freshness(rate, true, wanted) / best))
    every = np.full(pages, BUDGET)
    found.append(("all pages alike", 0, _caught(every, true, wanted) / best))
    return found


def _empirical_bayes(interval: Array, changed: Mask) -> Array:
    """Posterior mean rates per day by the estimator, fed one visit of every page at a time.

    Its pages are visited at their own times; so each gets its own clock.
    """
    pages = interval.shape[1]
    estimator = ChangeEstimator(Fleet(arrival=np.full(pages, 0.1 / _DAY), decay=1.0 / _DAY))
    estimator.answered_[:] = 0.0
    for gap, bit in zip(interval, changed, strict=True):
        estimator.answered_ = estimator.answered_ * 0.0 + _DAY * (1e6 - gap)
        new = bit.astype(np.int64)
        estimator.learn(
            Visits(
                time=1e6 * _DAY, row=np.arange(pages), gap=gap * _DAY,
                start=np.concatenate([[0], np.cumsum(new)]), published=np.zeros(int(new.sum())),
                worth=np.ones(int(new.sum())), new=new, value=new.astype(np.float64),
            )
        )  # fmt: skip
    estimator.refit()
    rate: Array = estimator.mean().arrival * _DAY
    return rate


def _freshness(believed: Array, true: Array, wanted: Array) -> float:
    """Share of requests that meet a fresh copy, if the crawl is planned for believed rates."""
    fleet = Fleet(arrival=wanted, decay=believed, kind="freshness")
    return _caught(relax(fleet, BUDGET * len(true)).rate, true, wanted)


def _caught(rate: Array, true: Array, wanted: Array) -> float:
    crawled = rate > 0
    z = true[crawled] / rate[crawled]
    return float((wanted[crawled] * -np.expm1(-z) / z).sum() / wanted.sum())
