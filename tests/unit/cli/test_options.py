"""Options in the units that people type."""

import click
import pytest

from dayfly.cli.options import age, duration, host_limits, rate, shown_rows
from dayfly.errors import BadInput
from dayfly.model import Fleet


def test_a_budget_remembers_how_it_was_typed():
    budget = rate(" 20/15min ")
    assert (budget.text, budget.per_s, budget.period_s) == ("20/15min", 20 / 900, 900.0)
    assert budget.times(1.5) == "30/15min"
    assert rate("60 per h").times(0.5) == "30/h"
    assert (rate("0").text, rate("0").times(2)) == ("0/s", "0/s")


@pytest.mark.parametrize("count", [1, 3, 7, 20, 49, 1000])
@pytest.mark.parametrize("period", ["s", "min", "7min", "15min", "h", "day"])
def test_a_budget_per_its_own_period_is_what_was_typed(count, period):
    budget = rate(f"{count}/{period}")
    assert budget.each(budget.period_s) == count


@pytest.mark.parametrize("text", ["x", "-1/min", "inf", "nan", ""])
def test_what_is_no_budget_is_misuse(text):
    with pytest.raises(click.BadParameter):
        rate(text)


@pytest.mark.parametrize(("convert", "text"), [(duration, "0"), (duration, "-1h"), (age, "-1h")])
def test_what_cannot_be_a_time_is_misuse(convert, text):
    with pytest.raises(click.BadParameter, match=f"got {text}"):
        convert(text)


def test_an_age_may_be_0():
    assert (age("0"), age("6h"), duration("6h")) == (0.0, 21600.0, 21600.0)


@pytest.mark.parametrize("convert", [duration, age])
@pytest.mark.parametrize("text", ["6", " 1.5 ", "2e3", "10."])
def test_a_bare_number_is_no_time(convert, text):
    with pytest.raises(click.BadParameter, match=f"{text.strip()} of what"):
        convert(text)


def test_tables_are_short_and_json_is_whole_unless_asked_otherwise():
    assert shown_rows(None, False, 100) == 20
    assert shown_rows(None, False, 7) == 7
    assert shown_rows(None, True, 100) == 100
    assert shown_rows(0, False, 100) == 100
    assert shown_rows(5, True, 100) == 5


def test_a_host_limit_needs_hosts_and_spares_sources_without():
    limit = rate("6/min")
    columns = {"arrival": [1.0, 2.0], "decay": 1.0}
    assert host_limits(Fleet(**columns), None, 1.0) is None
    assert host_limits(Fleet(**columns, host=["a", "b"]), limit, 10.0) == pytest.approx(1.0)
    assert host_limits(Fleet(**columns, host=["a", ""]), limit, 10.0) == {"a": pytest.approx(1.0)}
    with pytest.raises(BadInput, match="add a column host or url"):
        host_limits(Fleet(**columns), limit, 1.0)
