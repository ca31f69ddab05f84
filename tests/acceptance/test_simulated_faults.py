"""Days of crawling with every fault we can think of, in seconds; a seed plays again exactly."""

import asyncio
import itertools
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import pytest

from dayfly.errors import StaleFence, StoreError
from dayfly.model import Crawl, Fleet, Status
from dayfly.schedule import ManualClock, Rules, resume
from dayfly.simulate.world import World
from dayfly.store import Listing, MemoryStore

pytestmark = pytest.mark.acceptance

START, HOUR = 1_800_000_000.0, 3600.0
RULES = Rules(min_interval=300.0, host_spacing=5.0)


class Faulty(MemoryStore):
    """Refuses to write for minutes on end, and takes nothing more once the crawler is dead."""

    def __init__(self, clock: ManualClock, rng: np.random.Generator) -> None:
        super().__init__()
        self.clock, self.rng = clock, rng
        self.dead, self.full_until = False, 0.0

    def _check(self, fence: int) -> None:
        if self.dead:
            raise StaleFence("the crawler is dead")
        if self.clock.now() < self.full_until:
            raise StoreError("disk is full")
        if self.rng.random() < 0.002:
            self.full_until = self.clock.now() + self.rng.uniform(1, 900)
            raise StoreError("disk is full")
        super()._check(fence)

    def lost(self, fence: int) -> list[int]:
        self.full_until = 0.0  # a start that fails is simply tried again
        while True:
            try:
                return super().lost(fence)
            except StoreError:
                self.full_until = 0.0


@dataclass
class Played:
    """What happened: when who was asked, what was shown, and what is stored."""

    asked: list[tuple[float, int, float | None]] = field(default_factory=list)
    shown: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    stored: list[tuple[int, str, float]] = field(default_factory=list)
    visits: list[tuple[int, float, str]] = field(default_factory=list)
    deaths: int = 0
    together: int = 0


class Rough:
    """A web that fails, hangs, refuses, contradicts itself, and sometimes kills its visitor."""

    def __init__(self, world, clock, store, rng, played: Played) -> None:
        self.world, self.clock, self.store, self.rng, self.played = world, clock, store, rng, played
        self.at_host: dict[str, int] = defaultdict(int)

    async def fetch(self, source) -> Crawl:
        self.played.asked.append((self.clock.now(), source.row, source.not_before))
        self.at_host[source.host] += 1
        self.played.together = max(self.played.together, self.at_host[source.host])
        try:
            return await self._fetch(source)
        finally:
            self.at_host[source.host] -= 1

    async def _fetch(self, source) -> Crawl:
        luck = self.rng.random()
        if luck < 0.3:
            await self.clock.sleep(float(self.rng.uniform(0.01, 40.0)))
        now = self.clock.now()
        if luck < 0.003:
            self.store.dead = True
        if luck < 0.05:
            raise OSError("out of luck")
        if luck < 0.1:
            status = Status.FAILED if luck < 0.08 else Status.REFUSED
            hint = now + float(self.rng.uniform(-1e3, 2e4))
            return Crawl(
                row=source.row, time=now, status=status, reason="http 429", not_before=hint,
                host_not_before=hint if luck < 0.09 else None,
            )  # fmt: skip
        return self.world.visit(source.row, now)


def play(seed: int, days: float) -> Played:
    rng = np.random.default_rng(seed)
    n, until = 24, START + days * 86400
    fleet = Fleet(arrival=10 ** rng.uniform(-1, 1, n) / HOUR, decay=np.log(2) / (6 * HOUR))
    world = World.draw(fleet, start=START, until=until + 86400, rng=rng, history=6 * HOUR)
    clock, played = ManualClock(START), Played()
    store = Faulty(clock, rng)
    store.add(
        Listing(id=f"s{row}", url=f"http://h{row % 7}.example/{row}", arrival=1 / HOUR)
        for row in range(n)
    )
    while clock.now() < until:
        store.dead = False
        fetcher = Rough(world, clock, store, rng, played)
        loop = resume(store, fetcher, clock, budget=60 / HOUR, rules=RULES, tick=20.0)
        try:
            asyncio.run(loop.run(min(clock.now() + rng.exponential(6 * HOUR), until)))
        except StoreError:
            played.deaths += 1
        # Down for a while, and the clock may have been set ahead meanwhile.
        asyncio.run(clock.sleep(float(rng.exponential(60.0)) + HOUR * (rng.random() < 0.1)))
    store.dead, store.full_until = False, 0.0
    played.stored = [(item.row, item.key, item.seen) for item in store.items()]
    played.visits = [(visit.row, visit.time, visit.status.value) for visit in store.visits()]
    for row, when, status in played.visits:
        if status in ("changed", "unchanged"):
            played.shown[row] |= {item.key for item in world.visit(row, when).items}
    return played


@pytest.mark.parametrize("seed", range(6))
def test_D19_days_with_all_faults_keep_every_promise(seed):
    print("seed", seed)
    played = play(seed, days=1.0)
    keys = [(row, key) for row, key, _ in played.stored]
    assert len(keys) == len(set(keys)), "stored twice"
    assert set(keys) == {(row, key) for row, seen in played.shown.items() for key in seen}, "lost"
    for when, row, not_before in played.asked:
        assert not_before is None or when >= not_before, f"row {row} was polled early"
    by_row, by_host = defaultdict(list), defaultdict(list)
    for when, row, _ in played.asked:
        by_row[row].append(when)
        by_host[row % 7].append(when)
    for row, times in by_row.items():
        gaps = [b - a for a, b in itertools.pairwise(times)]
        assert min(gaps, default=300.0) >= 300.0, f"row {row} was polled too often"
    for host, times in by_host.items():
        gaps = [b - a for a, b in itertools.pairwise(times)]
        assert min(gaps, default=5.0) >= 5.0, f"host {host} was given no peace"
    assert played.together == 1, "one connection per host"
    assert len(played.asked) > 200


def test_D19_a_seed_plays_again_exactly():
    one, two = play(100, days=0.5), play(100, days=0.5)
    assert one == two
