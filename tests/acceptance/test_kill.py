"""D02: kill -9 at random moments under load. Nothing lost, nothing twice, nobody asked too early.

The simulated web runs in a process of its own, ten minutes per second, and is its own witness. The
crawler is forked off, takes the database over as `dayfly run` does, crawls, and is killed.
"""

import asyncio
import contextlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import replace
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from dayfly.fetch import Guard, HttpFetcher
from dayfly.lab.web import draw_plan, item_of, read_log
from dayfly.lab.web.log import Served, early_polls
from dayfly.model import Crawl, Status
from dayfly.schedule import FastClock, Recorded, Rules, resume
from dayfly.store import Listing, SqliteStore, State, owned

SPEED, FEEDS, SEED = 600.0, 300, 7
#: Visits per second of the web's time: two hundred in a real second.
BUDGET = 200 / SPEED
#: A crawler lives until it has stored so many batches, at most, and some moments more (in real
#: seconds). Some are killed while they start.
BATCHES, MOMENT_S, YOUNG_S, YOUNG = 6, 0.05, 0.4, 0.1


@pytest.mark.acceptance
def test_D02_two_hundred_kills_lose_nothing_store_nothing_twice_and_ask_nobody_early(tmp_path):
    figures = kill_again_and_again(tmp_path, cycles=200, seed=random.randrange(10**9))
    judge(figures, cycles=200)


@pytest.mark.soak
def test_D02_a_thousand_kills(tmp_path):
    figures = kill_again_and_again(tmp_path, cycles=1000, seed=random.randrange(10**9))
    judge(figures, cycles=1000)


def test_a_wish_that_was_lost_with_its_visit_binds_nobody():
    def said(row, time, retry_after=0):
        return Served(time, 0, "/", 429 if retry_after else 200, row, 0, 0, retry_after)

    def made(row, time, reason=""):
        return Crawl(row=row, time=time, status=Status.UNCHANGED, reason=reason)

    served = [said(0, 10.0, 60), said(1, 20.0, 60), said(2, 30.0, 60), said(3, 40.0, 60)]
    # The first was stored; the second was not, and is asked again later; the third was not, and
    # is never asked again; after the fourth was lost robots.txt forbade to ask once more.
    served += [said(1, 90.0)]
    visits = [made(0, 11.0), made(1, 91.0), made(3, 55.0, "robots: disallowed")]
    assert [one.retry_after for one in _heard(served, visits)] == [60, 0, 0, 0, 0]


def judge(figures, cycles):
    print(json.dumps(figures, indent=1))
    # It was a loaded crawl: kills hit visits under way, and much was stored all the same.
    assert figures["kills"] == cycles
    assert figures["visits"] > 5 * cycles
    assert figures["requests whose visit was lost"] > cycles / 4
    for what in ("integrity problems", "items lost", "items stored twice", "early polls"):
        assert figures[what] == 0, what


