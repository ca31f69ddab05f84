"""Price, bound and rates against brute force: all ages listed, and a linear program over rates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import gammaincc, lambertw

from dayfly.errors import BadInput, UnknownName
from dayfly.index import relax, search, whittle_index, whittle_index_at
from dayfly.model import Fleet

TABLE_I = Fleet(arrival=250, decay=[0.7, 0.35, 0.7, 0.21], worth=[1, 0.7, 0.2, 0.08])


# ------------------------------------------------------------------ the second implementation
def harvest(fleet: Fleet, row: int, age: np.ndarray) -> np.ndarray:
    """f(τ) in plain floats, from the definition of the kind."""
    s = fleet[row]
    age = np.minimum(age, s.lifetime)
    if s.kind == "two_phase":
        fast = s.arrival * (1 - s.slow_share) * -np.expm1(-s.decay * age) / s.decay
        return s.worth * (
            fast + s.arrival * s.slow_share * -np.expm1(-s.slow_decay * age) / s.slow_decay
        )
    if np.isfinite(s.window):
        # ∫ ξΛ e^(−μt) Pr[fewer than K arrivals in t] dt by Gauss–Legendre, 30 nodes per panel.
        nodes, weights = np.polynomial.legendre.leggauss(30)
        panels = 12
        t = age[:, None, None] * (np.arange(panels)[:, None] + 0.5 * (nodes + 1)) / panels
        seen = np.exp(-s.decay * t) * gammaincc(s.window, s.arrival * t)
        return s.worth * s.arrival * (seen @ weights).sum(axis=1) * age / panels / 2
    if s.decay == 0:
        return s.worth * s.arrival * age
    return s.worth * s.arrival * -np.expm1(-s.decay * age) / s.decay


def by_linear_program(fleet, budget, ages, unit, hosts=None):
    """Best value over all mixtures of the listed ages: y_ik visits per unit of time at age k."""
    value, use, spend, shares = [], [], [], []
    for row in range(len(fleet)):
        for age, worth in zip(ages, harvest(fleet, row, ages), strict=True):
            value.append(worth)
            share = np.zeros(len(fleet))
            share[row] = age / unit
            use.append(share)
            spend.append(fleet.cost[row])
            shares.append(fleet.host_code[row])
    rows, limits = [np.array(spend)], [budget]
    for host, limit in (hosts or {}).items():
        rows.append(np.where(np.array(shares) == fleet.hosts.index(host), spend, 0.0))
        limits.append(limit)
    found = linprog(
        -np.array(value),
        A_ub=np.vstack([np.array(use).T, *rows]),
        b_ub=np.concatenate([np.ones(len(fleet)), limits]),
        method="highs",
    )
    assert found.status == 0, found.message
    return -found.fun


def earned(fleet, best, unit):
    """What the answer's own ages, weights and rates earn, written out."""
    total = 0.0
    for row in np.flatnonzero(best.rate > 0):
        ages = np.array([best.age[row], best.longer_age[row]])
        first, second = harvest(fleet, int(row), ages)
        w = best.weight[row]
        assert w * ages[0] + (1 - w) * ages[1] == pytest.approx(unit / best.rate[row], rel=1e-9)
        total += best.rate[row] * (w * first + (1 - w) * second)
    return total


def dual(fleet, budget, price, ages, unit, limits=None, host_price=None):
    """pM + Σ_h p_h R_h + Σ max(0, max_k (f_k − pC)/k), every listed age tried."""
    total = price * budget
    for host, own in (host_price or {}).items():
        total += own * limits[host]
    for row in range(len(fleet)):
        fee = (price + (host_price or {}).get(fleet.host[row], 0.0)) * fleet.cost[row]
        net = (harvest(fleet, row, ages) - fee) / (ages / unit)
        total += max(0.0, net.max())
    return total


