"""What every estimator must satisfy, ours or a user's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dayfly.estimate.base import Estimate, Estimator
from dayfly.model import NUMBERS, Crawl, Fleet, Item, Status

#: An instant to start from; any would do.
_START = 1.7e9


def check_estimator(make: Callable[[Fleet], Estimator]) -> None:
    """Raise AssertionError, naming the broken promise, unless `make(fleet)` keeps them all.

    >>> from dayfly.estimate import ArrivalEstimator
    >>> check_estimator(ArrivalEstimator)
    """
    fleet = Fleet(
        arrival=[1e-3, 1e-2, 1e-4], decay=[1e-4, 1e-3, 1e-5], worth=[1.0, 2.0, 0.5], cost=[1, 2, 1]
    )
    _updating_changes_nothing(make(fleet))
    _a_visit_without_an_answer_changes_no_belief(make(fleet))
    _only_the_crawled_source_is_touched(make(fleet))
    _stored_estimates_bring_the_belief_back(make(fleet), make(fleet))
    _draws_repeat_with_the_seed(make(fleet))


def _crawls(seed: int = 0) -> list[Crawl]:
    """Thirty visits: some with news, some without, some that did not answer."""
    rng = np.random.default_rng(seed)
    crawls: list[Crawl] = []
    for step in range(30):
        time = _START + 3600.0 * (step + 1)
        status = (Status.CHANGED, Status.UNCHANGED, Status.FAILED, Status.REFUSED)[
            int(rng.choice(4, p=[0.6, 0.2, 0.1, 0.1]))
        ]
        news = int(rng.integers(1, 9)) if status is Status.CHANGED else 0
        ages = np.sort(rng.uniform(0, 3600, news))
        items = tuple(Item(key=f"{step}.{n}", published=time - age) for n, age in enumerate(ages))
        crawls.append(
            Crawl(
                row=step % 3,
                time=time,
                status=status,
                items=items,
                visible=news + int(rng.integers(0, 3)),
                oldest_s=float(ages[-1]) if news else None,
            )
        )
    return crawls


def _columns(fleet: Fleet) -> dict[str, list[float]]:
    return {name: getattr(fleet, name).tolist() for name in NUMBERS}


def _learn(estimator: Estimator, crawls: list[Crawl]) -> list[Estimate]:
    estimates = []
    for crawl in crawls:
        estimates.append(estimator.update(crawl))
        estimator.apply(estimates[-1])
    return estimates


def _updating_changes_nothing(estimator: Estimator) -> None:
    before = _columns(estimator.mean())
    for crawl in _crawls():
        first, second = estimator.update(crawl), estimator.update(crawl)
        assert first == second, "update answers differently the second time"
        assert (first.row, first.time) == (crawl.row, crawl.time), "update mislabels its estimate"
    assert _columns(estimator.mean()) == before, "update is not pure: apply was never called"


def _a_visit_without_an_answer_changes_no_belief(estimator: Estimator) -> None:
    _learn(estimator, _crawls())
    before = _columns(estimator.mean())
    for status in (Status.FAILED, Status.REFUSED):
        estimator.apply(
            estimator.update(Crawl(row=1, time=_START + 1e6, status=status, reason="timeout"))
        )
    assert _columns(estimator.mean()) == before, "a visit without an answer changed the belief"


def _only_the_crawled_source_is_touched(estimator: Estimator) -> None:
    for crawl in _crawls():
        before = estimator.mean()
        estimate = estimator.update(crawl)
        estimator.apply(estimate)
        after = estimator.mean()
        for row in range(len(after)):
            if row != crawl.row:
                assert before[row] == after[row], f"a crawl of {crawl.row} changed {row}"
        told = (estimate.arrival, estimate.decay, estimate.worth)
        held = after[crawl.row]
        assert told == (held.arrival, held.decay, held.worth), "mean() differs from the estimate"
        assert np.isfinite(told).all(), "an estimate must be finite"
        assert min(told) >= 0, "an estimate must not be negative"


def _stored_estimates_bring_the_belief_back(first: Estimator, second: Estimator) -> None:
    crawls = _crawls()
    for estimate in {e.row: e for e in _learn(first, crawls)}.values():
        second.apply(estimate)
    assert _columns(first.mean()) == _columns(second.mean()), "memory does not hold all of it"
    # What they believe is the same; so must be what they would learn next.
    for crawl in _crawls(seed=1):
        assert first.update(crawl) == second.update(crawl), "memory does not hold all of it"


def _draws_repeat_with_the_seed(estimator: Estimator) -> None:
    _learn(estimator, _crawls())
    one = _columns(estimator.sample(np.random.default_rng(7)))
    two = _columns(estimator.sample(np.random.default_rng(7)))
    assert one == two, "sample draws from something other than the given generator"
