"""What every estimator must satisfy, ours or a user's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dayfly.estimate.base import Estimate, Estimator
from dayfly.model import NUMBERS, Crawl, Fleet, Item, Status, Visits

#: An instant to start from; any would do.
_START = 1.7e9
_HOUR = 3600.0
#: What vectorised arithmetic may differ from that of one number.
_ROUNDING = 1e-9


def check_estimator(make: Callable[[Fleet], Estimator], *, floats: int = 16) -> None:
    """Raise AssertionError, naming the broken promise, unless `make(fleet)` keeps them all.

    Parameters
    ----------
    make
        Makes a new estimator for a fleet of three sources.
    floats
        How many numbers per source it may remember.

    Examples
    --------
    >>> from dayfly.estimate import ArrivalEstimator
    >>> check_estimator(ArrivalEstimator)
    """
    fleet = Fleet(
        arrival=[1e-3, 1e-2, 1e-4], decay=[1e-4, 1e-3, 1e-5], worth=[1.0, 2.0, 0.5], cost=[1, 2, 1]
    )
    _updating_changes_nothing(make(fleet))
    _a_visit_without_an_answer_changes_no_belief(make(fleet))
    _only_the_crawled_source_is_touched(make(fleet))
    _memory_is_small_and_constant(make(fleet), floats)
    _stored_estimates_bring_the_belief_back(make(fleet), make(fleet))
    _a_batch_teaches_what_its_visits_teach(make(fleet), make(fleet))
    _wrong_dates_keep_estimates_finite(make(fleet))
    _wrong_dates_in_a_batch_keep_estimates_finite(make(fleet))
    _draws_repeat_with_the_seed(make(fleet))
    _refitting_depends_on_memory_alone(make(fleet), make(fleet))


def _crawls(seed: int = 0) -> list[Crawl]:
    """Thirty visits: some with news, some without, some that did not answer."""
    rng = np.random.default_rng(seed)
    crawls: list[Crawl] = []
    for step in range(30):
        time = _START + _HOUR * (step + 1)
        status = (Status.CHANGED, Status.UNCHANGED, Status.FAILED, Status.REFUSED)[
            int(rng.choice(4, p=[0.6, 0.2, 0.1, 0.1]))
        ]
        news = int(rng.integers(1, 9)) if status is Status.CHANGED else 0
        ages = np.sort(rng.uniform(0, _HOUR, news))
        items = tuple(Item(key=f"{step}.{n}", published=time - age) for n, age in enumerate(ages))
        crawls.append(
            Crawl(
                row=step % 3,
                time=time,
                status=status,
                items=items,
                visible=news + int(rng.integers(0, 3)),
                oldest_s=float(ages[-1]) if news else None,
                value=float(np.exp(-ages / _HOUR).sum()),
            )
        )
    return crawls


def _batches(seed: int = 0, window: int = 6) -> list[Visits]:
    """Twelve instants, each with visits to some of three sources that show their newest items."""
    rng = np.random.default_rng(seed)
    feeds = [np.sort(rng.uniform(_START - 30 * _HOUR, _START + 30 * _HOUR, n)) for n in (8, 90, 0)]
    last, batches = np.full(3, -np.inf), []
    for step in range(12):
        time = _START + _HOUR * (1 + step + 3 * (step > 6))
        row = np.sort(rng.choice(3, rng.integers(1, 4), replace=False))
        shown = [feeds[i][feeds[i] <= time][-window:] for i in row]
        new = np.array([int((one > last[i]).sum()) for one, i in zip(shown, row, strict=True)])
        fresh = [one[len(one) - n :] for one, n in zip(shown, new, strict=True)]
        published = np.concatenate(shown)
        batches.append(
            Visits(
                time=time,
                row=row,
                gap=time - last[row],
                start=np.concatenate([[0], np.cumsum([len(one) for one in shown])]),
                published=published,
                worth=np.ones(len(published)),
                new=new,
                value=np.array([float(np.exp(-(time - one) / _HOUR).sum()) for one in fresh]),
            )
        )
        last[row] = time
    return batches


def _singly(visits: Visits) -> list[Crawl]:
    """The same visits, one crawl each."""
    crawls = []
    for j, row in enumerate(visits.row.tolist()):
        begin, end, new = int(visits.start[j]), int(visits.start[j + 1]), int(visits.new[j])
        items = tuple(
            Item(key=str(p), published=float(visits.published[p]), worth=float(visits.worth[p]))
            for p in range(end - new, end)
        )
        crawls.append(
            Crawl(
                row=row,
                time=visits.time,
                status=Status.CHANGED if new else Status.UNCHANGED,
                items=items,
                visible=end - begin,
                oldest_s=visits.time - float(visits.published[begin]) if end > begin else None,
                value=float(visits.value[j]),
            )
        )
    return crawls


def _columns(fleet: Fleet) -> dict[str, list[float]]:
    return {name: getattr(fleet, name).tolist() for name in NUMBERS}


def _close(one: Fleet, two: Fleet) -> bool:
    return all(
        np.allclose(getattr(one, name), getattr(two, name), rtol=_ROUNDING, atol=0.0)
        for name in NUMBERS
    )


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
        _sound(estimate)


def _sound(estimate: Estimate) -> None:
    told = (estimate.arrival, estimate.decay, estimate.worth)
    assert np.isfinite(told).all(), "an estimate must be finite"
    assert min(told) >= 0, "an estimate must not be negative"
    assert not np.isnan(estimate.memory).any(), "memory must hold numbers"


def _memory_is_small_and_constant(estimator: Estimator, floats: int) -> None:
    sizes = {len(estimate.memory) for estimate in _learn(estimator, _crawls())}
    assert len(sizes) == 1, f"memory changes its length: {sorted(sizes)}"
    size = sizes.pop()
    assert size <= floats, f"memory has {size} floats per source, at most {floats} are allowed"


def _stored_estimates_bring_the_belief_back(first: Estimator, second: Estimator) -> None:
    crawls = _crawls()
    for estimate in {e.row: e for e in _learn(first, crawls)}.values():
        second.apply(estimate)
    assert _columns(first.mean()) == _columns(second.mean()), "memory does not hold all of it"
    # What they believe is the same; so must be what they learn from then on, to the last bit.
    for crawl in _crawls(seed=1):
        assert first.update(crawl) == second.update(crawl), "memory does not hold all of it"
    for visits in _batches():
        first.learn(visits)
        second.learn(visits)
    assert _columns(first.mean()) == _columns(second.mean()), "memory does not hold all of it"


def _a_batch_teaches_what_its_visits_teach(whole: Estimator, singly: Estimator) -> None:
    for visits in _batches():
        whole.learn(visits)
        _learn(singly, _singly(visits))
        assert _close(whole.mean(), singly.mean()), "learn differs from update and apply one by one"
    for crawl in _crawls(seed=1):
        one, two = whole.update(crawl), singly.update(crawl)
        same = np.allclose(one.memory, two.memory, rtol=_ROUNDING, atol=_ROUNDING)
        assert same, "learn remembers something else than update and apply one by one"


def _wrong_dates_keep_estimates_finite(estimator: Estimator) -> None:
    """Dates from the future, from 1970, before the last visit, or none at all."""
    dates = (None, _START + 1e9, 0.0, -1e12, _START - 1e6, _START)
    for step in range(24):
        time = _START + 60.0 * (step // 3)  # three visits at one instant: a gap of 0 too
        published = [dates[(step + n) % len(dates)] for n in range(step % 4)]
        known = [time - date for date in published if date is not None]
        crawl = Crawl(
            row=step % 3,
            time=time if step % 5 else time - 1e4,  # and a clock that was set back
            status=Status.CHANGED if published else Status.UNCHANGED,
            items=tuple(Item(key=f"{step}.{n}", published=d) for n, d in enumerate(published)),
            visible=len(published) + step % 2,
            oldest_s=max(known, default=None),
        )
        estimate = estimator.update(crawl)
        _sound(estimate)
        estimator.apply(estimate)
    estimator.mean()
    estimator.sample(np.random.default_rng(0))


def _wrong_dates_in_a_batch_keep_estimates_finite(estimator: Estimator) -> None:
    for step in range(6):
        published = np.array([0.0, _START + 1e9, _START - 1e6, _START, _START + 1e9])
        visits = Visits(
            time=_START + 60.0 * step,
            row=np.arange(3),
            gap=np.full(3, np.inf if step == 0 else 60.0),
            start=np.array([0, 2, 4, 5]),
            published=published,
            worth=np.ones(5),
            new=np.array([2, 1, 1]),
            value=np.ones(3),
        )
        estimator.learn(visits)
        fleet = estimator.mean()
        held = np.concatenate([fleet.arrival, fleet.decay, fleet.worth])
        assert np.isfinite(held).all(), "an estimate must be finite"
        assert held.min() >= 0, "an estimate must not be negative"


def _draws_repeat_with_the_seed(estimator: Estimator) -> None:
    _learn(estimator, _crawls())
    one = _columns(estimator.sample(np.random.default_rng(7)))
    two = _columns(estimator.sample(np.random.default_rng(7)))
    assert one == two, "sample draws from something other than the given generator"


def _refitting_depends_on_memory_alone(first: Estimator, second: Estimator) -> None:
    refit = getattr(first, "refit", None)
    if refit is None:
        return
    estimates = _learn(first, _crawls())
    refit()
    refit()
    for estimate in {e.row: e for e in estimates}.values():
        second.apply(estimate)
    second.refit()  # type: ignore[attr-defined]
    assert _columns(first.mean()) == _columns(second.mean()), "refit depends on more than memory"
