"""How feed readers decide when to look again, restated in minutes.

Each rule is a function of what one poll saw, with the rule's constants as the projects ship them,
and a small class that feeds it. Hints (a feed's ttl, the max-age of a response) and errors are
arguments of the functions; a replay has neither.
"""

from __future__ import annotations

import numpy as np

from dayfly.model import Array, Counts
from dayfly.policies.field.archive import Archive
from dayfly.policies.field.polls import DAY, Polls

WEEK = 7 * DAY
MONTH = 30 * DAY
#: Whole numbers that floats miss by less than this are meant.
_ROUNDING = 1e-9


def miniflux_round_robin(hint: Array | float = 0.0) -> Array:
    """B2: an hour, or what the feed asks for, up to a day.

    >>> float(miniflux_round_robin()), float(miniflux_round_robin(hint=300.0))
    (60.0, 300.0)
    """
    return np.minimum(DAY, np.maximum(60.0, hint))


def miniflux_entry_frequency(
    count: Counts, span: Array, factor: float = 1.0, hint: Array | float = 0.0
) -> Array:
    """B3: a week over the weekly number of items that the mean gap promises.

    `count` items of the last 7 days lie within `span` minutes.

    >>> float(miniflux_entry_frequency(np.array(28), np.array(27 * 360.0)))
    360.0
    """
    count, span = np.asarray(count), np.asarray(span)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = span / (count - 1)
        weekly = np.ceil(WEEK / gap - _ROUNDING)
        base = np.clip(WEEK / (weekly * factor), 5.0, DAY)
    base = np.where(count < 2, DAY, base)
    return np.minimum(DAY, np.maximum(base, hint))


def commafeed(silent: Array, mean_gap: Array, max_age: Array | float = 0.0) -> Array:
    """B4: half the mean gap, up to an hour; 1, 2, 4 hours once silent for 7, 14, 30 days.

    >>> commafeed(np.array([120.0, 8 * DAY, np.nan]), np.array([30.0, 30.0, np.nan])).tolist()
    [15.0, 60.0, 240.0]
    """
    least, most = 5.0, 240.0
    days = np.floor(np.asarray(silent) / DAY)
    half = np.clip(np.asarray(mean_gap) / 2, least, most / 4)
    half = np.where(np.isnan(half), most, half)
    unknown = np.isnan(days)
    minutes: Array = np.select(
        [unknown | (days >= 30), days >= 14, days >= 7], [most, most / 2, most / 4], half
    )
    return np.clip(np.maximum(minutes, max_age), least, most)


def commafeed_error(count: int) -> float:
    """B4 after so many errors in a row.

    >>> [commafeed_error(count) for count in (2, 3, 4, 6)]
    [5.0, 60.0, 120.0, 240.0]
    """
    return 5.0 if count < 3 else min(60.0 * (count - 2), 240.0)


def newsblur(stories: Counts, weight: float, silent: Array | float = 0.0) -> Array:
    """B5: tiers by the stories of the last 30 days and by the audience, before randomness.

    >>> newsblur(np.array([45, 15, 0]), weight=2.0).tolist()
    [15.0, 30.0, 240.0]
    """
    daily = np.asarray(stories) / 30.0
    busy = 6.0 if weight >= 10 else 15.0 if weight > 1 else 45.0
    slow = 60.0 if weight > 1 else 360.0
    idle = 360.0 if weight > 1 else 720.0 if weight == 1 else 1440.0
    silent = np.where(np.isfinite(silent), silent, 0.0)
    minutes: Array = np.select(
        [daily >= 1, daily > 0], [busy, slow - slow * daily], idle * np.maximum(1.0, silent / MONTH)
    )
    return np.minimum(minutes, 240.0 if weight >= 1 else 2880.0)


def newsblur_jitter(minutes: Array, rng: np.random.Generator) -> Array:
    """B5 adds up to a quarter; up to as much again where it is 5 minutes or less."""
    return minutes * (1 + rng.random(len(minutes)) * np.where(minutes <= 5, 1.0, 0.25))


def autottl(count: Counts, span: Array) -> Array:
    """B10: `span` over `count` items of the last 30 days, between an hour and a day.

    >>> autottl(np.array([100, 10]), np.array([29 * DAY, 20 * DAY])).round(1).tolist()
    [417.6, 1440.0]
    """
    mean = np.asarray(span) / np.maximum(count, 1)
    return np.where((mean == 0) | (mean > DAY), DAY, np.maximum(mean, 60.0))


