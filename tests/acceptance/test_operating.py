"""An operator's day with `dayfly run` and the commands beside it: processes and sockets."""

import json
import signal
import subprocess
import sys

import pytest
from tests.acceptance.crawling import HASTE, Web, events, invoke, listed, running, until
from tests.origin import reply

pytestmark = pytest.mark.acceptance

SECRET = "tellnobody"


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
