"""One tiny study for all tests that need one: two short runs say little, but say it everywhere."""

import pytest

from dayfly.lab.study import Effort, reproduce

TINY = Effort(seeds=22, epochs=20, sizes={10: 1}, budgets=(0.5,), quick=True)


@pytest.fixture(scope="session")
def tiny():
    return TINY


@pytest.fixture(scope="session")
def study():
    """Every row and figure of the tiny effort, in this process."""
    return reproduce(TINY)
