"""LEARN rate, decay, worth from crawls (never chooses)."""

from dayfly.estimate.arrivals import ArrivalEstimator
from dayfly.estimate.base import Estimate, Estimates, Estimator
from dayfly.estimate.checks import check_estimator

__all__ = ["ArrivalEstimator", "Estimate", "Estimates", "Estimator", "check_estimator"]
