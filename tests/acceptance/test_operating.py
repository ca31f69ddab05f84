"""An operator's day with `dayfly run` and the commands beside it: processes, sockets, signals."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from email.utils import formatdate

import pytest
from click.testing import CliRunner
from tests.origin import Origin, reply

from dayfly.cli import cli
from dayfly.store import SqliteStore

pytestmark = pytest.mark.acceptance

SECRET = "tellnobody"
#: No interval and no spacing to speak of: the test is about other things.
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


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dayfly.toml").write_text(HASTE)
    return tmp_path


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


def test_it_crawls_a_list_and_ends_in_time(here):
    with Web() as web:
        args = [listed(here, web), "--for", "4s", *web.allowed]
        with running(*args) as (process, lines):
            assert process.wait(60) == 0
            assert process.stderr.read() == b""
    assert events(lines, "start")[0]["sources"] == 10
    (stop,) = events(lines, "stop")
    assert (stop["items"], stop["failed"]) == (30, 0)
    found = invoke("items", "--format", "jsonl", "--unique")
    assert len(found.output.splitlines()) == 30
    assert not (here / "dayfly.db.sock").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_D15_sigterm_under_load_ends_within_ten_seconds_and_loses_nothing(here, number):
    with Web(slow_feeds=5) as web:
        with running(listed(here, web), *web.allowed) as (process, lines):
            until(lambda: len(events(lines, "visit")) >= 5)
            began = time.monotonic()
            process.send_signal(number)
            assert process.wait(30) == 0
            # Ten seconds are promised; the machine may pause us for some.
            assert time.monotonic() - began < 25
        caught = sum(line.get("items", 0) for line in events(lines, "visit"))
        (stop,) = events(lines, "stop")
    assert stop["items"] == caught
    assert len(invoke("items", "--format", "jsonl").output.splitlines()) == caught
    assert lost_claims(here / "dayfly.db") == []


def test_a_second_interrupt_ends_at_once_and_what_was_stored_stays(here):
    with Web(slow_feeds=5) as web:
        with running(listed(here, web), *web.allowed) as (process, lines):
            until(lambda: len(events(lines, "visit")) >= 5)
            process.send_signal(signal.SIGINT)
            until(lambda: events(lines, "stopping"))
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130
        caught = sum(line.get("items", 0) for line in events(lines, "visit"))
        assert len(invoke("items", "--format", "jsonl").output.splitlines()) >= caught > 0
        # It can start again at once: neither lock nor socket stands in its way.
        args = ["--for", "1s", *web.allowed]
        with running(*args) as (process, lines):
            assert process.wait(60) == 0, process.stderr.read()


def test_after_kill_9_it_starts_again_at_once(here):
    with Web() as web:
        with running(listed(here, web), *web.allowed) as (process, lines):
            until(lambda: events(lines, "visit"))
            process.kill()
        assert (here / "dayfly.db.sock").exists()
        with running("--for", "2s", *web.allowed) as (process, lines):
            assert process.wait(60) == 0, process.stderr.read()
    assert len(invoke("items", "--format", "jsonl").output.splitlines()) == 30


def test_other_commands_work_beside_it_and_A11_nothing_shows_a_secret(here):
    (here / "feeds.toml").write_text("")
    with Web() as web:
        (here / "feeds.toml").write_text(
            f'[[sources]]\nurl = "{web.url(1)}"\nid = "one"\nbearer = "{SECRET}"\n'
            f'[[sources]]\nurl = "{web.url(2)}"\nid = "two"\ntags = ["news"]\n'
        )
        shown = []

        def ok(*args):
            result = invoke(*args)
            assert result.exit_code == 0, (args, result.output)
            shown.append(result.output)
            return result.output

        with running("feeds.toml", *web.allowed) as (process, lines):
            until(lambda: len(events(lines, "visit")) >= 2)
            assert "publishes" in ok("explain", "one")
            assert "decision" in ok("explain", "one", "--json")
            assert "Feed f1: is visited" in ok("refresh", "one")
            assert "2 (2 active)" in ok("stats")
            assert '"running": true' in ok("stats", "--json")
            assert "f2 0" in ok("items", "--tag", "news")
            assert "running, process" in ok("doctor")
            assert "complete" in ok("backup", "copy.db")
            assert "visits to 2 of 2" in ok("run", "--dry-run", "--budget", "1/min")
            assert "one" in ok("sources", "list")
            ok("sources", "show", "one", "--json")
            ok("sources", "export", "--format", "toml")
            assert "paused" in ok("sources", "pause", "two")
            second = invoke("run", "--budget", "1/min")
            assert second.exit_code == 1
            assert "owned by process" in second.stderr
            refused = invoke("restore", "copy.db")
            assert refused.exit_code == 1
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        asked = web.origins[1].asked("/f1")
        assert {request.headers.get("authorization") for request in asked} == {f"Bearer {SECRET}"}
    shown.append(json.dumps(lines))
    assert SECRET not in "".join(shown)
    assert "integrity is clean" in ok("doctor", "--db", "copy.db")
    assert "restored" in ok("restore", "copy.db", "--db", "other.db")
    items = ok("items", "--db", "other.db", "--format", "jsonl")
    assert len(items.splitlines()) == 6


def test_once_visits_everybody_once_and_ends(here):
    with Web() as web:
        args = [listed(here, web), "--once", *web.allowed]
        with running(*args) as (process, lines):
            assert process.wait(60) == 0
    assert web.visited == [f"/f{number}" for number in range(10)]
    assert events(lines, "stop")[0]["visits"] == 10


def test_a_webhook_gets_every_item(here):
    with Web() as web:
        web.origins[0].on("/hook", reply(b"ok"))
        (here / "dayfly.toml").write_text(f'{HASTE}webhook = "{web.origins[0].url("/hook")}"\n')
        with running(listed(here, web), "--once", *web.allowed) as (process, _):
            assert process.wait(60) == 0
        bodies = [json.loads(request.body) for request in web.origins[0].asked("/hook")]
    numbers = [item["number"] for body in bodies for item in body["items"]]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 30


def test_on_a_terminal_there_is_a_live_view_and_ctrl_c_ends_it(here):
    import pty

    with Web() as web:
        command = [sys.executable, "-m", "dayfly", "run", str(listed(here, web))]
        shown = bytearray()
        process, terminal = pty.fork()
        if process == 0:
            os.environ["TERM"] = "xterm"
            os.execv(command[0], [*command, "--budget", "600/min", *web.allowed])

        def read():
            with contextlib.suppress(OSError):  # the other side is closed
                while piece := os.read(terminal, 65536):
                    shown.extend(piece)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            until(lambda: b"30 new" in shown)
            os.write(terminal, b"\x03")
            _, status = os.waitpid(process, 0)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            reader.join(20)
            os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    assert b"Nothing is lost." in shown
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")  # the cursor is back


def test_a_terminal_that_is_closed_ends_it_as_well(here):
    import pty

    with Web() as web:
        command = [sys.executable, "-m", "dayfly", "run", str(listed(here, web))]
        process, terminal = pty.fork()
        if process == 0:
            os.environ["TERM"] = "xterm"
            os.execv(command[0], [*command, "--budget", "600/min", *web.allowed])
        shown = b""
        while b"30 new" not in shown:
            shown += os.read(terminal, 65536)
        os.close(terminal)
        try:
            until(lambda: not (here / "dayfly.db.sock").exists(), 30.0)
            until(lambda: not (here / "dayfly.db.lock").exists(), 30.0)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    assert lost_claims(here / "dayfly.db") == []
    assert len(invoke("items", "--format", "jsonl").output.splitlines()) == 30


def test_where_nobody_reads_the_log_any_more_it_ends_and_says_why(here):
    with Web() as web:
        command = [sys.executable, "-m", "dayfly", "run", str(listed(here, web)), *web.allowed]
        with subprocess.Popen(
            [*command, "--budget", "600/min", "--for", "60s"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            process.stdout.readline()
            process.stdout.close()
            assert process.wait(40) == 1
            said = process.stderr.read().decode()
    assert said == "dayfly: the log cannot be written any more; stopped, and nothing is lost\n"
    assert lost_claims(here / "dayfly.db") == []


def test_follow_tells_what_comes_in(here):
    with Web() as web, running(listed(here, web), *web.allowed) as (process, _):
        until(lambda: (here / "dayfly.db.sock").exists())
        command = [sys.executable, "-m", "dayfly", "items", "--follow", "--since", "1h"]
        with subprocess.Popen(
            [*command, "--format", "jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            # Whoever runs the tests in the background has us ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as follower:  # fmt: skip
            seen = [json.loads(follower.stdout.readline())["key"] for _ in range(30)]
            follower.send_signal(signal.SIGINT)
            assert follower.wait(20) == 0
            assert follower.stderr.read() == b""
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert len(set(seen)) == 30
