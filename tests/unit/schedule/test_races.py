"""Two at once: an operator and a batch that is being stored, a stop and a visit, and accidents."""

import asyncio
import threading

import numpy as np
import pytest
from msgspec.structs import replace
from tests.unit.schedule.pretend import START, Feed, make, stocked

from dayfly.learn.live import LiveEstimator
from dayfly.model import Crawl, Item, Status
from dayfly.schedule import FastClock, Loop, ManualClock, Recorded, Rules, Scheduler, resume
from dayfly.store import MemoryStore, fleet_of
from dayfly.store.pauses import without_pause
from dayfly.store.sources import State

DAY = 86400.0


@pytest.fixture
def still():
    """A loop that does not run, with our own estimator; it is driven by hand."""
    clock, store = ManualClock(START), stocked(3)
    estimator = LiveEstimator(fleet_of(store.sources()), budget=1.0)
    scheduler = Scheduler(estimator.mean(), 1.0, START, min_interval=0.0)
    loop = Loop(scheduler, estimator, Feed(clock), store, clock, rules=Rules(min_interval=600.0))
    yield loop
    loop._writer.close()


def written(loop: Loop, crawl: Crawl):
    """What the store's thread makes of this visit; the loop is not told yet."""
    return loop.ask_now(lambda store: loop._writer._write(store, [crawl]))


def seen(row: int = 0, **changes) -> Crawl:
    items = tuple(Item(key=str(n), published=START - 900.0 * n) for n in range(1, 9))
    return Crawl(
        row=row, time=START, status=Status.CHANGED, items=items, visible=8, oldest_s=7200.0,
        **changes,
    )  # fmt: skip


def test_a_change_made_from_an_old_copy_does_not_undo_visits(still):
    old = still.sources[0]
    still._ledger.stored(written(still, seen(etag='"x"')))
    still.change(replace(old, weight=9.0, state=State.PAUSED))
    new = still.ask_now(lambda store: store.sources())[0]
    assert (new.weight, new.state, new.etag) == (9.0, State.PAUSED, '"x"')
    assert new.last_crawl == START
    assert new.estimate is not None
    assert new == still.sources[0]


def test_a_wait_and_a_pause_that_meet_are_both_kept(still):
    """The batch is stored between the operator's look and the operator's change."""
    asked, ask_now = [], still._writer.ask_now

    def late(job):
        if not asked:
            asked.append(True)
            written(still, seen())
        return ask_now(job)

    still._writer.ask_now = late
    new = still.change(replace(still.sources[0], not_before=START + 60.0, title="T"))
    assert (new.not_before, new.title, new.last_crawl) == (START + 600.0, "T", START)


def test_who_is_revived_while_its_end_is_being_stored_is_crawled(still):
    still.change(replace(still.sources[1], gone_since=START - 2 * DAY))
    still.scheduler.due(START, 3)
    records = written(still, Crawl(row=1, time=START, status=Status.REFUSED, reason="http 410"))
    assert records[0].source.state is State.GONE
    still.change(replace(still.sources[1], state=State.ACTIVE, gone_since=None))
    still._ledger.stored(records)
    assert 1 in still.scheduler.due(START + 3 * DAY, 3)


def test_who_is_paused_while_a_visit_is_being_stored_is_paused_and_expected_to_give_nothing(still):
    still.scheduler.due(START, 3)
    records = written(still, seen())
    still.change(replace(still.sources[0], state=State.PAUSED))
    still._ledger.stored(records)
    assert still._ledger._published[0] == 0.0
    assert 0 not in still.scheduler.due(START + 3 * DAY, 3)


def test_a_weight_that_is_changed_while_a_visit_is_being_stored_counts(still):
    records = written(still, seen())
    still.change(replace(still.sources[0], weight=9.0))
    still._ledger.stored(records)
    _, _, worth = still._writer.estimator.curves(np.array([0]))
    assert still.scheduler.source(0).worth == worth[0]
    assert worth[0] > 2 * records[0].source.estimate.worth


