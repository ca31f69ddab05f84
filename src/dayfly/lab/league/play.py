"""Play the league: every policy in every cell, on all cores; what is known already is not played.

A recorded trace is the same for every seed, so a contender that draws no random numbers is played
once. Nobody has to say who does: its generator is looked at after the first seed, and if that is
untouched, every other seed would give the same, bit for bit. Of a drawn scenario every seed is a
world of its own, the same for all.
"""

from __future__ import annotations

import functools
import pickle
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from dayfly.errors import BadInput, UnknownName
from dayfly.lab.jobs import Job, run_jobs
from dayfly.lab.league.cache import Cache
from dayfly.lab.league.code import code_digest
from dayfly.lab.league.outcome import Outcome
from dayfly.lab.league.scenarios import Cell, Scenario, true_bound
from dayfly.model import Rows, Visits
from dayfly.policies import Contender, Contest
from dayfly.simulate import Trace, contenders, replay

#: Called with how many replays are done, of how many.
Progress: TypeAlias = Callable[[int, int], None]
#: One replay: cell, policy, seed.
Game: TypeAlias = tuple[Cell, str, int]


class League:
    """The outcomes of the games played, and what no rule can exceed where that is known."""

    def __init__(self, scenarios: Sequence[Scenario], policies: Sequence[str], seeds: int) -> None:
        self.scenarios, self.policies, self.seeds = list(scenarios), list(policies), seeds
        #: By cell and policy, one for each seed; only the first where nothing was drawn.
        self.outcomes: dict[tuple[Cell, str], dict[int, Outcome]] = {}
        #: By cell and seed: share of the value published.
        self.bounds: dict[tuple[Cell, int], float] = {}
        #: Sources of each scenario.
        self.sources: dict[str, int] = {}
        #: How many outcomes were known already.
        self.known = 0

    @property
    def quick(self) -> bool:
        """Whether this is a quick look."""
        return any(scenario.quick for scenario in self.scenarios)


def play_league(
    scenarios: Sequence[Scenario],
    policies: Sequence[str],
    *,
    seeds: int,
    cache: Cache,
    workers: int = 1,
    progress: Progress = lambda done, total: None,  # noqa: ARG005
) -> League:
    """Play all cells of the scenarios.

    Parameters
    ----------
    scenarios
        What is played, each under a name of its own; `load` must be a function that another process
        can import.
    policies
        Names that `contenders` knows.
    seeds
        Seeds 0, 1, … for contenders that draw, and of drawn scenarios for all.
    cache
        Outcomes are looked for there, and kept there as soon as they are known: what was finished
        before an interrupt need not be played again.
    workers
        Processes to use; each holds one trace at a time.
    """
    known = contenders()
    for name in policies:
        if name not in known:
            raise UnknownName("policy", name, known)
    if len({scenario.name for scenario in scenarios}) < len(scenarios):
        raise BadInput("two scenarios of a league have the same name")
    if seeds < 1 or not policies or not scenarios:
        raise BadInput("a league needs a scenario, a policy and a seed at least")
    league = League(scenarios, policies, seeds)
    book = _Book(league, cache)
    for scenario in scenarios:
        _enter(scenario, league, book)
    progress(book.done, len(book.keys))
    while book.waiting:
        games, book.waiting = book.waiting, []
        jobs: list[Job[Game]] = [
            (game, _play, (book.packed[game[0].scenario], *game)) for game in games
        ]
        for game, outcome in run_jobs(jobs, workers):
            cache.keep(book.keys[game], outcome)
            book.note(game, outcome)
            progress(book.done, len(book.keys))
    return league


