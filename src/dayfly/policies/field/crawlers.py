"""How crawlers adapt an interval to what they find, restated in minutes.

Each rule is a function from the last interval to the next one, with the constants as the projects
ship them, and a small class that remembers the interval of every source. The first fetch of a
source has nothing to compare with and leaves the interval where it starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.model import Array, Mask
from dayfly.policies.field.polls import DAY, Polls

#: Whole minutes that floats miss by less than this are meant.
_ROUNDING = 1e-9


def nutch(interval: Array, changed: Mask, since_change: Array) -> tuple[Array, Array]:
    """B6: a fifth less on change, two fifths more otherwise; the interval, and when it is due.

    `since_change` is the time since the last change was seen, 0 if it was now. The interval is no
    shorter than that, and the next poll comes 0.3 of it early.

    >>> nutch(np.array([1000.0]), np.array([False]), np.array([500.0]))
    (array([1400.]), array([1250.]))
    """
    interval = np.where(changed, 0.8, 1.4) * interval
    interval = np.clip(np.maximum(interval, since_change), 1.0, 525_600.0)
    return interval, interval - 0.3 * since_change


@dataclass(frozen=True)
class Storm:
    """B7, B8: towards `least` by `share` on change, half as long again otherwise, whole minutes.

    >>> Storm(start=1440, least=60, most=20_160, share=0.5).next(
    ...     np.array([1440.0, 1440.0]), np.array([True, False])).tolist()
    [750.0, 2160.0]
    """

    start: float
    least: float
    most: float
    share: float

    def next(self, interval: Array, changed: Mask) -> Array:
        """The interval after one more poll."""
        shorter = (1 - self.share) * interval + self.share * self.least
        longer = np.minimum(self.most, np.floor(1.5 * interval + _ROUNDING))
        return np.where(changed, np.floor(shorter + _ROUNDING), longer)


STORM_CRAWLER = Storm(start=1440, least=60, most=20_160, share=0.5)
NEWS_CRAWL = Storm(start=720, least=90, most=129_600, share=0.2)


def media_cloud(interval: Array, duplicates: Array, silent: Array) -> Array:
    """B9: longer by 10 minutes from 67 % of known items on, shorter by 60 below 33 %.

    `duplicates` is the share of the document that was known, `silent` the age of its newest item,
    NaN if there never was one.

    >>> media_cloud(np.full(3, 360.0), np.array([0.1, 0.5, 0.8]), np.zeros(3)).tolist()
    [300.0, 360.0, 370.0]
    """
    quiet = (duplicates == 1) & ~(np.asarray(silent) < 31 * DAY)
    longer = np.minimum(interval + np.where(quiet, 60.0, 10.0), DAY)
    shorter = np.where(interval > 360, 360.0, np.maximum(interval - 60, 10.0))
    return np.select([duplicates >= 0.67, duplicates < 0.33], [longer, shorter], interval)


class Nutch:
    """B6 for every source, from an interval of a day (shipped: 30 days, which never gets down)."""

    def __init__(self, sources: int, start: float = DAY) -> None:
        self.interval = np.full(sources, start)
        self.modified = np.full(sources, np.nan)

    def after(self, polls: Polls) -> Array:
        """By whether there was anything new, and since when there was not."""
        row = polls.row
        self.modified[row] = np.where(polls.changed | polls.first, polls.time, self.modified[row])
        interval, due = nutch(self.interval[row], polls.changed, polls.time - self.modified[row])
        interval = np.where(polls.first, self.interval[row], interval)
        self.interval[row] = interval
        return np.where(polls.first, interval, due)


class StormCrawler:
    """B7 or B8 for every source."""

    def __init__(self, sources: int, storm: Storm) -> None:
        self.storm = storm
        self.interval = np.full(sources, storm.start)

    def after(self, polls: Polls) -> Array:
        """By whether there was anything new."""
        before = self.interval[polls.row]
        interval = np.where(polls.first, before, self.storm.next(before, polls.changed))
        self.interval[polls.row] = interval
        return interval


class MediaCloud:
    """B9 for every source."""

    def __init__(self, sources: int) -> None:
        self.interval = np.full(sources, 360.0)

    def after(self, polls: Polls) -> Array:
        """By the share of items that were known."""
        before, shown = self.interval[polls.row], polls.shown
        duplicates = np.where(shown > 0, 1 - polls.new / np.maximum(shown, 1), 1.0)
        adapted = media_cloud(before, duplicates, polls.silent)
        interval = np.where(polls.first, before, adapted)
        self.interval[polls.row] = interval
        return interval
