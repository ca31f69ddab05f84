"""What the decisions took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What the decisions took, counted since the scheduler was made."""

    #: Decisions, sources chosen, and sources scored to choose them.
    calls: int
    chosen: int
    scored: int
    #: Notes made, on the agenda or in the front, and of these again because the level fell.
    moved: int
    rekeyed: int
    #: Decisions that had to look at every source.
    scans: int
