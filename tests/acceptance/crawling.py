"""For tests of a crawl that runs: a small web, the command in a process of its own, patience."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from email.utils import formatdate

from click.testing import CliRunner
from tests.origin import Origin, reply

from dayfly.cli import cli
from dayfly.store import SqliteStore

#: No interval and no spacing to speak of: the tests are about other things.
HASTE = 'min_interval = "1s"\nhost_spacing = "1ms"\n'


def invoke(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args], prog_name="dayfly")


def feed(name: str, n: int) -> bytes:
    items = "".join(
        f"<item><guid>{name}-{k}</guid><title>{name} {k}</title>"
        f"<link>https://x.example.org/{name}/{k}</link>"
        f"<pubDate>{formatdate(time.time() - 600 * (n - k))}</pubDate></item>"
        for k in range(n)
    )
    return (
        f'<?xml version="1.0"?><rss version="2.0"><channel><title>Feed {name}</title>{items}'
        "</channel></rss>"
    ).encode()


async def slow(request, reader, writer) -> None:
    await asyncio.sleep(20)


class Web:
    """Ten feeds on ten hosts, on a thread of their own; the first few never answer."""

    def __init__(self, slow_feeds: int = 0) -> None:
        self.origins = [Origin(f"127.0.0.{20 + number}") for number in range(10)]
        self._slow = slow_feeds
        self._ready, self._done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def url(self, number: int) -> str:
        return self.origins[number].url(f"/f{number}")

    @property
    def allowed(self) -> list[str]:
        return [word for origin in self.origins for word in ("--allow", origin.allowance)]

    @property
    def visited(self) -> list[str]:
        found = [request.path for origin in self.origins for request in origin.requests]
        return sorted(path for path in found if path.startswith("/f"))

    async def _serve(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for number, origin in enumerate(self.origins):
                await stack.enter_async_context(origin)
                body = reply(feed(f"f{number}", 3), Content_Type="application/rss+xml")
                origin.on(f"/f{number}", slow if number < self._slow else body)
            self._ready.set()
            await asyncio.to_thread(self._done.wait)

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(self, *_) -> None:
        self._done.set()
        self._thread.join(20)


def listed(here, web):
    path = here / "feeds.txt"
    path.write_text("".join(web.url(number) + "\n" for number in range(10)))
    return path


@contextlib.contextmanager
def running(*args):
    """The command in a process of its own; its log lines so far are in `lines`."""
    command = [sys.executable, "-m", "dayfly", "run", "--budget", "600/min", "--log", "json"]
    lines: list[dict] = []
    with subprocess.Popen(
        [*command, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ) as process:
        # Lines are wanted while it runs: one at a time.
        reader = threading.Thread(
            target=lambda: [lines.append(json.loads(line)) for line in process.stdout], daemon=True
        )
        reader.start()
        try:
            yield process, lines
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(30)
            reader.join(20)


def until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it never came true")


def events(lines, name):
    return [line for line in lines if line["event"] == name]


def lost_claims(db):
    store = SqliteStore(db)
    try:
        return store.lost(store.own())
    finally:
        store.close()
