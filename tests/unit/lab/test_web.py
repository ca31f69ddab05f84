"""The simulated web: what it says, over sockets and without, and what it remembers."""

import asyncio
import gzip
import json
import subprocess
import sys
import time

import aiohttp
import feedparser
import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.fetch import Guard
from dayfly.lab.web import (
    HOSTILE,
    Answers,
    Format,
    Habit,
    Log,
    Manner,
    draw_plan,
    draw_sites,
    item_of,
    read_log,
    serve,
)
from dayfly.lab.web.sites import Site
from dayfly.schedule import ManualClock
from dayfly.schedule.clock import FastClock

DAY = 86400.0


@pytest.fixture(scope="module")
def plan():
    return draw_plan(300, seed=1, span=DAY, hostile=0.2)


@pytest.fixture
def answers(plan):
    return Answers(plan, [f"http://{plan.address(host)}:8000" for host in range(plan.hosts)])


def first_site(plan, **traits):
    """The first site of these traits that has published something."""
    for site in plan.sites:
        published = np.diff(plan.trace.start)[site.row]
        if published > 3 and all(getattr(site, name) == is_ for name, is_ in traits.items()):
            return site
    raise AssertionError(traits)


def ask(answers, site, now, path=None, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return answers.answer(site.host, path or site.path, named, now)


# ------------------------------------------------------------------ who lives there
def test_the_same_seed_gives_the_same_web_and_hostile_ones_only_add_to_it():
    healthy, mixed = draw_plan(60, seed=3, span=DAY), draw_plan(60, seed=3, span=DAY, hostile=0.25)
    assert list(mixed.sites[:60]) == list(healthy.sites)
    assert {site.habit for site in mixed.sites[60:]} == set(HOSTILE)
    assert len(mixed.sites) == 80
    assert np.array_equal(mixed.trace.time, healthy.trace.time)
    assert not mixed.readable[60:].any()


def test_every_format_and_habit_occurs(plan):
    assert {site.format for site in plan.sites} == set(Format)
    assert {site.habit for site in plan.sites} == set(Habit)
    assert {site.robots for site in plan.sites} == {"absent", "open", "delay", "closed"}
    assert len({site.host for site in plan.sites}) > 200


def test_a_share_that_is_none_is_refused():
    with pytest.raises(BadInput, match="hostile share"):
        draw_sites(10, seed=1, hostile=1.0)


def test_exactly_its_addresses_are_allowed(plan):
    guard = Guard(plan.allowed(8000))
    assert all(guard.permits(plan.address(host), 8000) for host in range(plan.hosts))
    assert not guard.permits("127.0.0.1", 8000)
    assert not guard.permits(plan.address(plan.hosts), 8000)
    assert not guard.permits(plan.address(0), 8001)


def test_listings_tell_how_fast_news_fade_and_nothing_about_rates(plan):
    listings = plan.listings(8000)
    assert [one.url for one in listings][:1] == [plan.url(0, 8000)]
    assert len({one.arrival for one in listings}) == 1
    assert [one.decay for one in listings] == plan.truth.decay.tolist()


# ------------------------------------------------------------------ what they say
@pytest.mark.parametrize("format", list(Format))
def test_what_is_shown_is_what_was_published(plan, answers, format):
    site = first_site(plan, format=format, habit=Habit.PLAIN, robots="open")
    now = plan.start + DAY / 2
    said = ask(answers, site, now)
    begin, end = plan.trace.start[site.row : site.row + 2]
    times = plan.trace.time[begin:end]
    shown = times[times <= now][-site.window :].tolist()
    assert said.status == 200
    assert said.last - said.first == len(shown)
    if format in (Format.RSS, Format.ATOM):
        entries = feedparser.parse(said.body).entries
        dates = [_seconds(entry.published_parsed) for entry in entries]
        links = [entry.link for entry in entries]
    elif format == Format.JSON:
        entries = json.loads(said.body)["items"]
        dates = [_iso(entry["date_published"]) for entry in entries]
        links = [entry["url"] for entry in entries]
    else:
        from lxml import etree

        root = etree.fromstring(said.body)
        dates = [_iso(node.text) for node in root.findall(".//{*}lastmod")]
        links = [node.text for node in root.findall(".//{*}loc")]
    assert dates[::-1] == shown
    numbers = range(said.first, said.last)
    assert [item_of(link) for link in links][::-1] == [(site.row, n) for n in numbers]


def _seconds(parsed):
    import calendar

    return calendar.timegm(parsed)


def _iso(text):
    import datetime

    return datetime.datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("validators", "header", "name"),
    [("both", "if_none_match", "ETag"), ("date", "if_modified_since", "Last-Modified")],
)
def test_who_has_it_is_told_so(plan, answers, validators, header, name):
    site = first_site(plan, validators=validators, habit=Habit.PLAIN)
    begin, end = plan.trace.start[site.row : site.row + 2]
    newest = plan.trace.time[begin:end][-1]
    said = ask(answers, site, newest - 0.5)
    again = ask(answers, site, newest - 0.25, **{header: said.headers[name]})
    assert (again.status, again.body) == (304, b"")
    assert ask(answers, site, newest - 0.25, **{header: said.headers[name] + " "}).status == 200
    # A new item, and what the visitor has is no longer what there is.
    assert ask(answers, site, newest, **{header: said.headers[name]}).status == 200


