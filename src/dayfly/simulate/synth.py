"""Traces with known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput, UnknownName
from dayfly.model import Array
from dayfly.simulate.laws import LAWS, Laws
from dayfly.simulate.trace import Trace

#: 2020-01-01, midnight UTC, when every trace begins: the time of day is that of the clock.
START = 1_577_836_800.0
#: Of which kinds a trace can be: all sources follow one law, or each draws one of them.
KINDS = (*LAWS, "mixed")
#: So many items are expected at most; they must fit in memory.
_MOST = 20_000_000


def synth(
    kind: str, sources: int, span: float, *, seed: int = 0, laws: Laws | None = None
) -> Trace:
    """A trace drawn from a law, with its truth.

    The rates are lognormal, and the same seed gives the same rates whatever the kind. Times are
    whole milliseconds. Every source has a row, also one that never publishes.

    Parameters
    ----------
    kind
        poisson, rhythm, hawkes, drift, deaths, or mixed.
    sources, span
        How many, and for how many seconds from `START` on.
    seed
        Decides everything.
    laws
        The numbers in the laws, if not the usual ones.

    Returns
    -------
    a trace whose `truth` has the columns kind, rate (expected items per second over the span) and
    what else its laws say; NaN where a law says nothing. Times in it are POSIX seconds.

    Examples
    --------
    >>> trace = synth("hawkes", sources=100, span=30 * 86400.0, seed=1)
    >>> len(trace), sorted(trace.truth)
    (100, ['branching', 'kind', 'memory_s', 'rate'])
    """
    laws = laws or Laws()
    if kind not in KINDS:
        raise UnknownName("kind of trace", kind, KINDS)
    _check(sources, span, laws)
    of_rates, of_kinds, *of_laws = np.random.default_rng(seed).spawn(2 + len(LAWS))
    rate = of_rates.lognormal(np.log(laws.rate) - 0.5 * laws.spread**2, laws.spread, sources)
    if rate.sum() * span > _MOST:
        raise BadInput(
            f"{rate.sum() * span:,.0f} items are too many (at most {_MOST:,}):"
            " fewer sources, a shorter span or a lower rate"
        )
    names = list(LAWS)
    drawn = of_kinds.integers(len(LAWS), size=sources)
    code = drawn if kind == "mixed" else np.full(sources, names.index(kind))
    truth: dict[str, npt.NDArray[Any]] = {"kind": np.array(names, dtype=object)[code]}
    rows, times = [], []
    for number, rng in enumerate(of_laws):
        members = np.flatnonzero(code == number)
        if not len(members):
            continue
        row, time, said = LAWS[names[number]](rate[members], span, rng, laws)
        rows.append(members[row])
        times.append(time)
        for name, column in said.items():
            moment = START if name in ("change_s", "birth_s", "death_s") else 0.0
            truth.setdefault(name, np.full(sources, np.nan))[members] = column + moment
    return _trace(np.concatenate(rows), np.concatenate(times), sources, truth)


def _trace(
    row: npt.NDArray[np.int64],
    time: Array,
    sources: int,
    truth: dict[str, npt.NDArray[Any]],
) -> Trace:
    # Whole milliseconds survive being written to a file and read from it. None rounds up to the
    # end, which is excluded.
    when = (np.floor(time * 1000.0) + START * 1000.0) / 1000.0
    order = np.lexsort((when, row))
    start = np.zeros(sources + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=sources), out=start[1:])
    width = len(str(max(sources - 1, 0)))
    return Trace(
        sources=tuple(f"s{number:0{width}d}" for number in range(sources)),
        start=start,
        time=when[order],
        worth=np.ones(len(when)),
        truth=truth,
    )


def _check(sources: int, span: float, laws: Laws) -> None:
    if sources < 1:
        raise BadInput(f"sources must be at least 1, got {sources}")
    for name, given in (("span", span), ("rate", laws.rate), ("memory", laws.memory)):
        if not 0 < given < np.inf:
            raise BadInput(f"{name} must be positive and finite, got {given:g}")
    for name, given in (
        ("branching", laws.branching),
        ("dying", laws.dying),
        ("waking", laws.waking),
    ):
        if not 0 <= given <= 1 or (name == "branching" and given == 1):
            raise BadInput(f"{name} must lie between 0 and 1, got {given:g}")
    for name, given in (
        ("spread", laws.spread),
        ("amplitude", laws.amplitude),
        ("jump", laws.jump),
    ):
        if not 0 <= given < 20:
            raise BadInput(f"{name} must lie between 0 and 20, got {given:g}")
