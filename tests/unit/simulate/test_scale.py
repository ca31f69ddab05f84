"""A scheduler played at a cost per step that is flat: the account is fair, whatever is chosen."""

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.index import relax
from dayfly.model import Fleet
from dayfly.policies import Whittle
from dayfly.schedule import Scheduler
from dayfly.simulate import SteadyWorld, play, play_scheduler


class Chooser:
    """Stands in for a scheduler: chooses by a rule on the true ages."""

    def __init__(self, world, rule):
        self.since, self.rule, self.told = world.since.copy(), rule, []

    def __len__(self):
        return len(self.since)

    def due(self, now, k):
        rows = np.asarray(self.rule(now - self.since), dtype=np.int64)
        assert len(rows) <= k
        return rows

    def crawled(self, rows, now, estimates=(), *, failed=None):
        self.told.append((now, rows, failed))
        answered = rows if failed is None else rows[~failed]
        self.since[answered] = now


def random_fleet(rng, n, kinds=False):
    """Costs and hosts differ; with `kinds` also the curves."""
    kind = rng.choice(["ephemeral", "two_phase", "freshness"], n) if kinds else ["ephemeral"] * n
    slow = np.array([name == "two_phase" for name in kind])
    plain = np.array([name == "ephemeral" for name in kind])
    return Fleet(
        arrival=10 ** rng.uniform(-1, 1, n),
        decay=10 ** rng.uniform(-1.5, 0, n),
        worth=rng.uniform(0.1, 1.0, n),
        cost=rng.choice([0.5, 1.0, 2.0], n),
        lifetime=np.where(plain & (rng.random(n) < 0.2), 3.0, np.inf) if kinds else np.inf,
        window=np.where(plain & (rng.random(n) < 0.2), 5, np.inf) if kinds else np.inf,
        slow_share=np.where(slow, 0.3, 0.0),
        slow_decay=np.where(slow, 0.01, 0.0),
        kind=list(kind),
        host=[f"h{i % 3}" for i in range(n)],
    )


# ------------------------------------------------------------------ the account
@pytest.mark.parametrize("limited", [False, True], ids=["one budget", "hosts"])
@pytest.mark.parametrize("epoch", [1.0, None], ids=["slotted", "continuous"])
@pytest.mark.parametrize("seed", range(6))
def test_no_run_however_short_or_wild_exceeds_the_bound(seed, epoch, limited):
    rng = np.random.default_rng([seed, epoch is None, limited])
    fleet = random_fleet(rng, 30, kinds=not limited)
    limit = {"h0": 0.7, "h2": 0.2} if limited else None
    world = SteadyWorld.of(fleet, 6.0, epoch, host_limit=limit, seed=seed)
    step = epoch or 0.3
    for steps in (1, 2, 7, 40):
        wild = Chooser(world, lambda age: rng.permutation(30)[: rng.integers(0, 31)])
        keen = Chooser(world, lambda age: np.flatnonzero(age >= 0.8 * world.plan.age))
        for chooser in (wild, keen):
            run = play_scheduler(chooser, world, steps=steps, step=step, k=30)
            assert run.share <= 1 + 1e-9, f"seed {seed}, {steps} steps"


@pytest.mark.parametrize("limited", [False, True], ids=["one budget", "hosts"])
@pytest.mark.parametrize("seed", range(4))
def test_whoever_does_what_the_plan_does_earns_the_bound(seed, limited):
    """Visits at the plan's ages miss the budget by a little: more is charged, less is a loss."""
    rng = np.random.default_rng([seed, limited])
    fleet = random_fleet(rng, 200)
    limit = {"h0": 2.0, "h2": 1.0} if limited else None
    world = SteadyWorld.of(fleet, 30.0, 1.0, host_limit=limit, seed=seed)
    chooser = Chooser(world, lambda age: np.flatnonzero(age >= world.plan.age - 1e-9))
    run = play_scheduler(chooser, world, steps=500, step=1.0, k=200)
    assert run.spent == pytest.approx(30.0, rel=0.05), "from the first step on"
    assert run.bound == relax(fleet, 30.0, 1.0, host_limit=limit).bound
    visits = np.concatenate([rows for _, rows, _ in chooser.told])
    spent = np.bincount(fleet.host_code[visits], fleet.cost[visits], 3) / 500
    lost = max(30.0 - run.spent, 0.0) * world.plan.price
    for host, price in world.plan.host_price.items():
        lost += max(limit[host] - spent[fleet.hosts.index(host)], 0.0) * price
    assert run.value == pytest.approx(run.bound - lost, rel=1e-9), f"seed {seed}"
    assert run.share > 0.99


