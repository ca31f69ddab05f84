"""May we ask? Verdicts by a scripted web: what is remembered, for how long, and what is not."""

import asyncio
import random
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from multidict import CIMultiDict

from dayfly.fetch import robots as module
from dayfly.fetch.copies import Copies
from dayfly.fetch.errors import FetchError
from dayfly.fetch.robots import Robots
from dayfly.fetch.robotstxt import RobotsText
from dayfly.fetch.urls import Forbidden
from dayfly.model import RobotsCopy

HOUR, DAY = 3600.0, 86400.0
START = 1e9
NO = b"User-agent: dayfly\nDisallow: /\n"
PAGE = "https://a.example.org/feed"


@dataclass
class Said:
    """An answer of the scripted web."""

    status: int = 200
    body: bytes = b""
    headers: CIMultiDict = field(default_factory=CIMultiDict)


@dataclass
class ScriptedWeb:
    """Answers one after another, the last one for ever; an exception is raised."""

    script: list
    asked: list = field(default_factory=list)
    pause: asyncio.Event | None = None

    async def get(self, url, *, max_redirects, verify_tls, body_of, wire_cap, cut):
        assert (max_redirects, cut) == (5, True)
        assert wire_cap >= 500 << 10
        assert all(code in body_of for code in (200, 204, 206))
        assert 404 not in body_of
        self.asked.append((url, verify_tls))
        if self.pause is not None:
            await self.pause.wait()
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class World:
    """A web, a clock, and who asks for permission."""

    def __init__(self, *script, kept=()):
        self.time = START
        self.web = ScriptedWeb(list(script))
        self.robots = Robots(self.web, agent="dayfly/0.1 (+x)", now=lambda: self.time, kept=kept)

    def ask(self, url: str = PAGE, **how):
        return asyncio.run(self.robots.verdict(url, **how))

    @property
    def requests(self) -> int:
        return len(self.web.asked)


def test_robots_txt_is_asked_for_once_per_origin_with_the_port_always_said():
    world = World(Said(body=NO))
    for url in (PAGE, PAGE + "/2", "https://A.example.org:443/3", "HTTPS://a.example.org/4#x"):
        assert not world.ask(url).allowed
    assert world.web.asked == [("https://a.example.org:443/robots.txt", True)]
    world.ask("http://a.example.org/feed")
    world.ask("https://a.example.org:8443/feed")
    world.ask("https://[2001:db8::1]/feed")
    assert [url for url, _ in world.web.asked[1:]] == [
        "http://a.example.org:80/robots.txt",
        "https://a.example.org:8443/robots.txt",
        "https://[2001:db8::1]:443/robots.txt",
    ]


def test_a_verdict_says_why_and_how_long():
    world = World(Said(body=b"User-agent: *\nDisallow: /private\nCrawl-delay: 7"))
    yes, no = world.ask(PAGE), world.ask("https://a.example.org/private")
    assert (yes.allowed, yes.why, yes.crawl_delay, yes.until) == (True, "", 7.0, START + DAY)
    assert (no.allowed, no.why, no.crawl_delay, no.until) == (False, "robots", 7.0, START + DAY)


def test_the_path_that_is_checked_is_the_path_that_is_sent():
    world = World(Said(body=b"User-agent: *\nDisallow: /private\nDisallow: //b"))
    assert not world.ask("https://a.example.org/x/../private/y").allowed
    assert not world.ask("https://a.example.org/%70rivate").allowed
    assert not world.ask("https://a.example.org//b").allowed
    assert world.ask("https://a.example.org/x?/private").allowed
    with pytest.raises(Forbidden):
        world.ask("https://a.example.org\\@b/private")


def test_a_redirect_that_asks_to_wait_is_no_permission():
    wait = CIMultiDict({"Location": "/there", "Retry-After": "7200"})
    world = World(Said(302, headers=wait))
    verdict = world.ask()
    assert (verdict.allowed, verdict.why) == (False, "robots unreachable: http 302")
    assert verdict.until == START + 7200


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 451, 499, 300, 304])
def test_C02_where_there_is_none_all_is_allowed_and_the_reason_is_told(status):
    world = World(Said(status, NO))
    verdict = world.ask()
    assert verdict.allowed
    assert verdict.why == f"no robots: http {status}"
    assert verdict.until == START + DAY
    (copy,) = world.robots.news()
    assert (copy.outcome, copy.reason, copy.body) == ("absent", f"http {status}", b"")


UNREACHABLE = [
    Said(500), Said(503), Said(429), Said(599), Said(999),
    FetchError("connect", "refused"), FetchError("timeout", "first byte"), FetchError("dns"),
    FetchError("tls", "expired"), FetchError("cut short"), FetchError("protocol"),
    FetchError("too large"), FetchError("encoding"),
]  # fmt: skip


