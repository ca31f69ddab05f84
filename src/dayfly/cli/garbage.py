"""How often Python looks for garbage while `dayfly run` crawls: for a process that is all ours.

A document that is read for the first time is some thousand objects that are gone afterwards; none
of them refers to itself. Python looks for circles among the living whenever 700 more have been made
than were dropped, and finds next to nothing: a few percent of a crawl's processor time. Circles do
come up elsewhere, in errors and in tasks; they are found all the same, less often.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

#: Objects more than before, collections of the young before one of the middle-aged, and of those
#: before one of all.
_RARELY = (20_000, 20, 20)


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage rarely during the block, and not among what was there before it."""
    usual = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()
