"""The whole crawler against Scrapy and against bare requests, on one server in one run.

Feeds of 100 entries, every second visit finds a new one. The server has a core, whoever visits it
has another. The steps of the ladder are the same visits with more and more of the crawler around
them: the difference between two steps is what the later one adds. What counts is processor time:
it does not depend on who else is busy. `dayfly run` has Python look for garbage rarely; so do all
here but the plain bare requests, which are as anybody would write them.
"""

import asyncio
import contextlib
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from benchmarks.crawl_server import START
from dayfly.cli.garbage import rare_collections

SOURCES, ENTRIES = 500, 100
#: Pages that each contender fetches in each round, one after another; Scrapy is slow, and its
#: pages are all alike.
PAGES, SCRAPY_PAGES, ROUNDS = 4000, 1000, 5
BARE, TUNED = "bare aiohttp", "the same, garbage looked for rarely"
WHOLE, SCRAPY = "= Dayfly, all of it, SQLite", "Scrapy, minimal spider"
#: Requests under way at once, as `dayfly run` has it.
PARALLEL = 128
#: A second is so many for the crawler: its minimum interval and host spacing are kept.
SPEED = 3000.0
#: Rounds of the memory run: as many fetches of as many sources, of few entries each.
MANY, FETCHES, FEW = 20_000, 200_000, 5


def run() -> None:
    throughput()
    memory()


# ------------------------------------------------------------------ throughput
def throughput() -> None:
    contenders = {
        BARE: "bare",
        TUNED: "tuned",
        "+ guard, limits, unpacking (fetch.Web)": "web",
        "+ robots, hints, reading (HttpFetcher)": "fetcher",
        "+ schedule, learn, record in memory": "memory",
        WHOLE: "sqlite",
        SCRAPY: "scrapy",
    }
    for validators in ("etag", "none"):
        found: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
        with server(SOURCES, ENTRIES, validators) as told:
            for _ in range(ROUNDS):
                for name, what in contenders.items():
                    pages = SCRAPY_PAGES if what == "scrapy" else PAGES
                    found[name].append(child(what, told, pages))
        what = "half answer 304" if validators == "etag" else "all bodies sent, half the same"
        show(f"{SOURCES} feeds of {ENTRIES} entries, half changed; {what}", found)


def show(title: str, found: dict[str, list[dict[str, float]]]) -> None:
    print(f"\n{title}; {ROUNDS} rounds, min / median")
    print(f"  {'':40} {'pages/s':>7} {'CPU per page, µs':>18} {'step':>7} {'of bare':>15}")
    cpu = {name: [1e6 * one["cpu_s"] / one["pages"] for one in all] for name, all in found.items()}
    before = 0.0
    for name, all in found.items():
        speed = statistics.median(one["pages"] / one["wall_s"] for one in all)
        middle = statistics.median(cpu[name])
        step = "" if name in (BARE, SCRAPY) else f"{middle - before:+6.0f}"
        before = middle
        print(
            f"  {name:40} {speed:7,.0f} {min(cpu[name]):8,.0f} /{middle:8,.0f} {step:>7}"
            f" {shared(cpu[BARE], cpu[name], '.1%')}"
        )
    print(f"  Dayfly against Scrapy {shared(cpu[SCRAPY], cpu[WHOLE], '.2f')} times (aim 3)")
    print(f"  Dayfly, of bare {shared(cpu[BARE], cpu[WHOLE], '.1%')} (aim 15 %)")
    print(f"  of bare that looks for garbage as rarely: {shared(cpu[TUNED], cpu[WHOLE], '.1%')}")


def shared(one: list[float], other: list[float], form: str) -> str:
    """The ratio of the minima, and that of the medians."""
    least, middle = min(one) / min(other), statistics.median(one) / statistics.median(other)
    return f"{least:{form}} / {middle:{form}}"


@contextmanager
def server(sources: int, entries: int, validators: str):
    """The feeds, in a process on the first core."""
    command = [sys.executable, "-m", "benchmarks.crawl_server", str(sources), str(entries)]
    with subprocess.Popen(
        [*command, validators, str(cores()[0])],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield json.loads(process.stdout.readline())
        process.stdin.close()
        process.wait(30)


def child(what: str, told: dict, pages: int) -> dict[str, float]:
    """One contender in a process of its own on the last core."""
    command = [sys.executable, "-m", "benchmarks.crawl", what, str(pages)]
    if what == "scrapy":
        command = [sys.executable, "-m", "benchmarks.crawl_spider", str(pages)]
    done = subprocess.run(
        command, input=json.dumps(told), stdout=subprocess.PIPE, text=True, check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {cores()[-1]}),
    )  # fmt: skip
    return json.loads(done.stdout)


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