def test_packed_answers_only_for_those_who_can_unpack(plan, answers):
    site = first_site(plan, gzip=True, habit=Habit.PLAIN)
    plain = ask(answers, site, plan.start)
    packed = ask(answers, site, plan.start, accept_encoding="gzip, deflate")
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body


def test_malformed_feeds_can_be_read_by_the_tolerant(plan, answers):
    site = first_site(plan, habit=Habit.MALFORMED)
    said = ask(answers, site, plan.start)
    found = feedparser.parse(said.body)
    assert found.bozo
    assert len(found.entries) == said.last - said.first
    assert all(item_of(entry.link)[0] == site.row for entry in found.entries)


def test_sites_that_moved_say_where(plan, answers):
    for habit, status in ((Habit.MOVED, 301), (Habit.DETOUR, 302)):
        site = first_site(plan, habit=habit)
        said = ask(answers, site, plan.start)
        assert said.status == status
        assert ask(answers, site, plan.start, path=said.headers["Location"]).status == 200


def test_a_limited_site_says_when_to_come_back(plan, answers):
    site = first_site(plan, habit=Habit.LIMITED)
    assert ask(answers, site, plan.start).status == 200
    said = ask(answers, site, plan.start + 600)
    assert said.status == 429
    assert said.retry_after == int(said.headers["Retry-After"]) == 601
    assert ask(answers, site, plan.start + 1201).status == 200


def test_a_flaky_site_fails_for_whole_hours(plan, answers):
    site = first_site(plan, habit=Habit.FLAKY)
    found = [ask(answers, site, plan.start + hour * 3600.0).status for hour in range(24)]
    assert {200} < set(found) <= {200, 500, 503}
    assert found.count(200) > 12


def test_robots(plan, answers):
    said = {
        site.robots: answers.answer(site.host, "/robots.txt", {}, plan.start) for site in plan.sites
    }
    assert said["absent"].status == 404
    assert b"Disallow: /\n" in said["closed"].body
    assert b"Crawl-delay: 10" in said["delay"].body


def test_other_paths_and_other_hosts_have_nothing(plan, answers):
    site = plan.sites[0]
    for path in ("/", "/999999/rss.xml", "/999999999999999999/x", "/-1/rss.xml", "/x"):
        assert answers.answer(site.host, path, {}, plan.start).status == 404
    assert answers.answer(site.host + 1, site.path, {}, plan.start).status == 404


# ------------------------------------------------------------------ over sockets
def small(*habits, window=10):
    """A plan of one site per habit, all with items."""
    from dataclasses import replace

    drawn = draw_plan(len(habits), seed=5, span=DAY)
    sites = [
        Site(row=row, host=row, format=Format.RSS, habit=habit, validators="etag", robots="open",
             window=window)
        for row, habit in enumerate(habits)
    ]  # fmt: skip
    return replace(drawn, sites=sites)


