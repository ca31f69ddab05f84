"""LSPE(0) of [L]: thresholds learned by the gradient of a fitted value function, for study.

[L] Avrachenkov and Borkar, *A learning algorithm for the Whittle index policy for scheduling web
crawlers*, Allerton 2019. A source is crawled with probability f_i = σ(κ(x_i − T_i − ½)), its
threshold T_i = q₀ + q₁S + q₂S² depends on S = Σ_{k≠i} x_k, projected on [u_i, u_i*]; the value
V = r·φ, φ linear and quadratic in x, is fitted by LSPE(0); q climbs along (9).

Three slips of the print are not followed: the basis repeats q₁ for two terms, B⁻¹(n) stands on
both sides of the Sherman–Morrison line (the inverse is regularised and solved for anyway), and (6)
pays ΣX_i over *all* sources where the reward is what the crawled ones hold. The last can be asked
for. What the paper leaves open is named in `Choices`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dayfly.errors import BadInput
from dayfly.index import whittle_index_at
from dayfly.model import Array, Fleet, Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """One way to run the algorithm: what the paper says, and what it leaves open."""

    #: κ: how sharp the decision is, and γ: the step of r. Printed: 2 and 0.05.
    sharpness: float = 2.0
    step: float = 0.05
    #: c of a(n) = c/⌈n/500⌉ and b(n) = c/⌈n/1000⌉^(2/3); "some c in (0, 1)".
    gain: float = 0.1
    #: δ of (BᵀB + δI)⁻¹Bᵀ; "small".
    ridge: float = 1e-3
    #: ε of B(−1) = εI; not given.
    first: float = 1e-2
    #: q(0): every threshold starts at u + start·(u* − u), whatever the others do; not given.
    start: float = 0.5
    #: What the state is counted in; not given. With 1 the sigmoid is a step and B singular.
    unit: float = 100.0
    #: Whether (6) pays what all sources hold, as printed, or what is crawled.
    printed_reward: bool = False
    #: Whether every source is drawn with its own probability, or the budget goes to the largest
    #: x_i − T_i; both are in the text.
    drawn: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LspeRuns:
    """What came out, one number per choice."""

    #: Value crawled per step from the first step on, and crawls per step.
    reward: Array
    crawls: Array
    #: Thresholds at the end, and those of the Whittle policy in the same state; (runs, sources).
    learned: Array
    exact: Array


def lspe(
    fleet: Fleet,
    choices: Sequence[Choices],
    *,
    budget: int = 1,
    steps: int = 10_000,
    seed: int = 0,
    printed_lifetimes: bool = False,
) -> LspeRuns:
    """Run the algorithm once for each choice, side by side, in the mean dynamics (2)–(3).

    Parameters
    ----------
    fleet
        The truth, in epochs. The algorithm sees the states and the intervals [u, u*].
    budget
        N₀: crawls per step where the top is taken. Where sources are drawn, nothing holds it.
    printed_lifetimes
        Where items expire: whether the state follows the printed u, which takes off items that a
        crawl already took, or the mean harvest.

    Examples
    --------
    >>> from dayfly.model import Fleet
    >>> fleet = Fleet(arrival=250, decay=[.7, .35, .7, .21], worth=[1, .7, .2, .08])
    >>> runs = lspe(fleet, [Choices(), Choices(drawn=False)], steps=200)
    >>> bool((runs.reward < 260.39 * runs.crawls.clip(1)).all()), runs.crawls[1].tolist()
    (True, 1.0)
    """
    if not choices or steps < 1 or not 1 <= budget < len(fleet):
        raise BadInput("needs a choice, a step, and a budget below the number of sources")
    n, rng = len(fleet), np.random.default_rng(seed)
    option = {field.name: _column(choices, field.name) for field in fields(Choices)}
    kappa, unit, gain = option["sharpness"], option["unit"], option["gain"]
    low = mean_state(fleet, np.ones(n), printed=printed_lifetimes)
    high = mean_state(fleet, np.full(n, np.inf), printed=printed_lifetimes)
    runs, pairs = len(choices), np.triu_indices(n)
    q = np.zeros((runs, n, 3))
    q[:, :, 0] = (low + option["start"] * (high - low)) / unit
    size = n + len(pairs[0])
    r, b, eta = np.zeros((runs, size)), np.zeros((runs, size)), np.zeros((runs, 1))
    big_b = option["first"][:, :, None] * np.eye(size)
    big_a = np.zeros((runs, size, size))
    age = np.ones((runs, n))
    state = mean_state(fleet, age, printed=printed_lifetimes)
    earned, crawls = np.zeros(runs), np.zeros(runs)
    phi = features(state / unit, pairs)
    for step in range(steps):
        x = state / unit
        psi = basis(x)
        threshold = np.clip((q * psi).sum(axis=2), low / unit, high / unit)
        f = probability(x, threshold, kappa)
        active = np.where(option["drawn"] > 0, rng.random((runs, n)) < f, False)
        taken = np.argsort(-(x - threshold), axis=1, kind="stable")[:, :budget]
        best = np.zeros((runs, n), dtype=np.bool_)
        np.put_along_axis(best, taken, True, axis=1)
        active = np.where(option["drawn"] > 0, active, best)
        crawled = np.where(active, x, 0.0).sum(axis=1, keepdims=True)
        earned += crawled[:, 0] * unit[:, 0]
        crawls += active.sum(axis=1)
        age = np.where(active, 1.0, age + 1.0)
        state = mean_state(fleet, age, printed=printed_lifetimes)
        later = features(state / unit, pairs)
        paid = np.where(option["printed_reward"] > 0, x.sum(axis=1, keepdims=True), crawled)
        # Climb with the value fitted so far (9), then fit.
        score = score_of(f, active, psi, kappa[:, :, None])
        value = (r * later).sum(axis=1)[:, None, None]
        q += (gain / np.ceil((step + 1) / 500))[:, :, None] * score * value
        rate = gain / np.ceil((step + 1) / 1000) ** (2 / 3)
        eta += rate * (paid - eta)
        outer = phi[:, :, None] * phi[:, None, :]
        big_b += rate[:, :, None] * (outer - big_b)
        big_a += rate[:, :, None] * (phi[:, :, None] * (later - phi)[:, None, :] - big_a)
        b += rate * (phi * (paid - eta) - b)
        r = _fitted(r, b, big_a, big_b, option)
        phi = later
    exact = np.array([exact_thresholds(fleet, one) for one in state])
    return LspeRuns(
        reward=earned / steps, crawls=crawls / steps, learned=threshold * unit, exact=exact
    )


def mean_state(fleet: Fleet, age: Array, *, printed: bool = False) -> Array:
    """What waits on average so many epochs after a crawl, X of (2)–(3).

    As printed, u = (1 − α)(1 − α^M)λ/c loses at every step what expires of items that are older
    than the last crawl, although that crawl took them; the mean harvest is f(min(age, M)).

    >>> fleet = Fleet(arrival=250, decay=.7, lifetime=2.0)
    >>> mean_state(fleet, np.ones(1)).round(1), mean_state(fleet, np.ones(1), printed=True).round(1)
    (array([179.8]), array([135.5]))
    """
    ceiling = fleet.arrival * fleet.worth / fleet.decay
    if not printed:
        return np.asarray(ceiling * -np.expm1(-fleet.decay * np.minimum(age, fleet.lifetime)))
    kept = -np.expm1(-fleet.decay * fleet.lifetime)
    return np.asarray(ceiling * kept * -np.expm1(-fleet.decay * age))


def exact_thresholds(fleet: Fleet, state: Array, epoch: float = 1.0) -> Array:
    """The thresholds of the Whittle policy for one crawl, T_i = γ_i⁻¹(max_{j≠i} γ_j).

    Examples
    --------
    The first source of Table I has just been crawled, the second is due:

    >>> fleet = Fleet(arrival=250, decay=[.7, .35, .7, .21], worth=[1, .7, .2, .08])
    >>> state = fleet.harvest.value(np.array([1., 2., 9., 9.]))
    >>> exact_thresholds(fleet, state).round(1)
    array([194.2, 227.1, 105.1, 105.1])
    >>> state.round(1)
    array([179.8, 251.7,  71.3,  80.9])
    """
    index = whittle_index_at(fleet, state, epoch)
    order = np.argsort(-index, kind="stable")
    rival = np.where(np.arange(len(fleet)) == order[0], index[order[1]], index[order[0]])
    low = np.zeros(len(fleet))
    # Above u* the index is the state itself, so no threshold lies above either.
    high = np.maximum(fleet.harvest.value(np.full(len(fleet), np.inf)), rival * fleet.cost)
    for _ in range(60):
        middle = (low + high) / 2
        reached = whittle_index_at(fleet, middle, epoch) >= rival
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.asarray(high)


def features(x: Array, pairs: tuple[Any, Any]) -> Array:
    """φ of [L §V]: every x_i, and every product of two."""
    return np.concatenate([x, x[:, pairs[0]] * x[:, pairs[1]]], axis=1)


def basis(x: Array) -> Array:
    """ψ of [L §V] for every source: 1, the sum of the others, and its square."""
    others = x.sum(axis=1, keepdims=True) - x
    return np.stack([np.ones_like(others), others, others**2], axis=2)


def probability(x: Array, threshold: Array, sharpness: Array | float) -> Array:
    """f_i: how likely a source is crawled."""
    # Far tails of the sigmoid are 0 and 1 whatever the exponent.
    slope = np.clip(sharpness * (x - threshold - 0.5), -500.0, 500.0)
    return np.asarray(1.0 / (1.0 + np.exp(-slope)))


def score_of(f: Array, active: Mask, psi: Array, sharpness: Array | float) -> Array:
    """∂ log p/∂q_j of (8): κψ_j f where a source was passed over, −κψ_j(1 − f) where crawled."""
    return np.asarray(sharpness * psi * np.where(active, f - 1.0, f)[..., None])


def _fitted(r: Array, b: Array, big_a: Array, big_b: Array, option: dict[str, Array]) -> Array:
    """R(n + 1) = r + γ (BᵀB + δI)⁻¹Bᵀ(Ar + b).

    B is symmetric: along an eigenvector the inverse is σ/(σ² + δ), which needs no square of B.
    """
    wanted = np.einsum("rij,rj->ri", big_a, r) + b
    sigma, vector = np.linalg.eigh(big_b)
    along = np.einsum("rij,ri->rj", vector, wanted) * sigma / (sigma**2 + option["ridge"])
    return np.asarray(r + option["step"] * np.einsum("rij,rj->ri", vector, along))


def _column(choices: Sequence[Choices], name: str) -> Array:
    return np.array([[float(getattr(choice, name))] for choice in choices])
