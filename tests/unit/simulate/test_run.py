"""Runs against the papers' numbers, and the bookkeeping around them."""

import numpy as np
import pytest

import dayfly
from dayfly.errors import BadInput, UnknownName
from dayfly.index import relax
from dayfly.model import Fleet
from dayfly.policies import Greedy, Random, RoundRobin, Threshold, Whittle
from dayfly.simulate import play, simulate

TABLE_I = Fleet(arrival=250, decay=[0.7, 0.35, 0.7, 0.21], worth=[1, 0.7, 0.2, 0.08])
KINDS = Fleet(
    arrival=[3.0, 2.0, 4.0, 1.0, 2.0],
    decay=[0.5, 0.3, 0.6, 0.4, 0.2],
    lifetime=[np.inf, 3.0, np.inf, np.inf, np.inf],
    window=[np.inf, np.inf, 4, np.inf, np.inf],
    slow_share=[0, 0, 0, 0.3, 0],
    slow_decay=[0, 0, 0, 0.05, 0],
    cost=[1, 0.5, 1, 2, 1],
    kind=["ephemeral"] * 3 + ["two_phase", "freshness"],
)


class Always:
    """Crawls the same rows whatever happens; a list, as a user might write it."""

    def __init__(self, *rows):
        self.rows = list(rows)

    def choose(self, view, budget, rng):
        return self.rows


class Script:
    """Crawls what is written down, epoch by epoch."""

    def __init__(self, script):
        self.script = script

    def choose(self, view, budget, rng):
        return np.array(self.script[round(view.now / view.epoch)], dtype=np.int64)


# ------------------------------------------------------------------ the papers' numbers
@pytest.mark.parametrize(
    ("policy", "budget", "mean"),
    [(Whittle(), 1, 260.3006), (Whittle(), 2, 337.6508), (Always(0), 1, 179.7910)],
)
def test_deterministic_rows_of_table_1(policy, budget, mean):
    assert simulate(TABLE_I, policy, budget, 1000).mean == pytest.approx(mean, abs=5e-5)


def test_long_run_of_table_1():
    assert simulate(TABLE_I, Whittle(), 1, 700, burn_in=300).mean == pytest.approx(
        260.3899, abs=1e-4
    )
    run = simulate(TABLE_I, Whittle(), 2, 700, burn_in=300)
    assert run.mean == pytest.approx(337.7745, abs=1e-4)
    np.testing.assert_allclose(run.crawls / 700, [1, 4 / 7, 2 / 7, 1 / 7], atol=2e-3)
    assert run.bound == pytest.approx(338.0539, abs=5e-5)
    assert run.share == run.mean / run.bound


def test_sixty_one_steps_from_nothing():
    """The conference paper's 254.66, which starts empty and stops early."""
    assert simulate(TABLE_I, Whittle(), 1, 61, start=0.0).mean == pytest.approx(254.6576, abs=5e-5)


def test_every_reward_by_hand():
    script = [[0], [1, 2], [], [0, 3], [0]]
    steps = list(play(TABLE_I, Script(script), 2.0, 5))
    last = np.full(4, -1.0)
    for number, step in enumerate(steps):
        age = number - last[script[number]]
        ceiling = (TABLE_I.arrival * TABLE_I.worth / TABLE_I.decay)[script[number]]
        right = ceiling * -np.expm1(-TABLE_I.decay[script[number]] * age)
        np.testing.assert_allclose(step.rewards, right, rtol=1e-12)
        assert step.rows.tolist() == script[number]
        assert (step.time, step.spent) == (number, len(script[number]))
        assert step.reward == pytest.approx(right.sum())
        last[script[number]] = number


# ------------------------------------------------------------------ random worlds
@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("fleet", [TABLE_I, KINDS], ids=["plain", "kinds"])
@pytest.mark.parametrize("policy", [Whittle(), RoundRobin()], ids=["whittle", "round_robin"])
def test_a_blind_policy_earns_the_mean_field_on_average(fleet, policy, continuous):
    mean = simulate(fleet, policy, 2.0, 40, burn_in=5, continuous=continuous).mean
    seeds = range(16)
    print("seeds", list(seeds))
    drawn = [
        simulate(
            fleet, policy, 2.0, 40, burn_in=5, arrivals="poisson", law="exponential",
            continuous=continuous, seed=seed,
        ).mean
        for seed in seeds
    ]  # fmt: skip
    error = np.std(drawn, ddof=1) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn) - mean) <= 3 * error + 1e-9