def test_a_client_gets_it_over_sockets():
    plan = small(Habit.PLAIN, Habit.MOVED, Habit.SLOW)
    clock = FastClock(1000.0, start=plan.start)

    async def visit():
        async with serve(plan, clock) as web, aiohttp.ClientSession() as session:
            found = []
            for row in (0, 1, 2, 0):
                async with session.get(plan.url(row, web.port)) as answer:
                    found.append((answer.status, await answer.read(), answer.headers["ETag"]))
            headers = {"If-None-Match": found[-1][2]}
            async with session.get(plan.url(0, web.port), headers=headers) as answer:
                assert answer.status == 304
            async with session.post(plan.url(0, web.port), data=b"x" * 10) as answer:
                assert answer.status == 405
            return found, web.log.served

    found, served = asyncio.run(visit())
    assert [status for status, _, _ in found] == [200] * 4
    assert all(body.startswith(b"<?xml") and body.endswith(b"</rss>") for _, body, _ in found)
    assert [(one.row, one.status) for one in served] == [
        (0, 200), (1, 301), (1, 200), (2, 200), (0, 200), (0, 304),
    ]  # fmt: skip
    assert all(plan.start <= one.time for one in served)


@pytest.mark.parametrize("habit", [h for h in HOSTILE if h not in (Habit.SILENT, Habit.DRIP)])
def test_hostile_sites_do_what_they_are_called(habit):
    plan = small(habit)

    async def visit():
        async with (
            serve(plan, ManualClock(plan.start)) as web,
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.get(plan.url(0, web.port)) as answer,
        ):
            return answer.status, len(await answer.read())

    if habit in (Habit.RESET, Habit.CUT, Habit.ENDLESS):
        with pytest.raises(aiohttp.ClientError):
            asyncio.run(visit())
    elif habit == Habit.CIRCLE:
        with pytest.raises(aiohttp.TooManyRedirects):
            asyncio.run(visit())
    else:
        status, length = asyncio.run(visit())
        assert status == (500 if habit == Habit.BROKEN else 200)
        assert length < 4 << 20


@pytest.mark.parametrize("habit", [Habit.SILENT, Habit.DRIP])
def test_who_never_ends_does_not_keep_the_web_from_closing(habit):
    plan = small(habit)

    async def visit():
        timeout = aiohttp.ClientTimeout(total=0.1)
        async with (
            serve(plan, ManualClock(plan.start)) as web,
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(plan.url(0, web.port)) as answer,
        ):
            await answer.read()

    with pytest.raises(TimeoutError):
        asyncio.run(visit())


def test_manners_have_the_names_of_habits():
    assert {Habit(manner) for manner in Manner if manner != Manner.WHOLE} <= set(HOSTILE)


# ------------------------------------------------------------------ a process of its own
def test_as_a_process_it_says_where_it_is_and_ends_with_its_parent(tmp_path):
    log = tmp_path / "served.jsonl"
    command = [sys.executable, "-m", "dayfly.lab.web", "--feeds", "5", "--speed", "60"]
    with subprocess.Popen(
        [*command, "--log", str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        told = json.loads(process.stdout.readline())

        async def visit():
            async with aiohttp.ClientSession() as session, session.get(told["urls"][0]) as answer:
                return answer.status

        assert asyncio.run(visit()) == 200
        process.stdin.close()
        assert process.wait(10) == 0
    (one,) = [served for served in read_log(log) if served.row == 0]
    assert one.status == 200
    assert (
        told["start_s"]
        <= one.time
        <= told["start_s"] + told["speed"] * (time.monotonic() - told["origin_s"])
    )


@pytest.mark.parametrize("stdin", ["/dev/null", "file", "closed"])
def test_without_an_input_to_wait_for_it_serves_until_a_signal(tmp_path, stdin):
    (tmp_path / "file").touch()
    way = "<&-" if stdin == "closed" else f"<{stdin}"
    command = f"exec {sys.executable} -m dayfly.lab.web --feeds 2 {way}"
    with subprocess.Popen(
        ["sh", "-c", command], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        assert json.loads(process.stdout.readline())["port"] > 0
        process.terminate()
        assert process.wait(10) == 0
        assert process.stderr.read() == ""


def test_a_log_may_keep_nothing_but_count(answers, plan):
    log = Log(keep=False)
    log.note(0.0, 0, "/", ask(answers, plan.sites[0], plan.start))
    assert (log.served, log.requests) == ([], 1)
