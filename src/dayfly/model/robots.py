"""A robots.txt as it is remembered between visits."""

from __future__ import annotations

from msgspec import Struct


class RobotsCopy(Struct, frozen=True, kw_only=True, gc=False):
    """What one robots.txt said to us when it was fetched."""

    #: scheme://host:port, lower case, with the port always said.
    origin: str
    #: "found", "absent" (4xx: all is allowed) or "unreachable" (nothing is).
    outcome: str
    #: Of a file that was found, the rules that concern us; itself a robots.txt, often a short one.
    body: bytes = b""
    #: When it was fetched, when it must be asked for again, and since when it is unreachable. A
    #: copy that was found goes on being used while it is.
    fetched: float = 0.0
    expires: float = 0.0
    unreachable_since: float | None = None
    #: Why there is none, or no newer one: "http 403", "dns: …"; for people.
    reason: str = ""
