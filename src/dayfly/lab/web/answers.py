"""What the simulated web says to one request: no sockets here, and no clock of its own."""

from __future__ import annotations

import email.utils
import functools
import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from dayfly.lab.web.documents import TYPES, Writer
from dayfly.lab.web.plan import Plan
from dayfly.lab.web.sites import HOSTILE, Format, Habit, Site

#: A slow site takes so many seconds, a flaky one is down for a whole hour in so many.
SLOW_S, _DOWN_OF = 4.0, 6
#: A limited site wants to be left alone for so long after each answer.
_LIMIT_S = 1200.0
#: Seconds that a robots.txt with a delay asks for.
CRAWL_DELAY = 10


class Manner(StrEnum):
    """How an answer is sent."""

    WHOLE = "whole"
    SILENT = "silent"
    RESET = "reset"
    CUT = "cut"
    DRIP = "drip"
    ENDLESS = "endless"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    manner: Manner = Manner.WHOLE
    #: Seconds of the web's time before it is sent.
    delay: float = 0.0
    #: The source it is about, -1 for none, and the numbers of the items shown: [first, last).
    row: int = -1
    first: int = 0
    last: int = 0
    #: Seconds for which it asks to be left alone, 0 if it does not.
    retry_after: int = 0


@dataclass(slots=True)
class _Page:
    """A document as it was last written."""

    first: int
    last: int
    validators: dict[str, str]
    body: bytes
    packed: bytes


