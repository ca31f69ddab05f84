"""Copies of robots.txt at hand, within a bounded memory.

Of each file only the rules that concern us are kept. All origins together stay within `bytes_cap`;
beyond, those not asked about for longest are forgotten, and fetched again when they are needed.
Parsed rules, up to eighty times as large, are kept for the latest origins only.
"""

from __future__ import annotations

from collections import OrderedDict

from dayfly.fetch.robotstxt import RobotsText
from dayfly.model import RobotsCopy

#: What an origin takes beside its rules: names, times, places in tables.
_OVERHEAD = 600


class Copies:
    """Copies by name, the latest used last."""

    def __init__(
        self,
        *,
        bytes_cap: int = 256 << 20,
        parsed_cap: int = 1000,
        parsed_bytes_cap: int = 512 << 10,
    ) -> None:
        self._bytes_cap = bytes_cap
        self._parsed_cap, self._parsed_bytes_cap = parsed_cap, parsed_bytes_cap
        # In a plain dict, finding the oldest takes the longer the more were forgotten before it.
        self._copies: OrderedDict[str, RobotsCopy] = OrderedDict()
        self._bytes = 0
        self._parsed: OrderedDict[str, tuple[bytes, RobotsText]] = OrderedDict()
        self._parsed_bytes = 0

    def __len__(self) -> int:
        return len(self._copies)

    def get(self, name: str) -> RobotsCopy | None:
        """The copy kept under this name; it counts as used."""
        copy = self._copies.get(name)
        if copy is not None:
            self._copies.move_to_end(name)
        return copy

    def keep(self, name: str, copy: RobotsCopy) -> None:
        """Keep this copy instead of an earlier one."""
        earlier = self._copies.pop(name, None)
        if earlier is not None:
            self._bytes -= _OVERHEAD + len(earlier.body)
        self._copies[name] = copy
        self._bytes += _OVERHEAD + len(copy.body)
        while self._bytes > self._bytes_cap and len(self._copies) > 1:
            _, oldest = self._copies.popitem(last=False)
            self._bytes -= _OVERHEAD + len(oldest.body)

    def text(self, name: str, copy: RobotsCopy) -> RobotsText | None:
        """What the copy says, if it is at hand; it counts as used."""
        found = self._parsed.get(name)
        if found is None or found[0] != copy.body:
            return None
        self._parsed.move_to_end(name)
        return found[1]

    def keep_text(self, name: str, copy: RobotsCopy, text: RobotsText) -> None:
        """Keep at hand what the copy says."""
        self._drop(name)
        self._parsed[name] = (copy.body, text)
        self._parsed_bytes += len(copy.body)
        while len(self._parsed) > 1 and (
            len(self._parsed) > self._parsed_cap or self._parsed_bytes > self._parsed_bytes_cap
        ):
            self._drop(next(iter(self._parsed)))

    def _drop(self, name: str) -> None:
        found = self._parsed.pop(name, None)
        if found is not None:
            self._parsed_bytes -= len(found[0])
