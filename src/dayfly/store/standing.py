"""How a source stands after a visit: what is kept, what is forgotten, and what needs proof.

A single answer can be an accident, and a hotel's network answers for everybody. So what would
change a list for good, a permanent redirect or "gone", is believed only when it is seen again
later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from msgspec.structs import replace

from dayfly.estimate import Estimate
from dayfly.model import Crawl
from dayfly.store.sources import State, StoredSource, host_of

_DAY = 86400.0
#: A redirect is believed after valid documents were seen behind it over this time.
_PROOF = 7.0 * _DAY
_ASCII = "".join(map(chr, range(128)))


def after(
    source: StoredSource,
    crawl: Crawl,
    estimate: Estimate | None,
    not_before: float | None,
    why_not: str,
) -> StoredSource:
    """The source as it is after this crawl (of new items only); nothing is written.

    Parameters
    ----------
    estimate
        What is believed from now on; None leaves the belief as it is.
    not_before, why_not
        When it may be visited again, and the rule that says so.
    """
    changed: dict[str, Any] = {
        "not_before": not_before,
        "why_not": why_not,
        "last_crawl": crawl.time,
        "last_status": crawl.status.value,
        "last_reason": crawl.reason,
        # It ended, so it did not kill us.
        "lost": 0,
    }
    if estimate is not None:
        changed["estimate"] = estimate
    changed.update(_answered(source, crawl) if crawl.answered else _unanswered(source, crawl))
    changed.update(_moved(source, crawl))
    return replace(source, **changed)


def alarm(sources: Iterable[StoredSource]) -> str | None:
    """What to tell the operator if many hosts move to one place at once; None if they do not.

    A captive portal, or a name server that lies, sends everybody to itself. Nothing is rewritten
    on its word, but somebody should look.
    """
    everybody: set[str] = set()
    moves: dict[str, dict[str, float]] = {}
    for source in sources:
        everybody.add(source.host)
        if source.moved_to and source.moved_since is not None:
            target = _place(source.moved_to).host
            if target != source.host:
                moves.setdefault(target, {})[source.host] = source.moved_since
    most, where = 0, ""
    for target, since in moves.items():
        count = _most_within(sorted(since.values()), _DAY)
        if count > most:
            most, where = count, target
    if most < max(3.0, 0.1 * len(everybody)):
        return None
    return (
        f"{most} of {len(everybody)} hosts began to redirect to {where[:253]!r} within a day; no "
        "address was changed. A captive portal or a wrong name server looks like this"
    )


def _answered(source: StoredSource, crawl: Crawl) -> dict[str, Any]:
    changed: dict[str, Any] = {
        "etag": crawl.etag,
        "last_modified": crawl.last_modified,
        "digest": crawl.digest,
        "failures": 0,
        "gone_since": None,
    }
    if crawl.visible or crawl.digest != source.digest:  # else the document was not read again
        changed["malformed"] = crawl.malformed
    if crawl.title:
        changed["document_title"] = crawl.title
    if crawl.items:
        changed["last_new"] = crawl.time
    return changed


def _unanswered(source: StoredSource, crawl: Crawl) -> dict[str, Any]:
    """A bad answer takes nothing away: validators and digest stay."""
    changed: dict[str, Any] = {"failures": source.failures + 1}
    if crawl.reason == "http 410":
        since = crawl.time if source.gone_since is None else source.gone_since
        changed["gone_since"] = since
        if crawl.time - since >= _DAY and source.state is State.ACTIVE:
            changed["state"] = State.GONE
    return changed


def _moved(source: StoredSource, crawl: Crawl) -> dict[str, Any]:
    """Where permanent redirects lead to, and whether that is believed by now."""
    target = crawl.moved
    if not target or target == source.url:
        # An answer without a redirect takes earlier ones back; silence does not.
        return {"moved_to": "", "moved_since": None} if crawl.answered else {}
    if not crawl.answered:
        # It leads nowhere useful today: whatever was proved begins anew.
        return {"moved_to": target, "moved_since": crawl.time}
    old, new = _place(source.url), _place(target)
    seen = source.moved_since if target == source.moved_to else None
    proved = seen is not None and crawl.time - seen >= _PROOF
    if _safer(old, new, source) or (proved and _harmless(old, new, source)):
        return {
            "url": target,
            "host": new.host if source.host == old.host else source.host,
            # They belonged to the other address.
            "etag": "",
            "last_modified": "",
            "digest": "",
            "moved_to": "",
            "moved_since": None,
        }
    return {"moved_to": target, "moved_since": crawl.time if seen is None else seen}


class _Place(NamedTuple):
    """An address as it is compared with another, which may be written in another way."""

    scheme: str = ""
    host: str = ""
    port: int | None = None
    page: str = ""


def _place(url: str) -> _Place:
    """The parts of an address; all of them empty where it is nonsense."""
    try:
        parts = urlsplit(url)
        # The fetcher escapes what is not ASCII, and the operator who wrote the address did not.
        page = quote(f"{parts.path or '/'}?{parts.query}", safe=_ASCII)
        return _Place(parts.scheme, host_of(url), parts.port, page)
    except ValueError:
        return _Place()


def _safer(old: _Place, new: _Place, source: StoredSource) -> bool:
    """The same page of the same host, encrypted: nobody else can have answered."""
    return (
        source.verify_tls
        and (old.scheme, new.scheme) == ("http", "https")
        and (old.host, old.page) == (new.host, new.page)
        and (old.port or 80, new.port or 443) == (80, 443)
    )


def _harmless(old: _Place, new: _Place, source: StoredSource) -> bool:
    """Secrets go to nobody new, and what was encrypted stays so."""
    if new.scheme not in ("http", "https") or not new.host:
        return False
    if (old.scheme, new.scheme) == ("https", "http"):
        return False
    return not source.headers or (old.host, old.port) == (new.host, new.port)


def _most_within(times: list[float], span: float) -> int:
    """The most of these times (sorted) that lie within one span."""
    most = first = 0
    for last, time in enumerate(times):
        while time - times[first] > span:
            first += 1
        most = max(most, last - first + 1)
    return most
