"""Figures: what they show is what happened, and they stand on their own in any page."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from dayfly.errors import MissingExtra
from dayfly.index import whittle_index_at
from dayfly.lab import drawing, figures
from dayfly.lab.forms import slides_index
from dayfly.lab.table1 import TABLE_ONE, first_state

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def drawn(study):
    return [*study.papers, *study.beyond]


def test_every_figure_is_there_once(drawn):
    names = [figure.name for figure in drawn]
    assert names[:4] == ["figure-1", "figure-2", "figure-3", "figure-4"]
    assert len(set(names)) == len(names) == 10


def test_figures_take_colour_and_font_from_the_page_and_nothing_from_outside(drawn):
    for figure in drawn:
        ET.fromstring(figure.svg)  # well-formed
        assert "currentColor" in figure.svg
        assert drawing.INK not in figure.svg
        assert "font-family" not in figure.svg
        outside = re.findall(r"(?:href|src)=\"(?!#)[^\"]*|url\((?!#)[^)]*", figure.svg)
        assert outside == []


def test_names_inside_figures_do_not_collide_on_a_page(drawn):
    names = [name for figure in drawn for name in re.findall(r"\bid=\"([^\"]+)\"", figure.svg)]
    assert len(names) == len(set(names))
    for figure in drawn:
        used = re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", figure.svg)
        assert set(used) <= set(names)


def test_axes_are_labelled(drawn):
    for figure in drawn:
        text = re.findall(r"<text[^>]*>([^<]+)</text>", figure.svg)
        assert any(len(word) > 4 for word in text), figure.name
    assert "time since publication (epochs)" in drawn[0].svg


def test_the_same_figure_is_drawn_twice():
    assert figures.content_value() == figures.content_value()


def test_figure_2_crawls_sources_1_and_2_by_turns():
    state, crawled = figures.trace(TABLE_ONE, 1)
    assert crawled[:6, 0].tolist() == [True, False, True, False, True, False]
    assert crawled[:6, 1].tolist() == [False, True, False, True, False, True]
    assert not crawled[:, 2:].any()
    np.testing.assert_allclose(state[0], first_state(TABLE_ONE))
    np.testing.assert_allclose(state[1:][crawled[:-1]], np.resize(first_state(TABLE_ONE)[:2], 39))


def test_figure_3_has_the_rates_of_the_exact_optimum():
    _, crawled = figures.trace(TABLE_ONE, 2)
    settled = crawled[-28:].mean(axis=0)
    np.testing.assert_allclose(settled, [1, 4 / 7, 2 / 7, 1 / 7])


def test_figure_4_passes_source_1_over_only_with_the_form_of_the_slides():
    """[J, C, S] say of Figure 4 that source 1 is crawled from time to time."""
    _, as_printed = figures.trace(TABLE_ONE, 2, slides_index)
    _, right = figures.trace(TABLE_ONE, 2, whittle_index_at)
    assert as_printed[:, 0].mean() < 0.9
    assert right[:, 0].all()


def test_without_matplotlib_drawing_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"dayfly\[figures\]"):
        figures.content_value()
