"""A fleet of sources laid out as columns, and one source as a row of it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput, UnknownName
from dayfly.model.arrays import Array, Rows
from dayfly.model.harvest import Ephemeral, Freshness, Harvest, TwoPhase
from dayfly.model.mixed import Mixed
from dayfly.model.rules import NUMBERS, complaint, first_bad
from dayfly.model.window import Windowed

#: The kinds of source; a fleet stores their position in this list, one byte per source.
KINDS = ("ephemeral", "two_phase", "freshness")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One feed or page whose items lose their worth as they age."""

    #: New items per second (Λ); for freshness, requests per second.
    arrival: float
    #: Loss of interest per second (μ), ln 2 / half-life; for freshness, changes per second.
    decay: float
    #: Worth of one item when it is new (ξ̄).
    worth: float = 1.0
    #: Budget units that one crawl uses (C).
    cost: float = 1.0
    #: Items older than this are gone, in seconds.
    lifetime: float = float("inf")
    #: The feed shows only this many of its newest items.
    window: float = float("inf")
    #: ephemeral, two_phase or freshness.
    kind: str = "ephemeral"
    #: two_phase: the slower of the two decays, and the share of interest that follows it.
    slow_decay: float = 0.0
    slow_share: float = 0.0
    #: Identifier chosen by the caller; stable for the life of the source.
    id: str = ""
    #: The machine that answers; politeness counts per host.
    host: str = ""


