"""Both stores beside a plain model: whatever is done to them, they answer alike."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace
from tests.unit.store.conftest import QUICK
from tests.unit.store.making import all_of, listing

from dayfly.errors import BadInput, DayflyError, StaleFence
from dayfly.estimate import Estimate
from dayfly.model import Crawl, Item, RobotsCopy, Status
from dayfly.store import Event, Funds, MemoryStore, Record, SqliteStore, State

ROWS = st.integers(0, 4)
TIMES = st.integers(0, 50).map(float)
KEYS = st.lists(st.sampled_from(["a", "b", "c", "", "\0", "half \ud800", "é" * 300]), max_size=5)
HINTS = st.sampled_from([None, 7.0, 9.0])
FENCES = st.sampled_from(["mine", "mine", "mine", "mine", "old", "future"])


class Twins(RuleBasedStateMachine):
    """Does the same to both stores, and keeps a model of items, fences and claims in dicts."""

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp(dir=QUICK))
        self.path = self.folder / "s.db"
        self.stores = [SqliteStore(self.path), MemoryStore()]
        self.fence = self.stores[0].own()  # they need not begin at the same number
        while self.stores[1].own() < self.fence:
            pass
        self.n_sources = 0
        self.known: dict[tuple[int, str], bool] = {}
        self.items: dict[tuple[int, str], float] = {}
        self.claims: dict[int, int] = {}

    def teardown(self):
        if hasattr(self, "stores"):
            for store in self.stores:
                store.close()
            shutil.rmtree(self.folder)

    def both(self, work):
        """What both answer, or the kind of error that both raise."""
        answers = []
        for store in self.stores:
            try:
                answers.append(work(store))
            except DayflyError as error:
                answers.append(type(error))
        assert answers[0] == answers[1]
        return answers[0]

    def allowed(self, fence):
        return {"mine": self.fence, "old": self.fence - 1, "future": self.fence + 1}[fence]

    @rule(ids=st.lists(st.sampled_from(["p", "q", "r", "s", "t", ""]), max_size=3))
    def add(self, ids):
        listings = [replace(listing(id or "x"), id=id) for id in ids]
        answer = self.both(lambda store: store.add(listings))
        if answer is not BadInput:
            assert answer == list(range(self.n_sources, self.n_sources + len(ids)))
            self.n_sources += len(ids)

    @rule(row=ROWS, weight=st.sampled_from([1.0, 2.5, -1.0]), state=st.sampled_from(State))
    def change(self, row, weight, state):
        if row < self.n_sources:
            source = replace(
                self.stores[1].sources()[row], weight=weight, state=state, title="t", tags=("x",)
            )
            answer = self.both(lambda store: store.change([source]))
            assert (answer is BadInput) == (weight < 0)

    @rule()
    def own(self):
        self.fence += 1
        assert self.both(lambda store: store.own()) == self.fence

    @rule(rows=st.lists(ROWS, max_size=3), fence=FENCES, left=st.sampled_from([None, -0.1, 7.0]))
    def claim(self, rows, fence, left):
        number = self.allowed(fence)
        funds = None if left is None else Funds(time=1.0, left=left, markup=1 / 3)
        if self.both(lambda store: store.claim(rows, 1.0, number, funds)) is None:
            assert fence == "mine"
            self.claims.update((row, number) for row in rows)

    @rule(rows=st.lists(ROWS, max_size=2), fence=FENCES)
    def release(self, rows, fence):
        number = self.allowed(fence)
        if self.both(lambda store: store.release(rows, number)) is None:
            self.claims = {row: by for row, by in self.claims.items() if row not in rows}

    @rule()
    def lost(self):
        expected = sorted(row for row, by in self.claims.items() if by < self.fence)
        assert self.both(lambda store: store.lost(self.fence)) == expected

    @rule(
        visits=st.lists(
            st.tuples(
                ROWS, KEYS, TIMES, st.sampled_from(Status), st.sampled_from([None, 7.0, 9.0])
            ),
            max_size=4,
        ),
        fence=FENCES,
    )
    def record(self, visits, fence):
        number = self.allowed(fence)
        sources = self.stores[1].sources()
        records = []
        for row, keys, time, status, hint in visits:
            items = tuple(Item(key=key, published=None, title=key) for key in keys)
            crawl = Crawl(
                row=row, time=time, status=status, items=items, visible=len(keys), reason="r",
                host_not_before=hint, crawl_delay=hint, malformed=hint is None,
            )  # fmt: skip
            source = sources[row] if row < len(sources) else None
            if source is None:
                source = replace(sources[0], row=row) if sources else None
            if source is None:
                return
            belief = Estimate(row=row, time=time, arrival=time / 3, decay=1.0, worth=1.0)
            records.append(
                Record(
                    crawl=crawl,
                    source=replace(
                        source, etag="".join(keys), last_crawl=time, estimate=belief,
                        state=State.GONE if status == Status.REFUSED else source.state,
                    ),
                )
            )  # fmt: skip
        if self.both(lambda store: store.record(records, number)) is None:
            assert fence == "mine"
            for row, keys, time, _, _ in visits:
                self.claims.pop(row, None)
                for key in keys:
                    if (row, key) not in self.known:
                        self.known[row, key] = True
                        self.items[row, key] = time
        elif fence != "mine":
            assert self.both(lambda store: store.record(records, number)) is StaleFence

    @rule(row=ROWS, keys=KEYS)
    def unseen(self, row, keys):
        expected = {key for key in keys if (row, key) not in self.known}
        assert self.both(lambda store: store.unseen(row, keys)) == expected

    @rule(items_before=TIMES, visits_before=TIMES, fence=FENCES)
    def forget(self, items_before, visits_before, fence):
        number = self.allowed(fence)
        answer = self.both(
            lambda store: store.forget(
                items_before=items_before, visits_before=visits_before, fence=number
            )
        )
        if fence == "mine":
            kept = {key: seen for key, seen in self.items.items() if seen >= items_before}
            assert answer[0] == len(self.items) - len(kept)
            self.items = kept
            assert all(event.time >= items_before for event in self.stores[1].events())

    @rule(events=st.lists(st.tuples(ROWS, st.sampled_from(["a", "b"]), TIMES), max_size=3))
    def add_events(self, events):
        made = [Event(row=row, key=key, time=time) for row, key, time in events]
        self.both(lambda store: store.add_events(made))

    @rule(origin=st.sampled_from(["http://a:80", "https://b:443"]), time=TIMES, fence=FENCES)
    def keep_robots(self, origin, time, fence):
        copy = RobotsCopy(origin=origin, outcome="found", body=b"x", fetched=time, reason="\ud800")
        number = self.allowed(fence)
        self.both(lambda store: store.keep_robots([copy], number))

    @rule(since=TIMES, after=st.integers(0, 9), limit=st.sampled_from([None, 0, 1, 3]), row=ROWS)
    def read(self, since, after, limit, row):
        self.both(lambda store: list(store.items(since, after=after, limit=limit)))
        self.both(lambda store: list(store.visits(row, since)))
        self.both(lambda store: list(store.events(since)))

    @rule()
    def reopen(self):
        self.stores[0].close()
        self.stores[0] = SqliteStore(self.path)

    @invariant()
    def they_answer_alike(self):
        if hasattr(self, "stores"):
            found = self.both(all_of)
            kept = {(item.row, item.key): item.seen for item in found["items"]}
            model = {(row, key.replace("\ud800", "?")): at for (row, key), at in self.items.items()}
            assert kept == model
            assert len(found["items"]) == len(kept)


class TestD20TheTwinsAndTheModelNeverDiverge(Twins.TestCase):
    settings = settings(max_examples=10, stateful_step_count=20)


@pytest.mark.acceptance
class TestD20TheTwinsAndTheModelNeverDivergeForLong(Twins.TestCase):
    settings = settings(max_examples=100, stateful_step_count=50)
