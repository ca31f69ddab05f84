"""May we ask? robots.txt of every origin, fetched when needed and remembered for up to a day.

*Unreachable means no.* Where a robots.txt cannot be had (5xx, 429, no connection, time-out),
nothing of its origin is visited; a copy from earlier goes on being used for up to 30 days. It is
asked for again after as long as it has been away, from five minutes to six hours. Where there is
none (4xx, or more than five redirects), everything is allowed.

*Memory is bounded*, whatever the number of origins. A verdict outlives the rules it was made from:
rules are kept for the origins used last (`copies.py`), verdicts for many more addresses, so that
a million sources do not mean a robots.txt before each visit.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

from msgspec.structs import replace

from dayfly.fetch.copies import Copies
from dayfly.fetch.errors import FetchError
from dayfly.fetch.hints import lifetime, retry_after, values_of
from dayfly.fetch.robotstxt import RobotsText, product_token, rules_for
from dayfly.fetch.urls import Forbidden, check_url
from dayfly.model import RobotsCopy

if TYPE_CHECKING:
    from dayfly.fetch.web import Answer, Web

_T = TypeVar("_T")
_HOUR, _DAY = 3600.0, 86400.0
#: A copy is used for a day; for less where the server says so, but not for less than an hour.
_SHORTEST = _HOUR
#: How long a copy is used while there is no newer one to be had.
_LONGEST_OLD = 30.0 * _DAY
#: When to try again what is unreachable, at least and at most.
_RETRY_FIRST, _RETRY_LAST = 300.0, 6.0 * _HOUR
_REDIRECTS = 5
#: So much of a robots.txt is received; only its first 500 KiB are read.
_WIRE = 2 << 20
#: From this length on, reading a file takes long enough to be noticed.
_LONG = 64 << 10
#: The most verdicts at hand, in each of two generations, and copies that wait to be stored.
_VERDICTS, _NEWS = 500_000, 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether an address may be visited."""

    allowed: bool
    #: The reason of a refusal ("robots", "robots unreachable: http 503", "guard: …"); where it is
    #: allowed, what is unusual about that ("no robots: http 403"), if anything.
    why: str = ""
    #: Seconds between visits to the host that its robots.txt asks for; at most five minutes.
    crawl_delay: float | None = None
    #: When robots.txt is asked for again: a refusal holds until then.
    until: float = 0.0