class Fleet:
    """Many sources as columns of shape (n_sources,); scalars broadcast, nothing can be changed.

    Times are in one unit throughout (seconds wherever Dayfly crawls; the papers' epoch in `lab`).

    Examples
    --------
    The four sources of the papers' Table I:

    >>> fleet = Fleet(arrival=250, decay=[.7, .35, .7, .21], worth=[1, .7, .2, .08])
    >>> len(fleet), fleet[1].worth, fleet.kind[0]
    (4, 0.7, 'ephemeral')
    """

    def __init__(
        self,
        *,
        arrival: npt.ArrayLike,
        decay: npt.ArrayLike,
        worth: npt.ArrayLike = 1.0,
        cost: npt.ArrayLike = 1.0,
        lifetime: npt.ArrayLike = np.inf,
        window: npt.ArrayLike = np.inf,
        slow_decay: npt.ArrayLike = 0.0,
        slow_share: npt.ArrayLike = 0.0,
        kind: str | Sequence[str] | npt.NDArray[Any] = "ephemeral",
        id: Sequence[str] | None = None,
        host: str | Sequence[str] | None = None,
    ) -> None:
        given = {
            "arrival": arrival, "decay": decay, "worth": worth, "cost": cost,
            "lifetime": lifetime, "window": window,
            "slow_decay": slow_decay, "slow_share": slow_share,
        }  # fmt: skip
        columns = {name: _floats(name, column) for name, column in given.items()}
        sized = {n: len(c) for n, c in columns.items() if c.ndim}
        if id is not None:
            sized["id"] = len(id)
        if not isinstance(kind, str):
            sized["kind"] = len(kind)
        if host is not None and not isinstance(host, str):
            sized["host"] = len(host)
        n = max(sized.values(), default=1) if 0 not in sized.values() else 0
        for name, length in sized.items():
            if length != n:
                raise BadInput(f"column {name} has {length} values where others have {n}")
        for name, column in columns.items():
            _check(name, column)
        self._n = n
        self._row: range | Rows = range(n)
        self.arrival, self.decay, self.worth, self.cost = (
            _full(columns[name], n) for name in ("arrival", "decay", "worth", "cost")
        )
        self.lifetime, self.window = (_full(columns[name], n) for name in ("lifetime", "window"))
        self.slow_decay = _full(columns["slow_decay"], n)
        self.slow_share = _full(columns["slow_share"], n)
        self.kind_code = _kinds(kind, n)
        self._id: npt.NDArray[np.object_] | None = None
        if id is not None:
            self._id = np.array([str(name) for name in id], dtype=object)
            if len(set(self._id)) < n:
                raise BadInput(f"duplicate id {_first_duplicate(self.id)!r}")
        self.host_code, self.hosts = _codes(host, n)
        self._check_income()
        self._check_kinds()

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        return f"<Fleet of {self._n} sources>"

    def __getitem__(self, row: int) -> Source:
        if not -self._n <= row < self._n:
            raise IndexError(f"row {row} of a fleet of {self._n}")
        numbers = {name: float(getattr(self, name)[row]) for name in NUMBERS}
        return Source(
            **numbers,
            kind=KINDS[self.kind_code[row]],
            id=str(self._row[row]) if self._id is None else self._id[row],
            host=self.hosts[self.host_code[row]],
        )

    def __iter__(self) -> Iterator[Source]:
        return (self[row] for row in range(self._n))

    @classmethod
    def of(cls, sources: Iterable[Source]) -> Fleet:
        """A fleet from single sources; rows keep their order."""
        rows = list(sources)
        names = [*NUMBERS, "kind", "host"]
        columns: dict[str, Any] = {name: [getattr(s, name) for s in rows] for name in names}
        if any(s.id for s in rows):
            columns["id"] = [s.id or str(row) for row, s in enumerate(rows)]
        return cls(**columns)

    @property
    def id(self) -> tuple[str, ...]:
        """Identifiers; row numbers where none were given."""
        return tuple(str(row) for row in self._row) if self._id is None else tuple(self._id)

    @property
    def host(self) -> tuple[str, ...]:
        """Host of each source; empty where none was given."""
        return tuple(self.hosts[code] for code in self.host_code)

    @property
    def kind(self) -> tuple[str, ...]:
        """Kind of each source, by name."""
        return tuple(KINDS[code] for code in self.kind_code)

    def take(self, rows: Rows | slice | Sequence[int]) -> Fleet:
        """Some of the rows, as a fleet of its own."""
        part = object.__new__(Fleet)
        for name in (*NUMBERS, "kind_code", "host_code"):
            column = getattr(self, name)[rows]
            column.flags.writeable = False
            setattr(part, name, column)
        part._n, part.hosts = len(part.arrival), self.hosts
        # Names are looked up when somebody asks for them: a part of a million rows has its own
        # names only where the whole has.
        part._id = None if self._id is None else self._id[rows]
        part._row = np.arange(self._n)[rows] if isinstance(self._row, range) else self._row[rows]
        return part

    @classmethod
    def assemble(
        cls,
        columns: Mapping[str, Array],
        *,
        kind_code: npt.NDArray[np.uint8],
        host_code: npt.NDArray[np.int32],
        hosts: tuple[str, ...],
    ) -> Fleet:
        """A fleet from columns that are known to be right, all of them, unchecked and uncopied."""
        fleet = object.__new__(cls)
        for name in NUMBERS:
            column = columns[name].view()
            column.flags.writeable = False
            setattr(fleet, name, column)
        fleet.kind_code, fleet.host_code, fleet.hosts = kind_code, host_code, hosts
        fleet._n, fleet._id = len(fleet.arrival), None
        fleet._row = range(fleet._n)
        return fleet

    @property
    def named(self) -> bool:
        """Whether the sources have identifiers of their own."""
        return self._id is not None

    def named_by(self, names: Sequence[str]) -> Fleet:
        """The same sources under these identifiers."""
        fleet = self.take(slice(None))
        fleet._id = np.array(names, dtype=object)
        return fleet

    def concat(self, other: Fleet) -> Fleet:
        """These sources, then those; names only if both have them."""
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in NUMBERS
        }
        if self._id is not None and other._id is not None:
            columns["id"] = [*self._id, *other._id]
        return Fleet(**columns, kind=[*self.kind, *other.kind], host=[*self.host, *other.host])

    def replace(self, **columns: Any) -> Fleet:
        """The same fleet with some columns changed."""
        names = (*NUMBERS, "kind", "host")
        kept = {name: getattr(self, name) for name in names if name not in columns}
        return Fleet(**{"id": self._id, **kept, **columns})

    @functools.cached_property
    def harvest(self) -> Harvest:
        """The harvest curves of all rows."""
        parts: list[tuple[Rows, Harvest]] = []
        windowed = np.isfinite(self.window) & (self.kind_code == KINDS.index("ephemeral"))
        for code, has_window in ((0, False), (0, True), (1, False), (2, False)):
            rows = np.flatnonzero((self.kind_code == code) & (windowed == has_window))
            if len(rows) == self._n:
                return self._curves(slice(None), code, has_window)
            if len(rows):
                parts.append((rows, self._curves(rows, code, has_window)))
        return Mixed(self._n, parts)

    def _curves(self, rows: Rows | slice, code: int, windowed: bool) -> Harvest:
        arrival, worth, decay = self.arrival[rows], self.worth[rows], self.decay[rows]
        if windowed:
            return Windowed(arrival, worth, decay, self.window[rows], self.lifetime[rows])
        if code == KINDS.index("freshness"):
            return Freshness(arrival * worth, decay)
        if code == KINDS.index("two_phase"):
            slow = self.slow_share[rows]
            return TwoPhase(
                Ephemeral(arrival * worth * (1.0 - slow), decay),
                Ephemeral(arrival * worth * slow, self.slow_decay[rows]),
            )
        return Ephemeral(arrival * worth, decay, self.lifetime[rows])

    def _check_income(self) -> None:
        with np.errstate(over="ignore"):
            huge = np.isinf(self.arrival * self.worth)
        if huge.any():
            raise BadInput(f"arrival[{int(np.argmax(huge))}] × worth is too large for a number")

    def _check_kinds(self) -> None:
        wrong = first_misfit(self.kind_code, {name: getattr(self, name) for name in NUMBERS})
        if wrong is not None:
            row, name, rule = wrong
            raise BadInput(f"{name}[{row}] {rule}")


