"""What the documents show, runs."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"```python\n(.*?)```", re.S)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_with_prompts_print_what_the_page_says(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    found = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert found.failed == 0


HOWTO = [page for page in PAGES if "howto" in page.parts and FENCED.search(page.read_text())]


@pytest.mark.parametrize("page", HOWTO, ids=lambda page: page.name)
def test_samples_of_the_how_to_pages_run(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # a sample may write what it likes
    for block in FENCED.findall(page.read_text()):
        exec(compile(block, page.name, "exec"), {"__name__": "sample"})
    assert capsys.readouterr().out, "each sample ends by printing something"


def test_links_between_pages_lead_somewhere():
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert not broken


def test_no_page_keeps_a_placeholder():
    for page in PAGES:
        assert not re.search(r"^(DEMO|REPRODUCE|PLAN|BENCH)$|TODO|FIXME", page.read_text(), re.M)