def test_a_weight_that_is_changed_while_all_beliefs_are_found_anew_counts(still):
    still._ledger.stored(written(still, seen()))
    estimator, ask = still._writer.estimator, still._writer.ask
    estimator.refit_due = lambda now: True

    async def then_changed(job):
        found = await ask(job)
        still.change(replace(still.sources[0], weight=9.0))
        return found

    still._writer.ask = then_changed
    asyncio.run(still._ledger.refit())
    _, _, worth = estimator.curves(np.arange(3))
    assert [still.scheduler.source(row).worth for row in range(3)] == worth.tolist()


def test_validators_of_an_address_that_was_changed_meanwhile_are_dropped(still):
    asyncio.run(still._writer.claim([0, 1], START))
    still.change(replace(still.sources[0], url="http://other.example/"))
    for row, kept in ((0, ""), (1, '"x"')):
        written(still, seen(row, etag='"x"', digest="d"))
        assert still.sources[row].etag == kept
    written(still, seen(0, etag='"y"'))
    assert still.sources[0].etag == '"y"', "the next visit asks the new address"


def test_a_move_that_is_believed_by_now_spares_the_new_host():
    clock, store = ManualClock(START), stocked(2)
    there = "http://new.example/0"
    moved = replace(store.sources()[0], moved_to=there, moved_since=START - 8 * DAY)
    store.change([moved])
    feed = Feed(clock, changes={0: {"moved": there}})
    loop = resume(store, feed, clock, budget=1.0)
    asyncio.run(loop.run(START + 2))
    assert loop.sources[0].url == there
    assert loop.scheduler.source(0).host == "new.example"
    assert loop.scheduler.source(1).host == "h1.example"


def test_a_clock_that_is_set_ahead_publishes_nothing(still):
    ledger, leaps = still._ledger, [0.0, 3600.0, 0.0, 0.0]
    still.clock.jumped = lambda: leaps.pop(0)
    pace = float(ledger._published.sum())
    # The leap is known before the instants that are decided for come to it.
    for now in (10.0, 20.0, 3630.0, 3640.0):
        ledger.pass_time(START + now)
    assert still.counters.expected == pytest.approx(40.0 * pace)


def test_a_watcher_that_fails_ends_the_crawl_in_good_order():
    def broken(news) -> None:
        if isinstance(news, Recorded):
            raise BrokenPipeError("nobody reads this")

    loop, feed, store, *_ = make(n=4, watch=broken, feed={"takes": {3: 2.0}})
    with pytest.raises(BrokenPipeError):
        asyncio.run(loop.run(None))
    assert sorted(visit.row for visit in store.visits()) == [0, 1, 2, 3]
    assert len(feed.visits) == 4, "nobody new was visited"
    assert store.lost(store.own()) == [], "no claim is left behind"


def test_a_crawl_that_is_cancelled_while_it_claims_leaves_no_claim_behind():
    begun, go_on = threading.Event(), threading.Event()

    class Slow(MemoryStore):
        def claim(self, rows, time, fence, funds=None):
            begun.set()
            go_on.wait(5.0)
            super().claim(rows, time, fence, funds)

    loop, feed, store, *_ = make(store=Slow())

    async def cancelled() -> None:
        task = asyncio.ensure_future(loop.run(None))
        await asyncio.to_thread(begun.wait, 5.0)
        task.cancel()
        await asyncio.sleep(0.01)
        go_on.set()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert feed.visits == []
    assert store.lost(store.own()) == []


def test_a_visit_that_does_not_let_go_does_not_keep_the_crawl_from_ending(monkeypatch):
    from dayfly.schedule import loop as deciding
    from dayfly.schedule import visiting

    monkeypatch.setattr(deciding, "_GRACE_S", 0.01)
    monkeypatch.setattr(visiting, "_LETTING_GO_S", 0.01)
    loop, feed, store, *_ = make(n=1, clock=FastClock(1.0, START))

    async def clinging(source) -> Crawl:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(60.0)
        raise AssertionError

    feed.fetch = clinging

    async def stopped() -> None:
        task = asyncio.ensure_future(loop.run(None))
        await asyncio.sleep(0.05)
        loop.stop()
        await task

    asyncio.run(stopped())
    assert [visit.reason for visit in store.visits()] == ["stopped"]
    assert store.lost(store.own()) == []


