"""index, bound, plan and simulate: what they print is what the library says."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dayfly.cli import cli
from dayfly.config import read_fleet
from dayfly.index import relax, whittle_index
from dayfly.policies import make
from dayfly.simulate import simulate

DAY = 86400.0
FLEET = """id,host,arrival,half_life,worth,cost,window
busy,a.org,400/day,6h,1,1,20
slow,a.org,4/day,2 days,5,1,
news,b.org,100/day,1h,2,2,
dull,,1/week,1h,0.01,1,
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "fleet.csv"
    file.write_text(FLEET)
    return str(file)


def run(*args, **given):
    result = CliRunner().invoke(cli, args, prog_name="dayfly", **given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def document(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def close(found, expected):
    assert found == pytest.approx(expected, rel=1e-12)


def test_index_agrees_with_the_library(path):
    fleet = read_fleet(path)
    for flags, age, epoch in (
        ([], 3600.0, None),
        (["--age", "6h", "--epoch", "1h"], 21600.0, 3600.0),
    ):
        found = document("index", path, *flags)
        expected = whittle_index(fleet, age, epoch)
        assert (found["age_s"], found["epoch_s"], found["n_sources"]) == (age, epoch, 4)
        by_id = {row["id"]: row for row in found["sources"]}
        for row, name in enumerate(fleet.id):
            close(by_id[name]["index"], expected[row])
            close(by_id[name]["waiting"], fleet.harvest.value(np.full(4, age))[row])
        shown = [row["index"] for row in found["sources"]]
        assert shown == sorted(shown, reverse=True)


def test_index_ties_go_to_the_lower_row():
    text = "id,arrival,decay\n" + "".join(f"{name},1,1\n" for name in "cab")
    result = run("index", "-", "--json", input=text)
    assert [row["id"] for row in json.loads(result.stdout)["sources"]] == ["c", "a", "b"]


def test_index_shows_the_best_of_standard_input(path):
    result = run("index", "-", "--top", "2", input=FLEET)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["source", "host", "index", "waiting", "cost"]
    assert len(lines) == 5
    assert lines[-1] == "2 of 4 sources, 1h after a crawl, decided at any time."
    assert [row["id"] for row in document("index", path, "--top", "2")["sources"]] == [
        line.split()[0] for line in lines[2:4]
    ]


@pytest.mark.parametrize("epoch", [None, 1800.0])
def test_bound_agrees_with_the_library(path, epoch):
    flags = [] if epoch is None else ["--epoch", "30min"]
    found = document("bound", path, "--budget", "2/h", *flags)
    fleet, unit = read_fleet(path), epoch or 1.0
    best = relax(fleet, 2 / 3600 * unit, epoch)
    close(found["bound_per_s"], best.bound / unit)
    close(found["price"], best.price)
    published = float(np.dot(fleet.arrival, fleet.worth))
    close(found["published_per_s"], published)
    close(found["share"], best.bound / unit / published)
    assert found["n_crawled"] == np.count_nonzero(best.rate)
    assert found["n_crawled"] + found["n_never"] == found["n_sources"] == 4
    assert found["price_low"] <= found["price"] <= found["price_high"]


def test_bound_with_host_limits(path):
    free = document("bound", path, "--budget", "2/h")
    held = document("bound", path, "--budget", "2/h", "--host-limit", "0.5/h")
    assert held["bound_per_s"] < free["bound_per_s"]
    assert held["host_limit_per_s"] == pytest.approx(0.5 / 3600)
    assert "a.org" in {host["host"] for host in held["hosts"]}
    assert "" not in {host["host"] for host in held["hosts"]}
    text = run("bound", path, "--budget", "2/h", "--host-limit", "0.5/h").stdout
    assert re.search(r"^hosts at their limit +\d: .*a\.org \(\+", text, re.MULTILINE)


def test_bound_in_words(path):
    found, text = document("bound", path, "--budget", "2/h"), run("bound", path, "--budget", "2/h")
    per_day = float(re.search(r", ([\d.,]+) value/day", text.stdout)[1].replace(",", ""))
    assert per_day == pytest.approx(found["bound_per_s"] * DAY, rel=1e-3)
    assert f"{found['share']:.1%}".replace("%", " %") in text.stdout


def test_plan_agrees_with_the_library(path):
    found = document("plan", path, "--budget", "2/h")
    fleet = read_fleet(path)
    best = relax(fleet, 2 / 3600)
    by_id = {row["id"]: row for row in found["sources"]}
    for row, name in enumerate(fleet.id):
        plan = by_id[name]
        close(plan["rate_per_s"], best.rate[row])
        close(plan["value_per_s"], best.value[row])
        published = fleet.arrival[row] * fleet.worth[row]
        close(plan["value_per_s"] + plan["value_missed_per_s"], published)
        if best.rate[row] > 0:
            close(plan["interval_s"], 1 / best.rate[row])
        else:
            assert plan["interval_s"] is None
    close(found["value_per_s"], float(best.value.sum()))
    assert found["value_per_s"] == pytest.approx(best.bound, rel=1e-9)  # fixed intervals reach it
    spent = sum(by_id[name]["rate_per_s"] * fleet.cost[row] for row, name in enumerate(fleet.id))
    assert spent == pytest.approx(2 / 3600, rel=1e-9)


def test_the_budget_curve_rises_and_flattens(path):
    curve = document("plan", path, "--budget", "2/h")["budget_curve"]
    factors = [point["budget_per_s"] / (2 / 3600) for point in curve]
    assert factors == pytest.approx([0.5, 0.9, 1.0, 1.1, 1.5, 2.0])
    value = np.array([point["value_per_s"] for point in curve])
    gain = np.diff(value) / np.diff(factors)
    assert (gain > 0).all()
    assert (np.diff(gain) < 1e-12 * gain.max()).all()
    fleet = read_fleet(path)
    for point in curve:
        close(point["value_per_s"], float(relax(fleet, point["budget_per_s"]).value.sum()))


def test_plan_in_words(path):
    text = run("plan", path, "--budget", "2/h", "--top", "2").stdout
    found = document("plan", path, "--budget", "2/h")
    assert "… and 2 more; --top 0 shows all" in text
    assert re.search(r"^\+10 % +2.2/h", text, re.MULTILINE)
    never = [row for row in found["sources"] if row["interval_s"] is None]
    assert f"Never crawled: {len(never)}, which publish" in text
    curve = found["budget_curve"]
    more = (curve[3]["value_per_s"] - curve[2]["value_per_s"]) * DAY
    said = re.search(r"The next 10 % of budget would catch ([\d.,]+) value/day more", text)
    assert float(said[1].replace(",", "")) == pytest.approx(more, rel=6e-3)


def test_the_plan_as_csv_serves_any_crawler(path, tmp_path):
    out = tmp_path / "plan.csv"
    result = run("plan", path, "--budget", "2/h", "--out", str(out))
    assert result.exit_code == 0
    assert f"Wrote 4 rows to {out}." in result.stdout
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    found = {row["id"]: row for row in document("plan", path, "--budget", "2/h")["sources"]}
    assert [row["id"] for row in rows] == ["busy", "slow", "news", "dull"]  # in the fleet's order
    for row in rows:
        plan = found[row["id"]]
        assert list(row) == [
            "id", "host", "interval_s", "crawls_per_day", "value_per_day", "value_missed_per_day"
        ]  # fmt: skip
        assert row["host"] == plan["host"]
        assert (float(row["interval_s"]) if row["interval_s"] else None) == plan["interval_s"]
        close(float(row["crawls_per_day"]), plan["rate_per_s"] * DAY)
        close(float(row["value_per_day"]), plan["value_per_s"] * DAY)
        close(float(row["value_missed_per_day"]), plan["value_missed_per_s"] * DAY)
    assert rows[-1]["interval_s"] == ""


def test_a_plan_that_cannot_be_written_leaves_nothing(path, tmp_path):
    result = run("plan", path, "--budget", "2/h", "--out", str(tmp_path / "no" / "plan.csv"))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fleet.csv"]


def test_items_that_never_fade_are_left_to_spare_budget_and_not_counted_as_caught():
    text = "id,arrival,decay\nsteady,1,0\nfading,1,0.1\n"
    result = run("plan", "-", "--budget", "1/s", "--json", input=text)
    rows = {row["id"]: row for row in json.loads(result.stdout)["sources"]}
    assert rows["steady"]["interval_s"] is None
    assert rows["steady"]["value_per_s"] == 0.0
    assert rows["fading"]["value_per_s"] > 0.0
    said = run("plan", "-", "--budget", "1/s", input=text).stdout
    assert "Left to spare budget: 1, whose items never fade" in said


def test_no_budget_catches_nothing(path):
    found = document("plan", path, "--budget", "0")
    assert (found["value_per_s"], found["n_crawled"], found["share"]) == (0.0, 0, 0.0)
    assert run("plan", path, "--budget", "0").exit_code == 0
    assert run("bound", path, "--budget", "0").exit_code == 0


def test_a_fleet_that_publishes_nothing_misses_nothing():
    text = "id,arrival,decay\na,0,1\n"
    for command in ("plan", "bound"):
        result = run(command, "-", "--budget", "1/h", "--json", input=text)
        assert json.loads(result.stdout)["share"] == 1.0
        assert run(command, "-", "--budget", "1/h", input=text).exit_code == 0


def test_simulate_agrees_with_the_library(path):
    flags = ["--budget", "3/h", "--epochs", "50", "--policy", "whittle", "--policy", "greedy"]
    found = document("simulate", path, *flags, "--arrivals", "poisson", "--seed", "4")
    fleet = read_fleet(path)
    assert [row["policy"] for row in found["policies"]] == ["whittle", "greedy"]
    assert (found["epoch_s"], found["epochs"], found["seed"]) == (3600.0, 50, 4)
    for row in found["policies"]:
        own = simulate(
            fleet, make(row["policy"]), 3.0, 50, epoch=3600.0, arrivals="poisson", seed=4
        )
        close(row["value_per_s"], own.mean / 3600)
        close(row["bound_share"], own.share)
        close(row["spent_per_s"], own.spent / 3600)
        close(found["bound_per_s"], own.bound / 3600)
        assert row["crawls"] == own.crawls.sum()


def test_simulate_in_continuous_time(path):
    flags = ["--budget", "3/h", "--for", "2d", "--continuous", "--policy", "whittle"]
    found = document("simulate", path, *flags)
    own = simulate(read_fleet(path), make("whittle"), 3.0, 48, epoch=3600.0, continuous=True)
    close(found["policies"][0]["value_per_s"], own.mean / 3600)
    assert found["continuous"] is True


def test_simulate_in_words(path):
    result = run("simulate", path, "--budget", "3/h", "--for", "1d")
    assert result.exit_code == 0
    assert result.stderr == ""  # no bar in a pipe
    lines = result.stdout.splitlines()[2:]
    names = [line.split()[0] for line in lines if not line.startswith("─")]
    assert names[:5] == ["whittle", "greedy", "round_robin", "static", "bound"]
    assert result.stdout.splitlines()[-1] == (
        "4 sources with 3/h, decided every 1h, for 1d; mean arrivals, seed 0."
    )


def test_the_epoch_is_the_budgets_own_period(path):
    flags = ["--epochs", "3", "--policy", "greedy"]
    assert document("simulate", path, "--budget", "2/15min", *flags)["epoch_s"] == 900.0
    found = document("simulate", path, "--budget", "20/15min", "--epoch", "5min", *flags)
    assert (found["epoch_s"], found["epochs"]) == (300.0, 3)
    found = document("simulate", path, "--budget", "2/6h", "--for", "7d", "--policy", "greedy")
    assert found["epochs"] == 28


def test_where_a_period_pays_for_all_the_epoch_is_shorter_so_that_policies_differ(path):
    cost = read_fleet(path).cost
    flags = ["--budget", "25/day", "--policy", "whittle", "--policy", "round_robin"]
    found = document("simulate", path, *flags, "--for", "1d")
    assert found["epoch_s"] == pytest.approx(cost.mean() / 25 * DAY)
    first, second = (row["bound_share"] for row in found["policies"])
    assert first > second
    said = run("simulate", path, *flags, "--for", "2d", "--epoch", "1d").stdout
    assert "there is nothing to choose" in said
    assert "nothing to choose" not in run("simulate", path, *flags, "--for", "1d").stdout


def test_a_plan_with_nothing_says_where_to_begin(path):
    result = run("plan", path, "--budget", "0")
    assert result.exit_code == 0
    assert result.stdout.startswith("A budget of nothing crawls nobody")
    assert f"--budget {len(read_fleet(path))}/day" in result.stdout
    assert document("plan", path, "--budget", "0")["value_per_s"] == 0.0


def test_the_header_of_a_fleet_is_read_in_any_case(tmp_path):
    (tmp_path / "f.csv").write_text("ID,Arrival,Half_Life\na,4/day,2h\n")
    assert document("index", str(tmp_path / "f.csv"))["sources"][0]["id"] == "a"


def test_simulate_misuse(path):
    nothing = run("simulate", path, "--budget", "0")
    assert (nothing.exit_code, "must be positive" in nothing.stderr) == (2, True)
    both = run("simulate", path, "--budget", "1/h", "--for", "1d", "--epochs", "3")
    assert both.exit_code == 2
    assert "not both" in both.stderr
    unknown = run("simulate", path, "--budget", "1/h", "--policy", "whitle")
    assert unknown.exit_code == 2
    assert "unknown policy 'whitle'; did you mean 'whittle'?" in unknown.stderr
    assert run("simulate", path, "--budget", "1/h", "--arrivals", "odd").exit_code == 2


def test_the_same_seed_gives_the_same_run(path):
    flags = ["--budget", "3/h", "--epochs", "20", "--arrivals", "poisson"]
    one, two = (run("simulate", path, *flags, "--json").stdout for _ in range(2))
    assert one == two
    assert run("simulate", path, *flags, "--seed", "1", "--json").stdout != one


@pytest.mark.parametrize(
    "args",
    [
        ["index"],
        ["bound", "--budget", "1/h"],
        ["plan", "--budget", "1/h"],
        ["simulate", "--budget", "1/h", "--epochs", "2"],
    ],
)
def test_a_bad_fleet_is_one_line_and_exit_1(args, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("id,arrival,decay\na,1,1\nb,1,-0.2\n")
    for flags in ([], ["--json"]):
        result = run(args[0], str(bad), *args[1:], *flags)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == (
            f"dayfly: {bad}, line 3, column decay: must not be negative, got -0.2\n"
        )


def keys(part):
    if isinstance(part, dict):
        return set(part).union(*map(keys, part.values()))
    return set().union(*map(keys, part)) if isinstance(part, list) else set()


def test_every_key_is_documented_once(path):
    page = Path(__file__).parents[3] / "docs" / "reference" / "json.md"
    cells = re.findall(r"^\| (`.*?) \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    documented = [key for cell in cells for key in re.findall(r"`(\w+)`", cell)]
    assert len(documented) == len(set(documented))
    printed = keys(document("index", path))
    printed |= keys(document("bound", path, "--budget", "2/h", "--host-limit", "0.5/h"))
    printed |= keys(document("plan", path, "--budget", "2/h"))
    printed |= keys(document("simulate", path, "--budget", "2/h", "--epochs", "2"))
    assert printed == set(documented) | {"sources", "policies"}