@pytest.mark.parametrize("law", ["constant", "epoch_exponential"])
def test_observed_states_are_worth_something_and_never_more_than_the_bound(law):
    blind, seeing = (
        simulate(
            TABLE_I, Whittle(), 1.0, 1500, burn_in=50, arrivals="poisson", law=law, observed=seen,
            seed=1,
        )
        for seen in (False, True)
    )  # fmt: skip
    error = seeing.rewards.std() / np.sqrt(1500)
    assert seeing.mean >= blind.mean - 3 * error
    assert seeing.mean <= seeing.bound + 3 * error
    assert seeing.bound >= blind.bound * (1 - 2e-3)


def test_some_states_may_be_seen_and_others_not():
    seen = [True, False, True, False]

    class Looks(Whittle):
        def choose(self, view, budget, rng):
            assert np.isnan(view.state).tolist() == [False, True, False, True]
            return super().choose(view, budget, rng)

    run = simulate(TABLE_I, Looks(), 1.0, 50, arrivals="poisson", observed=seen)
    assert run.bound > 250
    assert simulate(TABLE_I, Looks(), 1.0, 50, observed=seen).mean == pytest.approx(
        simulate(TABLE_I, Whittle(), 1.0, 50).mean
    ), "in the mean field a state says what the age says"


def test_nothing_is_shown_unless_observed():
    class Blind(RoundRobin):
        def choose(self, view, budget, rng):
            assert view.state is None
            return super().choose(view, budget, rng)

    simulate(TABLE_I, Blind(), 1.0, 5, arrivals="poisson")


# ------------------------------------------------------------------ seeds
@pytest.mark.parametrize("continuous", [False, True])
def test_a_seed_repeats_a_run_bit_for_bit(continuous):
    def run(seed):
        return simulate(
            KINDS, Random(), 2.0, 40, arrivals="poisson", law="exponential", seed=seed,
            continuous=continuous,
        )  # fmt: skip

    one, two, other = run(5), run(5), run(6)
    assert np.array_equal(one.rewards, two.rewards)
    assert np.array_equal(one.crawls, two.crawls)
    assert not np.array_equal(one.rewards, other.rewards)
    assert one.seed == 5


def test_the_world_does_not_depend_on_what_a_policy_does():
    """Sources that carry a state see the same arrivals under every policy, whatever it draws."""
    fleet = Fleet(
        arrival=[5.0, 3.0, 4.0], decay=[0.5, 0.3, 0.2],
        window=[np.inf, np.inf, 3],
    )  # fmt: skip
    observed = [True, True, False]

    class Watches:
        """Reconstructs what arrived from the states it sees."""

        def __init__(self, inner):
            self.inner, self.arrived, self.before = inner, [], None

        def choose(self, view, budget, rng):
            if self.before is not None:
                fading = np.exp(-fleet.decay[:2])
                self.arrived.append(view.state[:2] - fading * self.before)
            rng.random(int(view.now) % 3)
            rows = self.inner.choose(view, budget, rng)
            self.before = np.where(np.isin([0, 1], rows), 0.0, view.state[:2])
            return rows

    seen = []
    for inner in (Whittle(), Random(), Always(2), Always()):
        spy = Watches(inner)
        list(play(fleet, spy, 2.0, 30, arrivals="poisson", observed=observed, seed=3))
        seen.append(np.array(spy.arrived))
    for other in seen[1:]:
        np.testing.assert_allclose(other, seen[0], atol=1e-9)


# ------------------------------------------------------------------ start and belief
def test_start_above_the_ceiling():
    ceiling = TABLE_I.arrival * TABLE_I.worth / TABLE_I.decay
    start = np.array([3 * ceiling[0], ceiling[1], 0.5 * ceiling[2], 0.0])
    first, second = play(TABLE_I, Always(0, 1, 2, 3), 4.0, 2, start=start)
    np.testing.assert_allclose(first.rewards, start, rtol=1e-12)
    np.testing.assert_allclose(second.rewards, ceiling * -np.expm1(-TABLE_I.decay), rtol=1e-12)
    later = list(play(TABLE_I, Script([[], [], [0]]), 4.0, 3, start=start))[2]
    alpha = np.exp(-0.7)
    x = start[0]
    for _ in range(2):
        x = alpha * x + ceiling[0] * (1 - alpha)
    assert later.reward == pytest.approx(x)
    drawn = next(iter(play(TABLE_I, Always(0, 1, 2, 3), 4.0, 1, start=start, arrivals="poisson")))
    np.testing.assert_allclose(drawn.rewards, start, rtol=1e-12)
    seeing = simulate(TABLE_I, Whittle(), 1.0, 5, start=start, observed=True)
    assert seeing.rewards[0] == pytest.approx(start[0]), "who sees it takes it first"


