"""How far the mean worth of a few items is to be believed, learned from the fleet.

Some fleets have sources whose items are worth a hundred times others'; in some all are alike and
single items make the difference. With means θ of the sources around m with variance A, and items
of a source spread about its mean like an exponential law (the standard deviation is the mean), the
best linear guess leans on the fleet by (Bühlmann, 1967)

    k = E[variance within] / A = (A + m²)/A    items.

A is what the means of n_i items differ by beyond what chance explains:

    Σ n_i (x̄_i − m)² / N = A + (J/N)(A + m²),    N = Σ n_i over J sources.

Where tails are heavier than exponential, chance is taken for difference to a degree that many items
make small.
"""

from __future__ import annotations

from dayfly.model import Array

#: Before anything is known of the fleet; and where sources do not differ, so many items are as good
#: as infinitely many.
_FIRST, _MOST = 1.0, 100.0


def credibility(count: Array, total: Array) -> tuple[float, float]:
    """The mean worth of an item in the fleet, and how many items of a source it weighs.

    Parameters
    ----------
    count, total
        Items of each source, and their worth in all.

    Examples
    --------
    Sources that differ are believed soon, sources that are alike hardly at all:

    >>> import numpy as np
    >>> mean, items = credibility(np.full(4, 50.0), 50.0 * np.array([1.0, 2.0, 10.0, 80.0]))
    >>> mean, round(items, 1)
    (23.25, 1.5)
    >>> credibility(np.full(4, 50.0), np.full(4, 50.0))
    (1.0, 100.0)
    """
    some = count > 0
    n, all_n = count[some], float(count[some].sum())
    if not all_n > 0:
        return 1.0, _FIRST
    mean = float(total[some].sum()) / all_n
    if not mean > 0:
        return mean, _MOST
    chance = len(n) / all_n
    apart = float((n * (total[some] / n / mean - 1.0) ** 2).sum()) / all_n
    variance = (apart - chance) / (1.0 + chance)  # A/m²
    return mean, min(1.0 + 1.0 / max(variance, 1e-9), _MOST)
