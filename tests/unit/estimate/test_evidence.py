"""What visits add to memories, against the definition written out item by item."""

import math

import numpy as np
import pytest

from dayfly.estimate.evidence import add_evidence
from dayfly.estimate.memory import blank
from dayfly.model import Visits

REACH, SPAN, NOW = 7.5e6, 86400.0, 1e9


def written_out(memory, now, gap, covered, dates, worths):
    """One memory after one visit; the dates are those of the new items, oldest first."""
    count, time, squares, newest, lately, late_time, worth, oldest, answered = memory
    first, fade, fast = math.isinf(gap), math.exp(-gap / REACH), math.exp(-gap / SPAN)
    missing = not first and covered < gap
    count, time, squares, worth = (number * fade for number in (count, time, squares, worth))
    lately, late_time = lately * fast, late_time * fast
    time += REACH * (1 - math.exp(-covered / REACH))
    late_time += SPAN * (1 - math.exp(-covered / SPAN))
    before = None if first else newest
    newest = now - covered if first else newest
    for number, (date, value) in enumerate(zip(dates, worths, strict=True)):
        date = min(max(date, now - covered), now)
        weight = math.exp((date - now) / REACH)
        silence = 0.0
        if before is not None:
            silence = max((answered if missing and number == 0 else date) - before, 0.0)
        count, worth = count + weight, worth + weight * value
        lately += math.exp((date - now) / SPAN)
        known = REACH * (1 - math.exp(-silence / REACH))
        squares += weight * known**2 * (fade if missing else 1.0)
        before = newest = date
    return count, time, squares, newest, lately, late_time, worth, oldest, max(answered, now)


@pytest.mark.parametrize("items", [0.0, 0.3, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_visits_add_what_the_definition_says(seed: int, items: float) -> None:
    print("seed", seed)
    rng, n = np.random.default_rng(seed), 60
    memory = np.ascontiguousarray(blank(n).T)
    for now in (NOW, NOW + 9e4, NOW + 9.1e4, NOW + 3e6):
        # Some visits are the first; some dates are too early, some are still to come.
        memory[:, rng.random(n) < 0.3] = blank(1).T
        gap, new = np.maximum(now - memory[8], 0.0), rng.poisson(items, n)
        covered = np.where(np.isinf(gap), rng.uniform(0, 1e6, n), gap)
        covered[new > 2] *= 0.5
        start = np.concatenate([[0], np.cumsum(new + rng.integers(0, 3, n))])
        total = int(start[-1])
        published, worth = now + rng.uniform(-2e5, 1e4, total), rng.exponential(1.0, total)
        for one in range(n):
            published[start[one] : start[one + 1]].sort()
        expected = [
            written_out(
                memory[:, one], now, gap[one], covered[one],
                published[start[one + 1] - new[one] : start[one + 1]],
                worth[start[one + 1] - new[one] : start[one + 1]],
            )
            for one in range(n)
        ]  # fmt: skip
        visits = Visits(
            time=now, row=np.arange(n), gap=gap, start=start, published=published, worth=worth,
            new=new, value=np.zeros(n),
        )  # fmt: skip
        add_evidence(memory, visits, np.full(n, now), gap, covered, REACH, SPAN)
        np.testing.assert_allclose(memory.T, np.array(expected), rtol=1e-9)