class _Book:
    """The games of a league: what each depends on, which have an outcome, and which wait for it."""

    def __init__(self, league: League, cache: Cache) -> None:
        self.league, self.cache = league, cache
        self.drawn = {scenario.name: scenario.drawn for scenario in league.scenarios}
        self.packed = {scenario.name: pickle.dumps(scenario) for scenario in league.scenarios}
        self.keys: dict[Game, dict[str, Any]] = {}
        self.waiting: list[Game] = []
        self.done = 0

    def enter(self, game: Game, key: dict[str, Any]) -> None:
        """A game that belongs to the league; it waits only if its outcome is not known."""
        self.keys[game] = key
        found = self.cache.find(key)
        if found is None:
            self.waiting.append(game)
        else:
            self.league.known += 1
            self.note(game, found)

    def note(self, game: Game, outcome: Outcome) -> None:
        """The outcome of a game. If chance had a part in it, other seeds are to follow."""
        cell, policy, seed = game
        self.league.outcomes.setdefault((cell, policy), {})[seed] = outcome
        self.done += 1
        if outcome.drew and seed == 0 and not self.drawn[cell.scenario]:
            for later in range(1, self.league.seeds):
                self.enter((cell, policy, later), {**self.keys[game], "seed": later})


def _enter(scenario: Scenario, league: League, book: _Book) -> None:
    """Enter the games of a scenario, all of one trace together."""
    for world in range(league.seeds if scenario.drawn else 1):
        trace = _trace(book.packed[scenario.name], world)
        league.sources[scenario.name] = len(trace)
        data, makers = _data_digest(trace), contenders(trace)
        code = {policy: code_digest(makers[policy]) for policy in league.policies}
        for cell in scenario.cells:
            bound = true_bound(trace, scenario, cell)
            if bound is not None:
                league.bounds[cell, world] = bound
            for policy in league.policies:
                game = (cell, policy, world)
                book.enter(game, _key(scenario, game, data, code[policy]))


def _key(scenario: Scenario, game: Game, data: str, code: str) -> dict[str, Any]:
    cell, policy, seed = game
    return {
        "scenario": scenario.name,
        "data": data,
        "code": code,
        "policy": policy,
        "budget": cell.budget,
        "epoch": cell.epoch,
        "half_life": cell.half_life,
        "start": scenario.start,
        "until": scenario.until,
        "window": scenario.window,
        "seed": seed,
    }


@functools.lru_cache(maxsize=1)
def _trace(packed: bytes, world: int) -> Trace:
    """The trace last asked for stays: whoever plays many games of it reads it once."""
    scenario: Scenario = pickle.loads(packed)
    return scenario.trace(world)


def _data_digest(trace: Trace) -> str:
    digest = blake2b(digest_size=16)
    for column in (trace.start, trace.time, trace.worth):
        digest.update(column.tobytes())
    return digest.hexdigest()


def _play(packed: bytes, cell: Cell, policy: str, seed: int) -> Outcome:
    """One game; runs in a process of its own."""
    scenario: Scenario = pickle.loads(packed)
    trace = _trace(packed, seed if scenario.drawn else 0)
    make = contenders(trace)[policy]
    watched: list[_Watched] = []

    def watch(contest: Contest) -> Contender:
        watched.append(_Watched(make(contest)))
        return watched[0]

    begin = time.process_time()
    run = replay(
        trace,
        watch,
        budget=cell.budget,
        epoch=cell.epoch,
        decay=cell.decay,
        start=scenario.start,
        until=scenario.until,
        window=scenario.window,
        seed=seed,
    )
    cpu_s = time.process_time() - begin
    return Outcome.of(run, drew=watched[0].drew(seed), cpu_s=cpu_s)


class _Watched:
    """A contender, and whether it used its random numbers."""

    def __init__(self, contender: Contender) -> None:
        self._contender = contender
        self._rng: np.random.Generator | None = None

    def choose(self, now: float, k: int, rng: np.random.Generator) -> Rows:
        """What the contender chooses."""
        self._rng = rng
        return self._contender.choose(now, k, rng)

    def observe(self, visits: Visits) -> None:
        """What the contender makes of it."""
        self._contender.observe(visits)

    def drew(self, seed: int) -> bool:
        """Whether the generator, or what was spawned from it, is no longer as it was."""
        if self._rng is None:
            return False
        now, then = self._rng.bit_generator, np.random.default_rng(seed).bit_generator
        spawned = getattr(now.seed_seq, "n_children_spawned", 0)
        return bool(now.state != then.state or spawned)
