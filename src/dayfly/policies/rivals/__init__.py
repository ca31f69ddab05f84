"""Rules from research papers, at equal budget, learning as well as plain counting can."""

from collections.abc import Callable
from functools import partial

from dayfly.policies.contender import Contender, Contest
from dayfly.policies.rivals.contenders import (
    Daily,
    Greedy,
    Proportional,
    Rival,
    SquareRoot,
    Uniform,
    solve_azar,
    solve_binary,
    solve_harmonic,
    solve_lefortier,
)
from dayfly.policies.rivals.rates import Rates

#: The research rules by name: made for a contest, they choose and observe.
RIVALS: dict[str, Callable[[Contest], Contender]] = {
    "uniform": Uniform,
    "proportional": Proportional,
    "square_root": SquareRoot,
    "lefortier": partial(Daily, solve=solve_lefortier),
    "azar": partial(Daily, solve=solve_azar),
    "lambdacrawl": partial(Daily, solve=solve_harmonic),
    "lambdacrawl.binary": partial(Daily, solve=solve_binary),
    "greedy": Greedy,
}

__all__ = ["RIVALS", "Rates", "Rival"]
