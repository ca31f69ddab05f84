import math

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.index import whittle_index
from dayfly.policies import top
from dayfly.simulate import Oracle, Trace, contenders, replay
from dayfly.simulate.contenders import RoundRobin
from dayfly.simulate.oracle import true_fleet


class Anybody:
    """Visits up to k rows at random, often fewer, and keeps what it was told."""

    def __init__(self, contest):
        self.contest, self.log = contest, []

    def choose(self, now, k, rng):
        return rng.permutation(self.contest.sources)[: rng.integers(0, k + 1)]

    def observe(self, visits):
        self.log.append(visits)


def slowly(trace, *, budget, epoch, decay, start, until, window, seed):
    """The same replay, item by item, with lists and sets."""
    feeds = [
        list(zip(trace.time[a:b].tolist(), trace.worth[a:b].tolist(), strict=True))
        for a, b in zip(trace.start[:-1], trace.start[1:], strict=True)
    ]
    rng = np.random.default_rng(seed)
    seen, last, told = set(), {}, []
    gained, delays, purse, crawls, number = {}, [], 0.0, 0, 0
    while start + number * epoch < until:
        now = start + number * epoch
        number += 1
        purse += budget
        k = min(int(purse + 1e-9), len(feeds))
        purse -= int(purse + 1e-9)
        if k == 0:
            continue
        rows = rng.permutation(len(feeds))[: rng.integers(0, k + 1)].tolist()
        crawls += len(rows)
        for row in rows:
            there = [n for n, (time, _) in enumerate(feeds[row]) if time <= now]
            shown = there if window is None else there[-window:]
            new = [n for n in shown if (row, n) not in seen]
            value = 0.0
            for n in new:
                seen.add((row, n))
                time, worth = feeds[row][n]
                if time >= start:
                    gained[row, n] = worth * math.exp(-decay * (now - time))
                    value += gained[row, n]
                    delays.append(now - time)
            gap = now - last.get(row, -math.inf)
            last[row] = now
            told.append((now, row, gap, [feeds[row][n] for n in shown], len(new), value))
    inside = {
        (row, n): feeds[row][n]
        for row in range(len(feeds))
        for n in range(len(feeds[row]))
        if start <= feeds[row][n][0] < until
    }
    lost = 0
    for row, n in inside:
        after = sum(time < until for time, _ in feeds[row][n + 1 :])
        lost += (row, n) not in seen and window is not None and after >= window
    days = math.ceil((until - start) / 86400)
    by_day = [[0.0, 0.0] for _ in range(days)]
    for key, (time, worth) in inside.items():
        day = int((time - start) // 86400)
        by_day[day][0] += gained.get(key, 0.0)
        by_day[day][1] += worth
    return {
        "items": len(inside),
        "caught": len(gained),
        "lost": lost,
        "crawls": crawls,
        "value": sum(gained.values()),
        "published": sum(worth for _, worth in inside.values()),
        "by_day": by_day,
        "delays": delays,
        "told": told,
    }


def random_trace(rng, hours):
    n, items = int(rng.integers(1, 9)), int(rng.integers(30, 250))
    # Whole minutes: items of one instant, and items on the very instant of a visit.
    time = 60.0 * rng.integers(0, hours * 60, items)
    return Trace.from_columns(rng.integers(0, n, items), time, rng.integers(0, 4, items) / 2.0)


@pytest.mark.parametrize("seed", range(40))
def test_a_replay_is_what_looking_at_every_item_gives(seed):
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    trace = random_trace(rng, hours=60)
    how = {
        "budget": float(rng.choice([0.3, 1.0, 1.5, 2.7, 20.0])),
        "epoch": float(rng.choice([600.0, 900.0, 5000.0])),
        "decay": math.log(2) / float(rng.choice([1800.0, 21600.0])),
        "start": float(rng.choice([0.0, 3600.0 * 12, 3600.0 * 30 + 7])),
        "until": float(rng.choice([3600.0 * 40, 3600.0 * 61])),
        "window": [None, 1, 3, 20][int(rng.integers(4))],
        "seed": seed,
    }
    born = []
    run = replay(trace, lambda contest: born.append(Anybody(contest)) or born[0], **how)
    slow = slowly(trace, **how)
    for name in ("items", "caught", "lost", "crawls"):
        assert getattr(run, name) == slow[name], name
    assert run.value == pytest.approx(slow["value"])
    assert run.published == pytest.approx(slow["published"])
    assert run.share == pytest.approx(slow["value"] / slow["published"])
    assert run.value_by_day == pytest.approx([day[0] for day in slow["by_day"]])
    assert run.published_by_day == pytest.approx([day[1] for day in slow["by_day"]])
    if slow["delays"]:
        assert run.delay_mean_s == pytest.approx(np.mean(slow["delays"]))
        assert run.delay_p95_s == pytest.approx(np.percentile(slow["delays"], 95))
    told = [
        (
            visits.time,
            int(row),
            gap,
            list(zip(visits.published[a:b].tolist(), visits.worth[a:b].tolist(), strict=True)),
            int(new),
            pytest.approx(value),
        )
        for visits in born[0].log
        for row, gap, a, b, new, value in zip(
            visits.row, visits.gap, visits.start[:-1], visits.start[1:], visits.new, visits.value,
            strict=True,
        )
    ]  # fmt: skip
    assert slow["told"] == told


def play(trace, make, **changes):
    usual = {"budget": 1.0, "epoch": 900.0, "decay": 1e-4, "start": 0.0, "window": 20}
    return replay(trace, make, **usual | changes)


TRACE = Trace.from_columns(["a", "b", "a", "b"], [0.0, 1000.0, 5000.0, 200_000.0])


def test_history_is_shown_and_earns_nothing():
    trace = Trace.from_columns(["a"] * 3, [100.0, 200.0, 5000.0])

    class Watch(RoundRobin):
        def observe(self, visits):
            seen.append(visits)

    seen = []
    run = play(trace, Watch, start=1000.0, until=6000.0)
    assert (run.items, run.caught, run.lost) == (1, 1, 0)
    assert seen[0].published.tolist() == [100.0, 200.0]
    assert seen[0].new.tolist() == [2]
    assert seen[0].value.tolist() == [0.0]
    assert seen[0].gap.tolist() == [math.inf]


def test_what_a_contender_is_told_beforehand():
    told = []
    play(
        TRACE, lambda contest: told.append(contest) or RoundRobin(contest), budget=2.5, window=None
    )
    assert told[0].sources == 2
    assert (told[0].budget, told[0].window, told[0].start) == (2.5, None, 0.0)
    assert told[0].span == 223 * 900.0  # the epoch of the last item included


def test_the_same_seed_gives_the_same_replay_and_another_gives_another():
    trace = random_trace(np.random.default_rng(1), hours=60)
    one, two, other = (play(trace, Anybody, seed=seed) for seed in (5, 5, 6))
    assert one.value == two.value != other.value


def test_progress_reaches_the_end():
    calls = []
    play(TRACE, RoundRobin, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (223, 223)
    assert len(calls) < 250


class Answers:
    def __init__(self, answer):
        self.answer = answer

    def choose(self, now, k, rng):
        return self.answer

    def observe(self, visits):
        pass


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ([0, 1], "contender Answers chose 2 rows where 1 were to be had"),
        ([2], "chose a row outside 0 to 1"),
        ([-1], "chose a row outside 0 to 1"),
        ([0.5], "must choose a list of row numbers"),
        (0, "must choose a list of row numbers"),
    ],
)
def test_who_breaks_the_rules_is_stopped(answer, what):
    with pytest.raises(BadInput, match=what):
        play(TRACE, lambda contest: Answers(answer))


