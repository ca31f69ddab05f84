"""Stages on the way to the pool, and the mark at which a source passes to the next.

The index of a source grows with time, so at any level there is one instant at which it reaches it.
If the level falls, instants that were worked out for a higher one are too late. So a source comes
closer in stages, each with a *mark* below the level, at which it is looked at again and passes to
the next:

    far     on the agenda, until it reaches the entry less a fifth
    near    on the agenda, until it reaches the entry, a sixteenth below the level
    front   in the front, until it is within 1/64 of the level
    close   in the front, until it has reached the level and nothing of its own holds it back

A note is in time as long as its mark is not above the level, wherever the level has gone since. So
a step down concerns those alone whose marks it passes: a small one the close, a few thousandths of
all, side by side in the front; a large one more of them, but seldom.
"""

from __future__ import annotations

import numpy as np

from dayfly.model import Array
from dayfly.schedule.columns import Codes
from dayfly.schedule.lanes import Lanes
from dayfly.schedule.roster import Roster

#: Where a source is. Out: in flight, removed. Held: in the front although it has reached the level,
#: because it waits for its host, or for itself. Shelf: one of very many that are worth the same.
#: Close and ready are stages only: who is close is in the front, and who is ready in the pool.
OUT, FAR, NEAR, FRONT, CLOSE, READY, POOL, SHELF, HELD = range(9)
#: From here on the number is the edition of a far source: how often the entry had moved by then.
FIRST_EDITION, _LAST_EDITION = 16, 255
#: How far below the level one enters the front, and how far below it one is close.
_ENTRY, _CLOSE = 1 / 16, 1 / 64
#: How far below the entry the far ones are noted.
_GAP = 1 / 5
#: The entry follows the level up when it lags behind by so much more.
LAG = 1 / 32


class Marks:
    """The level, the entry to the front below it, and the highest marks that anybody waits for."""

    def __init__(self, roster: Roster, lanes: Lanes) -> None:
        self._roster, self._lanes = roster, lanes
        #: Who reaches the level is ready, who reaches the entry in the front.
        self.level = self.entry = np.inf
        #: Highest mark for which anybody is noted, by stage; lanes keep their own.
        self.noted = dict.fromkeys((FAR, NEAR, FRONT, CLOSE), 0.0)
        #: The entry for which it was worked out when far ones will be near, by edition.
        self.edition = FIRST_EDITION
        self.entry_of: Array = np.zeros(_LAST_EDITION + 1)

    def of(self, stage: int, lane: Codes | None) -> Array | float:
        """The index at which who is in this stage, in these lanes, is looked at again."""
        level: Array | float = self.level
        entry: Array | float = self.entry
        if lane is not None:
            own: Array = np.append(self._lanes.level, 0.0)[lane]  # the last one for who has none
            level, entry = np.maximum(own, level), np.maximum(own * (1 - _ENTRY), entry)
        if stage == FAR:
            return entry * (1 - _GAP)
        if stage == NEAR:
            return entry
        return level * (1 - _CLOSE) if stage == FRONT else level

    def note(self, stage: int, lane: Codes | None) -> None:
        """Somebody, in these lanes, was noted for the mark of this stage."""
        mark = self.of(stage, None)
        assert isinstance(mark, float)
        self.noted[stage] = max(self.noted[stage], mark)
        if lane is not None and (lane >= 0).any():
            own = lane[lane >= 0]
            np.maximum.at(self._lanes.noted[:, stage - FAR], own, self.of(stage, own))

    def rise(self, level: float) -> None:
        """The level is higher now, or the same."""
        self.level = level
        if self.level * (1 - _ENTRY) > self.entry * (1 + LAG):
            self.set_entry()

    def set_entry(self) -> None:
        """The entry follows the level; what is worked out from now on is another edition."""
        self.entry = self.level * (1 - _ENTRY)
        self.edition += 1
        if self.edition > _LAST_EDITION:
            where = self._roster.where[: self._roster.n]
            where[where >= FIRST_EDITION] = FAR
            self.edition = FIRST_EDITION
        self.entry_of[self.edition] = self.entry
