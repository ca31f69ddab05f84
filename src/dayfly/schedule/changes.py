"""What an operator changed of a source, made to fit what visits have changed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from dayfly.store.sources import Listing, State, StoredSource

_FIELDS, _LISTED = StoredSource.__struct_fields__, Listing.__struct_fields__


def changes(given: StoredSource, known: StoredSource) -> dict[str, Any]:
    """What was changed of a source.

    What is given may be older than the last visit: then only what visits leave alone counts.
    """
    names = _FIELDS
    if given.last_crawl != known.last_crawl:
        names = _LISTED if known.state is State.GONE else (*_LISTED, "state")
    return {
        name: getattr(given, name) for name in names if getattr(given, name) != getattr(known, name)
    }


def changed(now: StoredSource, known: StoredSource, change: Mapping[str, Any]) -> StoredSource:
    """A source with these changes, which were made from what was known."""
    new = replace(now, **change)
    if now is not known and change.get("not_before") is not None and now.not_before:
        # A visit was stored meanwhile: both want peace.
        new = replace(new, not_before=max(change["not_before"], now.not_before))
    return new