def test_nobody_is_visited_twice_at_once():
    with pytest.raises(BadInput, match="chose a row twice"):
        play(TRACE, lambda contest: Answers([1, 1]), budget=2.0)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"budget": 0.0}, "budget must be positive"),
        ({"budget": math.nan}, "budget must be positive"),
        ({"epoch": 0.0}, "epoch must be positive"),
        ({"decay": -1.0}, "decay must be positive"),
        ({"window": 0}, "window must be at least 1"),
        ({"start": 1e9}, "must end after it starts"),
        ({"start": math.nan}, "must end after it starts"),
        ({"until": -5.0}, "must end after it starts"),
        ({"start": 10_000.0, "until": 20_000.0}, "nothing of worth is published"),
        ({"epoch": 1e-3}, "instants are too many"),
    ],
)
def test_a_contest_that_makes_no_sense_is_refused(changes, what):
    with pytest.raises(BadInput, match=what):
        play(TRACE, RoundRobin, **changes)


def test_an_empty_trace_is_refused():
    with pytest.raises(BadInput, match="the trace is empty"):
        play(Trace.from_columns([], []), RoundRobin)


@pytest.mark.parametrize("window", [None, 2])
def test_the_oracle_takes_the_largest_indices_of_the_true_rates(window):
    rng = np.random.default_rng(8)
    row = np.minimum(rng.geometric(0.08, 4000) - 1, 39)
    trace = Trace.from_columns(row, rng.integers(0, 400_000, 4000).astype(float))
    checked = []

    class Checked(Oracle):
        def __init__(self, contest):
            super().__init__(trace, contest)
            self.age = np.zeros(contest.sources)

        def choose(self, now, k, rng):
            rows = super().choose(now, k, rng)
            index = whittle_index(self.fleet, self.age, self.contest.epoch)
            least = np.sort(index[top(index, k)])
            # Beyond the first ages of the table the index is interpolated.
            assert np.sort(index[rows]) == pytest.approx(least, rel=2e-3)
            checked.append(np.array_equal(np.sort(rows), np.sort(top(index, k))))
            self.age[rows] = 0.0
            self.age += self.contest.epoch
            return rows

    run = play(trace, Checked, budget=3, window=window, start=100_000.0, decay=math.log(2) / 21600)
    assert np.mean(checked) > 0.99
    assert run.share > play(trace, RoundRobin, budget=3, window=window, start=100_000.0).share / 2


def test_the_true_fleet_counts_the_contest_alone():
    told = []
    trace = Trace.from_columns(["a"] * 4, [0.0, 50.0, 60.0, 100.0], [9.0, 1.0, 3.0, 9.0])
    play(trace, lambda c: told.append(c) or RoundRobin(c), start=50.0, until=100.0, epoch=10.0)
    fleet = true_fleet(trace, told[0])
    assert fleet.arrival.tolist() == [2 / 50]
    assert fleet.worth.tolist() == [2.0]
    assert fleet.window.tolist() == [20.0]


def test_everybody_has_a_name_and_the_oracle_needs_a_trace():
    assert {"oracle", "round_robin"} <= set(contenders())
    with pytest.raises(BadInput, match="made from a trace"):
        play(TRACE, contenders()["oracle"])
    assert play(TRACE, contenders(TRACE)["oracle"], budget=2).caught == 3
