"""LEARN rate, decay, worth, rhythm from crawls (never chooses)."""

from dayfly.estimate.arrivals import ArrivalEstimator
from dayfly.estimate.base import Estimate, Estimates, Estimator
from dayfly.estimate.bursts import Hawkes, fit_bursts
from dayfly.estimate.changes import ChangeEstimator
from dayfly.estimate.checks import check_estimator
from dayfly.estimate.events import EventEstimator
from dayfly.estimate.prior import RatePrior
from dayfly.estimate.rewards import RewardEstimator
from dayfly.estimate.rhythm import RhythmEstimator
from dayfly.estimate.signals import Pings
from dayfly.estimate.stamps import StampEstimator

__all__ = [
    "ArrivalEstimator",
    "ChangeEstimator",
    "Estimate",
    "Estimates",
    "Estimator",
    "EventEstimator",
    "Hawkes",
    "Pings",
    "RatePrior",
    "RewardEstimator",
    "RhythmEstimator",
    "StampEstimator",
    "check_estimator",
    "fit_bursts",
]
