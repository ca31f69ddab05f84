"""A trouble that goes on, told seldom: when it begins, every ten minutes, and when it is over.

Each try that fails is a notice of its own. A disk that is full for a weekend would fill the log
with thousands of them, and whoever reads it would miss what else went wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dayfly.schedule.news import Notice
from dayfly.units import show_duration

#: Seconds between two lines about the same trouble.
_AGAIN_S = 600.0


class Repeats:
    """Passes notices on, those about a store that cannot be written at most so often.

    >>> said = []
    >>> tell = Repeats(lambda notice: said.append(notice.text))
    >>> for minute in range(25):
    ...     tell(Notice(time=60.0 * minute, kind="store", text="the disk is full"))
    >>> tell(Notice(time=1500.0, kind="stored", text="the store can be written again"))
    >>> for text in said:
    ...     print(text)
    the disk is full
    the disk is full (11 tries failed in 10min)
    the disk is full (21 tries failed in 20min)
    the store can be written again (25 tries failed in 25min)
    """

    def __init__(self, tell: Callable[[Notice], None]) -> None:
        self._tell = tell
        #: Tries that failed since the trouble began, when that was, and when it was last told.
        self._tries, self._since, self._told = 0, 0.0, 0.0

    def __call__(self, notice: Notice) -> None:
        """Pass it on, with a count where it stands for many."""
        if notice.kind not in ("store", "stored"):
            self._tell(notice)
            return
        if notice.kind == "store":
            self._tries += 1
            if self._tries == 1:
                self._since = notice.time
            elif 0.0 <= notice.time - self._told < _AGAIN_S:
                return
            self._told = notice.time
        if self._tries > 1:
            lasted = show_duration(max(notice.time - self._since, 0.0))
            text = f"{notice.text} ({self._tries} tries failed in {lasted})"
            notice = replace(notice, text=text)
        if notice.kind == "stored":
            self._tries = 0
        self._tell(notice)
