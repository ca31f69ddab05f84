"""A small web of feeds on loopback, publishing what a simulated world says it does."""

from __future__ import annotations

import datetime
import email.utils
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from dayfly.model import Item
from dayfly.simulate.world import World

if TYPE_CHECKING:
    from aiohttp import web

#: Feeds by format.
FORMATS = ("rss", "atom")


@asynccontextmanager
async def serve_feeds(
    world: World, formats: Sequence[str], now: Callable[[], float]
) -> AsyncIterator[int]:
    """Serve source n of the world at /n until left; the answer is the port on 127.0.0.1."""
    from aiohttp import web

    app = web.Application()
    app.router.add_get("/{row}", _Feeds(world, formats, now).answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


class _Feeds:
    def __init__(self, world: World, formats: Sequence[str], now: Callable[[], float]) -> None:
        self._world, self._formats, self._now = world, formats, now

    async def answer(self, request: web.Request) -> web.Response:
        """The feed, or 304 if the visitor has it already."""
        from aiohttp import web

        row = int(request.match_info["row"])
        items = self._world.visit(row, self._now()).items[::-1]
        etag = f'"{items[0].key if items else "empty"}"'
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers={"ETag": etag})
        atom = self._formats[row] == "atom"
        return web.Response(
            text=as_atom(row, items) if atom else as_rss(row, items),
            content_type="application/atom+xml" if atom else "application/rss+xml",
            headers={"ETag": etag},
        )


def as_rss(row: int, items: Sequence[Item]) -> str:
    """The items as RSS 2.0, newest first."""
    entries = "".join(
        f"<item><title>Item {escape(item.key)}</title>"
        f'<guid isPermaLink="false">{escape(item.key)}</guid>'
        f"<link>http://127.0.0.1/{row}?item={escape(item.key)}</link>"
        f"<pubDate>{email.utils.formatdate(item.published, usegmt=True)}</pubDate></item>"
        for item in items
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel>'
        f"<title>Feed {row}</title><link>http://127.0.0.1/{row}</link>"
        f"<description>A demonstration</description>{entries}</channel></rss>"
    )


def as_atom(row: int, items: Sequence[Item]) -> str:
    """The items as Atom, newest first."""
    entries = "".join(
        f"<entry><title>Item {escape(item.key)}</title><id>urn:{row}:{escape(item.key)}</id>"
        f'<link href="http://127.0.0.1/{row}?item={escape(item.key)}"/>'
        f"<updated>{_iso(item.published)}</updated></entry>"
        for item in items
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom">'
        f"<title>Feed {row}</title><id>urn:{row}</id>"
        f"<updated>{_iso(items[0].published if items else 0.0)}</updated>{entries}</feed>"
    )


def _iso(seconds: float | None) -> str:
    return datetime.datetime.fromtimestamp(seconds or 0.0, datetime.UTC).isoformat()
