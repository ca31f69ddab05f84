"""What one contender caught in one contest with one seed."""

from __future__ import annotations

import msgspec
import numpy as np

from dayfly.model import Array
from dayfly.simulate import Replay


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a replay that the league keeps."""

    share: float
    items: int
    caught: int
    lost: int
    #: None where nothing was caught.
    delay_mean_s: float | None
    delay_p95_s: float | None
    crawls: int
    #: Value caught and value published, by the day of publication since the start.
    value_by_day: list[float]
    published_by_day: list[float]
    #: Whether the contender drew random numbers; if not, every seed gives the same.
    drew: bool
    #: Seconds of one core that the replay took.
    cpu_s: float

    @classmethod
    def of(cls, run: Replay, *, drew: bool, cpu_s: float) -> Outcome:
        """From a replay."""
        return cls(
            share=run.share,
            items=run.items,
            caught=run.caught,
            lost=run.lost,
            delay_mean_s=run.delay_mean_s if run.caught else None,
            delay_p95_s=run.delay_p95_s if run.caught else None,
            crawls=run.crawls,
            value_by_day=run.value_by_day.tolist(),
            published_by_day=run.published_by_day.tolist(),
            drew=drew,
            cpu_s=cpu_s,
        )

    def share_of(self, days: slice) -> float:
        """The share caught of what was published on some of the days; NaN if that is nothing."""
        published = float(np.sum(self.published_by_day[days]))
        return float(np.sum(self.value_by_day[days])) / published if published else np.nan

    @property
    def curve(self) -> Array:
        """The share caught of what was published on each day."""
        published = np.asarray(self.published_by_day)
        with np.errstate(invalid="ignore"):
            found: Array = np.asarray(self.value_by_day) / published
        return found