def kill_again_and_again(folder, *, cycles, seed):
    print(f"seed {seed}")
    rng = random.Random(seed)
    db, log = folder / "kill.db", folder / "served.jsonl"
    command = [sys.executable, "-m", "dayfly.lab.web", "--feeds", str(FEEDS), "--seed", str(SEED)]
    command += ["--speed", str(SPEED), "--span", "30 days", "--log", str(log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as web:
        told = json.loads(web.stdout.readline())
        plan = draw_plan(FEEDS, seed=SEED, span=30 * 86400.0)
        store = SqliteStore(db)
        store.add(
            Listing(id=f"feed-{row}", url=url, decay=float(plan.truth.decay[row]))
            for row, url in enumerate(told["urls"])
        )
        store.close()
        #: After each kill: when it was, and until when each source must be left alone.
        promises, problems = [], []
        for _ in range(cycles):
            _one_life(rng, db, told)
            _let_the_web_catch_up(told)
            died = clock_of(told).now()
            store = SqliteStore(db)
            problems += store.check()
            waits = {one.row: one.not_before for one in store.sources() if one.not_before}
            promises.append((died, waits))
            store.close()
        web.stdin.close()
        web.wait(20)
    served = list(read_log(log))
    store = SqliteStore(db)
    try:
        lost = sum(source.lost for source in store.sources())
        figures = account(store, plan, served, promises)
        states = Counter(source.state for source in store.sources())
    finally:
        store.close()
    asked = sum(one.row >= 0 and one.path == plan.sites[one.row].path for one in served)
    return {
        "seed": seed,
        "kills": cycles,
        "requests for documents": asked,
        **figures,
        "requests whose visit was lost": asked - figures["visits that asked"],
        "suspects at the end": lost,
        "quarantined": states[State.QUARANTINED],
        "integrity problems": len(problems),
    }


def clock_of(told):
    """The web's own time, to the last digit: a crawler that is late to ask is not behind."""
    return FastClock(told["speed"], start=told["start_s"], origin=told["origin_s"])


def _let_the_web_catch_up(told):
    """Come back when it has noted all that the dead crawler asked for.

    On a busy machine a request may lie unread while the next crawler is born: the web would take
    it for later than it was, and what the next one asks for too early.
    """
    where = urlsplit(told["urls"][0])
    with contextlib.closing(HTTPConnection(where.hostname, where.port, timeout=20)) as web:
        # The second is read after all that lay there before the first was.
        for _ in range(2):
            web.request("GET", "/nobody")
            web.getresponse().read()


def _one_life(rng, db, told):
    """Fork a crawler and kill it: while it crawls, or before."""
    hears, tells = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(_crawl(db, told, tells))
        finally:
            os._exit(1)
    os.close(tells)
    try:
        if rng.random() < YOUNG:
            time.sleep(rng.uniform(0.0, YOUNG_S))
        else:
            for _ in range(rng.randint(1, BATCHES)):
                assert os.read(hears, 1), "the crawler died by itself"
            time.sleep(rng.uniform(0.0, MOMENT_S))
    finally:
        os.close(hears)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


async def _crawl(db, told, tells):
    """What `dayfly run` does, in the web's time."""
    clock = clock_of(told)
    with owned(db):
        store = SqliteStore(db)
        fetcher = HttpFetcher(Guard(told["allow"]), now=clock.now, kept_robots=store.robots())
        async with fetcher:

            def tell(news):
                if isinstance(news, Recorded):
                    os.write(tells, b".")

            await resume(store, fetcher, clock, budget=BUDGET, tick=10.0, watch=tell).run()


def account(store, plan, served, promises):
    """What the database says, against what the web saw."""
    items = list(store.items())
    stored = Counter(item_of(item.link) for item in items)
    visits = list(store.visits())
    answered = defaultdict(list)
    for one in served:
        if one.row >= 0 and one.status in (200, 304):
            answered[one.row].append((one.time, one))
    missing = set()
    for visit in visits:
        if not visit.answered:
            continue
        times = answered[visit.row]
        place = bisect_right(times, visit.time, key=lambda entry: entry[0])
        shown = times[place - 1][1]
        missing |= {
            (visit.row, number)
            for number in range(shown.first, shown.last)
            if (visit.row, number) not in stored
        }
    heard = _heard(served, visits)
    broken = early_polls(heard, plan, Rules()) + _before_promised(served, plan, promises)
    for one in broken:
        print(one)
    return {
        "visits": len(visits),
        "visits that asked": sum(map(_asked, visits)),
        "items": len(items),
        "items lost": len(missing),
        "items stored twice": sum(count - 1 for count in stored.values()),
        "early polls": len(broken),
        "early by rule": dict(Counter(getattr(one, "rule", "promise") for one in broken)),
    }


def _asked(visit):
    """Whether it came to a request for the document itself."""
    return not visit.reason.startswith("robots")


def _heard(served, visits):
    """What was served, where a Retry-After counts only if the visit that heard it was stored.

    A crawler that was killed before it could store the answer cannot know what it said; all it
    knows at the next start is that it may have asked.
    """
    ended = defaultdict(list)
    for visit in visits:
        if _asked(visit):
            ended[visit.row].append(visit.time)
    asked = defaultdict(list)
    for one in served:
        asked[one.row].append(one.time)
    heard = []
    for one in served:
        if one.retry_after and one.row >= 0:
            # Stored, if a visit of this source ended between this request and the next one.
            end = next((time for time in ended[one.row] if time >= one.time), math.inf)
            after = next((time for time in asked[one.row] if time > one.time), math.inf)
            if end >= after:  # both are infinite if it was never asked again
                one = replace(one, retry_after=0)
        heard.append(one)
    return heard


def _before_promised(served, plan, promises):
    """First requests after a restart that came before what was stored allows."""
    deaths = [died for died, _ in promises]
    seen, found = set(), []
    for one in served:
        if one.row < 0 or one.path != plan.sites[one.row].path:
            continue
        life = bisect_right(deaths, one.time)
        if life and (life, one.row) not in seen:
            seen.add((life, one.row))
            if one.time < promises[life - 1][1].get(one.row, 0.0):
                found.append(one)
    return found
