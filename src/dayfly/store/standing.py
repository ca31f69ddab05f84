"""How a source stands after a visit: what is kept, what is forgotten, and what needs proof.

A single answer can be an accident, and a hotel's network answers for everybody. So what would
change a list for good, a permanent redirect or "gone", is believed only when it is seen again
later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import SplitResult, urlsplit

from msgspec.structs import replace

from dayfly.estimate import Estimate
from dayfly.model import Crawl
from dayfly.store.base import State, StoredSource

_DAY = 86400.0
#: A redirect is believed after valid documents were seen behind it over this time.
_PROOF = 7.0 * _DAY


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
            target = _split(source.moved_to).hostname or ""
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
    old, new = _split(source.url), _split(target)
    seen = source.moved_since if target == source.moved_to else None
    proved = seen is not None and crawl.time - seen >= _PROOF
    if _safer(old, new, source) or (proved and _harmless(old, new, source)):
        own_host = source.host == (old.hostname or "")
        return {
            "url": target,
            "host": (new.hostname or "") if own_host else source.host,
            # They belonged to the other address.
            "etag": "",
            "last_modified": "",
            "digest": "",
            "moved_to": "",
            "moved_since": None,
        }
    return {"moved_to": target, "moved_since": crawl.time if seen is None else seen}


def _safer(old: SplitResult, new: SplitResult, source: StoredSource) -> bool:
    """The same page of the same host, encrypted: nobody else can have answered."""
    return (
        source.verify_tls
        and (old.scheme.lower(), new.scheme.lower()) == ("http", "https")
        and (old.hostname, old.path, old.query) == (new.hostname, new.path, new.query)
        and (old.port or 80, new.port or 443) == (80, 443)
    )


def _harmless(old: SplitResult, new: SplitResult, source: StoredSource) -> bool:
    """Secrets go to nobody new, and what was encrypted stays so."""
    scheme = new.scheme.lower()
    if scheme not in ("http", "https") or not new.hostname:
        return False
    if old.scheme.lower() == "https" and scheme == "http":
        return False
    return not source.headers or (old.hostname, old.port) == (new.hostname, new.port)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # read only when asked for, and may be nonsense
    except ValueError:
        return SplitResult("", "", "", "", "")
    return parts


def _most_within(times: list[float], span: float) -> int:
    """The most of these times (sorted) that lie within one span."""
    most = first = 0
    for last, time in enumerate(times):
        while time - times[first] > span:
            first += 1
        most = max(most, last - first + 1)
    return most
