"""Play a recorded trace against a rule that starts cold and sees only what its visits reveal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dayfly.errors import BadInput
from dayfly.model import Array, Counts, Rows, Visits
from dayfly.policies import Contender, Contest
from dayfly.simulate.trace import Trace

Make = Callable[[Contest], Contender]
Progress = Callable[[int, int], None]

_DAY = 86400.0
#: More instants than this are not a contest but a time that was mistyped.
_MOST = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """What a contender caught of a trace. Counts and values are of items published in the contest.

    Every such item was caught, or lost, or still waited to be seen when the contest ended.
    """

    #: `value` of `published`, in all and of what was published on each day since the start.
    share: float
    share_by_day: Array
    #: Items published, items seen, items pushed out of the window before they were seen.
    items: int
    caught: int
    lost: int
    #: Of the items caught: time from being published to being seen. NaN if there are none.
    delay_mean_s: float
    delay_p95_s: float
    #: Visits made.
    crawls: int
    seed: int
    #: Worth of what was caught when it was caught, and worth of all that was published when new.
    value: float
    published: float
    #: The same by the day on which the items were published.
    value_by_day: Array
    published_by_day: Array


def replay(
    trace: Trace,
    make: Make,
    *,
    budget: float,
    epoch: float,
    decay: float,
    start: float,
    until: float | None = None,
    window: int | None = 20,
    seed: int = 0,
    progress: Progress | None = None,
) -> Replay:
    """Let a contender crawl a trace from a cold start.

    Parameters
    ----------
    trace
        What was published, and when.
    make
        Makes the contender from what it is told beforehand, which is nothing about the sources.
    budget
        Visits per epoch. A fraction carries over until it makes a whole visit; a visit that is not
        made is gone.
    epoch
        Seconds between two instants of choice; the first of them is `start`.
    decay
        Loss of interest per second: an item seen s seconds after it was published is worth
        e^(−decay·s) of its worth.
    start, until
        The contest, POSIX seconds, `until` excluded. Items before it are history: a visit can show
        them, and they earn nothing. By default it ends with the epoch of the last item.
    window
        A source shows so many of its newest items; None: all of them.
    seed
        Decides what the contender draws. The world draws nothing.
    progress
        Called with how many instants are done, and of how many.

    Examples
    --------
    >>> class Both:
    ...     def __init__(self, contest): pass
    ...     def choose(self, now, k, rng): return np.arange(k)
    ...     def observe(self, visits): pass
    >>> trace = Trace.from_columns(["a", "b", "a"], [0.0, 100.0, 150.0])
    >>> run = replay(trace, Both, budget=2, epoch=60, decay=1e-9, start=50.0, until=200.0)
    >>> run.items, run.caught, run.delay_mean_s, run.crawls
    (2, 2, 15.0, 6)
    """
    contest, instants = _contest(trace, budget, epoch, decay, start, until, window)
    feeds = _Feeds(trace, instants, contest)
    contender = make(contest)
    rng = np.random.default_rng(seed)
    affordable = np.floor(np.arange(len(instants) + 1) * budget * (1 + 1e-12)).astype(np.int64)
    pay = np.minimum(np.diff(affordable), len(trace)).tolist()
    every, crawls = max(len(instants) // 200, 1), 0
    for number, now in enumerate(instants.tolist()):
        if pay[number]:
            rows = _chosen(contender, now, pay[number], len(trace), rng)
            if len(rows):
                contender.observe(feeds.visit(number, now, rows))
                crawls += len(rows)
        if progress is not None and number % every == 0:
            progress(number + 1, len(instants))
    if progress is not None:
        progress(len(instants), len(instants))
    return _account(trace, contest, feeds, crawls, seed)


class _Feeds:
    """What every source shows at each instant, and what of it has been seen."""

    def __init__(self, trace: Trace, instants: Array, contest: Contest) -> None:
        self.trace, self.contest = trace, contest
        # One sorted column answers "how many items has this row by this instant": row first, then
        # the number of the instant from which on an item is there.
        self._stride = len(instants) + 1
        self._key = trace.source * self._stride + np.searchsorted(instants, trace.time)
        self._last = np.full(len(trace), -np.inf)
        #: Items before this position have been seen, or have been missed.
        self.passed = trace.start[:-1].copy()
        self.seen_at = np.full(len(trace.time), np.nan)
        self.lost = 0
        self._counts = trace.time >= contest.start
        #: Where the items of each row begin that are not history.
        self._opening = trace.start[:-1] + np.bincount(
            trace.source[~self._counts], minlength=len(trace)
        )

    def visit(self, number: int, now: float, rows: Rows) -> Visits:
        """Visit these rows at this instant."""
        end = np.searchsorted(self._key, rows * self._stride + number, side="right")
        first = self._first_shown(rows, end)
        passed = self.passed[rows]
        fresh = np.maximum(passed, first)
        self._lose(rows, passed, first)
        start = np.zeros(len(rows) + 1, dtype=np.int64)
        shown = end - first
        np.cumsum(shown, out=start[1:])
        item = np.arange(start[-1]) + np.repeat(first - start[:-1], shown)
        published, worth = self.trace.time[item], self.trace.worth[item]
        is_new = item >= np.repeat(fresh, shown)
        earns = np.flatnonzero(is_new & self._counts[item])
        gain = worth[earns] * np.exp(-self.contest.decay * (now - published[earns]))
        visit_of = np.searchsorted(start, earns, side="right") - 1
        gap = now - self._last[rows]
        self.seen_at[item[earns]] = now
        self.passed[rows] = end
        self._last[rows] = now
        return Visits(
            time=now,
            row=rows,
            gap=gap,
            start=start,
            published=published,
            worth=worth,
            new=end - fresh,
            value=_sums(visit_of, gain, len(rows)),
        )

    def close(self, until: float) -> None:
        """The end: what nobody has seen and the window no longer shows is lost, too."""
        rows = np.arange(len(self.trace))
        ended = np.bincount(self.trace.source[self.trace.time < until], minlength=len(rows))
        end = self.trace.start[:-1] + ended
        self._lose(rows, self.passed, self._first_shown(rows, end))

    def _first_shown(self, rows: Rows, end: Counts) -> Counts:
        if self.contest.window is None:
            return self.trace.start[rows]
        return np.maximum(end - self.contest.window, self.trace.start[rows])

    def _lose(self, rows: Rows, passed: Counts, first: Counts) -> None:
        missed = first - np.maximum(passed, self._opening[rows])
        self.lost += int(np.maximum(missed, 0).sum())


def _contest(
    trace: Trace,
    budget: float,
    epoch: float,
    decay: float,
    start: float,
    until: float | None,
    window: int | None,
) -> tuple[Contest, Array]:
    """The contest and its instants, if they make sense."""
    for name, given in (("budget", budget), ("epoch", epoch), ("decay", decay)):
        if not 0 < given < np.inf:
            raise BadInput(f"{name} must be positive and finite, got {given:g}")
    if window is not None and window < 1:
        raise BadInput(f"window must be at least 1, or None for all items, got {window}")
    if not len(trace.time):
        raise BadInput("the trace is empty: there is nothing to catch")
    if until is None:
        until = start + (np.floor((trace.last - start) / epoch) + 1) * epoch
    if not np.isfinite(start) or not start < until < np.inf:
        raise BadInput(
            f"the contest must end after it starts: from {start:.15g} to {until:.15g}, where the"
            f" trace has items from {trace.first:.15g} to {trace.last:.15g}"
        )
    span = until - start
    until = start + span  # as everybody computes it from here on, to the last bit
    if span / epoch > _MOST:
        raise BadInput(
            f"{span / epoch:,.0f} instants are too many (at most {_MOST:,}): choose a longer epoch"
            f" or an earlier end; the last item is at {trace.last:.15g}"
        )
    worth = trace.worth[(trace.time >= start) & (trace.time < until)]
    if not worth.sum() > 0:
        raise BadInput("nothing of worth is published between the start and the end of the contest")
    instants: Array = start + epoch * np.arange(int(np.ceil(span / epoch)) + 1, dtype=np.float64)
    contest = Contest(
        sources=len(trace),
        start=start,
        epoch=epoch,
        budget=budget,
        decay=decay,
        window=window,
        span=span,
    )
    return contest, instants[instants < until]


def _chosen(contender: Contender, now: float, k: int, n: int, rng: np.random.Generator) -> Rows:
    """What the contender wants, if it keeps the rules; a score won by breaking them is none."""
    answer = np.asarray(contender.choose(now, k, rng))
    name = type(contender).__name__
    if answer.ndim != 1 or (len(answer) and answer.dtype.kind not in "iu"):
        raise BadInput(f"contender {name} must choose a list of row numbers")
    rows = answer.astype(np.int64)
    if len(rows) > k:
        raise BadInput(f"contender {name} chose {len(rows)} rows where {k} were to be had")
    if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < n:
        raise BadInput(f"contender {name} chose a row outside 0 to {n - 1}")
    if len(set(rows.tolist())) < len(rows):
        raise BadInput(f"contender {name} chose a row twice")
    return rows


def _account(trace: Trace, contest: Contest, feeds: _Feeds, crawls: int, seed: int) -> Replay:
    until = contest.start + contest.span
    feeds.close(until)
    inside = np.flatnonzero((trace.time >= contest.start) & (trace.time < until))
    time, worth, seen_at = trace.time[inside], trace.worth[inside], feeds.seen_at[inside]
    caught = ~np.isnan(seen_at)
    delay = seen_at[caught] - time[caught]
    value = np.zeros(len(inside))
    value[caught] = worth[caught] * np.exp(-contest.decay * delay)
    days = int(np.ceil(contest.span / _DAY))
    day = np.minimum((time - contest.start) // _DAY, days - 1).astype(np.int64)
    value_by_day, published_by_day = _sums(day, value, days), _sums(day, worth, days)
    with np.errstate(invalid="ignore"):
        share_by_day = value_by_day / published_by_day
    return Replay(
        share=float(value.sum() / worth.sum()),
        share_by_day=share_by_day,
        items=len(inside),
        caught=int(caught.sum()),
        lost=feeds.lost,
        delay_mean_s=float(delay.mean()) if len(delay) else np.nan,
        delay_p95_s=float(np.percentile(delay, 95)) if len(delay) else np.nan,
        crawls=crawls,
        seed=seed,
        value=float(value.sum()),
        published=float(worth.sum()),
        value_by_day=value_by_day,
        published_by_day=published_by_day,
    )


def _sums(group: Counts, weight: Array, groups: int) -> Array:
    """The sum of the weights in each group."""
    return np.bincount(group, weight, minlength=groups).astype(np.float64, copy=False)
