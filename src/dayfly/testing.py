"""Checks that any implementation, a user's too, must pass."""

from dayfly.estimate import check_estimator
from dayfly.model import check_harvest
from dayfly.policies import check_contender, check_policy
from dayfly.store import check_store

__all__ = ["check_contender", "check_estimator", "check_harvest", "check_policy", "check_store"]