@pytest.mark.parametrize("answer", UNREACHABLE, ids=str)
def test_C03_unreachable_means_no(answer):
    world = World(answer, Said(body=b""))
    verdict = world.ask()
    assert not verdict.allowed
    assert verdict.why.startswith("robots unreachable: ")
    assert START + 300 <= verdict.until <= START + 375
    assert not world.ask().allowed
    assert world.requests == 1
    world.time = verdict.until
    assert world.ask().allowed
    assert [copy.outcome for copy in world.robots.news()] == ["found"]


@pytest.mark.parametrize("answer", UNREACHABLE, ids=str)
def test_C03_a_copy_from_earlier_goes_on_being_used(answer):
    world = World(Said(body=b"User-agent: *\nDisallow: /private"), answer)
    world.ask()
    world.time += DAY
    assert world.ask().allowed
    assert world.ask().why.startswith("old copy of robots: ")
    assert not world.ask("https://a.example.org/private").allowed
    assert world.requests == 2
    copy = world.robots.news()[-1]
    assert (copy.outcome, copy.fetched, copy.unreachable_since) == ("found", START, START + DAY)
    assert copy.expires < world.time + 400
    # 30 days later it is no proof of anything any more.
    world.time = START + 30 * DAY + 1
    assert not world.ask().allowed
    assert world.ask().why.startswith("robots unreachable: ")


def test_C03_none_at_all_is_not_a_copy():
    world = World(Said(404), Said(503))
    assert world.ask().allowed
    world.time += DAY
    assert not world.ask().allowed


def test_C03_it_is_asked_for_again_ever_less_often_and_never_given_up():
    world = World(Said(503))
    gaps = []
    for _ in range(40):
        until = world.ask().until
        gaps.append(until - world.time)
        world.time = until
    assert world.requests == 40
    assert 300 <= gaps[0] <= 375
    assert all(a <= b * 1.0001 for a, b in pairwise(gaps))
    assert 6 * HOUR <= gaps[-1] <= 7.5 * HOUR


def test_C03_origins_that_fell_silent_together_are_not_asked_again_together():
    world = World(Said(503))
    untils = {world.ask(f"https://h{n}.example.org/").until for n in range(50)}
    assert len(untils) > 40


def test_C03_C08_retry_after_is_obeyed_up_to_a_day():
    for said, wait in (("7200", 7200), ("99999999", DAY)):
        world = World(Said(503, b"", CIMultiDict({"retry-after": said})))
        assert world.ask().until == START + wait
    world = World(Said(429, b"", CIMultiDict([("Retry-After", "900"), ("Retry-After", "7200")])))
    assert world.ask().until == START + 7200


def test_C03_what_the_guard_refuses_is_said_by_the_guard():
    world = World(Forbidden("address is not public"))
    verdict = world.ask()
    assert not verdict.allowed
    assert verdict.why == "guard: address is not public"


def test_C04_only_the_first_500_KiB_count():
    body = b"User-agent: *\nDisallow: /first\n" + b"#" * 600_000 + b"\nDisallow: /last\n"
    world = World(Said(body=body))
    assert not world.ask("https://a.example.org/first").allowed
    assert world.ask("https://a.example.org/last").allowed
    (copy,) = world.robots.news()
    assert copy.body == b"user-agent: *\ndisallow: /first\n"  # all that is kept of it


def test_C04_reading_a_long_file_holds_nobody_up():
    body = b"User-agent: *\n" + b"".join(b"Disallow: /*%d*a*b\n" % n for n in range(6_000))

    async def run():
        world = World(Said(body=body))
        beats = 0

        async def beat():
            nonlocal beats
            while True:
                await asyncio.sleep(0)
                beats += 1

        heart = asyncio.create_task(beat())
        verdict = await world.robots.verdict("https://a.example.org/77xaxb")
        heart.cancel()
        return verdict.allowed, beats

    allowed, beats = asyncio.run(run())
    assert not allowed
    assert beats > 10


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["rules", "other", "absent", "503", "dns", "guard"]),
        st.floats(1, 40 * DAY) | st.floats(1, 2 * DAY),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=40)