def feed_io(silent: Array, mean_gap: Array, median_gap: Array) -> Array:
    """B11: when the next item is expected, a tenth of a gap late; a day once idle.

    >>> feed_io(np.array([60.0]), np.array([240.0]), np.array([180.0])).round(6).tolist()
    [138.0]
    """
    short = 1.1 * np.minimum(mean_gap, median_gap) - silent
    long = 1.1 * np.maximum(mean_gap, median_gap) - silent
    idle = np.isnan(silent) | (np.asarray(silent) > 1.1 * WEEK)
    minutes: Array = np.select(
        [idle, short > 0, long > 0], [np.full_like(silent, DAY), short, long], 60.0
    )
    # A source expected within the same minute is due in the next one.
    return np.clip(minutes, 1.0, DAY)


def feedhq(errors: Array | float = 1.0) -> Array:
    """B14: an hour times k^1.5; k counts errors up to 10, is 1 after a success, 3 with push.

    >>> feedhq(np.array([1.0, 2.0, 3.0, 10.0])).round().tolist()
    [60.0, 170.0, 312.0, 1897.0]
    """
    return np.asarray(60.0 * np.asarray(errors, dtype=np.float64) ** 1.5)


def feedhq_errors(errors: float, *, failed: bool, push: bool = False) -> float:
    """B14's k after a poll: one more per error up to 10, else back to 1; at least 3 with push."""
    return max(min(10.0, errors + 1) if failed else 1.0, 3.0 if push else 1.0)


class EntryFrequency:
    """B3 on the items that Miniflux has stored."""

    def __init__(self, sources: int) -> None:
        self.archive = Archive(sources)

    def after(self, polls: Polls) -> Array:
        """By the items of the last 7 days."""
        self.archive.add(polls)
        return miniflux_entry_frequency(*self.archive.within(polls.row, polls.time, WEEK))


class CommaFeed:
    """B4 on the fetched document."""

    def after(self, polls: Polls) -> Array:
        """By the newest item and the mean gap."""
        return commafeed(polls.silent, polls.mean_gap)


class NewsBlur:
    """B5 with the same audience for every source."""

    def __init__(self, sources: int, weight: float) -> None:
        # The table does not tell 30 stories a month from 3,000.
        self.archive, self.weight = Archive(sources, size=30), weight

    def after(self, polls: Polls) -> Array:
        """By the stories of the last 30 days; `newsblur_jitter` comes on top."""
        self.archive.add(polls)
        stories, _ = self.archive.within(polls.row, polls.time, MONTH)
        silent = self.archive.silent(polls.row, polls.time)
        return newsblur(stories, self.weight, silent)


class AutoTTL:
    """B10 on the items that FreshRSS has stored."""

    def __init__(self, sources: int) -> None:
        self.archive = Archive(sources)

    def after(self, polls: Polls) -> Array:
        """By the items of the last 30 days."""
        self.archive.add(polls)
        return autottl(*self.archive.within(polls.row, polls.time, MONTH))


class FeedIo:
    """B11 on the fetched document."""

    def after(self, polls: Polls) -> Array:
        """By the newest item, the mean and the median gap."""
        return feed_io(polls.silent, polls.mean_gap, polls.median_gap)


class GoRead:
    """B12: half a decayed mean of the times between polls that found something.

    The decay constant is not known; here the newest time counts a quarter. Until there are two
    such polls the mean is taken to be 6 hours. While a source is silent for longer than the mean,
    the silence takes its place: the interval grows.
    """

    share, start = 0.25, 360.0

    def __init__(self, sources: int) -> None:
        self.mean = np.full(sources, np.nan)
        #: The last poll that found something; at first the first one, whatever it found.
        self.found = np.full(sources, np.nan)

    def after(self, polls: Polls) -> Array:
        """Between 20 minutes and 12 hours."""
        row, changed = polls.row, polls.changed
        first = np.isnan(self.found[row])
        since = np.where(first, 0.0, polls.time - self.found[row])
        mean = self.mean[row]
        learned = np.where(np.isnan(mean), since, mean + self.share * (since - mean))
        mean = np.where(changed & ~first, learned, mean)
        self.mean[row] = mean
        self.found[row] = np.where(changed | first, polls.time, self.found[row])
        mean = np.where(np.isnan(mean), self.start, mean)
        expected = np.where(changed, mean, np.maximum(mean, since))
        return np.clip(expected / 2, 20.0, 720.0)


class ClockGrid:
    """B13: the next multiple of `minutes` on one clock for all, counted from a Monday."""

    #: 5 January 1970 was a Monday.
    monday = 4 * DAY

    def __init__(self, minutes: float = 60.0) -> None:
        self.minutes = minutes

    def after(self, polls: Polls) -> Array:
        """To the next point of the grid; a whole step from one of its points."""
        past = np.mod(polls.time - self.monday, self.minutes)
        rest: Array = self.minutes - past
        return rest