# ------------------------------------------------------------------ inside a child
class Meter:
    """Starts counting when everybody has been visited twice, and knows when it is enough."""

    def __init__(self, pages: int, sources: int) -> None:
        self.skip, self.pages, self.done = 2 * sources, pages, 0
        self.begin()

    def begin(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def page(self) -> bool:
        """One more; False when it is enough."""
        self.done += 1
        if self.done == self.skip:
            self.begin()
        return self.done < self.skip + self.pages

    def told(self) -> dict[str, float]:
        return {
            "pages": self.done - self.skip,
            "wall_s": time.perf_counter() - self.wall,
            "cpu_s": time.process_time() - self.cpu,
        }


async def visits(urls: list[str], meter: Meter, visit) -> None:
    """Visit all again and again, so many at once."""
    rows = iter(range(meter.skip + meter.pages))

    async def work() -> None:
        for number in rows:
            await visit(number % len(urls))
            meter.page()

    await asyncio.gather(*(work() for _ in range(PARALLEL)))


async def bare(told: dict, meter: Meter) -> None:
    import aiohttp

    urls = told["urls"]
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def visit(row: int) -> None:
            async with session.get(urls[row]) as answer:
                await answer.read()

        await visits(urls, meter, visit)


async def web(told: dict, meter: Meter) -> None:
    from dayfly.fetch import Guard
    from dayfly.fetch.web import Web

    urls, etags = told["urls"], {}
    async with Web(Guard(told["allow"]), agent="benchmark") as client:

        async def visit(row: int) -> None:
            asked = {"If-None-Match": etags[row]} if etags.get(row) else {}
            answer = await client.get(urls[row], headers=asked)
            etags[row] = answer.headers.get("ETag", "")

        await visits(urls, meter, visit)


async def fetcher(told: dict, meter: Meter) -> None:
    from msgspec.structs import replace

    from dayfly.fetch import Guard, HttpFetcher
    from dayfly.store.sources import StoredSource

    sources = [StoredSource(id=url, url=url, row=row) for row, url in enumerate(told["urls"])]
    async with HttpFetcher(Guard(told["allow"]), now=lambda: START + 86400.0) as client:

        async def visit(row: int) -> None:
            crawl = await client.fetch(sources[row])
            assert crawl.answered, crawl.reason
            sources[row] = replace(
                sources[row], etag=crawl.etag, last_modified=crawl.last_modified,
                digest=crawl.digest,
            )  # fmt: skip

        await visits(told["urls"], meter, visit)


async def whole(told: dict, meter: Meter, store, watch=None) -> None:
    """Everything that `dayfly run` does, with a budget that is never the limit."""
    from dayfly.fetch import Guard, HttpFetcher
    from dayfly.schedule import FastClock, Recorded, resume
    from dayfly.store import Listing

    store.add(Listing(id=f"s{row}", url=url) for row, url in enumerate(told["urls"]))
    clock = FastClock(SPEED, start=START + 86400.0)

    def tell(news) -> None:
        if isinstance(news, Recorded):
            for crawl in news.crawls:
                assert crawl.answered, crawl.reason
                if not meter.page():
                    loop.stop()
            if watch is not None:
                watch(meter.done)

    async with HttpFetcher(Guard(told["allow"]), now=clock.now) as client:
        loop = resume(
            store, client, clock, budget=len(told["urls"]) / 300.0, tick=0.01 * SPEED,
            parallel=PARALLEL, watch=tell,
        )  # fmt: skip
        await loop.run()


def inside(what: str, pages: int) -> None:
    told = json.load(sys.stdin)
    meter = Meter(pages, len(told["urls"]))
    with contextlib.nullcontext() if what == "bare" else rare_collections():
        print(json.dumps(crawled(what, pages, told, meter)))


def crawled(what: str, pages: int, told: dict, meter: Meter) -> dict[str, float]:
    simple = {"bare": bare, "tuned": bare, "web": web, "fetcher": fetcher}
    if what in simple:
        asyncio.run(simple[what](told, meter))
        return meter.told()
    from dayfly.store import MemoryStore, SqliteStore

    if what == "memory":
        asyncio.run(whole(told, meter, MemoryStore()))
        return meter.told()
    with tempfile.TemporaryDirectory() as folder:
        store, sizes = SqliteStore(Path(folder) / "crawl.db"), {}
        marks = {round(pages * share): share for share in (0.0, 0.25, 0.5, 0.75, 1.0)}

        def watch(done: int) -> None:
            for mark in [mark for mark in marks if mark <= done]:
                gc.collect()
                sizes[f"rss at {marks.pop(mark):.0%}"] = rss()

        if what == "rss":
            meter.skip = 0
        asyncio.run(whole(told, meter, store, watch if what == "rss" else None))
        store.close()
    return {**meter.told(), **sizes}


def rss() -> float:
    """Resident MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


# ------------------------------------------------------------------ memory
def memory() -> None:
    with server(MANY, FEW, "etag") as told:
        found = child("rss", told, FETCHES)
    print(f"\n{FETCHES:,} fetches of {MANY:,} sources: memory")
    for name, size in found.items():
        if name.startswith("rss"):
            print(f"  {name:12} {size:7.1f} MiB")
    each = found["cpu_s"] / found["pages"] * 1e6
    print(f"  {found['pages'] / found['wall_s']:,.0f} pages/s, {each:.0f} µs each")


if __name__ == "__main__":
    inside(sys.argv[1], int(sys.argv[2]))
