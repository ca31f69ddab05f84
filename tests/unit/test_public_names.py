"""The names that others build on."""

import subprocess
import sys

import pytest

import dayfly
import dayfly.policies
import dayfly.testing

PUBLIC = {
    "Fleet", "Source", "Harvest", "Crawl", "whittle_index", "whittle_index_at",
    "stochastic_index", "relax", "Relaxed", "simulate", "Run", "Policy",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_promised_name_is_there(name):
    assert name in dayfly.__all__
    assert callable(getattr(dayfly, name))


def test_nothing_else_is_public():
    assert sorted({*PUBLIC, "__version__"}) == sorted(dayfly.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dayfly.nothing


@pytest.mark.parametrize("before", ["", "import dayfly.simulate; ", "from dayfly import Run; "])
def test_simulate_can_be_called_whatever_was_imported_before(before):
    code = before + (
        "import dayfly; from dayfly import simulate; "
        "from dayfly.policies import RoundRobin; fleet = dayfly.Fleet(arrival=[1, 2], decay=1); "
        "one = simulate(fleet, RoundRobin(), 1, 3).mean; "
        "assert one == dayfly.simulate(fleet, RoundRobin(), 1, 3).mean > 0; "
        "import dayfly.simulate as room; assert room.play and room.simulate"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_importing_dayfly_does_not_wait_for_numpy():
    code = "import dayfly, sys; assert 'numpy' not in sys.modules and 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_star_import_brings_every_name():
    space: dict[str, object] = {}
    exec("from dayfly import *", space)
    assert set(space) >= PUBLIC


def test_every_policy_has_a_name_and_a_class():
    for name, make in dayfly.policies.NAMES.items():
        assert make.__name__ in dayfly.policies.__all__
        assert name == name.lower()


def test_the_checks_are_in_one_place():
    assert sorted(dayfly.testing.__all__) == [
        "check_contender",
        "check_estimator",
        "check_harvest",
        "check_policy",
        "check_store",
    ]
    for name in dayfly.testing.__all__:
        assert callable(getattr(dayfly.testing, name))
