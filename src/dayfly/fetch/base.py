"""What a fetcher is given, and what it promises."""

from __future__ import annotations

from typing import Protocol

from dayfly.model import Crawl


class Target(Protocol):
    """What a fetcher must know about a source; a stored source is one."""

    @property
    def row(self) -> int: ...  # noqa: D102
    @property
    def url(self) -> str: ...  # noqa: D102
    @property
    def cost(self) -> float: ...  # noqa: D102
    @property
    def etag(self) -> str: ...  # noqa: D102
    @property
    def last_modified(self) -> str: ...  # noqa: D102
    @property
    def digest(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def headers(self) -> tuple[tuple[str, str], ...]: ...  # noqa: D102
    @property
    def obey_robots(self) -> bool: ...  # noqa: D102
    @property
    def verify_tls(self) -> bool: ...  # noqa: D102
    @property
    def select(self) -> tuple[tuple[str, str], ...]: ...  # noqa: D102


class Fetcher(Protocol):
    """Goes out and comes back with what it saw."""

    async def fetch(self, source: Target) -> Crawl:
        """One visit; whatever goes wrong is a status and a reason, not an exception."""
        ...
