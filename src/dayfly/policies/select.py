"""The best sources that a budget affords: exact, ties to the lower row.

Selecting costs more than scoring once a fleet is large. A threshold from a sample leaves few
candidates; the answer is exact whenever enough lie above it, and else the threshold is lowered.
"""

from __future__ import annotations

import numpy as np

from dayfly.model import Array, Mask, Rows

_LARGE = 1 << 17
_SAMPLE = 1 << 16
#: Budgets are sums of floats: what misses by less than this has not been overspent.
_ROUNDING = 1e-9


def top(score: Array, m: int) -> Rows:
    """Rows of the m largest scores, best first; equal scores in row order.

    >>> top(np.array([3., 1., 4., 4., 2.]), 3)
    array([2, 3, 0])
    """
    n = len(score)
    m = min(m, n)
    if m <= 0:
        return np.empty(0, dtype=np.int64)
    rows = _above_sample(score, m) if n > _LARGE and m < n // 8 else None
    kept = score if rows is None else score[rows]
    if m < len(kept):
        least = np.partition(kept, len(kept) - m)[len(kept) - m]
        better = np.flatnonzero(kept > least)
        tied = np.flatnonzero(kept == least)[: m - len(better)]
        chosen = np.sort(np.concatenate([better, tied]))
    else:
        chosen = np.arange(len(kept))
    order = np.argsort(-kept[chosen], kind="stable")
    best = chosen[order] if rows is None else rows[chosen[order]]
    return best.astype(np.int64, copy=False)


def fill_budget(
    score: Array, cost: Array, budget: float, allowed: Mask | None = None, least: float = -np.inf
) -> Rows:
    """Rows by falling score until the budget is spent; who does not fit is passed over.

    Only rows that are allowed and whose score is at least `least` count.

    >>> fill_budget(np.array([5., 4., 3., 2.]), np.array([1., 2., 1., 1.]), budget=2.5)
    array([0, 2])
    """
    rows = None
    if allowed is not None or least > -np.inf:
        usable = score >= least
        if allowed is not None:
            usable &= allowed
        rows = np.flatnonzero(usable)
        score, cost = score[rows], cost[rows]
    chosen = _fill(score, cost, budget)
    return chosen if rows is None else rows[chosen].astype(np.int64, copy=False)


def affordable(budget: float, cost: float) -> int:
    """How many crawls of equal cost a budget pays for."""
    return max(int(budget / cost * (1 + _ROUNDING)), 0)


def _fill(score: Array, cost: Array, budget: float) -> Rows:
    n = len(score)
    if n == 0 or budget <= 0:
        return np.empty(0, dtype=np.int64)
    cheapest, dearest = float(cost.min()), float(cost.max())
    most = n if np.isinf(budget) else min(affordable(budget, cheapest), n)
    if cheapest == dearest or (most >= n and float(cost.sum()) <= budget):
        return top(score, most)
    wanted = min(n, 2 * int(min(budget / float(cost.mean()), n)) + 64)
    while True:
        order = top(score, wanted)
        taken, left = _take_in_order(cost[order], budget)
        # Rows beyond `wanted` matter only if one of them could still fit.
        if wanted == n or left * (1 + _ROUNDING) < cheapest:
            return order[taken]
        wanted = min(n, 4 * wanted)


def _take_in_order(cost: Array, budget: float) -> tuple[Rows, float]:
    """Positions that fit one after the other, and what is left of the budget."""
    taken, left = [], budget
    position = np.arange(len(cost))
    while len(position):
        spent = np.cumsum(cost[position])
        fits = int(np.searchsorted(spent, left * (1 + _ROUNDING), side="right"))
        taken.append(position[:fits])
        if fits:
            left = max(left - float(spent[fits - 1]), 0.0)
        rest = position[fits:]
        position = rest[cost[rest] <= left * (1 + _ROUNDING)]
    return np.concatenate(taken) if taken else np.empty(0, dtype=np.int64), left


def _above_sample(score: Array, m: int) -> Rows | None:
    """Rows above a threshold that surely keeps the best m, if the sample finds one."""
    n = len(score)
    least = enough(score[:: max(n // _SAMPLE, 1)], m / n)
    if least is None:
        return None
    rows = np.flatnonzero(score >= least)
    return rows if len(rows) >= m else None


def enough(sample: Array, share: float) -> float | None:
    """A score that the best `share` of the whole very likely reach, judging by a sample."""
    # Four standard deviations of slack: a miss is rare, and only costs a second look.
    keep = int(len(sample) * share + 4 * np.sqrt(len(sample) * share) + 4)
    if keep >= len(sample):
        return None
    return float(np.partition(sample, len(sample) - keep)[len(sample) - keep])
