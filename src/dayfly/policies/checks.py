"""What every policy must satisfy, ours or a user's."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dayfly.errors import BadInput
from dayfly.model import NUMBERS, Array, Fleet, Rows
from dayfly.policies.base import Policy, View

#: Budgets are sums of floats: what exceeds them by less than this has not overspent.
_ROUNDING = 1e-9
#: Random questions asked per fleet.
_QUESTIONS = 24


def check_policy(policy: Policy, fleet: Fleet | None = None, seed: int = 0) -> None:
    """Raise an AssertionError that says which promise of `Policy` this one breaks.

    It must stay within the budget in cost units, choose no row twice and none that may not be
    crawled, leave its inputs alone, answer the same question in the same way, and, unless it
    draws at random, not care for the order of the rows (ties aside).

    Parameters
    ----------
    policy
        Any object with `choose`; it may refuse continuous time with a `BadInput`.
    fleet
        Sources to choose from; if None, fleets of several sizes with all kinds of source.
    seed
        Random questions are asked; the same ones for the same seed.

    Examples
    --------
    >>> from dayfly.policies import Whittle
    >>> check_policy(Whittle())
    """
    rng = np.random.default_rng(seed)
    fleets = [_fleet(n, rng) for n in (1, 4, 30)] if fleet is None else [fleet]
    for sources in fleets:
        questions = [_question(sources, rng, number) for number in range(_QUESTIONS)]
        random = False
        for question in questions:
            rows = _answer(policy, question)
            if rows is None:
                continue
            _keeps_to_the_rules(rows, question)
            again = question.copied().ask(policy).tolist()
            assert again == rows.tolist(), f"two answers: {rows.tolist()}, {again} ({question})"
            other = replace(question, seed=question.seed + 1).ask(policy).tolist()
            random = random or other != again
        if not random:
            _ignores_the_order_of_rows(policy, sources, rng)


@dataclass(frozen=True)
class _Question:
    """A view, a budget, and the seed of the generator that goes with them."""

    view: View
    budget: float
    seed: int

    def __str__(self) -> str:
        view, told = self.view, "all" if self.view.allowed is None else "some"
        seen = "no" if view.state is None else "some" if np.isnan(view.state).any() else "every"
        return (
            f"{len(view.fleet)} sources, epoch {view.epoch}, budget {self.budget:g}, "
            f"{told} allowed, {seen} state seen"
        )

    def ask(self, policy: Policy) -> Rows:
        return policy.choose(self.view, self.budget, np.random.default_rng(self.seed))

    def copied(self) -> _Question:
        """The same question in other arrays."""
        view = self.view
        again = replace(
            view,
            age=view.age.copy(),
            state=None if view.state is None else view.state.copy(),
            allowed=None if view.allowed is None else view.allowed.copy(),
        )
        return _Question(again, self.budget, self.seed)


def _fleet(n: int, rng: np.random.Generator) -> Fleet:
    """Sources of all kinds; some publish nothing, some never fade, hosts are shared."""
    kind = rng.choice(["ephemeral", "ephemeral", "two_phase", "freshness"], n)
    plain, two_phase = kind == "ephemeral", kind == "two_phase"
    return Fleet(
        arrival=np.where(rng.random(n) < 0.1, 0.0, 10 ** rng.uniform(-1, 1, n)),
        decay=np.where(rng.random(n) < 0.1, 0.0, 10 ** rng.uniform(-1, 0.3, n)),
        worth=rng.uniform(0.1, 2.0, n),
        cost=rng.choice([0.5, 1.0, 2.0], n),
        window=np.where(plain & (rng.random(n) < 0.2), rng.integers(1, 9, n), np.inf),
        lifetime=np.where(plain & (rng.random(n) < 0.2), rng.uniform(1, 9, n), np.inf),
        slow_share=np.where(two_phase, 0.4, 0.0),
        slow_decay=np.where(two_phase, 0.05, 0.0),
        kind=kind,
        host=[f"host{code}" for code in rng.integers(0, 1 + n // 3, n)],
    )


def _unit(fleet: Fleet) -> float:
    """A time in which these sources change noticeably but not completely."""
    fading = fleet.decay[fleet.decay > 0]
    return 0.2 / float(np.median(fading)) if len(fading) else 1.0


def _question(fleet: Fleet, rng: np.random.Generator, number: int) -> _Question:
    n, unit = len(fleet), _unit(fleet)
    epoch = unit if number % 2 else None
    drawn = rng.uniform(0, 30, n)
    age: Array = (np.ceil(drawn) if epoch else drawn) * unit
    age[rng.random(n) < 0.1] = np.inf
    everything = float(fleet.cost.sum())
    budgets = [0.0, 0.3 * float(fleet.cost.min()), 1e12, np.inf]
    budget = budgets[number // 2] if number < 8 else float(rng.uniform(0, 1.2) * everything)
    states: list[Array | None] = [None, _states(fleet, rng), _states(fleet, rng)]
    states[1][rng.random(n) < 0.5] = np.nan  # type: ignore[index]
    allowed = None if number % 5 < 3 else rng.random(n) < 0.5
    if number % 5 == 4 and number > 20:
        allowed = np.zeros(n, dtype=bool)
    view = View(
        fleet=fleet, now=100.0 * unit, age=age, epoch=epoch, pace=0.3 * everything,
        full=float(rng.random()), state=states[int(rng.integers(3))], allowed=allowed,
    )  # fmt: skip
    return _Question(view, budget, int(rng.integers(1 << 30)))


def _states(fleet: Fleet, rng: np.random.Generator) -> Array:
    """What might wait, from nothing to more than ever does on average."""
    return fleet.harvest.value(np.full(len(fleet), 10 * _unit(fleet))) * rng.uniform(
        0, 3, len(fleet)
    )


def _answer(policy: Policy, question: _Question) -> Rows | None:
    """The answer, the question left untouched; only continuous time may be refused."""
    before, view = question.copied(), question.view
    columns = {name: getattr(view.fleet, name).copy() for name in NUMBERS}
    try:
        rows = question.ask(policy)
    except BadInput:
        if view.epoch is None:
            return None
        raise
    for name in ("age", "state", "allowed"):
        old, new = getattr(before.view, name), getattr(view, name)
        same = old is new or np.array_equal(old, new, equal_nan=old.dtype.kind == "f")
        assert same, f"choose changed view.{name} ({question})"
    for name, old in columns.items():
        same = np.array_equal(old, getattr(view.fleet, name))
        assert same, f"choose changed the fleet's {name} ({question})"
    return rows


def _keeps_to_the_rules(rows: Rows, question: _Question) -> None:
    view, n = question.view, len(question.view.fleet)
    assert isinstance(rows, np.ndarray), f"rows must be an array, not {type(rows).__name__}"
    assert rows.ndim == 1, f"rows must have one dimension, not {rows.ndim}"
    assert np.issubdtype(rows.dtype, np.integer), f"rows must be whole numbers, not {rows.dtype}"
    inside = bool(((rows >= 0) & (rows < n)).all())
    assert inside, f"rows must lie between 0 and {n - 1}, got {rows.tolist()} ({question})"
    assert len(np.unique(rows)) == len(rows), f"chose a row twice: {rows.tolist()} ({question})"
    spent = float(view.fleet.cost[rows].sum())
    assert spent <= question.budget * (1 + _ROUNDING), f"spent {spent:g} ({question})"
    if view.allowed is not None:
        forbidden = rows[~view.allowed[rows]].tolist()
        assert not forbidden, f"chose rows that may not be crawled: {forbidden} ({question})"


def _ignores_the_order_of_rows(policy: Policy, fleet: Fleet, rng: np.random.Generator) -> None:
    # Only sources that publish and fade, at ages all different: others tie at an index of 0.
    fleet = fleet.take(np.flatnonzero((fleet.arrival * fleet.worth > 0) & (fleet.decay > 0)))
    n, unit = len(fleet), _unit(fleet)
    order = rng.permutation(n)
    turned, total = fleet.take(order), float(fleet.cost.sum())
    for number in range(8):
        age: Array = np.asarray(1 + rng.permutation(n), dtype=np.float64) * unit
        epoch = unit if number % 2 else None
        view = View(fleet=fleet, now=0.0, age=age, epoch=epoch, pace=0.3 * total)
        question = _Question(view, float(rng.uniform(0.2, 0.8) * total), 0)
        expected = _answer(policy, question)
        if expected is None:
            continue
        shuffled = replace(question, view=replace(view, fleet=turned, age=age[order]))
        found = order[shuffled.ask(policy)]
        same = sorted(_names(fleet, age, found)) == sorted(_names(fleet, age, expected))
        assert same, (
            f"the answer depends on the order of the rows: {sorted(expected.tolist())}, and "
            f"{sorted(found.tolist())} when they are shuffled ({question})"
        )


def _names(fleet: Fleet, age: Array, rows: Rows) -> list[tuple[object, ...]]:
    """Rows by all that a policy may know of them: two that are alike may stand for each other."""
    return [
        (*(float(getattr(fleet, name)[row]) for name in NUMBERS), fleet.kind[row], age[row])
        for row in rows.tolist()
    ]