@given(STEPS)
def test_C03_C06_over_a_long_time_no_verdict_is_older_than_it_may_be(steps):
    """What the origin would say changes with every step; what we know of it is written down."""
    says = {
        "rules": Said(body=b"User-agent: *\nDisallow: /feed"),
        "other": Said(body=b"User-agent: *\nDisallow: /other"),
        "absent": Said(404),
        "503": Said(503),
        "dns": FetchError("dns"),
        "guard": Forbidden("address is not public"),
    }
    world = World(Said())
    asked_at, last_asked, last_file = None, "", ("", 0.0)
    for what, step in steps:
        world.web.script = [says[what]]
        before = world.requests
        verdict = world.ask()
        if world.requests > before:
            if asked_at is not None:  # neither too often
                wait = HOUR if last_asked in ("rules", "other", "absent") else 300
                assert world.time - asked_at >= wait
            asked_at, last_asked = world.time, what
            if what in ("rules", "other"):
                last_file = (what, world.time)
            elif what == "absent":
                last_file = ("", 0.0)
        else:  # nor too seldom
            assert world.time - asked_at < DAY
        assert world.time < verdict.until <= world.time + DAY
        if last_asked in ("rules", "other", "absent"):
            assert verdict.allowed is (last_asked != "rules")
        elif last_file[0] and asked_at - last_file[1] <= 30 * DAY:
            assert verdict.allowed is (last_file[0] == "other")
        else:
            assert not verdict.allowed
        world.time += step


def test_C05_too_many_redirects_are_as_good_as_none():
    world = World(FetchError("redirects", "more than 5"))
    verdict = world.ask()
    assert verdict.allowed
    assert verdict.why == "no robots: redirects: more than 5"


def test_C06_what_changes_is_obeyed_within_a_day():
    world = World(Said(body=b"User-agent: *\nAllow: /"), Said(body=NO))
    assert world.ask().allowed
    world.time = START + DAY - 1
    assert world.ask().allowed
    assert world.requests == 1
    world.time = START + DAY
    assert not world.ask().allowed  # asked again before the page is
    assert world.requests == 2


@pytest.mark.parametrize(
    ("headers", "hours"),
    [
        ({}, 24), ({"Cache-Control": "max-age=7200"}, 2), ({"Cache-Control": "max-age=0"}, 1),
        ({"Cache-Control": "no-store"}, 1), ({"Cache-Control": "max-age=99999999"}, 24),
        ({"Cache-Control": "max-age=14400", "Age": "7200"}, 2), ({"Expires": "0"}, 1),
        ({"Cache-Control": "private"}, 24),
    ],
)  # fmt: skip
def test_C06_the_server_says_how_long_between_an_hour_and_a_day(headers, hours):
    world = World(Said(body=NO, headers=CIMultiDict(headers)))
    assert world.ask().until == START + hours * HOUR


def test_D05_a_clock_that_was_set_back_makes_no_verdict_eternal():
    world = World(Said(body=b""), Said(body=NO))
    assert world.ask().allowed
    world.time = START - 10 * 365 * DAY
    assert not world.ask().allowed
    assert world.requests == 2


def test_what_an_unverified_server_says_is_for_those_who_asked_it():
    world = World(FetchError("tls", "expired"), Said(body=b""))
    assert not world.ask().allowed
    assert world.ask(verify_tls=False).allowed
    assert not world.ask().allowed
    assert [verified for _, verified in world.web.asked] == [True, False]
    assert [copy.outcome for copy in world.robots.news()] == ["unreachable"]


def test_copies_from_an_earlier_run_are_used_until_they_expire():
    copy = RobotsCopy(
        origin="https://a.example.org:443", outcome="found", body=b"User-agent: *\nDisallow: /f",
        fetched=START - HOUR, expires=START + HOUR,
    )  # fmt: skip
    world = World(Said(body=b""), kept=[copy])
    assert not world.ask().allowed
    assert world.requests == 0
    assert world.robots.news() == []
    world.time += HOUR
    assert world.ask().allowed
    assert world.requests == 1


def test_C16_a_restart_does_not_ask_an_unreachable_origin_earlier():
    world = World(Said(503))
    until = world.ask().until
    kept = world.robots.news()
    again = World(Said(503), kept=kept)
    assert again.ask().until == until
    assert again.requests == 0
    again.time = until
    assert again.ask().until - until >= 300
    assert again.robots.news()[0].unreachable_since == START


def test_a_copy_from_a_broken_clock_is_fetched_anew():
    copy = RobotsCopy(origin="https://a.example.org:443", outcome="absent", expires=START + 9 * DAY)
    world = World(Said(body=NO), kept=[copy])
    assert not world.ask().allowed


def test_news_is_told_once_and_the_latest_counts():
    world = World(Said(503), Said(body=NO))
    world.ask()
    world.time += HOUR
    world.ask()
    world.ask("http://b.example.org/")
    news = world.robots.news()
    assert [(copy.origin, copy.outcome) for copy in news] == [
        ("https://a.example.org:443", "found"),
        ("http://b.example.org:80", "found"),
    ]
    assert world.robots.news() == []


