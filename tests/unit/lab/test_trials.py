"""Trials: what they promise, what they measure, and what is written of them."""

import json
import sys

import numpy as np
import pytest

from dayfly.errors import BadInput, MissingExtra, UnknownName
from dayfly.lab.trials import (
    NAMES,
    Trial,
    TrialRow,
    as_document,
    hosts,
    large,
    run_trial,
    to_png,
    write_trials,
)
from dayfly.model import Fleet


def trial(**changes):
    def draw(figure):
        figure.add_subplot().plot([0, 1], [1, 0])

    parts = {
        "name": "tried",
        "question": "Does it work?",
        "rows": [
            TrialRow(name="share", value=np.float64(0.995), unit="%", aim="≥ 99 %", ok=np.True_),
            TrialRow(name="loss", value=np.nan, aim="0", ok=np.False_, note="nobody looked"),
            TrialRow(name="time", value=0.25, unit="s"),
        ],
        "series": {"x": np.array([1.0, 2.0])},
        "seed": 7,
        "figure": draw,
    }
    return Trial(**{**parts, **changes})


# ------------------------------------------------------------------ the protocol
def test_what_is_missed_is_known():
    assert [row.name for row in trial().missed] == ["loss"]


def test_a_document_has_everything_and_no_nan():
    document = as_document(trial(), series=True)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["rows"][1] == {
        "name": "loss", "value": None, "unit": "", "aim": "0", "ok": False, "note": "nobody looked",
    }  # fmt: skip
    assert document["series"] == {"x": [1.0, 2.0]}
    assert "series" not in as_document(trial())


def test_files_appear_together(tmp_path):
    write_trials([trial(), trial(name="plain", figure=None)], tmp_path / "new", quick=True)
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["trials.json", "tried.png"]
    assert (tmp_path / "new" / "tried.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((tmp_path / "new" / "trials.json").read_bytes())
    assert written["quick"] is True
    assert [one["trial"] for one in written["trials"]] == ["tried", "plain"]


def test_a_folder_that_is_a_file_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="choose another with --out"):
        write_trials([trial()], tmp_path / "file", quick=True)


def test_drawing_needs_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match="figures"):
        to_png(trial())


def test_an_unknown_trial_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'large'"):
        run_trial("larg")
    assert list(NAMES)[:2] == ["large", "hosts"]


# ------------------------------------------------------------------ many sources
TINY = large.Effort(sources=4000, calls=60, scanned=2000)


def test_the_large_fleet_comes_as_close_to_the_bound_as_a_scan():
    seen = []
    found = large.run(effort=TINY, progress=lambda done, total: seen.append((done, total)))
    assert not found.missed, [row.name for row in found.missed]
    assert found.seed == large.SEED
    assert seen[-1] == (4 * 60, 4 * 60)
    assert {len(column) for column in found.series.values()} == {60}
    assert to_png(found).startswith(b"\x89PNG")


def test_fleets_of_one_distribution():
    small, big = large.fleet_of(2000), large.fleet_of(4000)
    for name in ("arrival", "decay", "worth"):
        a, b = getattr(small, name), getattr(big, name)
        assert np.median(a) == pytest.approx(np.median(b), rel=0.15)
    assert np.array_equal(large.fleet_of(2000).arrival, small.arrival)


# ------------------------------------------------------------------ polite hosts
@pytest.mark.parametrize("costs", [(1.0,), (0.5, 1.0, 2.0)])
def test_the_tight_hosts_hold_their_share_and_allow_at_most_half(costs):
    setting = hosts.setting(3000, costs=costs, spaced=False)
    fleet = setting.fleet
    income = fleet.arrival * fleet.worth
    tight = np.array([host in setting.allowed for host in fleet.host])
    assert len(setting.allowed) == hosts.TIGHT
    assert income[tight].sum() / income.sum() == pytest.approx(hosts.HELD)
    assert setting.asked >= 2.0
    assert set(fleet.cost) == set(costs)


def test_spacing_allows_no_more_than_the_bound_grants():
    setting = hosts.setting(3000, costs=(1.0,), spaced=True)
    for host, seconds in setting.limits.spacing.items():
        assert seconds == round(seconds)
        assert setting.allowed[host] == 1.0 / seconds
    assert setting.asked >= 2.0


@pytest.mark.parametrize(
    ("visits", "broken"),
    [
        ([(0.0, [0]), (5.0, [1]), (10.0, [0])], 0),
        ([(0.0, [0]), (4.0, [1])], 1),
        ([(0.0, [0, 1])], 1),
        ([(0.0, [2, 2, 2])], 0),
    ],
)
def test_a_broken_spacing_is_seen(visits, broken):
    fleet = Fleet(arrival=[1.0] * 3, decay=1.0, host=["a", "a", "b"])
    guard = hosts.Guard(fleet, np.array([np.inf, np.inf]), np.array([5.0, 0.0]))
    for now, rows in visits:
        guard(now, np.array(rows), np.ones(len(rows)))
    assert guard.broken == broken


@pytest.mark.parametrize(
    ("visits", "broken"),
    [
        ([(0.0, [0]), (0.0, [1])], 0),  # a purse of 3: a visit of 1, and one of 2 that empties it
        ([(0.0, [0]), (0.0, [1]), (1.0, [0])], 0),
        ([(0.0, [1, 1]), (10.0, [0])], 1),  # 3 − 2 − 2 + 10 × 0.05 is still below 0
        ([(0.0, [1, 1]), (21.0, [0])], 0),
        ([(0.0, [1, 1, 1])], 1),
    ],
)
def test_a_broken_budget_is_seen(visits, broken):
    fleet = Fleet(arrival=[1.0] * 2, decay=1.0, cost=[1.0, 2.0], host=["a", "a"])
    guard = hosts.Guard(fleet, np.array([0.05]), np.array([0.0]))
    for now, rows in visits:
        guard(now, np.array(rows), np.ones(len(rows)))
    assert guard.broken == broken


def test_polite_choices_come_close_to_the_bound_with_host_prices():
    effort = hosts.Effort(sources=2000, hours=0.2, burn_in=0.05)
    seen = []
    found = hosts.run(effort=effort, progress=lambda done, total: seen.append((done, total)))
    assert [row.value for row in found.rows if row.name.startswith("limits broken")] == [0, 0, 0]
    shares = [row.value for row in found.rows if row.name.startswith("share of the bound")]
    assert 0.9 < min(shares) <= max(shares) <= 1 + 1e-9
    assert seen[-1][0] == seen[-1][1]
    assert to_png(found).startswith(b"\x89PNG")
