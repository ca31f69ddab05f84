"""Sources, items and visits as plain JSON, and listings back from it.

The keys are those of docs/reference/json.md: `_s` is seconds, `_per_s` per second, `_at` an instant
in POSIX seconds. Secrets stay inside: of headers only the names are told, and addresses are shown
without credentials.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
import numpy as np
from msgspec.structs import replace

from dayfly.errors import BadInput, UnknownName
from dayfly.model import Crawl
from dayfly.serve.listable import listable
from dayfly.store import Listing, State, StoredItem, StoredSource, fleet_of
from dayfly.store.pauses import is_pause

#: What an operator may set, by the names that `Listing` has for it.
LISTED = Listing.__struct_fields__
#: The host follows the address, and the id is for life.
CHANGEABLE = tuple(name for name in LISTED if name not in ("id", "host"))


def shown_why(source: StoredSource) -> str:
    """Why a source rests; what it waits for after a pause is for `resume` alone."""
    return "paused" if is_pause(source.why_not) else source.why_not


def plain_listing(listing: Listing) -> dict[str, Any]:
    """A listing as `sources.add` takes it; the only place where secrets travel, inwards."""
    return {name: getattr(listing, name) for name in LISTED}


def read_listing(given: Mapping[str, Any]) -> Listing:
    """A listing from plain JSON; every key must be one that there is."""
    plain = _strict(given, LISTED)
    for name in ("id", "url"):
        if not plain.get(name):
            raise BadInput(f"a source needs {name!r}")
    checked = _converted({**plain, "row": 0}, new=True)
    return Listing(**{name: getattr(checked, name) for name in LISTED})


def changed(source: StoredSource, given: Mapping[str, Any]) -> StoredSource:
    """The source with these of its listed values replaced, checked like a new one.

    What the last answer was known by goes with an address, and with how an answer is read: the same
    answer read in another way is news.
    """
    plain = _strict(given, CHANGEABLE)
    kept = {name: getattr(source, name) for name in LISTED if name != "host"}
    if "url" not in plain:
        kept["host"] = source.host
    listing = _converted({**kept, **plain, "row": source.row}, new=False)
    put = replace(source, **{name: getattr(listing, name) for name in LISTED})
    if (put.url, put.kind, put.select) != (source.url, source.kind, source.select):
        put = replace(put, etag="", last_modified="", digest="")
    if put.url != source.url:
        put = replace(put, moved_to="", moved_since=None)
    return put


def state_at(source: StoredSource, now: float) -> str:
    """The state as people know it: a pause that ends by itself is one, too."""
    resting = source.not_before is not None and source.not_before > now
    if source.state == State.ACTIVE and resting and is_pause(source.why_not):
        return str(State.PAUSED)
    return str(source.state)


def shown_source(source: StoredSource, now: float) -> dict[str, Any]:
    """All that may be told about a source."""
    estimate = source.estimate
    return {
        "row": source.row,
        "id": shown_url(source.id),
        "url": shown_url(source.url),
        "host": source.host,
        "name": shown_url(source.name),
        "title": source.title,
        "kind": source.kind,
        "tags": list(source.tags),
        "state": state_at(source, now),
        "weight": source.weight,
        "cost": source.cost,
        # An estimate's worth also counts what a look teaches: it is for the scheduler alone.
        "arrival_per_s": estimate.arrival if estimate else source.arrival,
        "listed_arrival_per_s": source.arrival,
        "listed_decay_per_s": source.decay,
        "half_life_s": math.log(2) / source.decay if source.decay > 0 else None,
        "worth": source.worth,
        "window": _finite(source.window),
        "min_interval_s": source.min_interval,
        "max_interval_s": source.max_interval,
        "overrides": overrides(source),
        "header_names": [name for name, _ in source.headers],
        "select": dict(source.select),
        "not_before_at": source.not_before,
        "why_not": shown_why(source),
        "last_crawl_at": source.last_crawl,
        "last_new_at": source.last_new,
        "last_status": source.last_status,
        "last_reason": source.last_reason,
        "failures": source.failures,
        "lost": source.lost,
        "malformed": source.malformed,
        "moved_to": shown_url(source.moved_to),
        "moved_since_at": source.moved_since,
        "gone_since_at": source.gone_since,
    }


def waiting(sources: Sequence[StoredSource], ages: Sequence[float]) -> list[float]:
    """Value that is expected to wait at each source this long after a visit."""
    if not sources:
        return []
    # A source may be asked for several times; a fleet wants ids that differ.
    believed = [
        replace(source, id=str(number), arrival=source.arrives)
        for number, source in enumerate(sources)
    ]
    value: list[float] = fleet_of(believed).harvest.value(np.array(ages)).tolist()
    return value


def overrides(source: Listing) -> list[str]:
    """The rules that the operator has switched off for this source."""
    named = (("robots", source.obey_robots), ("tls", source.verify_tls))
    return [name for name, kept in named if not kept]


def shown_item(item: StoredItem, sources: Sequence[StoredSource]) -> dict[str, Any]:
    """One item and where it came from."""
    source = sources[item.row]
    return {
        "number": item.number,
        "source": shown_url(source.id),
        "name": shown_url(source.name),
        "key": item.key,
        "title": item.title,
        "link": item.link,
        "published_at": item.published,
        "seen_at": item.seen,
        "worth": item.worth,
    }


def shown_visit(visit: Crawl) -> dict[str, Any]:
    """One visit, without its items."""
    return {
        "ended_at": visit.time,
        "status": str(visit.status),
        "reason": visit.reason,
        "visible": visit.visible,
        "truncated": visit.truncated,
        "value": visit.value,
        "cost": visit.cost,
        "wire_bytes": visit.wire_bytes,
        "took_s": visit.took_s,
    }


def shown_url(url: str) -> str:
    """The address without user name and password, whoever put them there."""
    if "@" not in url or "://" not in url:
        return url
    try:
        parts = urlsplit(url)
        if "@" not in parts.netloc:
            return url
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    except ValueError:
        return url.partition("://")[0] + "://" + url.rpartition("@")[2]


def _strict(given: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    for key in given:
        if key not in known:
            raise UnknownName("setting of a source", str(key), known)
    # JSON has no infinity: a window without end comes as null.
    plain = dict(given)
    if "window" in plain and plain["window"] is None:
        plain["window"] = math.inf
    return plain


def _converted(plain: Mapping[str, Any], *, new: bool) -> StoredSource:
    """Checked whoever it comes from; a StoredSource, because that is the type with a row."""
    named = shown_url(str(plain.get("id", "?")))[:100]
    try:
        return listable(msgspec.convert(dict(plain), StoredSource), new=new)
    except msgspec.ValidationError as error:
        # Its text may quote a value, and a value may be a secret.
        raise BadInput(f"source {named!r}: {str(error).partition(' - ')[0]}") from None
    except BadInput as error:
        raise BadInput(f"source {named!r}: {error}") from None


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
