"""Tables, verdicts and report of a league made by hand."""

import csv
import json
import re
from dataclasses import replace

import pytest

from dayfly import learn
from dayfly.lab.league import League, find_scenario
from dayfly.lab.league.document import document
from dayfly.lab.league.outcome import Outcome
from dayfly.lab.league.report import page, write_league
from dayfly.lab.league.table import kind_of, tables
from dayfly.lab.league.verdicts import verdicts
from dayfly.policies.field import FIELD, RIVALS

POLICIES = ("oracle", "dayfly", "dayfly.steady", "azar", "square_root", "b4_commafeed", "b6_nutch")


def outcome(share, last=None, lost=0):
    """Half the days at one share, half at another; 10 of value on each of 60 days."""
    last = share if last is None else last
    value = [10 * share] * 30 + [10 * last] * 30
    return Outcome(
        share=sum(value) / 600, items=600, caught=500, lost=lost, delay_mean_s=60.0,
        delay_p95_s=None, crawls=100, value_by_day=value, published_by_day=[10.0] * 60, drew=False,
        cpu_s=1.0,
    )  # fmt: skip


SHARES = {
    "oracle": [outcome(0.8)],
    "dayfly": [outcome(0.5, 0.79), outcome(0.52, 0.79)],
    "dayfly.steady": [outcome(0.47, 0.79), outcome(0.52, 0.79)],
    "azar": [outcome(0.6, 0.6, lost=3)],
    "square_root": [outcome(0.3)],
    "b4_commafeed": [outcome(0.2, lost=1)],
    "b6_nutch": [outcome(0.4, lost=7)],
}


def made(name="news-v1", *, worlds=1, policies=POLICIES):
    scenario = find_scenario(name)
    scenario = replace(scenario, budgets=scenario.budgets[-1:], half_lives=(21600.0,))
    league = League([scenario], policies, 2)
    (cell,) = scenario.cells
    league.sources[name] = 1000
    for policy in policies:
        found = SHARES[policy] * worlds
        league.outcomes[cell, policy] = dict(enumerate(found[: max(len(SHARES[policy]), worlds)]))
    return league


@pytest.fixture(autouse=True)
def learners(monkeypatch):
    monkeypatch.setattr(learn, "LEARNERS", {"dayfly": None, "dayfly.steady": None}, raising=False)


def test_kinds():
    kinds = {policy: kind_of(policy) for policy in (*POLICIES, "round_robin")}
    assert set(kinds.values()) == {"oracle", "learner", "rival", "field", "plain"}
    assert kinds["azar"] == "rival"
    assert kinds["b4_commafeed"] == "field"


def test_the_best_comes_first_with_means_and_intervals_over_seeds():
    (table,) = tables(made())
    assert [line.policy for line in table.lines] == [
        "oracle", "dayfly", "dayfly.steady", "azar", "b6_nutch", "square_root", "b4_commafeed",
    ]  # fmt: skip
    ours = table.line("dayfly")
    assert ours.share.mean == pytest.approx(0.65)
    # Two seeds: ±12.706 standard errors of 0.005.
    assert ours.share.half_width == pytest.approx(12.706 * 0.005, rel=1e-3)
    assert table.line("azar").share.half_width == 0
    assert ours.oracle_share.mean == pytest.approx(0.79 / 0.8)
    assert ours.bound_share is None
    assert (ours.seeds, table.line("azar").seeds) == (2, 1)


def test_margins_are_over_the_best_of_each_kind():
    (table,) = tables(made())
    found = {margin.kind: (margin.over, round(margin.by.mean, 6)) for margin in table.margins}
    assert found == {"field": ("b6_nutch", 0.25), "rival": ("azar", 0.05)}
    (alone,) = tables(made(policies=("azar", "b6_nutch")))
    assert alone.margins == []
    assert alone.lines[0].oracle_share is None


