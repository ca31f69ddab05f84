"""What every contender must satisfy, ours or a user's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dayfly.model import Array, Rows, Visits
from dayfly.policies.contender import Contender, Contest

#: Instants that each small contest lasts.
_INSTANTS = 40
_EPOCH = 900.0


def check_contender(make: Callable[[Contest], Contender], seed: int = 0) -> None:
    """Raise an AssertionError that says which promise of `Contender` this one breaks.

    It plays small contests: with many sources and with one, some of which never publish; with and
    without a window; at budgets from none to more than there are sources. It must choose rows that
    exist, none twice, at most as many as it may; choose the same in two contests that are alike;
    leave what it is shown alone; and carry on where its visits bring nothing, or none was made.

    Parameters
    ----------
    make
        Makes the contender for a contest.
    seed
        What the sources publish is drawn; the same for the same seed.

    Examples
    --------
    >>> from dayfly.policies.field import FIELD
    >>> check_contender(FIELD["b1_fixed"])
    """
    for sources, budget, window in (
        (30, 3.0, 5),
        (30, 0.4, None),
        (12, 40.0, 2),
        (1, 1.0, 5),
        (1, 3.0, None),
    ):
        contest = Contest(
            sources=sources, start=1_600_000_000.0, epoch=_EPOCH, budget=budget, decay=1e-4,
            window=window, span=_INSTANTS * _EPOCH,
        )  # fmt: skip
        choices = [_play(make(contest), contest, seed) for _ in range(2)]
        told = f"{sources} sources, budget {budget:g}, window {window}"
        assert choices[0] == choices[1], f"two contests alike, two answers ({told})"


def _play(contender: Contender, contest: Contest, seed: int) -> list[list[int]]:
    """All that it chose in a small contest."""
    published = _published(contest, np.random.default_rng(seed))
    rng = np.random.default_rng(seed + 1)
    last, chosen = np.full(contest.sources, -np.inf), []
    for number in range(_INSTANTS):
        now = contest.start + number * contest.epoch
        k = int(contest.budget * (number + 1)) - int(contest.budget * number)
        rows = contender.choose(now, k, rng)
        _keeps_to_the_rules(rows, contest.sources, k)
        # Now and then nobody answers: there are no visits to observe.
        visited = rows[:0] if number % 7 == 3 else rows
        visits = _visits(published, now, visited, last, contest.window)
        columns = {name: getattr(visits, name).copy() for name in ("row", "gap", "published")}
        contender.observe(visits)
        for name, column in columns.items():
            assert np.array_equal(column, getattr(visits, name)), f"observe changed visits.{name}"
        last[visited] = now
        chosen.append([int(row) for row in rows])
    return chosen


def _published(contest: Contest, rng: np.random.Generator) -> list[Array]:
    """When each source publishes, before and during the contest; every third does not at all."""
    begin, end = contest.start - 40 * 86_400.0, contest.start + contest.span
    mean = 10 ** rng.uniform(0, 3, contest.sources)
    mean[2::3] = 0.0
    return [np.sort(rng.uniform(begin, end, int(rng.poisson(one)))) for one in mean]


def _visits(
    published: list[Array], now: float, rows: Rows, last: Array, window: int | None
) -> Visits:
    shown: list[Array] = []
    new: list[int] = []
    for row in rows.tolist():
        there = published[row][published[row] <= now]
        shown.append(there if window is None else there[-window:])
        new.append(int((shown[-1] > last[row]).sum()))
    start = np.zeros(len(rows) + 1, dtype=np.int64)
    start[1:] = np.cumsum([len(items) for items in shown])
    times = np.concatenate([*shown, np.empty(0)])
    return Visits(
        time=now,
        row=rows,
        gap=now - last[rows],
        start=start,
        published=times,
        worth=np.ones(len(times)),
        new=np.array(new, dtype=np.int64),
        value=np.array(new, dtype=np.float64),
    )


def _keeps_to_the_rules(rows: Rows, sources: int, k: int) -> None:
    assert isinstance(rows, np.ndarray), f"rows must be an array, not {type(rows).__name__}"
    assert rows.ndim == 1, f"rows must have one dimension, not {rows.ndim}"
    assert np.issubdtype(rows.dtype, np.integer), f"rows must be whole numbers, not {rows.dtype}"
    assert len(rows) <= k, f"chose {len(rows)} rows where {k} were to be had"
    inside = bool(((rows >= 0) & (rows < sources)).all())
    assert inside, f"rows must lie between 0 and {sources - 1}, got {rows.tolist()}"
    assert len(np.unique(rows)) == len(rows), f"chose a row twice: {rows.tolist()}"