def test_a_budget_that_is_not_spent_is_a_loss():
    fleet = random_fleet(np.random.default_rng(0), 50)
    world = SteadyWorld.of(fleet, 10.0, 1.0)
    idle = play_scheduler(Chooser(world, lambda age: []), world, steps=20, step=1.0, k=50)
    assert (idle.spent, idle.harvested, idle.chosen) == (0.0, 0.0, 0)
    assert idle.share < 0.9


def test_every_reward_by_hand():
    fleet = Fleet(arrival=[3.0, 2.0], decay=[0.5, 0.1], cost=[1.0, 2.0])
    world = SteadyWorld.of(fleet, 1.0, 1.0, start=10.0, seed=3)
    script = iter([[0], [], [1, 0], [0]])
    chooser = Chooser(world, lambda age: next(script))
    run = play_scheduler(chooser, world, steps=4, step=1.0, k=2)
    first = 10.0 - world.since

    def f(row, age):
        return fleet.take([row]).harvest.value(np.array([age]))[0]

    right = [f(0, first[0]), 0.0, f(1, first[1] + 2) + f(0, 2.0), f(0, 1.0)]
    np.testing.assert_allclose(run.harvests, right, rtol=1e-12)
    np.testing.assert_array_equal(run.costs, [1.0, 0.0, 3.0, 1.0])
    assert (run.calls, run.chosen, run.failed, run.spent) == (4, 4, 0, 1.25)
    assert run.harvested == pytest.approx(sum(right) / 4)
    assert [now for now, _, _ in chooser.told] == [10.0, 11.0, 12.0, 13.0]


# ------------------------------------------------------------------ the start
def test_the_start_is_the_middle_of_the_plan():
    """The mean over a plan's cycle: ages between nothing and the age of a visit."""
    seed = 5
    fleet = random_fleet(np.random.default_rng(seed), 20_000)
    world = SteadyWorld.of(fleet, 2000.0, start=1000.0, longest=50.0, seed=seed)
    part = (1000.0 - world.since) / np.minimum(world.plan.age, 50.0)
    assert 0 <= part.min() <= part.max() <= 1
    assert part.mean() == pytest.approx(0.5, abs=4 / np.sqrt(12 * 20_000)), f"seed {seed}"
    slotted = SteadyWorld.of(fleet, 2000.0, 1.0, start=1000.0, longest=50.0, seed=seed)
    age = 1000.0 - slotted.since
    assert np.array_equal(age, np.round(age))
    assert age.min() == 1.0
    assert (age <= np.maximum(np.minimum(slotted.plan.age, 50.0), 1.0)).all()
    again = SteadyWorld.of(fleet, 2000.0, 1.0, start=1000.0, longest=50.0, seed=seed)
    assert np.array_equal(again.since, slotted.since)


def test_what_is_left_out_does_not_count():
    fleet = random_fleet(np.random.default_rng(1), 50)
    world = SteadyWorld.of(fleet, 10.0, 1.0)

    def run(**how):
        chooser = Chooser(world, lambda age: np.flatnonzero(age >= world.plan.age - 1e-9))
        return play_scheduler(chooser, world, step=1.0, k=50, **how)

    whole, rest = run(steps=30), run(steps=20, burn_in=10)
    np.testing.assert_array_equal(whole.harvests[10:], rest.harvests)
    assert rest.calls == 20
    assert rest.chosen < whole.chosen


