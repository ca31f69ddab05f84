"""The papers' and rivals' learners of a whole policy, and ours."""

from collections.abc import Callable
from functools import partial

from dayfly.learn.learner import Dayfly
from dayfly.learn.plain import PosteriorMean, Thompson
from dayfly.policies import Contender, Contest

#: Learners by the name that the command line and the reports use.
LEARNERS: dict[str, Callable[[Contest], Contender]] = {
    "dayfly": Dayfly,
    "dayfly.steady": partial(Dayfly, rhythm=False),
    "posterior_mean": PosteriorMean,
    "thompson": Thompson,
}

__all__ = ["LEARNERS", "Dayfly", "PosteriorMean", "Thompson"]