def test_sources_that_publish_nothing_may_start_with_something():
    fleet = Fleet(arrival=[0.0, 1.0], decay=[0.5, 0.5])
    run = simulate(fleet, RoundRobin(), 1.0, 4, start=[3.0, 0.0])
    assert run.rewards[0] == pytest.approx(3.0)
    assert simulate(fleet, Whittle(), 1.0, 4, start=0.0).rewards[0] == 0.0


def test_policies_see_the_believed_fleet_and_earn_in_the_true_one():
    believed = TABLE_I.replace(arrival=[1.0, 1.0, 1.0, 1e6])
    run = simulate(TABLE_I, Greedy(), 1.0, 20, believed=believed)
    assert run.crawls.tolist() == [0, 0, 0, 20]
    assert run.bound == pytest.approx(relax(TABLE_I, 1.0, 1.0).bound)


# ------------------------------------------------------------------ budget
@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("burst", [None, 0.0, 1.0, 6.0, np.inf])
@pytest.mark.parametrize("policy", [Whittle(), Random()], ids=["whittle", "random"])
def test_no_stretch_of_epochs_spends_more_than_budget_and_burst(continuous, burst, policy):
    seed = 9
    print("seed", seed)
    rng = np.random.default_rng(seed)
    n, budget = 30, 4.3
    fleet = Fleet(
        arrival=rng.random(n), decay=rng.uniform(0.05, 0.5, n), cost=rng.choice([0.5, 1, 2], n)
    )
    steps = list(play(fleet, policy, budget, 120, burst=burst, continuous=continuous))
    spent = np.concatenate([[0.0], np.cumsum([step.spent for step in steps])])
    for step in steps:
        assert step.spent == pytest.approx(fleet.cost[step.rows].sum())
    most = {None: 2.0 if not continuous else 8.0}.get(burst, burst)
    # In continuous time the last crawl at an instant may overdraw, by less than its cost.
    debt = 2.0 if continuous else 0.0
    if np.isinf(most):
        most = budget * 120
        assert spent[-1] <= budget * 120 + debt, "saved without end, but never borrowed"
    for length in range(1, 121):
        assert (spent[length:] - spent[:-length]).max() <= length * budget + most + debt + 1e-9
    if policy == Whittle() and burst != 0.0:
        assert spent[-1] >= 0.98 * budget * 120


def test_what_is_left_over_is_kept_for_who_is_dear():
    fleet = Fleet(arrival=[1.0], decay=0.5, cost=2.0)
    rows = [step.rows.tolist() for step in play(fleet, Whittle(), 0.5, 9)]
    assert rows == [[], [], [], [0], [], [], [], [0], []]
    assert simulate(fleet, Whittle(), 0.5, 9, burst=0.0).crawls[0] == 0


def test_a_large_fleet_spends_all_of_its_budget_in_continuous_time():
    """An instant earns more than the burst there, and none of it may be lost."""
    rng = np.random.default_rng(1)
    n = 4000
    fleet = Fleet(arrival=10 ** rng.uniform(-1, 1, n), decay=10 ** rng.uniform(-2, 0, n))
    run = simulate(fleet, Whittle(), 0.3 * n, 20, burn_in=40, continuous=True)
    assert run.spent == pytest.approx(0.3 * n, rel=0.01)
    assert run.share > 0.99


def test_soft_budgets_hold_on_average_only():
    run = simulate(TABLE_I, Threshold(), 1.0, 400, burn_in=50, soft=True)
    assert run.spent == pytest.approx(1.0)
    assert run.violations > 100
    saved = simulate(TABLE_I, Threshold(), 1.0, 400, burn_in=50)
    assert saved.violations == 200, "two crawls every second epoch, on what the other one saved"
    hard = simulate(TABLE_I, Threshold(), 1.0, 400, burn_in=50, burst=0.0)
    assert hard.violations == 0
    everything = simulate(TABLE_I, RoundRobin(), 1.0, 10, soft=True)
    assert everything.spent == 4.0
    assert everything.violations == 10
    flowing = simulate(TABLE_I, RoundRobin(), 1.0, 10, soft=True, continuous=True)
    assert flowing.spent >= 4.0


@pytest.mark.parametrize("continuous", [False, True])
def test_no_budget_no_crawls(continuous):
    run = simulate(TABLE_I, Whittle(), 0.0, 5, continuous=continuous)
    assert (run.mean, run.spent, run.bound, run.share) == (0, 0, 0, 1)
    assert run.crawls.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("epoch", [0.25, 7.0])
