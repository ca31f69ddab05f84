"""Scenarios: what is read from the data folder, and what a quick look keeps."""

import gzip

import numpy as np
import pytest

from dayfly.errors import BadInput
from dayfly.lab.data import data_file, data_folder
from dayfly.lab.league import SCENARIOS, Cell, find_scenario, recorded
from dayfly.lab.league.scenarios import few, true_bound
from dayfly.simulate import Trace

NEWS = """item_id,source_id,list_id,published,first_seen_s,last_seen_s,n_seen,best_rank
0,7,1,100,1,1,1,1
0,7,2,130,1,1,1,1
1,0,1,110,1,1,1,1
2,9,1,120,1,1,1,1
"""
SOCIAL = "account_id,t,kind\n5,100,u\n6,99,r\n5,86500,o\n5,86499,o\n"
FORUMS = "subreddit,created_utc,score,ups\na,100,4,5\nb,101,-3,0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYFLY_DATA", str(tmp_path))
    for name, text in (
        ("news_arrivals", NEWS),
        ("social_arrivals_2020", SOCIAL),
        ("forum_posts", FORUMS),
    ):
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt") as file:
            file.write(text)
    return tmp_path


def items(trace):
    names = np.array(trace.sources)[trace.source].tolist()
    return sorted(zip(names, trace.time.tolist(), trace.worth.tolist(), strict=True))


def test_the_first_line_of_an_article_counts_and_the_aggregator_is_left_out(folder):
    assert items(recorded.news()) == [("7", 100.0, 1.0), ("9", 120.0, 1.0)]


def test_a_cut_keeps_its_days_and_every_source_of_the_file(folder):
    trace = recorded.social(begin=100.0, days=1)
    assert items(trace) == [("5", 100.0, 1.0), ("5", 86499.0, 1.0)]
    assert sorted(trace.sources) == ["5", "6"]


def test_a_post_is_worth_its_score_and_nothing_below_zero(folder):
    assert items(recorded.forums(begin=0.0, days=1)) == [("a", 100.0, 4.0), ("b", 101.0, 0.0)]


def test_missing_data_are_told_with_the_place(folder):
    (folder / "news_arrivals.csv.gz").unlink()
    with pytest.raises(BadInput, match=rf"news_arrivals.csv.gz .* {folder}.* DAYFLY_DATA"):
        find_scenario("news-v1").trace(0)


def test_a_file_that_is_something_else_is_told(folder):
    (folder / "news_arrivals.csv.gz").write_bytes(b"not gzip")
    with pytest.raises(BadInput, match=r"news_arrivals\.csv\.gz: cannot be read"):
        recorded.news()
    with gzip.open(folder / "forum_posts.csv.gz", "wt") as file:
        file.write("a,b\n1,2\n")
    with pytest.raises(BadInput, match="has no column subreddit"):
        recorded.forums(0.0, 1.0)


def test_without_the_variable_data_lie_beside_the_checkout(monkeypatch):
    monkeypatch.delenv("DAYFLY_DATA", raising=False)
    assert data_folder().parts[-2:] == ("shared", "data")


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_can_be_played_and_looked_at_quickly(name):
    whole, quick = find_scenario(name), find_scenario(name, quick=True)
    assert len(whole.cells) == len(whole.budgets) * len(whole.half_lives)
    assert len(quick.cells) == 1
    for one in (whole, quick):
        assert one.start < one.until
        assert 0 < one.settled_days <= one.days - one.history_days
    if quick.drawn:
        trace = quick.trace(0)
        assert len(trace) == 300
        assert trace.last < whole.until


def test_few_sources_are_the_first_rows_with_their_truth():
    trace = Trace.from_columns(["a", "b", "a"], [1.0, 2.0, 3.0])
    assert len(few(trace, 1)) == 1
    assert few(trace, 1).sources == trace.sources[:1]
    assert few(trace, 5).time.tolist() == trace.time.tolist()


def test_the_bound_is_a_share_that_grows_with_the_budget():
    scenario = find_scenario("poisson-v1", quick=True)
    trace = scenario.trace(1)
    bounds = [
        true_bound(trace, scenario, Cell(scenario="", budget=b, epoch=900.0, half_life=21600.0))
        for b in (1.0, 4.0, 300.0)
    ]
    assert bounds == sorted(bounds)
    # Everybody at every instant: an item waits half an epoch on average.
    mu = np.log(2) / 21600 * 900
    assert bounds[-1] == pytest.approx(-np.expm1(-mu) / mu, rel=1e-3)
    assert true_bound(Trace.from_columns(["a"], [1.0]), scenario, scenario.cells[0]) is None


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("name", "file", "sources", "at_least"),
    [
        ("news-v1", "news_arrivals.csv.gz", 6626, 400_000),
        ("social-v1", "social_arrivals_2020.csv.gz", 1134, 300_000),
        ("forums-v1", "forum_posts.csv.gz", 471, 60_000),
    ],
)
def test_the_recorded_traces_have_the_size_that_is_told(name, file, sources, at_least):
    try:
        data_file(file)
    except BadInput as error:
        pytest.skip(str(error))
    scenario = find_scenario(name)
    trace = scenario.trace(0)
    assert len(trace) == sources
    assert len(trace.time) >= at_least
    assert scenario.origin <= trace.first < scenario.start
    assert scenario.until - 86400.0 < trace.last < scenario.until
