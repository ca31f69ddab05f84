"""What a robots.txt says to us: the group that concerns us, matched by RFC 9309.

Which group that is we find ourselves: a product token is matched whole and in any case, groups that
name us are joined, and lines that say nothing to us separate nothing. Crawl-delay and Request-rate,
which we obey, are rules like any other. The rules are matched by Protego. So only a few lines of a
long file are kept and parsed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protego import Protego

#: What is read of a file, as the RFC asks for: 500 KiB.
LONGEST = 500 * 1024
#: The most seconds between visits that a file can ask for.
LONGEST_DELAY = 300.0
_TOKEN = re.compile(rb"[A-Za-z_-]+")
_EVERYBODY = re.compile(rb"\*(?:\s|\Z)")
#: Field and value of the lines that matter; misspelt and without a colon as they occur.
_LINE = re.compile(
    rb"(user[- ]?agent|allow|dis{1,2}al{1,2}[oa]w|diasllow|crawl[- ]delay|request[- ]rate)"
    rb"(?:\s*:\s*|\s+)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_FIELDS = {b"u": b"user-agent", b"a": b"allow", b"d": b"disallow", b"c": b"crawl-delay",
           b"r": b"request-rate"}  # fmt: skip
_PATHS = (b"allow", b"disallow")
#: Whatever is not plain ASCII is written as the escape that it is compared by.
_ODD = re.compile(rb"[^\x21-\x7e]")
_US = "us"


def product_token(agent: str) -> str:
    """The name by which a robots.txt knows a user agent.

    Examples
    --------
    >>> product_token("Dayfly/0.1 (+https://example.org/bot)")
    'Dayfly'
    """
    found = _TOKEN.match(agent.strip().encode())
    return found[0].decode() if found else ""


def rules_for(body: bytes, token: str) -> bytes:
    r"""The rules of a robots.txt that concern this token, as a robots.txt of one group.

    Those of all groups that name it, else those for everybody. Bytes beyond 500 KiB are not read.

    Examples
    --------
    >>> rules_for(b"User-agent: *\nDisallow: /a # private\nSitemap: /s\n", "dayfly")
    b'user-agent: *\ndisallow: /a\n'
    """
    name = token.lower().encode()
    ours: dict[bytes, None] = {}
    general: dict[bytes, None] = {}
    for_us = for_all = named = rules_began = False
    for line in re.split(rb"[\r\n]+", body[:LONGEST].removeprefix(b"\xef\xbb\xbf")):
        found = _LINE.match(line.partition(b"#")[0].strip())
        if found is None:
            continue
        field, value = _FIELDS[found[1][:1].lower()], found[2]
        if field == b"user-agent":
            if rules_began:
                for_us = for_all = rules_began = False
            said = _TOKEN.match(value)
            if _EVERYBODY.match(value):
                for_all = True
            elif said is not None and said[0].lower() == name:
                for_us = named = True
            continue
        rules_began = True
        if value and (for_us or for_all):
            # Of a delay or a rate only the number counts, not the unit or the hours behind it.
            path_or_number = value if field in _PATHS else value.split()[0]
            rule = b"%s: %s\n" % (field, _ODD.sub(_escaped, path_or_number))
            if for_us:
                ours[rule] = None
            if for_all:
                general[rule] = None
    rules = ours if named else general
    return b"user-agent: *\n" + b"".join(rules) if rules else b""


class RobotsText:
    """Rules that concern us, ready to be asked; made from what `rules_for` gives."""

    __slots__ = ("_rules", "crawl_delay")

    def __init__(self, rules: bytes) -> None:
        self._rules: Protego | None = None
        #: Seconds between visits that it asks for, at most five minutes; None if it does not.
        self.crawl_delay: float | None = None
        if rules:
            from protego import Protego

            self._rules = Protego.parse(rules.decode("ascii", "replace"))
            self.crawl_delay = self._delay(self._rules)

    def allows(self, url: str) -> bool:
        """Whether the page at this whole address may be asked for."""
        return self._rules is None or self._rules.can_fetch(url, _US)

    @staticmethod
    def _delay(rules: Protego) -> float | None:
        delays = [delay for delay in [rules.crawl_delay(_US)] if delay is not None]
        rate = rules.request_rate(_US)
        if rate is not None:
            delays.append(rate.seconds / rate.requests)
        return min(max(delays), LONGEST_DELAY) if delays else None


def _escaped(odd: re.Match[bytes]) -> bytes:
    return b"%%%02X" % odd[0][0]
