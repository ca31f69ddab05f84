"""How the index of a source grows with its age, where a source shows only its newest items.

Divided by u* = Λξ/μ the index is a curve between 0 and 1 that depends on the age and, through the
window, on the rate: a busy source has filled its window long before a quiet one, and waiting longer
brings it nothing. The curve is tabled by rate and age; between the points it is nearly straight.
"""

from __future__ import annotations

import numpy as np

from dayfly.index import whittle_index
from dayfly.model import Array, Fleet
from dayfly.model.special import lag, rise

#: Rates are tabled so many times per doubling, from where the window cannot matter any more.
_PER_DOUBLING = 4
_LEAST, _MOST = 2.0**-6, 2.0**16
#: Ages are tabled in every epoch up to here, and then at wider and wider steps.
_EVERY, _WIDER, _AGES = 96, 1.15, 160


class Shape:
    """The index over u* by rate and age.

    Parameters
    ----------
    decay, epoch
        Loss of interest per second, and seconds between decisions.
    window
        A source shows so many of its newest items; None: all of them.

    Examples
    --------
    After a day a source with a thousand items a day has long filled its window of 20:

    >>> shape = Shape(decay=1e-4, epoch=900.0, window=20)
    >>> shape.at(np.array([1 / 86400, 1000 / 86400]), np.array([86400.0, 86400.0])).round(2)
    array([1.  , 0.16])
    """

    def __init__(self, decay: float, epoch: float, window: int | None) -> None:
        self._decay, self._epoch, self._window = decay, epoch, window
        if window is None:
            return
        steps = list(range(_EVERY))
        while len(steps) < _AGES:
            steps.append(int(np.ceil(steps[-1] * _WIDER)))
        self._ages = np.array(steps)
        # Which column each whole number of epochs belongs to: looked up, which is quicker than
        # searched.
        self._column = np.repeat(np.arange(len(steps) - 1, dtype=np.int16), np.diff(self._ages))
        # Items per lifetime of one, Λ/μ, in units of the window.
        doublings = np.arange(_PER_DOUBLING * np.log2(_LEAST), _PER_DOUBLING * np.log2(_MOST) + 1)
        self._first = float(doublings[0])
        filled = window * 2.0 ** (doublings / _PER_DOUBLING)
        fleet = Fleet(arrival=filled * decay, decay=decay, window=window)
        columns = [whittle_index(fleet, age * epoch, epoch, threads=1) for age in steps]
        self._table = np.stack(columns, axis=1) / filled[:, None]

    def at(self, rate: Array, age: Array) -> Array:
        """The index of sources with these rates at these ages, as a share of u*."""
        if self._window is None:
            x, step = self._decay * age, self._decay * self._epoch
            with np.errstate(under="ignore"):
                # [J, Theorem 1] at age kT: P(2, x) + k e^(−x) (μT − 1 + e^(−μT)).
                found: Array = rise(x) + x / step * np.exp(-x) * lag(np.array([step]))
            return found
        with np.errstate(divide="ignore"):
            row = _PER_DOUBLING * np.log2(rate / (self._decay * self._window)) - self._first
        row = np.clip(row, 0.0, len(self._table) - 1.001)
        since = np.clip(age / self._epoch, 0.0, float(self._ages[-1]) - 1e-9)
        column = self._column[since.astype(np.int64)]
        low, high = self._ages[column], self._ages[column + 1]
        across, down = (since - low) / (high - low), row.astype(np.int64)
        part = row - down
        upper = self._table[down, column] * (1 - across) + self._table[down, column + 1] * across
        lower = (
            self._table[down + 1, column] * (1 - across)
            + self._table[down + 1, column + 1] * across
        )
        result: Array = upper * (1 - part) + lower * part
        return result
