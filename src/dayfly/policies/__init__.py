"""WHICH sources now: policies by name, each any object with `choose`."""

from collections.abc import Callable
from typing import Any

from dayfly.errors import UnknownName
from dayfly.policies.base import Policy, View
from dayfly.policies.baselines import Greedy, Myopic, Random, RoundRobin
from dayfly.policies.checks import check_policy
from dayfly.policies.contender import Contender, Contest
from dayfly.policies.contender_checks import check_contender
from dayfly.policies.exact import Exact, exact_optimum
from dayfly.policies.polite import Polite
from dayfly.policies.select import fill_budget, top
from dayfly.policies.shortlist import best
from dayfly.policies.static import Lagrangian, Static
from dayfly.policies.whittle import DualDescent, StochasticWhittle, Threshold, Whittle

#: The policies by the name that the command line and the reports use.
NAMES: dict[str, Callable[..., Policy]] = {
    "whittle": Whittle,
    "whittle_stochastic": StochasticWhittle,
    "threshold": Threshold,
    "dual_descent": DualDescent,
    "lagrangian": Lagrangian,
    "static": Static,
    "greedy": Greedy,
    "myopic": Myopic,
    "round_robin": RoundRobin,
    "random": Random,
    "exact": Exact,
}


def make(name: str, **options: Any) -> Policy:
    """A policy by name.

    >>> make("round_robin")
    RoundRobin()
    >>> make("whitle")
    Traceback (most recent call last):
    dayfly.errors.UnknownName: unknown policy 'whitle'; did you mean 'whittle'?
    """
    if name not in NAMES:
        raise UnknownName("policy", name, NAMES)
    return NAMES[name](**options)


__all__ = [
    "NAMES",
    "Contender",
    "Contest",
    "DualDescent",
    "Exact",
    "Greedy",
    "Lagrangian",
    "Myopic",
    "Policy",
    "Polite",
    "Random",
    "RoundRobin",
    "Static",
    "StochasticWhittle",
    "Threshold",
    "View",
    "Whittle",
    "best",
    "check_contender",
    "check_policy",
    "exact_optimum",
    "fill_budget",
    "make",
    "top",
]
