"""What is kept of a key for ever, eight bytes, and for a while: itself."""

from __future__ import annotations

from collections.abc import Sequence, Set
from hashlib import blake2b
from struct import unpack

from dayfly.model import compared

_EMPTY = blake2b(digest_size=8)


def hashes(keys: Sequence[str]) -> tuple[int, ...]:
    """A signed 64-bit number for each key, the same in every process and on every machine.

    Numbers stand for keys within one source only. Two of a thousand keys share one with a chance
    of one in 3·10¹³; a source that forges such a pair hides an item of its own.

    >>> hashes(["a", "b"])[0] == hashes(["a"])[0]
    True
    """
    digests = []
    for key in keys:
        # A copy takes half the time of a new one.
        digest = _EMPTY.copy()
        # What cannot be encoded is replaced as in `clean_text`: both have the same number then.
        digest.update(compared(key).encode("utf-8", "replace"))
        digests.append(digest.digest())
    return unpack(f"<{len(digests)}q", b"".join(digests))


def clean_text(text: str) -> str:
    """The text with what no file can hold (halves of surrogate pairs) replaced by `?`.

    >>> clean_text("half \\ud83d")
    'half ?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


class Remembered:
    """Keys that are known for certain, of the sources asked about last.

    A source shows mostly what it showed before, and what is known stays known for good. So only
    the few others must be looked up.

    >>> remembered = Remembered(most=3)
    >>> remembered.keep(0, {"a", "b"})
    >>> remembered.keep(1, {"c", "d"})
    >>> remembered.of(0), sorted(remembered.of(1))
    (frozenset(), ['c', 'd'])
    """

    def __init__(self, most: int = 100_000) -> None:
        self._most, self._count = most, 0
        self._keys: dict[int, Set[str]] = {}

    def of(self, row: int) -> Set[str]:
        """Keys of this source that are known; there may be others."""
        return self._keys.get(row, frozenset())

    def keep(self, row: int, keys: Set[str]) -> None:
        """These are known of a source; who was asked about longest ago makes room."""
        self._count += len(keys) - len(self._keys.pop(row, ()))
        self._keys[row] = keys
        while self._count > self._most:
            oldest = next(iter(self._keys))
            self._count -= len(self._keys.pop(oldest))