@pytest.mark.parametrize("continuous", [False, True])
def test_the_unit_of_time_does_not_matter(epoch, continuous):
    scaled = TABLE_I.replace(arrival=TABLE_I.arrival / epoch, decay=TABLE_I.decay / epoch)
    one = simulate(TABLE_I, Whittle(), 2.0, 60, continuous=continuous)
    other = simulate(scaled, Whittle(), 2.0, 60, epoch=epoch, continuous=continuous)
    assert other.bound == pytest.approx(one.bound, rel=1e-9)
    assert other.mean == pytest.approx(one.mean, rel=1e-6)


def test_burn_in_is_left_out_of_every_number():
    whole = simulate(KINDS, Whittle(), 2.0, 50)
    tail = simulate(KINDS, Whittle(), 2.0, 30, burn_in=20)
    assert np.array_equal(whole.rewards[20:], tail.rewards)
    head = simulate(KINDS, Whittle(), 2.0, 20)
    assert np.array_equal(whole.crawls, head.crawls + tail.crawls)
    assert whole.spent * 50 == pytest.approx(head.spent * 20 + tail.spent * 30)


def test_a_policy_may_be_asked_no_more_than_the_view_promises():
    class Asks(RoundRobin):
        def choose(self, view, budget, rng):
            assert (view.epoch, view.pace, view.allowed) == (0.5, 2.0, None)
            assert view.age.shape == (4,)
            assert budget >= 0
            self_seen.append(view.now)
            return super().choose(view, budget, rng)

    self_seen = []
    list(play(TABLE_I, Asks(), 2.0, 4, epoch=0.5))
    assert self_seen == [0.0, 0.5, 1.0, 1.5]


# ------------------------------------------------------------------ arguments
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"budget": -1.0}, "budget"),
        ({"budget": np.nan}, "budget"),
        ({"budget": np.inf}, "budget"),
        ({"epochs": 0}, "epochs"),
        ({"epochs": -3}, "epochs"),
        ({"burn_in": -1}, "burn_in"),
        ({"epoch": 0.0}, "epoch"),
        ({"epoch": -1.0}, "epoch"),
        ({"epoch": np.nan}, "epoch"),
        ({"burst": -1.0}, "burst"),
        ({"burst": np.nan}, "burst"),
        ({"seed": -1}, "seed"),
        ({"arrivals": "weekly"}, "arrivals"),
        ({"start": -1.0}, "start"),
        ({"start": np.nan}, "start"),
        ({"start": np.inf}, "start"),
        ({"start": [1.0, 2.0]}, "start"),
        ({"observed": [True]}, "observed"),
        ({"believed": Fleet(arrival=1.0, decay=1.0)}, "believed"),
        ({"continuous": True, "law": "epoch_exponential"}, "continuous"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_played(wrong, sentence):
    class Never:
        def choose(self, view, budget, rng):
            raise AssertionError("played in spite of a wrong argument")

    arguments = {"budget": 1.0, "epochs": 5, "arrivals": "poisson", **wrong}
    with pytest.raises(BadInput, match=sentence):
        simulate(TABLE_I, Never(), **arguments)


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize(
    ("rows", "sentence"),
    [([0, 0], "twice"), ([4], "outside"), ([-1], "outside"), ([0, 1, 2, 3], "spent 4")],
)
def test_a_policy_that_breaks_the_rules_earns_nothing(continuous, rows, sentence):
    with pytest.raises(BadInput, match=sentence):
        simulate(TABLE_I, Always(*rows), 1.5, 5, continuous=continuous)


def test_more_wrong_arguments():
    with pytest.raises(BadInput, match="costs"):
        simulate(TABLE_I, Whittle(), 1.0, 5, believed=TABLE_I.replace(cost=2.0))
    with pytest.raises(UnknownName, match="gaussian"):
        simulate(TABLE_I, Whittle(), 1.0, 5, law="gaussian")
    with pytest.raises(BadInput, match="cannot be observed"):
        simulate(KINDS, Whittle(), 1.0, 5, arrivals="poisson", observed=True)
    with pytest.raises(BadInput, match="start"):
        simulate(KINDS, Whittle(), 1.0, 5, arrivals="poisson", start=0.5)
    with pytest.raises(BadInput, match="above what a source"):
        simulate(KINDS, Whittle(), 1.0, 5, start=1e6)


def test_the_room_can_be_called_like_its_main_function():
    assert (
        dayfly.simulate(TABLE_I, Whittle(), 1, 10).mean == simulate(TABLE_I, Whittle(), 1, 10).mean
    )
