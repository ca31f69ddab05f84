"""The printed forms: where they agree with the index, and how they fail where they do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayfly.errors import BadInput
from dayfly.index import whittle_index, whittle_index_at
from dayfly.lab.forms import FORMS, PrintedDescent, literal_index, slides_index
from dayfly.lab.table1 import TABLE_ONE, ceiling, first_state
from dayfly.model import Fleet
from dayfly.policies import DualDescent, Threshold
from dayfly.simulate import simulate


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_on_the_lattice_all_forms_are_the_index(name, k):
    fleet = Fleet(arrival=250, decay=TABLE_ONE.decay, worth=TABLE_ONE.worth, cost=[1, 2, 0.5, 4])
    state = fleet.harvest.value(np.full(4, float(k)))
    np.testing.assert_allclose(
        FORMS[name](fleet, state, 1.0), whittle_index(fleet, float(k), 1.0), rtol=1e-9
    )


@given(
    share=st.floats(1e-3, 0.999),
    decay=st.floats(0.05, 3.0),
    cost=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_below_the_ceiling_theorem_1_read_literally_is_right_and_the_slides_form_is_never_above(
    share, decay, cost
):
    fleet = Fleet(arrival=10.0, decay=decay, worth=0.3, cost=cost)
    state = share * ceiling(fleet)
    right = whittle_index_at(fleet, state, 1.0)
    np.testing.assert_allclose(literal_index(fleet, state, 1.0), right, rtol=1e-7, atol=1e-7)
    assert (slides_index(fleet, state, 1.0) <= right + 1e-7).all()


def test_above_the_ceiling_the_literal_reading_is_zero_and_the_others_are_the_state():
    state = 1.2 * ceiling(TABLE_ONE)
    assert (literal_index(TABLE_ONE, state, 1.0) == 0).all()
    np.testing.assert_allclose(slides_index(TABLE_ONE, state, 1.0), state)
    np.testing.assert_allclose(whittle_index_at(TABLE_ONE, state, 1.0), state)


def test_just_above_a_lattice_state_the_slides_form_falls_by_what_the_next_epoch_would_add():
    u, alpha = first_state(TABLE_ONE), np.exp(-TABLE_ONE.decay)
    before = slides_index(TABLE_ONE, u, 1.0)
    after = slides_index(TABLE_ONE, u * (1 + 1e-7), 1.0)
    np.testing.assert_allclose(before - after, u * alpha, rtol=1e-4)


def test_the_printed_forms_refuse_sources_that_they_do_not_cover():
    with pytest.raises(BadInput, match="fade"):
        literal_index(Fleet(arrival=1.0, decay=[0.1, 0.0]), np.ones(2), 1.0)


def test_the_printed_step_raises_the_price_until_the_whole_fleet_spends_one_sources_share():
    policy = PrintedDescent(50.0, 8.0)
    run = simulate(TABLE_ONE, policy, 1, 4, soft=True)
    # By hand: at 50 only source 1 (90.5) is crawled, then 1 and 2 (105.1), and so on; M/N = 1/4.
    price, age, total = 50.0, np.ones(4), 0.0
    for k in range(1, 5):
        crawled = whittle_index(TABLE_ONE, age, 1.0) >= price
        total += TABLE_ONE.harvest.value(age)[crawled].sum()
        price -= 8.0 / k * (1 / 4 - crawled.sum())
        age = np.where(crawled, 1.0, age + 1)
    assert policy.price == pytest.approx(price)
    assert run.mean == pytest.approx(total / 4)


def test_only_the_printed_step_gives_the_printed_run_of_the_relaxed_control():
    """260.96 with less than 1 % violations; the corrected step keeps sources 1 and 2 in phase."""
    printed = simulate(TABLE_ONE, PrintedDescent(86.5, 1.7), 1, 1000, soft=True)
    assert round(printed.mean, 2) == 260.96
    assert printed.violations < 10
    assert printed.spent == pytest.approx(1.007)
    for policy in (Threshold(), DualDescent(price=86.5, step=1.7), DualDescent(price=0.0)):
        assert simulate(TABLE_ONE, policy, 1, 1000, soft=True).violations > 400
