"""Everything that Dayfly raises on purpose.

* DayflyError
  x BadInput            a file, a flag or an argument that cannot be used: what, where, what to do
  x UnknownName         a policy, kind or source nobody knows; suggests the nearest
  x StoreError          the memory of the crawler cannot be read or written
    + StaleFence        somebody else owns the store by now; nothing was written
    + SchemaMismatch    the file was written by another version
  x ClockSetBack        by more than a crawl can make up for: it has to start anew
  x MissingExtra        an optional part is not installed; says which command installs it

A failed visit is not an exception: it is a `Crawl` with a status, because the estimators learn
from it.
"""

import difflib
from collections.abc import Iterable


class DayflyError(Exception):
    """Base of all errors that Dayfly raises on purpose."""


class BadInput(DayflyError, ValueError):
    """A value that cannot be used, told as what, where and what to do."""


class UnknownName(BadInput):
    """A name nobody knows."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        super().__init__(f"unknown {what} {name!r}; {hint}")


class StoreError(DayflyError):
    """The store cannot be read or written."""


class StaleFence(StoreError):
    """Another owner has taken the store over; nothing was written."""


class SchemaMismatch(StoreError):
    """The store was written by another version of Dayfly."""


class ClockSetBack(DayflyError):
    """The machine's clock was set back by so much that the crawl has to start anew."""


class MissingExtra(DayflyError):
    """An optional part is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'dayfly[{extra}]'")
