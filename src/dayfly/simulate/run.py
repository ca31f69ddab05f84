"""Play a policy in a world, and set what it earned beside the bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dayfly.errors import BadInput
from dayfly.index import AnyLaw, relax, stochastic_bound, worth_law
from dayfly.model import Array, Fleet, Mask
from dayfly.policies import Policy
from dayfly.simulate.stage import Stage, Step
from dayfly.simulate.waiting import MeanField, Poisson, Waiting, check_observed, plain


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """What a policy earned, beside what could be earned at all."""

    #: Value per epoch, burn-in left out, shape (epochs,).
    rewards: Array
    #: Crawls of each source, burn-in left out, shape (n_sources,).
    crawls: npt.NDArray[np.int64]
    #: Cost per epoch, on average.
    spent: float
    #: Value per epoch that no policy with the same information can exceed on average.
    bound: float
    #: Epochs that spent more than the budget of one: what was carried over or, if `soft`, at will.
    violations: int
    seed: int

    @property
    def mean(self) -> float:
        """Value per epoch, on average."""
        return float(self.rewards.mean())

    @property
    def share(self) -> float:
        """Share of the bound; NaN where no bound is known."""
        if np.isnan(self.bound):
            return float("nan")
        return self.mean / self.bound if self.bound > 0 else 1.0


def simulate(
    fleet: Fleet,
    policy: Policy,
    budget: float,
    epochs: int,
    *,
    epoch: float = 1.0,
    continuous: bool = False,
    arrivals: str = "mean",
    law: AnyLaw = "constant",
    observed: npt.ArrayLike = False,
    start: npt.ArrayLike | None = None,
    believed: Fleet | None = None,
    burn_in: int = 0,
    burst: float | None = None,
    soft: bool = False,
    seed: int = 0,
) -> Run:
    """Play a policy for `burn_in + epochs` epochs; reproducible bit for bit from the seed.

    Parameters
    ----------
    fleet
        The truth.
    policy
        Any object with `choose`.
    budget
        Cost units per epoch. What is left over may be spent later, up to `burst`.
    epochs, burn_in
        Epochs that count, after epochs that do not.
    epoch
        Length of an epoch.
    continuous
        Crawl at any time, as the budget accrues, instead of all at once at the end of the epoch.
    arrivals, law
        "mean" for the deterministic model; "poisson" for random arrivals, with the worth of items
        "constant", "exponential", "epoch_exponential" (one draw per source and epoch) or given
        by a sampler.
    observed
        Whether the policy sees what waits, for all or per source.
    start
        What waits at the first decision; if None, one epoch's expected harvest ([J]: X = u), or
        nothing in continuous time.
    believed
        The fleet that the policy believes in; the truth if None.
    burst
        Most that may be carried over; if None, the largest cost, four times that if continuous.
    soft
        Let the policy spend what it wants: the relaxed control, held to the budget on average only.

    Examples
    --------
    >>> from dayfly.policies import Whittle
    >>> fleet = Fleet(arrival=250, decay=[.7, .35, .7, .21], worth=[1, .7, .2, .08])
    >>> run = simulate(fleet, Whittle(), budget=1, epochs=1000)
    >>> round(run.mean, 4), round(run.bound, 4), run.crawls
    (260.3006, 260.3899, array([500, 500,   0,   0]))
    """
    if epochs < 1 or burn_in < 0:
        raise BadInput(f"epochs must be at least 1 and burn_in 0, got {epochs} and {burn_in}")
    rewards = np.zeros(epochs)
    crawls = np.zeros(len(fleet), dtype=np.int64)
    spent, violations = 0.0, 0
    steps = play(
        fleet, policy, budget, burn_in + epochs, epoch=epoch, continuous=continuous,
        arrivals=arrivals, law=law, observed=observed, start=start, believed=believed,
        burst=burst, soft=soft, seed=seed,
    )  # fmt: skip
    for number, step in enumerate(steps):
        if number < burn_in:
            continue
        rewards[number - burn_in] = step.reward
        crawls += np.bincount(step.rows, minlength=len(fleet))
        spent += step.spent
        violations += step.spent > budget * (1 + 1e-9)
    return Run(
        rewards=rewards,
        crawls=crawls,
        spent=spent / epochs,
        bound=_bound(fleet, budget, epoch, continuous, arrivals, law, _mask(fleet, observed)),
        violations=violations,
        seed=seed,
    )


def play(
    fleet: Fleet,
    policy: Policy,
    budget: float,
    epochs: int,
    *,
    epoch: float = 1.0,
    continuous: bool = False,
    arrivals: str = "mean",
    law: AnyLaw = "constant",
    observed: npt.ArrayLike = False,
    start: npt.ArrayLike | None = None,
    believed: Fleet | None = None,
    burst: float | None = None,
    soft: bool = False,
    seed: int = 0,
) -> Iterator[Step]:
    """The same, one epoch after the other; see `simulate` for the arguments."""
    if not (np.isfinite(budget) and budget >= 0):
        raise BadInput(f"budget must be finite and not negative, got {budget}")
    if not (np.isfinite(epoch) and epoch > 0):
        raise BadInput(f"epoch must be positive and finite, got {epoch}")
    if burst is not None and not burst >= 0:
        raise BadInput(f"burst must not be negative, got {burst}")
    if seed < 0:
        raise BadInput(f"seed must not be negative, got {seed}")
    if worth_law(law).shared and continuous:
        raise BadInput("one draw per epoch needs epochs: continuous time has none")
    seen = _mask(fleet, observed)
    # Two streams: the world is the same whatever a policy draws for itself.
    world_rng, policy_rng = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    world, age = _world(fleet, arrivals, law, seen, start, epoch, continuous, world_rng)
    belief = fleet if believed is None else believed
    if len(belief) != len(fleet):
        raise BadInput(f"the believed fleet has {len(belief)} sources, the true one {len(fleet)}")
    if not np.array_equal(belief.cost, fleet.cost):
        raise BadInput("the believed fleet must have the true costs: the budget is spent in them")
    if burst is None:
        burst = (4.0 if continuous else 1.0) * float(fleet.cost.max(initial=0.0))
    stage = Stage(
        fleet=fleet, believed=belief, policy=policy, world=world, seen=seen, age=age,
        budget=budget, epoch=epoch, burst=burst, soft=soft, rng=policy_rng,
    )  # fmt: skip
    return stage.flowing(epochs) if continuous else stage.slotted(epochs)


def _world(
    fleet: Fleet,
    arrivals: str,
    law: AnyLaw,
    seen: Mask,
    start: npt.ArrayLike | None,
    epoch: float,
    continuous: bool,
    rng: np.random.Generator,
) -> tuple[Waiting, Array]:
    """The world at the first decision, and the age of each source as a policy may know it."""
    # Slotted, the papers start from X = u; in continuous time nothing waits anywhere at first.
    age = np.full(len(fleet), 0.0 if continuous else epoch)
    if arrivals not in ("mean", "poisson"):
        raise BadInput(f"arrivals must be 'mean' or 'poisson', got {arrivals!r}")
    ceiling = fleet.harvest.value(np.full(len(fleet), np.inf))
    excess = np.zeros(len(fleet))
    state = fleet.harvest.value(age)
    if start is not None:
        given = np.asarray(start, dtype=float)
        if given.ndim > 1 or (given.ndim == 1 and len(given) != len(fleet)):
            raise BadInput(f"start must be one number, or {len(fleet)} of them")
        state = np.broadcast_to(given, (len(fleet),)).copy()
        if not (np.isfinite(state) & (state >= 0)).all():
            raise BadInput("start must be finite and not negative")
        excess = np.maximum(state - ceiling, 0.0)
        if (excess[~plain(fleet)] > 0).any():
            raise BadInput("start lies above what a source with a window or lifetime can hold")
        age = fleet.harvest.age_of(np.minimum(state, ceiling))
    if arrivals == "mean":
        return MeanField(fleet, excess, age), age
    check_observed(fleet, seen)
    carried = (plain(fleet) & seen) if continuous else plain(fleet)
    if start is not None and not carried.all():
        raise BadInput("start needs plain ephemeral sources in a Poisson world")
    return Poisson(fleet, state, carried, law, epoch, rng), age


def _bound(
    fleet: Fleet,
    budget: float,
    epoch: float,
    continuous: bool,
    arrivals: str,
    law: AnyLaw,
    seen: Mask,
) -> float:
    """What no policy with the same information can exceed, per epoch."""
    if arrivals == "poisson" and seen.any():
        if continuous:
            return float("nan")  # no bound is known for an observed state in continuous time
        return stochastic_bound(fleet, budget, epoch, law, observed=seen)
    if continuous:
        return relax(fleet, budget / epoch).bound * epoch
    return relax(fleet, budget, epoch).bound


def _mask(fleet: Fleet, observed: npt.ArrayLike) -> Mask:
    mask = np.asarray(observed, dtype=bool)
    if mask.ndim > 1 or (mask.ndim == 1 and len(mask) != len(fleet)):
        raise BadInput(f"observed must be one truth value, or {len(fleet)} of them")
    return np.broadcast_to(mask, (len(fleet),))