class Robots:
    """Verdicts on addresses, by the robots.txt of their origins.

    Parameters
    ----------
    web
        How to go out.
    agent
        Our User-Agent; its product token is the name that we listen to.
    now
        Where the time comes from.
    kept
        Copies from an earlier run.
    """

    def __init__(
        self,
        web: Web,
        *,
        agent: str,
        now: Callable[[], float],
        kept: Iterable[RobotsCopy] = (),
    ) -> None:
        self._web, self._now = web, now
        self._token = product_token(agent)
        self._copies = Copies()
        # Two generations: when the young one is full it becomes the old one, which is forgotten.
        self._young: dict[str, Verdict] = {}
        self._old: dict[str, Verdict] = {}
        self._asking: dict[str, asyncio.Event] = {}
        self._news: OrderedDict[str, RobotsCopy] = OrderedDict()
        for copy in kept:
            self._copies.keep(copy.origin, copy)

    async def verdict(self, url: str, *, verify_tls: bool = True) -> Verdict:
        """Whether this address may be visited now; fetches its robots.txt if that is due.

        One request per origin at a time; others wait for it. Raises `Forbidden` for what is no
        address.
        """
        # What an unverified server said is believed by those alone who asked it.
        key = url if verify_tls else f"unverified {url}"
        now = self._now()
        known = self._young.get(key)
        if known is not None and _holds(known.until, now):
            return known
        known = self._old.get(key)
        if known is None or not _holds(known.until, now):
            known = await self._judge(url, verify_tls)
        if len(self._young) >= _VERDICTS:
            self._old, self._young = self._young, {}
        self._young[key] = known
        return known

    def news(self) -> list[RobotsCopy]:
        """Copies fetched since the last call; to be stored."""
        news = list(self._news.values())
        self._news.clear()
        return news

    async def _judge(self, url: str, verify_tls: bool) -> Verdict:
        address = check_url(url)
        place = f"{address.scheme}://{address.host_subcomponent}:{address.port}"
        name = place if verify_tls else f"unverified {place}"
        copy = await self._current(name, place, verify_tls)
        if copy.outcome == "unreachable":
            guarded = copy.reason.startswith("guard")
            why = copy.reason if guarded else f"robots unreachable: {copy.reason}"
            return Verdict(allowed=False, why=why, until=copy.expires)
        if copy.outcome == "absent":
            return Verdict(allowed=True, why=f"no robots: {copy.reason}", until=copy.expires)
        text = self._copies.text(name, copy)
        if text is None:
            text = await _aside(RobotsText, copy.body)
            self._copies.keep_text(name, copy, text)
        # The path as it will be sent.
        whole = f"{place}{address.raw_path_qs}"
        allowed = await _aside(lambda _: text.allows(whole), copy.body)
        why = "" if copy.unreachable_since is None else f"old copy of robots: {copy.reason}"
        return Verdict(
            allowed=allowed,
            why=why if allowed else "robots",
            crawl_delay=text.crawl_delay,
            until=copy.expires,
        )

    async def _current(self, name: str, origin: str, verify_tls: bool) -> RobotsCopy:
        """A copy that has not expired; fetched by the first who needs it, while others wait."""
        while True:
            known = self._copies.get(name)
            if known is not None and _holds(known.expires, self._now()):
                return known
            asked = self._asking.get(name)
            if asked is None:
                break
            # If whoever asks is cancelled, one of those who wait asks.
            await asked.wait()
        self._asking[name] = asked = asyncio.Event()
        try:
            copy = await self._fetch(origin, known, verify_tls)
            self._copies.keep(name, copy)
            if verify_tls:
                self._tell(copy)
        finally:
            del self._asking[name]
            asked.set()
        return copy

    async def _fetch(self, origin: str, known: RobotsCopy | None, verify_tls: bool) -> RobotsCopy:
        try:
            answer = await self._web.get(
                f"{origin}/robots.txt",
                max_redirects=_REDIRECTS,
                verify_tls=verify_tls,
                body_of=range(200, 300),
                wire_cap=_WIRE,
                cut=True,
            )
        except Forbidden as error:
            return self._unreachable(origin, known, f"guard: {error}")
        except FetchError as error:
            if error.kind == "redirects":
                return self._fetched(origin, None, str(error))
            return self._unreachable(origin, known, str(error))
        status = answer.status
        if 200 <= status < 300:
            rules = await _aside(lambda body: rules_for(body, self._token), answer.body)
            return self._fetched(origin, answer, rules=rules)
        # A redirect that asks to wait was not followed: what lies behind it is not known yet.
        later = status == 429 or (status < 400 and "Retry-After" in answer.headers)
        if 300 <= status < 500 and not later:
            return self._fetched(origin, answer, f"http {status}")
        return self._unreachable(origin, known, f"http {status}", answer)

    def _fetched(
        self, origin: str, answer: Answer | None, reason: str = "", rules: bytes = b""
    ) -> RobotsCopy:
        """A copy of what was found; with a reason, of the fact that there is nothing."""
        now = self._now()
        fresh = None if answer is None else lifetime(answer.headers, now)
        return RobotsCopy(
            origin=origin,
            outcome="absent" if reason else "found",
            body=rules,
            fetched=now,
            expires=now + min(max(_DAY if fresh is None else fresh, _SHORTEST), _DAY),
            reason=reason,
        )

    def _unreachable(
        self, origin: str, known: RobotsCopy | None, reason: str, answer: Answer | None = None
    ) -> RobotsCopy:
        now = self._now()
        since = now
        if known is not None and known.unreachable_since is not None:
            since = min(known.unreachable_since, now)
        # Origins that fell silent together are not asked again together.
        spread = 1.0 + 0.25 * (crc32(origin.encode()) & 0xFFFF) / 0xFFFF
        retry = now + min(max(now - since, _RETRY_FIRST), _RETRY_LAST) * spread
        if answer is not None:
            retry = max(retry, retry_after(values_of(answer.headers, "Retry-After"), now) or 0.0)
        if known is None or known.outcome != "found" or now - known.fetched > _LONGEST_OLD:
            known = RobotsCopy(origin=origin, outcome="unreachable", fetched=now)
        return replace(known, expires=retry, unreachable_since=since, reason=reason)

    def _tell(self, copy: RobotsCopy) -> None:
        self._news.pop(copy.origin, None)
        self._news[copy.origin] = copy
        if len(self._news) > _NEWS:
            # Nobody stores them; they can be fetched again.
            self._news.popitem(last=False)


async def _aside(work: Callable[[bytes], _T], body: bytes) -> _T:
    """The work on a file; if it is long, in a thread, so that nobody waits for one long file."""
    return work(body) if len(body) < _LONG else await asyncio.to_thread(work, body)


def _holds(until: float, now: float) -> bool:
    """Whether it has not expired; what lies too far ahead is from before a clock was set back."""
    return now < until <= now + _DAY