def test_where_the_truth_is_known_shares_stand_beside_the_bound():
    league = made("poisson-v1", worlds=2)
    (cell,) = league.scenarios[0].cells
    league.bounds = {(cell, 0): 0.8, (cell, 1): 0.9}
    (table,) = tables(league)
    line = table.line("oracle")
    assert line.seeds == 2
    assert line.bound_share.mean == pytest.approx((0.8 / 0.8 + 0.8 / 0.9) / 2)


def judged(league):
    return {row.name.split(": ")[1]: row for row in verdicts(league, tables(league))}


def test_the_news_are_judged_by_margin_oracle_and_rhythm():
    rows = judged(made())
    assert len(rows) == 3
    margin = rows["margin over the field rules and rivals that played (4)"]
    assert (round(margin.value, 6), margin.unit, margin.ok) == (5.0, "points", True)
    assert "+25.00" in margin.note
    assert "b6_nutch" in margin.note
    oracle = rows["last 30 days, of oracle"]
    assert (round(oracle.value, 6), oracle.aim, oracle.ok) == (0.9875, "≥ 98.5 %", True)
    rhythm = rows["dayfly minus dayfly.steady"]
    assert (round(rhythm.value, 6), rhythm.ok) == (0.75, True)


def test_every_is_said_only_where_all_played(monkeypatch):
    everybody = ("oracle", "dayfly", *RIVALS, *FIELD)
    for policy in everybody:
        monkeypatch.setitem(SHARES, policy, SHARES.get(policy, [outcome(0.1)]))
    assert "margin over every field rule and rival" in judged(made(policies=everybody))


def test_an_aim_that_is_missed_is_told(monkeypatch):
    monkeypatch.setitem(SHARES, "azar", [outcome(0.9)])
    monkeypatch.setitem(SHARES, "dayfly", [outcome(0.5, 0.7)])
    monkeypatch.setitem(SHARES, "dayfly.steady", [outcome(0.8)])
    assert [row.ok for row in judged(made()).values()] == [False] * 3


def test_bursts_are_judged_by_value_missed_and_items_lost():
    rows = judged(made("bursty-v1", worlds=2))
    row = rows["value missed, less than by any field rule"]
    assert row.ok
    assert "7 by dayfly" not in row.note
    assert "fewest of all field rules: 1 by b4_commafeed" in row.note


def test_learning_is_judged_between_twenty_and_forty_visits():
    # 16 visits per 15 min among 1,000 sources: the 20th falls on day 14, the 40th on day 26.
    row = judged(made("poisson-v1", worlds=2))["between 20 and 40 visits, of oracle"]
    assert "days 14 to 26" in row.note
    assert row.value == pytest.approx((0.5 / 0.8 + 0.52 / 0.8) / 2)
    assert row.ok is False


def test_without_ours_nothing_is_judged():
    league = made(policies=("oracle", "azar"))
    assert verdicts(league, tables(league)) == []
    assert "nothing to judge" in page(league, tables(league), [])


@pytest.mark.parametrize("name", ["news-v1", "social-v1"])
def test_the_report_is_one_page_that_needs_nothing_else(name, tmp_path):
    league = made(name)
    cells = tables(league)
    path = write_league(league, cells, verdicts(league, cells), tmp_path / "new")
    text = path.read_text()
    assert not re.findall(r'(?:src|href)="(?!#)', text)
    for policy in POLICIES:
        assert policy in text
    assert text.count("<figure") == text.count("</figure>") == (3 if name == "social-v1" else 2)
    found = json.loads((tmp_path / "new" / "league.json").read_bytes())
    assert found == json.loads(json.dumps(document(league, cells, verdicts(league, cells))))
    with (tmp_path / "new" / "league.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["policy"] for line in lines] == [line.policy for line in cells[0].lines]
    assert float(lines[1]["share"]) == pytest.approx(0.65)


def test_names_in_a_page_are_text():
    league = made(policies=("oracle", "azar"))
    league.scenarios[0] = replace(league.scenarios[0], about="<script>")
    assert "<script>" not in page(league, tables(league), [])