def first_misfit(
    kind_code: npt.NDArray[np.uint8], columns: Mapping[str, Array]
) -> tuple[int, str, str] | None:
    """Row, column and rule of the first value that its kind of source does not use."""
    ephemeral = kind_code == KINDS.index("ephemeral")
    two_phase = kind_code == KINDS.index("two_phase")
    found = []
    for name, wrong, of in (
        ("lifetime", ~ephemeral & np.isfinite(columns["lifetime"]), "ephemeral"),
        ("window", ~ephemeral & np.isfinite(columns["window"]), "ephemeral"),
        ("slow_share", ~two_phase & (columns["slow_share"] > 0), "two_phase"),
        ("slow_decay", ~two_phase & (columns["slow_decay"] > 0), "two_phase"),
    ):
        if wrong.any():
            row = int(np.argmax(wrong))
            this = KINDS[kind_code[row]]
            found.append((row, name, f"applies to {of} sources, this one is {this}"))
    return min(found, default=None, key=lambda misfit: misfit[0])


def _floats(name: str, column: npt.ArrayLike) -> Array:
    try:
        array = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"column {name} must hold numbers: {error}") from None
    if array.ndim > 1:
        raise BadInput(f"column {name} must have one dimension, got shape {array.shape}")
    return array


def _check(name: str, column: Array) -> None:
    flat, rule = np.atleast_1d(column), NUMBERS[name][1]
    row = first_bad(rule, flat)
    if row is not None:
        where = f"{name}[{row}]" if column.ndim else name
        raise BadInput(f"{where} {complaint(rule, float(flat[row]))}")


def _full(column: Array, n: int) -> Array:
    """A read-only column; a scalar stays one number in memory however long the fleet is."""
    if column.ndim == 0:
        return np.broadcast_to(column, (n,))
    base: Any = column
    while isinstance(base, np.ndarray):  # whoever can write to it could change a fleet
        if base.flags.writeable:
            column = column.copy()
            column.flags.writeable = False
            break
        base = base.base
    return column


def _kinds(kind: str | Sequence[str] | npt.NDArray[Any], n: int) -> npt.NDArray[np.uint8]:
    if isinstance(kind, str):
        if kind not in KINDS:
            raise UnknownName("kind of source", kind, KINDS)
        return np.broadcast_to(np.uint8(KINDS.index(kind)), (n,))
    codes = {name: code for code, name in enumerate(KINDS)}
    for name in dict.fromkeys(kind):
        if name not in codes:
            raise UnknownName("kind of source", str(name), KINDS)
    return np.fromiter(map(codes.__getitem__, kind), np.uint8, len(kind))


def _codes(
    host: str | Sequence[str] | None, n: int
) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    if host is None or isinstance(host, str):
        return np.broadcast_to(np.int32(0), (n,)), (host or "",)
    names = {name: code for code, name in enumerate(dict.fromkeys(map(str, host)))}
    codes = np.fromiter(map(names.__getitem__, map(str, host)), np.int32, len(host))
    return codes, tuple(names) or ("",)


def _first_duplicate(ids: Sequence[str]) -> str:
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            return name
        seen.add(name)
    raise AssertionError("called without a duplicate")
