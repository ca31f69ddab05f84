"""The live view and the log: what they show, and that text from outside stays text."""

import asyncio
import io
import json
import re

import pytest

from dayfly.cli.live import LiveView
from dayfly.cli.logs import Log
from dayfly.cli.options import rate
from dayfly.model import Crawl, Item, RobotsCopy, Status
from dayfly.schedule import ManualClock, Notice, Recorded, RobotsRead, Rules, resume
from dayfly.store import Listing, MemoryStore

SECRET = "tellnobody"
NASTY = "[bold red]Boo[/] \x1b[31m\u202e" + "long " * 60


class Feeds:
    """Odd rows fail; each other visit shows one more item."""

    def __init__(self, clock) -> None:
        self.clock, self.seen = clock, 0

    async def fetch(self, source) -> Crawl:
        now = self.clock.now()
        if source.row % 2:
            return Crawl(row=source.row, time=now, status=Status.FAILED, reason=f"http 503 {NASTY}")
        self.seen += 1
        return Crawl(
            row=source.row, time=now, status=Status.CHANGED, title=NASTY, visible=1, oldest_s=0.0,
            items=(Item(key=str(self.seen), published=now - 60),), took_s=0.1, wire_bytes=1000,
        )  # fmt: skip


def crawled(make, seconds=1200.0):
    """A watcher that has seen twenty minutes."""
    clock = ManualClock(1_800_000_000.0)
    store = MemoryStore()
    store.add(
        Listing(
            id=f"https://user:{SECRET}@{row}.example.org/",
            url=f"https://user:{SECRET}@{row}.example.org/",
            title=NASTY if row == 2 else "",
            headers=(("Authorization", SECRET),),
        )
        for row in range(6)
    )
    watchers = []
    rules = Rules(min_interval=60.0, host_spacing=0.0)
    loop = resume(
        store, Feeds(clock), clock, budget=0.1, rules=rules, tick=10.0,
        watch=lambda news: [watcher.tell(news) for watcher in watchers],
    )  # fmt: skip
    watchers.append(make(loop, clock))
    asyncio.run(loop.run(clock.now() + seconds))
    return watchers[0], loop


def drawn(view, width, height=40):
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=True, color_system=None)
    console.print(view)
    return out.getvalue()


@pytest.mark.parametrize("width", [24, 40, 80, 200])
def test_the_view_fits_the_terminal_and_shows_text_as_text(width):
    from rich.cells import cell_len

    view, _ = crawled(lambda loop, clock: LiveView(loop, "dayfly · 6 sources", real=clock.now))
    view.alarm(NASTY)
    text = drawn(view, width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert "\x1b[31m" not in text
    assert "\u202e" not in text
    assert SECRET not in text
    for word in ("value", "budget", "price", "next", "trouble"):
        assert word in text
    if width == 200:
        assert "[bold red]Boo[/]" in text
        assert "the price" in text


def test_what_is_spent_is_told_in_the_unit_that_was_typed():
    view, _ = crawled(lambda loop, clock: LiveView(loop, "", rate("90/15min"), real=clock.now))
    spent = re.search(r"budget +([\d.]+) of 90/15min", drawn(view, 80))
    assert 0 < float(spent[1]) <= 90


def test_a_low_terminal_keeps_the_figures():
    view, _ = crawled(lambda loop, clock: LiveView(loop, "dayfly", real=clock.now))
    text = drawn(view, 80, height=11)
    assert len(text.splitlines()) <= 11
    assert "budget" in text


def test_a_view_that_is_to_end_says_so_and_names_nobody_next():
    view, _ = crawled(lambda loop, clock: LiveView(loop, "dayfly", real=clock.now))
    view.stopping = True
    text = drawn(view, 80)
    assert "within ten seconds" in text
    assert "next" not in text


def test_the_log_has_one_line_per_event_as_text():
    out = io.StringIO()

    def make(loop, clock):
        log = Log("text", out, clock.now)
        log.watch(loop)
        log.say("start", sources=6, nothing=None, empty="")
        return log

    log, loop = crawled(make)
    log.alarm(NASTY)
    log.tell(Notice(time=0.0, kind="clock", text="two\nlines"))
    lines = out.getvalue().splitlines()
    assert len(lines) == 1 + loop.counters.visits + 2
    assert lines[0] == "2027-01-15T08:00:00Z start sources=6"
    assert lines[1].startswith("2027-01-15T08:00:")
    assert " visit source=https://0.example.org/ status=changed items=1 value=" in lines[1]
    assert any(
        " error source=https://1.example.org/ status=failed reason=" in line for line in lines
    )
    assert SECRET not in out.getvalue()
    assert out.getvalue().replace("\n", "").isprintable()


def test_C02_the_log_tells_where_there_is_no_robots_txt():
    out = io.StringIO()
    log = Log("json", out, lambda: 1.8e9)
    copy = RobotsCopy(
        origin="https://x.example:443", outcome="absent", fetched=1.8e9, expires=1.8e9 + 600,
        reason="http 403",
    )  # fmt: skip
    log.tell(RobotsRead(time=1.8e9, copies=(copy,)))
    assert json.loads(out.getvalue()) == {
        "event": "robots", "at": 1.8e9, "origin": "https://x.example:443", "outcome": "absent",
        "reason": "http 403", "until_at": 1.8e9 + 600,
    }  # fmt: skip


def test_A11_the_log_as_json_holds_no_secret():
    out = io.StringIO()

    def make(loop, clock):
        log = Log("json", out, clock.now)
        log.watch(loop)
        return log

    log, loop = crawled(make)
    log.alarm(NASTY)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert len(lines) == 1 + loop.counters.visits
    assert {line["event"] for line in lines} == {"visit", "error", "alarm"}
    assert all(isinstance(line["at"], float) for line in lines)
    assert SECRET not in out.getvalue()


def test_where_nobody_reads_the_log_the_crawl_ends():
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    def make(loop, clock):
        log = Log("text", Closed(), clock.now)
        log.watch(loop)
        return log

    log, loop = crawled(make, seconds=1e9)
    assert log.broken
    assert loop.counters.visits <= 6


def test_news_of_many_visits_is_counted():
    view, loop = crawled(lambda loop, clock: LiveView(loop, real=clock.now))
    now = loop.clock.now()
    visits = [Crawl(row=0, time=now, status=Status.UNCHANGED) for _ in range(100)]
    view.tell(Recorded(time=now, crawls=tuple(visits)))
    assert "budget" in drawn(view, 80)


def test_a_visit_that_was_given_up_at_the_end_is_no_error():
    out = io.StringIO()

    def make(loop, clock):
        log = Log("json", out, clock.now)
        log.watch(loop)
        return log

    log, loop = crawled(make, seconds=10.0)
    view = LiveView(loop)
    given_up = Crawl(row=0, time=loop.clock.now(), status=Status.FAILED, reason="stopped")
    for watcher in (log, view):
        watcher.tell(Recorded(time=given_up.time, crawls=(given_up,)))
    line = json.loads(out.getvalue().splitlines()[-1])
    assert line["event"] == "abandoned"
    assert "took_s" not in line  # nobody knows
    assert "stopped" not in drawn(view, 80)