class Answers:
    """Answers requests to the sites of a plan, whoever brings them."""

    def __init__(self, plan: Plan, homes: list[str]) -> None:
        """`homes` are the origins by host: ``http://127.0.0.2:8000``."""
        self.plan, trace = plan, plan.trace
        self._times = [trace.time[a:b] for a, b in zip(trace.start, trace.start[1:], strict=False)]
        self._writers = [Writer(site, f"{homes[site.host]}/{site.row}/") for site in plan.sites]
        self._pages: dict[int, _Page] = {}
        #: When each limited site answered last.
        self._answered: dict[int, float] = {}
        self._robots = {site.host: site.robots for site in plan.sites}

    def answer(self, host: int, path: str, headers: Mapping[str, str], now: float) -> Said:
        """What this host says to a GET of this path; names of headers in lower case."""
        if path == "/robots.txt":
            return _robots(self._robots.get(host, "absent"))
        first, _, rest = path[1:].partition("/")
        row = int(first) if first.isdecimal() and len(first) < 9 else -1
        if not 0 <= row < len(self.plan.sites) or self.plan.sites[row].host != host:
            return Said(status=404)
        site = self.plan.sites[row]
        if site.habit in HOSTILE:
            return _bad(site, rest)
        if site.habit in (Habit.MOVED, Habit.DETOUR) and not rest.startswith("new/"):
            status = 301 if site.habit == Habit.MOVED else 302
            return Said(status=status, headers={"Location": f"/{row}/new/{rest}"}, row=row)
        refusal = self._refused(site, now)
        return refusal or self._page(site, headers, now)

    def _refused(self, site: Site, now: float) -> Said | None:
        """Why this site does not answer at the moment."""
        hour = int(now // 3600)
        if site.habit == Habit.FLAKY and zlib.crc32(b"%d %d" % (site.row, hour)) % _DOWN_OF == 0:
            return Said(status=503 if site.row % 2 else 500, row=site.row)
        if site.habit == Habit.LIMITED:
            since = now - self._answered.get(site.row, -np.inf)
            if since < _LIMIT_S:
                wait = int(_LIMIT_S - since) + 1
                header = {"Retry-After": str(wait)}
                return Said(status=429, headers=header, row=site.row, retry_after=wait)
            self._answered[site.row] = now
        return None

    def _page(self, site: Site, headers: Mapping[str, str], now: float) -> Said:
        times = self._times[site.row]
        last = int(times.searchsorted(now, side="right"))
        first = max(last - site.window, 0)
        page = self._pages.get(site.row)
        if page is None or page.last != last:
            page = self._pages[site.row] = self._write(site, first, last)
        said, status, body = dict(page.validators), 304, b""
        if site.max_age:
            said["Cache-Control"] = f"max-age={site.max_age}"
        if not _known(page.validators, headers):
            said["Content-Type"], status, body = TYPES[site.format], 200, page.body
            if site.gzip and "gzip" in headers.get("accept-encoding", ""):
                page.packed = page.packed or gzip.compress(body, 1, mtime=0)
                said["Content-Encoding"], body = "gzip", page.packed
        return Said(
            status=status,
            headers=said,
            body=body,
            delay=SLOW_S if site.habit == Habit.SLOW else 0.0,
            row=site.row,
            first=first,
            last=last,
        )

    def _write(self, site: Site, first: int, last: int) -> _Page:
        times = self._times[site.row][first:last].tolist()
        validators = {}
        if site.validators in ("both", "etag"):
            # Every other one is weak: to be echoed as it is.
            weak = "W/" if site.row % 2 else ""
            validators["ETag"] = f'{weak}"{site.row:x}-{last:x}"'
        if site.validators in ("both", "date"):
            newest = times[-1] if times else self.plan.start
            validators["Last-Modified"] = email.utils.formatdate(newest, usegmt=True)
        body = self._writers[site.row].document(first, times)
        return _Page(first, last, validators, body, b"")


def _known(validators: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    """Whether the visitor has this page; byte for byte, as it was told."""
    asked = headers.get("if-none-match")
    if asked is not None:
        return asked == validators.get("ETag")
    since = headers.get("if-modified-since")
    return since is not None and since == validators.get("Last-Modified")


def _robots(says: str) -> Said:
    if says == "absent":
        return Said(status=404)
    rules = {
        "open": "User-agent: *\nDisallow: /private/\n",
        "delay": f"User-agent: *\nCrawl-delay: {CRAWL_DELAY}\nDisallow:\n",
        "closed": "User-agent: *\nDisallow: /\n",
    }[says]
    return Said(status=200, headers={"Content-Type": "text/plain"}, body=rules.encode())


# ------------------------------------------------------------------ nothing of use
_LOGIN = b"<!doctype html><html><title>Sign in</title><form>Password <input></form></html>"
_DEEP = b"<?xml version='1.0'?><rss version='2.0'><channel>" + b"<a>" * 1_000_000
_LAUGHS = (
    b"<?xml version='1.0'?><!DOCTYPE rss [<!ENTITY a 'ha'>"
    + b"".join(b"<!ENTITY %c '%s'>" % (name, b"&%c;" % (name - 1) * 10) for name in range(98, 107))
    + b"]><rss version='2.0'><channel><title>&j;</title></channel></rss>"
)


@functools.cache
def _bomb() -> bytes:
    return gzip.compress(bytes(64 << 20), 9, mtime=0)


def _bad(site: Site, rest: str) -> Said:
    row, kind = site.row, {"Content-Type": TYPES[Format.RSS]}
    match site.habit:
        case Habit.SILENT | Habit.RESET | Habit.CUT | Habit.DRIP | Habit.ENDLESS:
            return Said(status=200, headers=kind, manner=Manner(site.habit), row=row)
        case Habit.BOMB:
            packed = {**kind, "Content-Encoding": "gzip"}
            return Said(status=200, headers=packed, body=_bomb(), row=row)
        case Habit.ENTITIES:
            return Said(status=200, headers=kind, body=_LAUGHS, row=row)
        case Habit.DEEP:
            return Said(status=200, headers=kind, body=_DEEP, row=row)
        case Habit.CIRCLE:
            hop = int(rest) + 1 if rest.isdecimal() else 0
            return Said(status=302, headers={"Location": f"/{row}/{hop % 1000}"}, row=row)
        case Habit.LOGIN:
            return Said(status=200, headers={"Content-Type": "text/html"}, body=_LOGIN, row=row)
    return Said(status=500, row=row)
