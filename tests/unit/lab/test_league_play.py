"""The league plays what has to be played, once."""

import math
import os
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dayfly.errors import BadInput, DayflyError, UnknownName
from dayfly.lab.jobs import run_jobs
from dayfly.lab.league import SCENARIOS, Cache, Scenario, find_scenario, play, play_league
from dayfly.lab.league.play import _Watched
from dayfly.simulate import contenders, replay, synth
from dayfly.simulate.synth import START

DAY = 86400.0
CHANCE = "b5_newsblur_w1"


def drawn_trace(seed):
    return synth("poisson", 20, 5 * DAY, seed=seed)


def scenario(*, drawn):
    return Scenario(
        name="drawn-v1" if drawn else "recorded-v1",
        about="Twenty sources.",
        load=drawn_trace if drawn else partial(_always, 3),
        file="" if drawn else "recorded.csv.gz",
        origin=START,
        history_days=2,
        days=5,
        budgets=(1.0, 2.0),
        half_lives=(6 * 3600.0,),
        settled_days=1,
    )


def _always(seed, _):
    return drawn_trace(seed)


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    play._trace.cache_clear()
    for one in (scenario(drawn=True), scenario(drawn=False)):
        monkeypatch.setitem(SCENARIOS, one.name, one)
    yield
    play._trace.cache_clear()


def go(tmp_path, *policies, name="recorded-v1", seeds=3, **how):
    return play_league(
        [find_scenario(name)], policies, seeds=seeds, cache=Cache(tmp_path / "cache"), **how
    )


def test_an_outcome_is_what_a_replay_gives(tmp_path):
    league = go(tmp_path, "oracle", "proportional")
    trace = drawn_trace(3)
    for (cell, policy), outcomes in league.outcomes.items():
        expected = replay(
            trace,
            contenders(trace)[policy],
            budget=cell.budget,
            epoch=900.0,
            decay=math.log(2) / 21600,
            start=START + 2 * DAY,
            until=START + 5 * DAY,
        )
        found = outcomes[0]
        assert (found.share, found.lost, found.crawls) == (
            expected.share,
            expected.lost,
            expected.crawls,
        )
        assert found.value_by_day == expected.value_by_day.tolist()
        assert found.share_of(slice(None)) == pytest.approx(found.share)
        assert found.cpu_s > 0


def test_only_who_draws_is_played_with_every_seed(tmp_path):
    league = go(tmp_path, "uniform", CHANCE)
    for (_, policy), outcomes in league.outcomes.items():
        assert sorted(outcomes) == ([0, 1, 2] if policy == CHANCE else [0])
    shares = {outcome.share for outcome in league.outcomes[league_cell(league), CHANCE].values()}
    assert len(shares) > 1


def league_cell(league):
    return league.scenarios[0].cells[0]


def test_every_seed_of_a_drawn_scenario_is_a_world_of_its_own(tmp_path):
    league = go(tmp_path, "uniform", name="drawn-v1")
    cell = league_cell(league)
    assert len({outcome.items for outcome in league.outcomes[cell, "uniform"].values()}) == 3
    assert all(0 < league.bounds[cell, seed] <= 1 for seed in range(3))


def test_what_is_known_is_not_played_again(tmp_path, monkeypatch):
    first = go(tmp_path, "azar", CHANCE)
    assert first.known == 0

    def nobody(*_):
        raise AssertionError("played again")

    monkeypatch.setattr(play, "_play", nobody)
    again = go(tmp_path, "azar", CHANCE)
    assert again.known == 2 * (1 + 3)
    assert again.outcomes == first.outcomes


def test_more_seeds_play_only_the_new_ones(tmp_path):
    go(tmp_path, CHANCE, seeds=2)
    assert go(tmp_path, CHANCE, seeds=3).known == 4


def test_what_was_finished_before_an_interrupt_is_kept(tmp_path):
    def stop(done, total):
        assert total >= done
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, "azar", "uniform", progress=stop)
    assert go(tmp_path, "azar", "uniform").known == 3


def test_another_code_is_another_outcome(tmp_path, monkeypatch):
    go(tmp_path, "uniform")
    monkeypatch.setattr(play, "code_digest", lambda make: "changed")
    assert go(tmp_path, "uniform").known == 0


def test_progress_ends_with_all_done(tmp_path):
    seen = []
    go(tmp_path, CHANCE, "uniform", progress=lambda *now: seen.append(now))
    assert seen[0][0] == 0
    assert seen[-1] == (8, 8)


def test_two_workers_find_what_one_finds(tmp_path):
    policies = ("b0_cycle", "b1_fixed")
    quick = [find_scenario("poisson-v1", quick=True)]
    one, two = (
        play_league(quick, policies, seeds=1, cache=Cache(tmp_path / str(n)), workers=n)
        for n in (1, 2)
    )
    for key, outcomes in one.outcomes.items():
        assert two.outcomes[key][0].share == outcomes[0].share


def test_drawing_is_seen_also_where_a_generator_is_spawned():
    class Spawns:
        def choose(self, now, k, rng):
            rng.spawn(1)
            return np.arange(0)

        def observe(self, visits):
            pass

    watched = _Watched(Spawns())
    assert not watched.drew(0)
    watched.choose(0.0, 1, np.random.default_rng(0))
    assert watched.drew(0)


def test_names_nobody_knows_are_refused(tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'oracle'"):
        go(tmp_path, "oracel")
    with pytest.raises(UnknownName, match="did you mean 'news-v1'"):
        find_scenario("news-v2")
    with pytest.raises(BadInput, match="at least"):
        go(tmp_path)
    twice = [find_scenario("drawn-v1")] * 2
    with pytest.raises(BadInput, match="same name"):
        play_league(twice, ["uniform"], seeds=1, cache=Cache(tmp_path))


def test_a_part_of_a_scenario_can_be_played(tmp_path):
    part = replace(find_scenario("drawn-v1"), budgets=(1.5,), days=4)
    league = play_league([part], ["uniform"], seeds=1, cache=Cache(tmp_path))
    ((cell, _),) = league.outcomes
    assert cell.budget == 1.5
    assert len(league.outcomes[cell, "uniform"][0].value_by_day) == 2


def test_a_worker_that_dies_is_told():
    with pytest.raises(DayflyError, match="ended from outside"):
        list(run_jobs([(n, os._exit, (1,)) for n in range(2)], workers=2))