def check(fleet, budget, epoch, hosts=None):
    """Everything that the answer promises, by arithmetic that shares nothing with it."""
    best = relax(fleet, budget, epoch, host_limit=hosts)
    unit = 1.0 if epoch is None else epoch
    spent = float(fleet.cost @ best.rate)
    assert (best.rate >= 0).all()
    if epoch is not None:
        assert (best.rate <= 1 + 1e-12).all(), "at most one crawl per epoch"
        k = best.age[best.rate > 0] / epoch
        np.testing.assert_allclose(k, np.rint(k), rtol=1e-12, err_msg="ages are whole epochs")
    assert spent <= budget * (1 + 1e-9)
    if best.price > 0:
        assert spent == pytest.approx(budget, rel=1e-9), "a price means that all is spent"
        assert best.slack == 0
    else:
        assert best.slack == pytest.approx(budget - spent, abs=1e-9 * max(budget, 1))
    low, high = best.price_range
    assert low * (1 - 1e-12) <= best.price <= high * (1 + 1e-12)
    for host, limit in (hosts or {}).items():
        rows = np.array([name == host for name in fleet.host])
        asked = float(fleet.cost[rows] @ best.rate[rows])
        assert asked <= limit * (1 + 1e-9), f"host {host} is asked too much"
        assert best.host_price.get(host, 0.0) >= 0
        if best.host_price.get(host, 0.0) > 1e-9 * (best.price + 1e-300):
            assert asked == pytest.approx(limit, rel=1e-9), "only a full host asks a price"
    value = earned(fleet, best, unit)
    assert value == pytest.approx(best.bound, rel=1e-9), "the answer earns its bound"
    assert best.value.sum() == pytest.approx(value, rel=1e-9)
    return best


def random_fleet(rng, n, kinds="all", hosts=0):
    kind = rng.choice(["ephemeral", "two_phase", "freshness"], n) if kinds == "all" else [kinds] * n
    kind = np.asarray(kind)
    ephemeral, two_phase = kind == "ephemeral", kind == "two_phase"
    if kinds == "all":
        window = np.where(ephemeral & (rng.random(n) < 0.4), rng.integers(1, 6, n), np.inf)
        lifetime = np.where(ephemeral & (rng.random(n) < 0.4), rng.uniform(0.6, 9, n), np.inf)
    else:
        window = lifetime = np.full(n, np.inf)
    return Fleet(
        arrival=10 ** rng.uniform(-1, 1, n),
        decay=10 ** rng.uniform(-0.7, 0.5, n),
        worth=rng.uniform(0.2, 2, n),
        cost=rng.choice([0.5, 1, 2], n),
        window=window,
        lifetime=lifetime,
        slow_share=np.where(two_phase, 0.3, 0.0),
        slow_decay=np.where(two_phase, 0.12, 0.0),
        kind=kind.tolist(),
        host=[f"h{i}" for i in rng.integers(0, hosts, n)] if hosts else None,
    )


# ------------------------------------------------------------------ against brute force
@pytest.mark.parametrize("seed", range(15))
def test_slotted_bound_is_the_optimum_of_a_linear_program_over_all_ages(seed):
    print("seed", seed)
    rng = np.random.default_rng([seed, 1])
    fleet = random_fleet(rng, int(rng.integers(1, 7)))
    epoch = float(rng.choice([0.3, 1.0, 2.5]))
    budget = float(rng.uniform(0.02, 1.1) * fleet.cost.sum())
    best = check(fleet, budget, epoch)
    ages = epoch * np.arange(1, 400)
    right = by_linear_program(fleet, budget, ages, epoch)
    assert best.bound == pytest.approx(right, rel=1e-7)
    assert dual(fleet, budget, best.price, ages, epoch) == pytest.approx(best.bound, rel=1e-9)
    for price in (*best.price_range, 0.5 * sum(best.price_range)):
        if np.isfinite(price):
            assert dual(fleet, budget, price, ages, epoch) == pytest.approx(best.bound, rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_continuous_bound_is_the_optimum_over_a_fine_grid_of_ages(seed):
    print("seed", seed)
    rng = np.random.default_rng([seed, 2])
    fleet = random_fleet(rng, int(rng.integers(1, 5)))
    budget = float(10 ** rng.uniform(-1.5, 1) * fleet.cost.sum())
    best = check(fleet, budget, None)
    ages = np.unique(np.concatenate([10 ** np.linspace(-3, 2.5, 900), fleet.lifetime]))
    ages = ages[np.isfinite(ages)]
    right = by_linear_program(fleet, budget, ages, 1.0)
    assert right <= best.bound * (1 + 1e-7), "no mixture beats the bound"
    assert right >= best.bound * (1 - 1e-4), "and a fine grid nearly reaches it"
    assert dual(fleet, budget, best.price, ages, 1.0) <= best.bound * (1 + 1e-9)


@pytest.mark.parametrize("epoch", [None, 1.0])
@pytest.mark.parametrize("seed", range(9))
def test_host_limits_are_further_rows_of_the_linear_program(epoch, seed):
    print("seed", seed)
    rng = np.random.default_rng([seed, 3])
    fleet = random_fleet(rng, int(rng.integers(3, 8)), hosts=3)
    budget = float(rng.uniform(0.1, 0.9) * fleet.cost.sum())
    limits = {
        host: float(rng.choice([0.0, 0.3, 0.8, 1.0]) * rng.uniform(0.3, 1) * fleet.cost.sum() / 3)
        for host in fleet.hosts
    }
    best = check(fleet, budget, epoch, limits)
    if epoch is None:
        ages = np.unique(np.concatenate([10 ** np.linspace(-2, 2.5, 700), fleet.lifetime]))
        ages, near = ages[np.isfinite(ages)], 1e-4
    else:
        ages, near = np.arange(1, 400) * epoch, 1e-7
    right = by_linear_program(fleet, budget, ages, 1.0, limits)
    assert right <= best.bound * (1 + 1e-7)
    assert right >= best.bound * (1 - near)
    again = dual(fleet, budget, best.price, ages, 1.0, limits, best.host_price)
    assert again <= best.bound * (1 + 1e-9), "the bound is the dual value at its own prices"


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([None, 0.5, 1.0]), st.floats(-4, 0.2))
def test_promises_hold_on_random_fleets(seed, epoch, log_share):
    rng = np.random.default_rng(seed)
    fleet = random_fleet(rng, int(rng.integers(1, 40)), kinds=str(rng.choice(["all", "ephemeral"])))
    check(fleet, float(10**log_share * fleet.cost.sum()), epoch)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([None, 1.0]), st.floats(-2, 0.2))
