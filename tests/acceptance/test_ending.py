"""However a crawl ends, by a signal, with its terminal or its log: it loses nothing."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.acceptance.crawling import Web, events, invoke, listed, lost_claims, running, until

pytestmark = pytest.mark.acceptance


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
    # The view has a screen of its own, and what is said at the end is not on that.
    assert shown.index(b"\x1b[?1049h") < shown.index(b"30 new") < shown.index(b"\x1b[?1049l")
    assert shown.rindex(b"\x1b[?1049l") < shown.index(b"Nothing is lost.")
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