def test_a_suspect_that_was_paused_meanwhile_is_not_visited():
    clock, store = ManualClock(START), stocked(3)
    store.claim([0, 1], START, store.own())
    feed = Feed(clock, takes={0: 30.0, 1: 30.0})
    loop = resume(store, feed, clock, budget=10.0)

    async def go() -> None:
        task = asyncio.ensure_future(loop.run(START + 500.0))
        await clock.sleep(310.0)  # one of them is visited, the other one waits for its turn
        assert len(loop.under_way) == 1
        other = 1 - loop.under_way[0]
        loop.change(replace(loop.sources[other], state=State.PAUSED))
        await task
        assert feed.of(other) == []
        assert len(feed.of(1 - other)) == 1

    asyncio.run(go())


def test_a_restart_believes_what_a_refit_at_that_moment_would():
    """To the last bit; what the scheduler learnt of its price, and its purse, begin anew."""
    clock, store = ManualClock(START), stocked(30)
    loop = resume(store, Feed(clock), clock, budget=0.05, tick=60.0)
    asyncio.run(loop.run(START + 4000))
    lived = loop._writer.estimator
    stale = [source.estimate.worth for source in store.sources()]
    lived.refit()
    again = resume(store, Feed(clock), clock, budget=0.05).scheduler.fleet
    arrival, decay, worth = lived.curves(np.arange(30))
    assert np.array_equal(again.arrival, arrival)
    assert np.array_equal(again.decay, decay)
    assert np.array_equal(again.worth, worth)
    assert not np.array_equal(again.worth, stale), "what is stored is older than the refit"


@pytest.mark.parametrize("reason", ["", "stopped"])
def test_a_pause_of_a_week_during_a_visit_outlasts_it(still, reason):
    until = START + 7 * DAY
    still.change(replace(still.sources[0], not_before=until, why_not="paused"))
    given_up = Crawl(row=0, time=START, status=Status.FAILED, reason=reason)
    written(still, given_up if reason else seen())
    stored = still.ask_now(lambda store: store.sources())[0]
    assert (stored.not_before, stored.last_crawl) == (until, START)
    # What the visit asks for holds when the pause ends early.
    assert without_pause(stored.why_not) == (START + 600.0, "minimum interval")


def test_a_pause_that_is_over_before_the_visit_asks_is_forgotten(still):
    still.change(replace(still.sources[0], not_before=START + 60.0, why_not="paused"))
    written(still, seen())
    stored = still.sources[0]
    assert (stored.not_before, stored.why_not) == (START + 600.0, "minimum interval")


@pytest.mark.parametrize("change", [{"state": State.REMOVED}, {"not_before": START + DAY}])
def test_who_is_taken_back_while_its_claim_waits_for_the_store_is_not_visited(change):
    loop, feed, store, *_ = make(n=2)
    claim = loop._writer.claim

    async def late(rows, time, funds=None):
        await claim(rows, time, funds)
        loop.change(replace(loop.sources[1], **change))

    loop._writer.claim = late
    asyncio.run(loop.run(START + 1.0))
    assert [row for _, row in feed.visits] == [0]
    assert store.lost(store.own()) == []
    assert loop.under_way == []


def test_suspects_hold_nobody_up():
    """Four were under way when the crawler died, and as many may be at a time."""
    clock, store = ManualClock(START), stocked(20)
    store.claim([0, 1, 2, 3], START, store.own())
    feed = Feed(clock, takes=dict.fromkeys(range(4), 30.0))
    loop = resume(store, feed, clock, budget=10.0, parallel=4, rules=Rules(min_interval=300.0))
    asyncio.run(loop.run(START + 315.0))
    # From 300 on the first suspect is visited; all others have their second visit meanwhile.
    assert sum(when >= START + 300.0 for row in range(4) for when in feed.of(row)) == 1
    assert all(len(feed.of(row)) == 2 for row in range(4, 20))
