"""Sources, crawls and processes that die, for the tests of stores."""

import os
import signal
import sys
import traceback

from msgspec.structs import replace

from dayfly.estimate import Estimate
from dayfly.model import Crawl, Item, Status
from dayfly.store import Listing, Record, SqliteStore

KILLED = -signal.SIGKILL


def listing(id: str, **changes) -> Listing:
    return Listing(id=id, url=f"http://{id}.example.org/feed", **changes)


def opened(path, *ids: str) -> SqliteStore:
    """A store with these sources."""
    store = SqliteStore(path)
    if not store.sources():
        store.add([listing(id) for id in ids or ("a",)])
    return store


def crawl(row: int, *keys: str, time: float = 5.0, **changes) -> Crawl:
    items = tuple(Item(key=key, published=1.0, title=f"about {key}") for key in keys)
    made = Crawl(row=row, time=time, status=Status.CHANGED, items=items, visible=len(items))
    return replace(made, **changes)


def record(store, *crawls: Crawl) -> list[Record]:
    """The crawls with their sources, each of which remembers the last key as its etag."""
    sources = store.sources()
    return [
        Record(
            crawl=crawl,
            source=replace(
                sources[crawl.row],
                last_crawl=crawl.time,
                last_status=crawl.status.value,
                etag=crawl.items[-1].key if crawl.items else "",
                estimate=Estimate(
                    row=crawl.row, time=crawl.time, arrival=0.1, decay=0.2, worth=0.3, memory=(0.1,)
                ),
            ),
        )
        for crawl in crawls
    ]


def all_of(store):
    """Everything that a store answers."""
    return {
        "sources": store.sources(),
        "items": list(store.items()),
        "visits": list(store.visits()),
        "hosts": store.hosts(),
        "robots": store.robots(),
        "events": list(store.events()),
        "funds": store.funds(),
    }


def in_child(work) -> int:
    """Do this in a forked process; the answer is how it ended, negative if by a signal."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(ended)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
