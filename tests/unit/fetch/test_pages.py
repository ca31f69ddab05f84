"""Selectors that may be used."""

import pytest

from dayfly.errors import BadInput
from dayfly.fetch.pages import check_select


@pytest.mark.parametrize(
    "selector",
    ["li.story > a", "#main article", "p:nth-child(2n+1)", "[href^='/news']", "h2, h3", "tr + tr"],
)
def test_simple_selectors_pass(selector):
    check_select({"item": selector})


@pytest.mark.parametrize(
    ("select", "why"),
    [
        ({}, "needs a selector for 'item'"), ({"item": ""}, "1 to 200"),
        ({"item": "a["}, "not a CSS"),
        ({"item": "a", "titel": "b"}, "did you mean 'title'"), ({"item": "a:has(b)"}, "not simple"),
        ({"item": "div div div div div div div"}, "more than 6 steps"),
    ],
)  # fmt: skip
def test_others_are_refused_with_a_reason(select, why):
    with pytest.raises(BadInput, match=why):
        check_select(select)
