"""What an estimator may know beside `update` and `apply`; a crawl makes use of it where it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dayfly.estimate import Estimate
from dayfly.model import Array, Crawl, Fleet, Rows, Source


@runtime_checkable
class Batching(Protocol):
    """An estimator that is quicker with many crawls at once."""

    def update_all(self, crawls: Sequence[Crawl]) -> list[Estimate]:
        """The same as `update` of each."""
        ...


@runtime_checkable
class Growing(Protocol):
    """An estimator that can be told of new sources, and of new numbers about old ones."""

    def add(self, fleet: Fleet) -> Fleet:
        """New sources in the next rows; as the scheduler should see them."""
        ...

    def relist(self, rows: Rows, sources: Sequence[Source]) -> list[Estimate]:
        """The operator says something else about these sources; what is believed of them now."""
        ...


@runtime_checkable
class Refitting(Protocol):
    """An estimator whose sources share a prior."""

    def refit_due(self, now: float) -> bool:
        """Whether it should be found anew."""
        ...

    def refit(self) -> None:
        """Find it anew, from what is remembered."""
        ...

    def curves(self, rows: Rows) -> tuple[Array, Array, Array]:
        """Rate, decay and worth of these sources."""
        ...
