"""The scheduler in worlds with known truth: nothing is lost to size, little to politeness."""

import pytest

from dayfly.cli.trial import show_value
from dayfly.lab.trials import hosts, large

pytestmark = pytest.mark.acceptance


def show(trial):
    """Every figure, beside what it aims at; the seed repeats them."""
    print(f"{trial.name}, seed {trial.seed}")
    for row in trial.rows:
        print(f"  {row.name}: {show_value(row)} {row.aim}")


def test_a_hundred_thousand_sources_earn_what_a_scan_of_everybody_earns():
    trial = large.run(quick=True)
    show(trial)
    assert not trial.missed, [row.name for row in trial.missed]


def test_twenty_tight_hosts_with_most_of_the_value_leave_99_percent_of_the_bound():
    trial = hosts.run(quick=True)
    show(trial)
    assert not trial.missed, [row.name for row in trial.missed]
