"""Everything that is known about each source, by row, in few bytes.

Of ten million sources a decision looks up a few thousand, each of them anywhere in memory. So what
is believed about a source lies together, one cache line per source, and what the calendar keeps
about it lies together, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.model import KINDS, Array, Fleet, Mask, Rows
from dayfly.schedule.columns import aligned, longer, turned
from dayfly.schedule.names import Names

#: Columns of a record: one cache line, the half that the index needs first.
CEILING, DECAY, COST, SINCE, VISITED, NOT_BEFORE, ARRIVAL, WORTH = range(8)
#: So many of them are needed at every decision, and so many to find a source its place.
NEEDED, _LOOKED_UP = 4, 6
#: What the calendar keeps: when to look at a source, how much later it comes near, where it is.
_SLOT = np.dtype(
    [("instant", "f8"), ("ahead", "f4"), ("where", "u1"), ("flags", "u1"), ("failures", "u1"),
     ("spare", "u1")]
)  # fmt: skip
#: Bits of a flag.
IN_FLIGHT, REMOVED, OBSERVED = 1, 2, 4
#: Columns of sources that are not plain (lifetime, window, two phases), kept only if there are any.
SHAPES = ("lifetime", "window", "slow_decay", "slow_share")
_BLOCK = 1 << 14


class Roster:
    """The columns; what they say of a source is for `worth` and `rests` to tell.

    `since` is the instant from which value has been gathering at a source, in slotted time the
    number of the slot; `visited` is the last attempt, answered or not.
    """

    def __init__(self, epoch: float | None, intervals: tuple[float, float], *, named: bool) -> None:
        self.epoch, self.n = epoch, 0
        self.hosts, self.groups = Names(), Names([""])
        self.names: list[str] | None = [] if named else None
        self.record = np.empty((0, 8))
        self.slots = np.empty(0, _SLOT)
        #: Numbers of hosts. As long as all are on one, a column that takes no memory.
        self.host: npt.NDArray[np.int32] = _same(0)
        self._name_columns()
        #: Minimum and maximum interval of who has none of its own.
        self.least, self.most = intervals
        #: Whether the state of any source was ever seen or predicted.
        self.any_observed = False
        #: Whether any visit ever failed.
        self.any_failed = False
        self.fades = True
        self.optional: dict[str, npt.NDArray[Any]] = {}
        self.cheapest, self.dearest = np.inf, 0.0

    def add(
        self,
        fleet: Fleet,
        *,
        group: Sequence[str] | None,
        last: Array,
        not_before: Array,
    ) -> Rows:
        """New sources at the end; the answer is their rows."""
        first, n = self.n, len(fleet)
        self._make_room(n)
        new = slice(first, first + n)
        self.n = first + n
        self._put_nowhere(new)
        for name, column in self.optional.items():
            column[new] = self._resting(name)
        # In blocks: a record is written column by column while it is in the cache.
        for at in range(0, n, _BLOCK):
            some = slice(at, min(at + _BLOCK, n))
            record = self.record[first + some.start : first + some.stop]
            record[:, ARRIVAL], record[:, WORTH] = fleet.arrival[some], fleet.worth[some]
            record[:, DECAY], record[:, COST] = fleet.decay[some], fleet.cost[some]
            income = fleet.arrival[some] * fleet.worth[some]
            record[:, CEILING] = self.ceiling(income, fleet.decay[some])
            record[:, SINCE] = self.gathering_from(last[some])
            record[:, VISITED], record[:, NOT_BEFORE] = last[some], not_before[some]
        numbers = self.hosts.codes(fleet.hosts)
        if numbers.any() or not _is_same(self.host):
            self.own_hosts()[new] = numbers[fleet.host_code]
        if group is not None:
            self.column("group", np.int32, 0)[new] = self.groups.codes(group)
        self._add_shapes(fleet, new)
        if self.names is not None:
            self.names += fleet.id if fleet.named else map(str, range(first, self.n))
        if n:
            self.cheapest = min(self.cheapest, float(fleet.cost.min()))
            self.dearest = max(self.dearest, float(fleet.cost.max()))
        return np.arange(first, self.n)

    def ceiling(self, income: Array, decay: Array) -> Array:
        """u*, the most that ever waits on average; infinite where nothing fades."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found: Array = income / decay
        # Neither what never fades nor 0/0 is for the short formula.
        self.fades = self.fades and bool((np.isfinite(found) & (decay > 1e-100)).all())
        return found

    def gathering_from(self, instant: Array) -> Array:
        """`since` for a visit at this instant."""
        if self.epoch is None:
            return instant
        return np.floor(instant / self.epoch + 1e-9)

    def _add_shapes(self, fleet: Fleet, new: slice) -> None:
        plain = (
            np.isinf(fleet.lifetime).all()
            and np.isinf(fleet.window).all()
            and not (fleet.kind_code == KINDS.index("two_phase")).any()
        )
        if fleet.kind_code.any():
            self.column("kind_code", np.uint8, 0)[new] = fleet.kind_code
        if not plain:
            for name in SHAPES:
                self.column(name, np.float64, _RESTING[name])[new] = getattr(fleet, name)

    def fill(
        self,
        record: Array,
        host: npt.NDArray[np.int32],
        flags: npt.NDArray[np.uint8],
        failures: npt.NDArray[np.uint8],
    ) -> None:
        """Take over the columns of an earlier roster."""
        self.n = len(record)
        self.record, self.host = record, host if host.any() else _same(self.n)
        self.slots = aligned((self.n,), _SLOT)
        self._put_nowhere(slice(0, self.n))
        self.slots["flags"], self.slots["failures"] = flags, failures
        self._name_columns()

    # Columns.

    def column(self, name: str, kind: npt.DTypeLike, resting: float) -> npt.NDArray[Any]:
        """A column that most fleets do without, made when first needed."""
        if name not in self.optional:
            self.optional[name] = np.empty(self.size, dtype=kind)
            self.optional[name][: self.n] = resting
        return self.optional[name]

    def own_hosts(self) -> npt.NDArray[np.int32]:
        """The numbers of hosts, to be written to."""
        if _is_same(self.host):
            self.host = aligned((self.size,), np.dtype(np.int32))
            self.host[: self.n] = 0
        return self.host

    def _resting(self, name: str) -> float:
        """Value of an optional column where nobody said anything."""
        found: float = getattr(self, name) if name in ("least", "most") else _RESTING[name]
        return found

    @property
    def plain(self) -> bool:
        """Whether one formula serves all sources."""
        return "lifetime" not in self.optional

    def _make_room(self, n: int) -> None:
        wanted = self.n + n
        if wanted <= self.size:
            return
        self.record = longer(self.record[: self.n], wanted)
        self.slots = longer(self.slots[: self.n], wanted)
        alike = _is_same(self.host)
        self.host = _same(self.size) if alike else longer(self.host[: self.n], wanted)
        self._name_columns()
        for name, column in self.optional.items():
            self.optional[name] = longer(column[: self.n], wanted)

    def _put_nowhere(self, rows: slice) -> None:
        """Not on the agenda, nothing known: as two numbers, many times faster than by name."""
        halves = self.slots.view(np.float64).reshape(-1, 2)
        halves[rows, 0], halves[rows, 1] = np.inf, 0.0

    @property
    def size(self) -> int:
        """How many sources there is room for."""
        return len(self.slots)

    def _name_columns(self) -> None:
        """Columns by name; anew whenever they have moved."""
        self.visited, self.not_before = self.record[:, VISITED], self.record[:, NOT_BEFORE]
        self.arrival, self.worth = self.record[:, ARRIVAL], self.record[:, WORTH]
        self.instant, self.ahead = self.slots["instant"], self.slots["ahead"]
        #: Who is in the front has its place there instead.
        self.place = self.ahead.view(np.uint32)
        self.where, self.flags = self.slots["where"], self.slots["flags"]
        self.failures = self.slots["failures"]

    # Rows.

    def look_up(self, rows: Rows) -> Array:
        """The records of some rows, as columns; without what only estimates are made of."""
        return turned(self.record.take(rows, axis=0), _LOOKED_UP)

    def out(self, rows: Rows) -> Mask:
        """Who cannot be chosen whatever happens to its index: in flight or removed."""
        found: Mask = (self.flags[rows] & (IN_FLIGHT | REMOVED)) != 0
        return found

    def sample(self, most: int) -> tuple[Rows, float]:
        """Some rows, about so many, and for how many sources each of them stands.

        Every so many rows one, at random within them: sources often come in a regular order.
        """
        if self.n <= most:
            return np.arange(self.n), 1.0
        first = np.linspace(0, self.n, most, endpoint=False)
        offset = np.random.default_rng(most).random(most) * (self.n / most)
        return np.unique((first + offset).astype(np.int64)), self.n / most

    def group_of(self, rows: Rows) -> npt.NDArray[np.int32]:
        """The group of each row."""
        if "group" not in self.optional:
            return np.zeros(len(rows), np.int32)
        return self.optional["group"][rows].astype(np.int32, copy=False)

    def weight(self, rows: Rows) -> Array:
        """What multiplies the worth of each row."""
        if "weight" not in self.optional:
            return np.ones(len(rows))
        return self.optional["weight"][rows]

    def check(self, rows: object) -> Rows:
        """Rows as an array, if there are such sources."""
        found = np.atleast_1d(np.asarray(rows))
        if found.size == 0:
            return np.empty(0, dtype=np.int64)
        if found.ndim != 1 or found.dtype.kind not in "iu":
            raise BadInput(f"rows must be whole numbers, got {rows!r}")
        least, most = int(found.min()), int(found.max())
        if least < 0 or most >= self.n:
            wrong = least if least < 0 else most
            raise BadInput(f"there is no source in row {wrong}: rows go from 0 to {self.n - 1}")
        return found.astype(np.int64, copy=False)

    # As a fleet.

    def part(self, rows: Rows | slice, record: Array | None = None) -> Fleet:
        """Some sources as they are believed to be."""
        found = self.record[: self.n][rows].T if record is None else record
        n = found.shape[1]
        columns: dict[str, Array] = {
            "arrival": self.arrival[: self.n][rows],
            "decay": found[DECAY],
            "worth": self.worth[: self.n][rows],
            "cost": found[COST],
        }
        if "weight" in self.optional:
            columns["worth"] = columns["worth"] * self.optional["weight"][: self.n][rows]
        for name in SHAPES:
            column = self.optional.get(name)
            columns[name] = (
                np.broadcast_to(_RESTING[name], (n,)) if column is None else column[: self.n][rows]
            )
        kind = self.optional.get("kind_code")
        return Fleet.assemble(
            columns,
            kind_code=np.broadcast_to(np.uint8(0), (n,)) if kind is None else kind[: self.n][rows],
            host_code=self.host[: self.n][rows],
            hosts=self.hosts.all,
        )

    def fleet(self) -> Fleet:
        """All sources as they are believed to be, a copy."""
        whole = self.part(np.arange(self.n))
        return whole if self.names is None else whole.named_by(self.names)


#: Value of an optional column where nobody said anything.
_RESTING: dict[str, float] = {
    "lifetime": np.inf, "window": np.inf, "slow_decay": 0.0, "slow_share": 0.0,
    "kind_code": 0, "group": 0, "weight": 1.0, "paused": -np.inf, "surge": np.nan, "surge_at": 0.0,
}  # fmt: skip


def _same(n: int) -> npt.NDArray[np.int32]:
    """All on the first host."""
    return np.broadcast_to(np.int32(0), (n,))


def _is_same(host: npt.NDArray[np.int32]) -> bool:
    return host.strides == (0,)