def test_one_request_per_origin_at_a_time_and_others_wait_for_it():
    async def run():
        world = World(Said(body=NO))
        world.web.pause = asyncio.Event()
        asked = [asyncio.create_task(world.robots.verdict(f"{PAGE}/{n}")) for n in range(20)]
        other = asyncio.create_task(world.robots.verdict("https://b.example.org/"))
        await asyncio.sleep(0.01)
        assert world.requests == 2
        world.web.pause.set()
        verdicts = await asyncio.gather(*asked, other)
        assert world.requests == 2
        assert not any(verdict.allowed for verdict in verdicts)

    asyncio.run(run())


def test_if_whoever_asks_is_cancelled_another_one_asks():
    async def run():
        world = World(Said(body=NO))
        world.web.pause = asyncio.Event()
        asked = [asyncio.create_task(world.robots.verdict(f"{PAGE}/{n}")) for n in range(5)]
        await asyncio.sleep(0.01)
        asked[0].cancel()
        asked[3].cancel()
        await asyncio.sleep(0.01)
        assert world.requests == 2
        world.web.pause.set()
        done = await asyncio.gather(*asked, return_exceptions=True)
        assert [isinstance(one, asyncio.CancelledError) for one in done] == [
            True, False, False, True, False,
        ]  # fmt: skip
        assert world.requests == 2

    asyncio.run(run())


def test_an_accident_of_whoever_asks_is_nobody_elses():
    async def run():
        world = World(RuntimeError("closed"), Said(body=NO))
        world.web.pause = asyncio.Event()
        asked = [asyncio.create_task(world.robots.verdict(f"{PAGE}/{n}")) for n in range(3)]
        await asyncio.sleep(0.01)
        world.web.pause.set()
        done = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(done[0], RuntimeError)
        assert [verdict.allowed for verdict in done[1:]] == [False, False]

    asyncio.run(run())


def test_verdicts_at_hand_are_bounded_and_outlive_the_rules(monkeypatch):
    monkeypatch.setattr(module, "_VERDICTS", 100)
    world = World(Said(body=b"User-agent: *\nDisallow: /x"))
    robots = world.robots
    robots._copies = Copies(bytes_cap=5000)

    async def run():
        for n in range(1000):
            await robots.verdict(f"https://h{n}.example.org/feed")
            await robots.verdict("https://h0.example.org/feed")  # in use all the time

    asyncio.run(run())
    assert len(robots._young) + len(robots._old) <= 200
    assert len(robots._copies) < 10
    assert world.requests == 1000  # h0 was never asked again


def test_news_that_nobody_fetches_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_NEWS", 10)
    world = World(Said(body=NO))
    for n in range(30):
        world.ask(f"https://h{n}.example.org/")
    assert [copy.origin for copy in world.robots.news()] == [
        f"https://h{n}.example.org:443" for n in range(20, 30)
    ]


def test_a_memory_that_forgets_gives_the_same_verdicts():
    """Small and large caches agree on everything, whatever is asked in which order."""
    seed = 20_261_116
    print("seed", seed)
    chance = random.Random(seed)
    files = [f"User-agent: *\nDisallow: /{n % 7}\nCrawl-delay: {n % 5}".encode() for n in range(30)]

    class Files(ScriptedWeb):
        async def get(self, url, **_):
            return Said(body=files[int(url.split(".")[0].removeprefix("https://h"))])

    async def run():
        large = Robots(Files([]), agent="dayfly", now=lambda: START)
        small = Robots(Files([]), agent="dayfly", now=lambda: START)
        small._copies = Copies(bytes_cap=3000, parsed_cap=2, parsed_bytes_cap=100)
        for _ in range(2000):
            url = f"https://h{chance.randrange(30)}.example.org/{chance.randrange(9)}"
            assert await large.verdict(url) == await small.verdict(url)

    asyncio.run(run())


def test_copies_keep_within_their_bounds():
    copies = Copies(bytes_cap=10_000, parsed_cap=3, parsed_bytes_cap=1000)
    for n in range(100):
        body = b"user-agent: *\ndisallow: /" + b"x" * n + b"\n"
        copy = RobotsCopy(origin=str(n), outcome="found", body=body)
        copies.keep(str(n), copy)
        assert copies.text(str(n), copy) is None
        copies.keep_text(str(n), copy, RobotsText(body))
        assert not copies.text(str(n), copy).allows("https://a/" + "x" * n)
        assert copies.text(str(n), replace(copy, body=b"newer")) is None
        assert copies._bytes <= 10_000
        assert copies._bytes == sum(600 + len(c.body) for c in copies._copies.values())
        assert copies._parsed_bytes == sum(len(body) for body, _ in copies._parsed.values())
        assert len(copies._parsed) <= 3
    assert copies.get("0") is None
    assert copies.get("99") is not None
    # One that is too large for everything is kept alone.
    copies.keep("large", RobotsCopy(origin="large", outcome="found", body=b"#" * 20_000))
    assert len(copies) == 1
