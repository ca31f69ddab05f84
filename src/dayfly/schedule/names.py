"""Names of hosts and groups, each with a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt


class Names:
    """Names in the order in which they came; the number of a name is its place.

    >>> hosts = Names([""])
    >>> hosts.codes(["a", "b", "a", ""])
    array([1, 2, 1, 0], dtype=int32)
    >>> hosts.known
    ['', 'a', 'b']
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.known: list[str] = []
        self._number: dict[str, int] = {}
        self._all: tuple[str, ...] = ()
        self._learn(known)

    def codes(self, names: Sequence[str]) -> npt.NDArray[np.int32]:
        """Numbers of these names; new ones get the next."""
        self._learn(names)
        return np.fromiter(map(self._number.__getitem__, names), np.int32, len(names))

    def _learn(self, names: Iterable[str]) -> None:
        for name in dict.fromkeys(names):
            if name not in self._number:
                self._number[name] = len(self.known)
                self.known.append(name)

    @property
    def all(self) -> tuple[str, ...]:
        """All names, made anew only when there are more."""
        if len(self._all) != len(self.known):
            self._all = tuple(self.known)
        return self._all
