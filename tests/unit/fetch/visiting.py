"""Visits with a real fetcher to an origin that answers as a script says."""

import asyncio

from tests.origin import Origin, Place

from dayfly.fetch import Deadlines, HttpFetcher
from dayfly.model import Crawl

NOW = 1_800_000_000.0  # 15 January 2027, 08:00 GMT
QUICK = Deadlines(connect=1.0, first_byte=1.0, idle=1.0, total=2.0)


def visits(script, *places, settings=None, reader=None) -> tuple[list[Crawl], Origin]:
    """Visits one after another; what is told of a place may be a function of the crawls so far."""

    async def run():
        async with Origin() as origin:
            script(origin)
            options = {"now": lambda: NOW, "deadlines": QUICK, "spacing": 0.0} | (settings or {})
            crawls = []
            async with HttpFetcher(origin.guard, **options) as fetcher:
                if reader is not None:
                    fetcher.reader.close()
                    fetcher.reader = reader
                for place in places:
                    told = place(crawls) if callable(place) else dict(place)
                    told["url"] = origin.url(told.pop("path", "/feed"))
                    crawls.append(await fetcher.fetch(Place(**told)))
        return crawls, origin

    return asyncio.run(run())


def visit(*answers, reader=None, settings=None, **place) -> Crawl:
    (crawl,), _ = visits(
        lambda origin: origin.on("/feed", *answers), place, reader=reader, settings=settings
    )
    return crawl
