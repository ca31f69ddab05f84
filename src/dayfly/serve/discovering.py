"""The feeds of a site, found through the same guard and the same manners as everything else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from dayfly.errors import BadInput
from dayfly.fetch import (
    Answer,
    FetchError,
    Forbidden,
    Guard,
    HttpFetcher,
    Unreadable,
    check_url,
    user_agent,
)
from dayfly.fetch.discovery import Found, feeds_in, usual_places
from dayfly.fetch.urls import is_literal
from dayfly.serve.house import House
from dayfly.serve.indoors import Indoors
from dayfly.serve.vocabulary import shown_url
from dayfly.store import Listing

#: Usual places that are tried, with so many seconds between, where a page names no feed.
_TRIED = 6


async def discover(
    house: House, *, url: str, allow: Sequence[str] = (), contact: str = ""
) -> dict[str, Any]:
    """The feeds that a page names, or is itself; `allow` and `contact` count where nobody crawls.

    Where a page names none, some usual places are tried, politely: that takes half a minute.
    """
    spacing = house.rules.host_spacing
    if house.fetcher is not None:
        try:
            found = await _look(house.fetcher, url, spacing)
        finally:
            _spare(house, url, spacing)
    else:
        found = await house.aside(lambda: asyncio.run(_visit(url, allow, contact, spacing)))
    return {"feeds": [{"url": one.url, "title": one.title, "kind": one.kind} for one in found]}


def _spare(house: House, url: str, spacing: float) -> None:
    """The host was just asked: the crawl, which may know the new source at once, waits for it."""
    with contextlib.suppress(BadInput):
        if house.loop is not None and (host := Listing(id="-", url=url).host):
            house.loop.block_host(host, house.now() + spacing)


async def _visit(url: str, allow: Sequence[str], contact: str, spacing: float) -> list[Found]:
    guard = (Guard if contact else Indoors)(allow)
    async with HttpFetcher(guard, agent=user_agent(contact)) as fetcher:
        return await _look(fetcher, url, spacing)


def places(url: str) -> list[Found]:
    """Where feeds are looked for, one after the other, if the page names none."""
    return usual_places(url)[:_TRIED]


async def _look(fetcher: HttpFetcher, url: str, spacing: float) -> list[Found]:
    try:
        answer = await _ask(fetcher, url)
        if answer.status != 200:
            raise FetchError(f"http {answer.status}")
    except (Forbidden, FetchError) as error:
        raise BadInput(f"{shown_url(url)}: {error}{_hint(str(error), url)}") from None
    if (title := await _feed(fetcher, answer)) is not None:
        return [Found(answer.url, title)]
    if named := feeds_in(answer.body, answer.url):
        return named
    for place in places(answer.url):
        await asyncio.sleep(spacing)
        try:
            answer = await _ask(fetcher, place.url)
        except (Forbidden, FetchError):
            continue
        if answer.status == 200 and (title := await _feed(fetcher, answer)) is not None:
            return [Found(place.url, title, place.kind)]
    return []


def _hint(said: str, url: str) -> str:
    """What to do about a guard that means well."""
    if "contact is set" in said:
        return '; say who you are in dayfly.toml: contact = "https://example.org/crawler"'
    if "not public" not in said:
        return ""
    address = check_url(url)
    host = str(address.raw_host)
    block = f"{host}/{128 if ':' in host else 32}" if is_literal(host) else "CIDR"
    return f'; if you mean it, let it in by dayfly.toml: allow = ["{block}:{address.port}"]'


async def _ask(fetcher: HttpFetcher, url: str) -> Answer:
    """One address, if its robots.txt lets us."""
    verdict = await fetcher.robots.verdict(url)
    if not verdict.allowed:
        raise Forbidden(verdict.why or "robots")

    async def before(target: str) -> None:
        if not (await fetcher.robots.verdict(target)).allowed:
            raise Forbidden("robots")

    return await fetcher.web.get(url, before=before)


async def _feed(fetcher: HttpFetcher, answer: Answer) -> str | None:
    """What a document calls itself, if it is one that could be crawled."""
    import time

    try:
        document = await fetcher.reader.read(
            answer.body,
            kind="auto",
            content_type=answer.headers.get("Content-Type", ""),
            url=answer.url,
            now=time.time(),
        )
    except Unreadable:
        return None
    return document.title
