"""The checks must catch the estimators they are there to catch."""

import numpy as np
import pytest
from msgspec.structs import replace

from dayfly.estimate import ArrivalEstimator, Estimate, check_estimator
from dayfly.model import Crawl, Fleet, Visits


class Eager(ArrivalEstimator):
    def update(self, crawl: Crawl) -> Estimate:
        estimate = super().update(crawl)
        self.apply(estimate)
        return estimate


class Forgetful(ArrivalEstimator):
    """Measures gaps from the first visit it remembers, which is in no memory."""

    def update(self, crawl: Crawl) -> Estimate:
        estimate = super().update(crawl)
        return replace(estimate, memory=estimate.memory[:2])

    def apply(self, estimate: Estimate) -> None:
        first = min(self.answered_[estimate.row], estimate.time)
        answered = estimate.time if np.isinf(first) else first
        super().apply(replace(estimate, memory=(*estimate.memory, answered)))


class Gullible(ArrivalEstimator):
    """Takes a visit that failed for one that found nothing."""

    def update(self, crawl: Crawl) -> Estimate:
        from dayfly.model import Status

        return super().update(replace(crawl, status=Status.UNCHANGED))


class Restless(ArrivalEstimator):
    def sample(self, rng: np.random.Generator) -> Fleet:
        return super().sample(np.random.default_rng())


class Sloppy(ArrivalEstimator):
    """Forgets the last visit of a batch."""

    def learn(self, visits: Visits) -> None:
        before = self.count_.copy()
        super().learn(visits)
        self.count_[visits.row[-1:]] = before[visits.row[-1:]]


class Growing(ArrivalEstimator):
    def update(self, crawl: Crawl) -> Estimate:
        estimate = super().update(crawl)
        return replace(estimate, memory=(*estimate.memory, *[0.0] * 20))

    def apply(self, estimate: Estimate) -> None:
        super().apply(replace(estimate, memory=estimate.memory[:3]))


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (Eager, "update"),
        (Gullible, "without an answer"),
        (Forgetful, "memory"),
        (Restless, "given generator"),
        (Sloppy, "one by one"),
        (Growing, "at most 16"),
    ],
)
def test_a_broken_promise_is_named(broken, promise):
    with pytest.raises(AssertionError, match=promise):
        check_estimator(broken)


def test_more_memory_can_be_allowed():
    check_estimator(Growing, floats=64)