# ------------------------------------------------------------------ failures
def test_what_waits_at_a_failed_visit_still_waits():
    seed = 2
    fleet = random_fleet(np.random.default_rng(seed), 60)
    world = SteadyWorld.of(fleet, 10.0, 1.0, fail=0.3, seed=seed)
    assert world.plan.bound == pytest.approx(relax(fleet, 7.0, 1.0).bound)
    chooser = Chooser(world, lambda age: np.flatnonzero(age >= world.plan.age - 1e-9))
    run = play_scheduler(chooser, world, steps=1500, step=1.0, k=60, seed=seed)
    share = run.failed / run.chosen
    assert share == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / run.chosen)), f"seed {seed}"
    assert sum(failed.sum() for _, _, failed in chooser.told) == run.failed
    # Trying again an epoch later costs a little: the bound lets a failure be repeated at once.
    assert 0.9 < run.share < 1.01


# ------------------------------------------------------------------ the scheduler itself
@pytest.mark.parametrize("seed", range(3))
def test_in_slotted_time_the_scheduler_is_the_policy(seed):
    rng = np.random.default_rng(seed)
    fleet = Fleet(arrival=10 ** rng.uniform(-1, 1, 300), decay=10 ** rng.uniform(-2, 0, 300))
    world = SteadyWorld.of(fleet, 10.0, 1.0, seed=seed)
    scheduler = Scheduler(
        fleet, 10.0, 0.0, epoch=1.0, min_interval=0.0, max_interval=1e9, last=world.since
    )
    chosen = []
    run = play_scheduler(
        scheduler,
        world,
        steps=200,
        step=1.0,
        k=10,
        watch=lambda now, rows, age: chosen.append(rows),
    )
    start = fleet.harvest.value(-world.since)
    for mine, step in zip(chosen, play(fleet, Whittle(), 10.0, 200, start=start), strict=True):
        assert mine.tolist() == step.rows.tolist(), f"seed {seed}, time {step.time}"
    assert run.share > 0.99


def test_progress_goes_up_to_the_end():
    world = SteadyWorld.of(Fleet(arrival=[1.0], decay=1.0), 0.5, 1.0)
    seen = []
    chooser = Chooser(world, lambda age: [])
    play_scheduler(
        chooser, world, steps=250, burn_in=50, step=1.0, k=1,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen[-1] == (300, 300)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_infinite_ages_and_sources_never_worth_a_visit():
    fleet = Fleet(arrival=[5.0, 1e-6], decay=1.0)
    world = SteadyWorld.of(fleet, 0.5, 1.0)
    assert np.isinf(world.plan.age[1])
    worth = world.worth_of_ages(np.array([np.inf, np.inf]))
    assert worth == pytest.approx(5.0 - world.plan.price)


# ------------------------------------------------------------------ what is refused
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"steps": 0}, "steps must be at least 1"),
        ({"burn_in": -1}, "burn_in 0"),
        ({"step": 0.0}, "step must be positive"),
        ({"step": 2.0}, "the step is the epoch 1"),
    ],
)
def test_bad_arguments_are_told(how, said):
    world = SteadyWorld.of(Fleet(arrival=[1.0], decay=1.0), 0.5, 1.0)
    with pytest.raises(BadInput, match=said):
        play_scheduler(
            Chooser(world, lambda age: []), world, **{"steps": 1, "step": 1.0, "k": 1, **how}
        )


def test_a_scheduler_of_another_fleet_is_refused():
    one = SteadyWorld.of(Fleet(arrival=[1.0], decay=1.0), 0.5, 1.0)
    two = SteadyWorld.of(Fleet(arrival=[1.0, 2.0], decay=1.0), 0.5, 1.0)
    with pytest.raises(BadInput, match="has 2 sources, the world 1"):
        play_scheduler(Chooser(two, lambda age: []), one, steps=1, step=1.0, k=1)


@pytest.mark.parametrize(
    ("how", "said"),
    [({"fail": 1.0}, "fail must be"), ({"start": 0.5}, "must be a multiple of the epoch")],
)
def test_a_world_that_cannot_be_is_refused(how, said):
    with pytest.raises(BadInput, match=said):
        SteadyWorld.of(Fleet(arrival=[1.0], decay=1.0), 0.5, 1.0, **how)
