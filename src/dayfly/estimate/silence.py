"""Who had nothing to show when it was first looked at, and who of these has begun since.

From those that began it is learned how long the others may stay silent, and what they then earn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dayfly.estimate.memory import ANSWERED, COUNT, OLDEST, TIME
from dayfly.model import Array, Mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Silence:
    """What is known of sources that had nothing to show when they were first looked at."""

    #: Who has shown nothing to this day, and who has begun since.
    silent: Mask
    woken: Mask
    #: How much of each beginning is still remembered, and the time for which all of them together
    #: were silent, in seconds, as far as that is.
    remembered: Array
    watched: float


def silence_of(memory: Array, reach: float) -> Silence:
    """Who of the sources with these memories had nothing to show; memories fade in `reach`."""
    empty = np.isinf(memory[:, OLDEST]) & np.isfinite(memory[:, ANSWERED])
    silent = empty & (memory[:, COUNT] == 0)
    woken = empty & ~silent
    # A time t is remembered as T = R (1 − e^(−t/R)). When in that time somebody woke is not known:
    # any moment is as likely as another. On average T/t is left of that moment, and
    # of the silence before it R (T/t − e^(−t/R)).
    time = memory[woken, TIME]
    left = np.maximum(1.0 - time / reach, 1e-9)
    passed = -reach * np.log(left)
    with np.errstate(invalid="ignore", divide="ignore"):
        remembered = np.where(passed > 0, time / passed, 1.0)
    watched = float(memory[silent, TIME].sum()) + reach * float((remembered - left).sum())
    return Silence(silent=silent, woken=woken, remembered=remembered, watched=watched)
