"""D05: a clock that is set while a crawl runs, and what one that was wrong has written."""

import asyncio

import numpy as np
import pytest
from msgspec.structs import replace
from tests.unit.schedule.pretend import START, Feed, stocked

from dayfly.model import Crawl, Status
from dayfly.schedule import ManualClock, Notice, SystemClock, resume
from dayfly.store import Record

DAY = 86400.0


@pytest.mark.parametrize("jump", [3600.0, -3600.0, 10 * 365 * 86400.0])
def test_D05_a_clock_that_is_set_gives_no_burst_and_no_starvation(jump):

    hand = ManualClock(START)
    off = [0.0]

    class Set(SystemClock):
        """A system clock whose time passes by hand."""

        company_s = float("inf")

        async def sleep(self, seconds: float) -> None:
            await hand.sleep(seconds)

        def working(self):
            return hand.working()

    clock = Set(lambda: hand.now() + off[0], hand.now)
    store, news = stocked(20), []
    feed = Feed(hand)
    feed.clock = clock  # type: ignore[assignment]
    loop = resume(store, feed, clock, budget=0.02, tick=30.0, watch=news.append)
    real: list[float] = []
    fetch = feed.fetch

    async def noted(source) -> Crawl:
        real.append(hand.now() - START)
        return await fetch(source)

    feed.fetch = noted

    async def go() -> None:
        task = asyncio.ensure_future(loop.run(None))
        await hand.sleep(3600.0)
        off[0] = jump
        await hand.sleep(7200.0)
        loop.stop()
        await task

    asyncio.run(go())
    assert [one.kind for one in news if isinstance(one, Notice)] == ["clock"]
    after = [when for when in real if when >= 3600.0]
    # A burst is a minute's budget and ten crawls; the last of them may overdraw the purse, and
    # that of the long unseen as well.
    assert sum(when < 3660.0 for when in after) <= 2 * (0.02 * 60) + 10 + 2, "one burst at most"
    gaps = np.diff([0.0, *real, 10800.0])
    assert max(gaps) < 1500.0, "no starvation"
    assert len(after) == pytest.approx(0.02 * 7200, abs=40)


def test_D05_what_a_wrong_clock_wrote_does_not_starve_a_restart():
    """Ten years ahead for an hour; then the clock is right again, and the crawl restarted."""
    clock, store = ManualClock(START + 10 * 365 * 86400.0), stocked(5)
    asyncio.run(resume(store, Feed(clock), clock, budget=1.0, tick=60.0).run(clock.now() + 3600))
    clock = ManualClock(START)
    feed = Feed(clock)
    asyncio.run(resume(store, feed, clock, budget=1.0, tick=600.0).run(START + 2 * 86400))
    assert {row for _, row in feed.visits} == set(range(5))


def test_D05_after_a_clock_that_was_ahead_waits_begin_anew_and_do_not_grow_with_restarts():
    year = 365 * DAY
    store = stocked(4)
    changes = [
        {"last_crawl": START + year, "not_before": START + year + 300.0},
        {"last_crawl": START + year, "not_before": START + year + 3600.0, "why_not": "Retry-After"},
        # The crawler died while the clock was ahead; its last visit was before.
        {"last_crawl": START - DAY, "not_before": START + year, "why_not": "lost visit"},
        {"last_crawl": START - DAY, "not_before": START + year, "why_not": "paused"},
    ]
    store.change(replace(store.sources()[row], **change) for row, change in enumerate(changes))
    crawl = Crawl(row=1, time=START + year, status=Status.FAILED, reason="http 429",
                  host_not_before=START + year + 3600.0)  # fmt: skip
    store.record([Record(crawl=crawl, source=store.sources()[1])], store.own())
    visits = {row: [] for row in range(4)}
    for start in np.arange(START, START + 2 * DAY, DAY / 4):
        clock = ManualClock(float(start))
        feed = Feed(clock)
        asyncio.run(resume(store, feed, clock, budget=1.0, tick=60.0).run(start + DAY / 4 - 60.0))
        for row, times in visits.items():
            times += feed.of(row)
    assert [visits[row][0] - START for row in (0, 1)] == [300.0, 3600.0]
    assert DAY <= visits[2][0] - START <= 1.5 * DAY
    assert visits[3] == [], "a pause is the operator's word"


def test_D05_a_pause_is_kept_by_the_wall_though_the_crawler_was_ahead():
    store = stocked(1)
    ahead = {"last_crawl": START + 7200.0, "not_before": START + DAY, "why_not": "paused"}
    store.change([replace(store.sources()[0], **ahead)])
    resume(store, Feed(ManualClock(START)), ManualClock(START), budget=1.0)
    assert store.sources()[0].not_before == START + DAY