def test_promises_hold_on_random_fleets_with_hosts(seed, epoch, log_share):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    fleet = random_fleet(rng, n, kinds="ephemeral", hosts=1 + n // 4)
    limits = {host: float(rng.uniform(0, 1.5)) for host in fleet.hosts if rng.random() < 0.8}
    check(fleet, float(10**log_share * fleet.cost.sum()), epoch, limits)


@pytest.mark.parametrize("epoch", [None, 1.0])
def test_prices_over_twelve_orders_of_magnitude(epoch):
    n = 13
    fleet = Fleet(arrival=np.logspace(-6, 6, n), decay=np.logspace(4, -4, n), cost=1.0)
    budgets = [*np.logspace(-7, 1, 9), 12.0, 12.9, 12.999] if epoch else np.logspace(-7, 6, 14)
    prices = [check(fleet, float(budget), epoch).price for budget in budgets]
    assert prices == sorted(prices, reverse=True), "more budget, lower price"
    assert prices[0] / prices[-1] > 1e12


# ------------------------------------------------------------------ corners
def test_table_1_of_the_papers():
    one = check(TABLE_I, 1.0, 1.0)
    assert one.bound == pytest.approx(260.3899, abs=5e-5)
    assert one.price_range == pytest.approx((95.24, 105.06), abs=5e-3)
    assert one.rate.tolist() == [0.5, 0.5, 0, 0]
    two = check(TABLE_I, 2.0, 1.0)
    assert (two.bound, two.price) == pytest.approx((338.0539, 43.6046), abs=5e-5)
    three = check(TABLE_I, 3.0, 1.0)
    assert (three.bound, three.price) == pytest.approx((372.4103, 18.1019), abs=5e-5)


def test_every_price_of_a_plateau_gives_the_same_bound_and_none_beyond():
    ages = np.arange(1.0, 200.0)
    best = relax(TABLE_I, 1.0, 1.0)
    low, high = best.price_range
    for price in np.linspace(low, high, 7):
        assert dual(TABLE_I, 1.0, price, ages, 1.0) == pytest.approx(best.bound, rel=1e-12)
    for price in (low - 0.1, high + 0.1):
        assert dual(TABLE_I, 1.0, price, ages, 1.0) > best.bound + 1e-3


@pytest.mark.parametrize("budget", [4.0, 4.0000001, 7.0, 1e9])
def test_a_budget_for_everything_costs_nothing(budget):
    best = check(TABLE_I, budget, 1.0)
    assert best.price == 0
    assert best.slack == pytest.approx(budget - 4)
    assert best.rate.tolist() == [1, 1, 1, 1]
    assert best.bound == pytest.approx(TABLE_I.harvest.value(np.ones(4)).sum())


@pytest.mark.parametrize("epoch", [None, 1.0])
def test_no_budget_buys_nothing_at_any_price_that_anyone_would_pay(epoch):
    best = relax(TABLE_I, 0.0, epoch)
    assert best.bound == 0
    assert (best.rate == 0).all()
    assert np.isinf(best.age).all()
    ceiling = TABLE_I.harvest.value(np.full(4, np.inf)).max()
    assert best.price >= ceiling * (1 - 1e-12)


@pytest.mark.parametrize("epoch", [None, 1.0])
@pytest.mark.parametrize("share", [1e-6, 0.05, 0.3, 1 / 3, 0.5, 0.77, 1.0])
def test_equal_sources_share_the_budget(epoch, share):
    fleet = Fleet(arrival=[2.0] * 6, decay=0.5, cost=3.0)
    best = check(fleet, share * 18, epoch)
    np.testing.assert_allclose(best.rate, share, rtol=1e-9)


@pytest.mark.parametrize("epoch", [None, 1.0])
@pytest.mark.parametrize("budget", [1e-12, 1e-3, 0.3, 0.5, 0.999, 1.0])
def test_one_source_takes_it_all(epoch, budget):
    fleet = Fleet(arrival=2.0, decay=0.5)
    best = check(fleet, budget, epoch)
    assert best.rate[0] == pytest.approx(budget, rel=1e-9)
    gap = 1 / budget
    if epoch is None:
        right = budget * harvest(fleet, 0, np.array([gap]))[0]
    else:
        k = np.floor(gap * (1 + 1e-12))
        first, second = harvest(fleet, 0, np.array([k, k + 1]))
        right = budget * ((k + 1 - gap) * first + (gap - k) * second)
    assert best.bound == pytest.approx(right, rel=1e-9)


@pytest.mark.parametrize("budget", [1e-15, 1e-9, 1e-4, 1e-2])
def test_tiny_budgets_in_continuous_time_go_to_whoever_has_most_to_give(budget):
    fleet = Fleet(arrival=[1.0, 3.0, 3.0, 2.9], decay=1.0)
    best = check(fleet, budget, None)
    if budget < 1e-3:
        assert best.bound == pytest.approx(3 * budget, rel=1e-9)
        assert best.rate[[0, 3]].tolist() == [0, 0]


@pytest.mark.parametrize("budget", [1e3, 1e6, 1e12])
def test_large_budgets_in_continuous_time_catch_nearly_everything(budget):
    best = check(Fleet(arrival=[1.0, 2.0, 3.0], decay=[1.0, 0.1, 5.0]), budget, None)
    assert best.bound == pytest.approx(6.0, rel=10 / budget)
    assert best.price > 0


@pytest.mark.parametrize("epoch", [None, 1.0])
@pytest.mark.parametrize("budget", [0.01, 0.7, 2.5])
def test_sources_that_publish_nothing_are_never_crawled(epoch, budget):
    silent = Fleet(arrival=[0, 1, 2, 0.0], decay=[0.5, 0.5, 1.0, 0], worth=[1, 1, 1, 1])
    best = check(silent, budget, epoch)
    assert best.rate[[0, 3]].tolist() == [0, 0]
    other = relax(silent.take([1, 2]), budget, epoch)
    assert best.bound == pytest.approx(other.bound, rel=1e-12)
    worthless = relax(
        Fleet(arrival=[1, 1, 2.0], decay=[0.5, 0.5, 1.0], worth=[0, 1, 1]), budget, epoch
    )
    assert worthless.bound == pytest.approx(other.bound, rel=1e-12)


@pytest.mark.parametrize("epoch", [None, 1.0])
def test_a_fleet_that_publishes_nothing_earns_nothing(epoch):
    for decay in (0.5, 0.0):
        best = relax(Fleet(arrival=[0.0, 0.0], decay=decay), 1.0, epoch)
        assert (best.bound, best.price, best.slack) == (0, 0, 1.0)


@pytest.mark.parametrize("epoch", [None, 1.0])
@pytest.mark.parametrize("budget", [1e-3, 0.5, 1.0, 1.5, 2.5, 3.0, 4.0])
def test_items_that_never_fade_wait_for_free(epoch, budget):
    """Ever rarer visits lose nothing: the bound counts all they publish, the price ignores them."""
    fleet = Fleet(arrival=[2.0, 3.0, 5.0], decay=[0.5, 0.0, 0.0])
    best = relax(fleet, budget, epoch)
    alone = relax(fleet.take([0]), budget, epoch)
    assert best.bound == pytest.approx(alone.bound + 8, rel=1e-9)
    assert best.price == pytest.approx(alone.price, rel=1e-9)
    spent = float(fleet.cost @ best.rate)
    assert spent <= budget * (1 + 1e-9)
    if best.price > 0:
        assert spent == pytest.approx(budget, rel=1e-9)
    else:
        assert best.slack == pytest.approx(budget - spent, abs=1e-12)
        if spent < budget or (epoch is not None and budget > 1):
            assert best.value.sum() == pytest.approx(best.bound, rel=1e-9), "what is left is used"


def test_lifetime_jump_makes_the_lifetime_itself_the_age():
    fleet = Fleet(arrival=1.0, decay=0.1, lifetime=[1.0, 2.0, 3.0])
    for budget in np.linspace(0.05, 3.0, 23):
        best = check(fleet, float(budget), None)
        going = best.rate > 0
        # Beyond the lifetime nothing is added: who is worth a crawl at all does not wait longer.
        low = fleet.harvest.index(np.nextafter(fleet.lifetime, 0)) * (1 + 1e-9)
        high = fleet.harvest.value(fleet.lifetime) * (1 - 1e-9)
        inside = going & (best.price > low) & (best.price < high)
        np.testing.assert_allclose(best.age[inside], fleet.lifetime[inside], rtol=1e-9)


@pytest.mark.parametrize("epoch", [None, 1.0])
def test_budgets_next_to_a_jump_of_the_spending(monkeypatch, epoch):
    """Slow decay and short lifetimes: spending is nearly flat between jumps, and slopes mislead."""
    asked = []
    counted = search._Asked.__call__

    def count(self, price):
        asked.append(price)
        return counted(self, price)

    monkeypatch.setattr(search._Asked, "__call__", count)
    for seed in range(30):
        rng = np.random.default_rng([seed, 4])
        n = int(rng.integers(1, 12))
        fleet = Fleet(
            arrival=10 ** rng.uniform(-1, 1, n), decay=10 ** rng.uniform(-6, -1, n),
            lifetime=rng.uniform(0.5, 9, n), cost=rng.choice([0.5, 1, 2], n),
        )  # fmt: skip
        some = rng.permutation(n)[: int(rng.integers(1, n + 1))]
        for off in (0, 1e-13, 1e-6, 1e-3, -1e-3, -1e-6, -1e-13):
            asked.clear()
            check(fleet, float((fleet.cost / fleet.lifetime)[some].sum() * (1 + off)), epoch)
            assert len(asked) < 200, "the search creeps"


def test_best_age_is_the_lower_branch_of_lambert_w():
    """τ = (−1 − W₋₁((pC/u* − 1)/e))/μ [J §VII], away from the branch point."""
    for cost in (0.5, 2.0):
        fleet = Fleet(arrival=3.0, decay=0.2, cost=cost)
        for budget in np.logspace(-2, 0.5, 12):
            best = relax(fleet, float(budget), None)
            filled = best.price * cost / 15.0
            if filled > 1 - 1e-6:
                continue  # the price has no digits left to tell ages apart
            right = (-1 - lambertw((filled - 1) / np.e, -1).real) / 0.2
            assert best.age[0] == pytest.approx(right, rel=1e-8)


def test_threshold_of_j16_is_where_the_slotted_index_crosses_the_price():
    """x*(λ) = u* − β/(1−α), β the net profit per epoch: γ_k ≥ λ exactly from there on."""
    for s_row in range(4):
        fleet = TABLE_I.take([s_row])
        s = fleet[0]
        alpha, ceiling = np.exp(-s.decay), s.arrival * s.worth / s.decay
        k = np.arange(1, 40)
        lattice = ceiling * (1 - alpha**k)
        index = np.array([whittle_index(fleet, float(j), 1.0)[0] for j in k])
        for price in np.linspace(0.01, 0.95, 37) * ceiling:
            profit = max(0.0, ((lattice - price) / k).max())
            threshold = ceiling - profit / (1 - alpha)
            above = lattice >= threshold * (1 - 1e-12)
            # Crawling when the state next reaches x* is the same as one epoch before it exceeds.
            assert np.array_equal(index >= price, above) or np.isclose(index, price).any()
            many = Fleet(arrival=np.full(len(k), s.arrival), decay=s.decay, worth=s.worth)
            by_state = whittle_index_at(many, lattice, 1.0)
            np.testing.assert_allclose(by_state, index, rtol=1e-10)


def test_threshold_of_j21_is_the_continuous_one():
    """x*(λ) = u* − β_continuous/μ-slope: f′ at the best age equals the profit, so X* = u* − β/μ."""
    fleet = Fleet(arrival=3.0, decay=0.2)
    for budget in (0.1, 0.5, 2.0):
        best = relax(fleet, budget, None)
        profit = best.bound - best.price * budget
        threshold = 15.0 - profit / 0.2
        assert harvest(fleet, 0, best.age[:1])[0] == pytest.approx(threshold, rel=1e-8)
        assert whittle_index_at(fleet, threshold)[0] == pytest.approx(best.price, rel=1e-7)


# ------------------------------------------------------------------ the fast path
@pytest.mark.parametrize("epoch", [None, 1.0])
@pytest.mark.parametrize("hosts", [False, True])
def test_a_guess_from_a_sample_changes_nothing(monkeypatch, epoch, hosts):
    seed = 21
    print("seed", seed)
    rng = np.random.default_rng(seed)
    fleet = random_fleet(rng, 4000, kinds="ephemeral", hosts=50 if hosts else 0)
    limit = 20.0 if hosts else None
    small = relax(fleet, 700.0, epoch, host_limit=limit)
    monkeypatch.setattr(search, "_SAMPLE", 256)
    monkeypatch.setattr(search, "_FEW", 64)
    sampled = relax(fleet, 700.0, epoch, host_limit=limit)
    assert sampled.bound == pytest.approx(small.bound, rel=1e-12)
    assert sampled.price == pytest.approx(small.price, rel=1e-8)
    np.testing.assert_allclose(sampled.rate, small.rate, rtol=1e-6, atol=1e-12)
    assert float(fleet.cost @ sampled.rate) == pytest.approx(700.0, rel=1e-9)


@pytest.mark.parametrize("epoch", [None, 1.0])
def test_a_hundred_thousand_sources(epoch):
    """The large path: budget met, answer earns its bound, prices optimal."""
    seed = 22
    print("seed", seed)
    rng = np.random.default_rng(seed)
    n = 100_000
    fleet = Fleet(
        arrival=10 ** rng.uniform(-3, 1, n),
        decay=10 ** rng.uniform(-2, 1, n),
        cost=rng.choice([0.5, 1, 2], n),
    )
    budget = 0.1 * n
    best = relax(fleet, budget, epoch)
    assert float(fleet.cost @ best.rate) == pytest.approx(budget, rel=1e-9)
    curve = lambda age: fleet.arrival / fleet.decay * -np.expm1(-fleet.decay * age)  # noqa: E731
    going = best.rate > 0
    with np.errstate(invalid="ignore"):
        mean = best.weight * curve(best.age) + (1 - best.weight) * curve(best.longer_age)
    value = float((best.rate * mean)[going].sum())
    assert value == pytest.approx(best.bound, rel=1e-9)
    # Complementary slackness, row by row: due exactly where the index reaches the price.
    p = best.price
    assert (fleet.arrival / fleet.decay / fleet.cost)[~going].max() <= p * (1 + 1e-9)
    if epoch is None:
        index = whittle_index(fleet, np.where(going, best.age, 0.0))
        np.testing.assert_allclose(index[going], p, rtol=1e-6)
    else:
        now = whittle_index(fleet, np.where(going, best.age, 1.0), epoch)
        before = whittle_index(fleet, np.where(going, best.age, 1.0) - epoch, epoch)
        assert (now[going] >= p * (1 - 1e-9)).all()
        assert (before[going] <= p * (1 + 1e-9)).all()


# ------------------------------------------------------------------ arguments
def test_wrong_arguments_are_named():
    for budget in (-1.0, np.nan, np.inf):
        with pytest.raises(BadInput, match="budget"):
            relax(TABLE_I, budget)
    for epoch in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(BadInput, match="epoch"):
            relax(TABLE_I, 1.0, epoch)
    hosted = TABLE_I.replace(host=["a", "a", "b", "b"])
    for limit in (-1.0, np.nan, {"a": -0.5}, {"b": np.nan}):
        with pytest.raises(BadInput, match="host_limit"):
            relax(hosted, 1.0, host_limit=limit)
    with pytest.raises(UnknownName, match="'c'"):
        relax(hosted, 1.0, host_limit={"c": 1.0})


@pytest.mark.parametrize("epoch", [None, 1.0])
def test_an_empty_fleet_has_nothing_to_buy(epoch):
    best = relax(Fleet(arrival=[], decay=[]), 3.0, epoch)
    assert (best.bound, best.price, best.slack, len(best.rate)) == (0, 0, 3.0, 0)
