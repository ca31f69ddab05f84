"""`dayfly run` before it goes out: what it refuses, and what it would do."""

import json
import time

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.origin import ORIGIN

from dayfly.cli import cli
from dayfly.schedule import SystemClock


def invoke(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args], prog_name="dayfly")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dayfly.toml").write_text('min_interval = "1s"\n')
    return tmp_path


def test_without_a_contact_nobody_outside_is_visited(here):
    (here / "feeds.txt").write_text("https://feeds.example.org/rss\n")
    result = invoke("run", "feeds.txt", "--budget", "1/min")
    assert result.exit_code == 1
    assert "set --contact" in result.stderr
    assert not (here / "dayfly.db").exists()
    (here / "feeds.txt").write_text("http://93.184.215.14/rss\n")
    assert "set --contact" in invoke("run", "feeds.txt", "--budget", "1/min").stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ([], 2, "--budget 60/min"),
        (["none.txt", "--budget", "1/min"], 1, "there is no such file"),
        (["--budget", "1/min"], 1, "has no sources to crawl"),
        (["--budget", "lots"], 2, "not a rate"),
        (["--budget", "60"], 2, "'60' per what?"),
        (["--budget", "1/min", "--db", "."], 1, "is a folder"),
        (["--budget", "1/min", "--json"], 2, "--dry-run"),
        (["list.txt", "--budget", "1/min", "--allow", "everything"], 2, "CIDR:PORT"),
        (["list.txt", "--budget", "1/min", "--dry-run", "--allow", "x"], 2, "CIDR:PORT"),
        (["list.txt", "--budget", "1/min", "--contact", "(x)"], 2, "not a contact"),
        (["list.txt", "--budget", "1/min", "--contact", "foo"], 2, "not a contact"),
        (["list.txt", "--budget", "0/min"], 2, "visits nobody"),
        ([".", "--budget", "1/min"], 1, "is a folder"),
    ],
)
def test_misuse_is_told_and_leaves_nothing_behind(here, args, code, said):
    (here / "list.txt").write_text(f"http://{ORIGIN}:9/feed\n")
    result = invoke("run", *args)
    assert result.exit_code == code
    assert said in result.stderr
    assert sorted(path.name for path in here.iterdir()) == ["dayfly.toml", "list.txt"]


def test_a_dry_run_writes_nothing(here):
    (here / "list.txt").write_text(f"http://{ORIGIN}:9/feed\n")
    result = invoke("run", "list.txt", "--budget", "1/min", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "never visited" in result.output
    assert "Nothing was visited." in result.output
    document = json.loads(
        invoke("run", "list.txt", "--budget", "1/min", "--dry-run", "--json").output
    )
    assert document["n_sources"] == 1
    assert sorted(path.name for path in here.iterdir()) == ["dayfly.toml", "list.txt"]


def test_sources_of_the_settings_follow_them_and_keep_what_was_learnt(here):
    from dayfly.cli.run import _Listed
    from dayfly.config.settings import read_settings
    from dayfly.serve import Office, StillHouse
    from dayfly.store import MemoryStore

    office = Office(StillHouse(MemoryStore()))

    def start(*lines):
        source = '[[sources]]\nid = "one"\nurl = "https://one.example.org/"'
        text = "\n".join(['half_life = "2h"', source, *lines])
        (here / "dayfly.toml").write_text(text)
        (here / "list.txt").write_text("https://two.example.org/\n")
        return _Listed("list.txt", read_settings("dayfly.toml"), "dayfly.toml").put_into(office)

    def shown(id="one"):
        found = office.ask("sources.show", source=id)
        return found["weight"], round(found["half_life_s"])

    assert start("weight = 2.0") == 2
    assert shown() == (2.0, 7200)
    office.ask("sources.change", source="one", decay=1e-3)
    office.ask("sources.change", source="two.ex", weight=9.0)
    assert start("weight = 3.0") == 0
    assert shown() == (3.0, 693)
    assert shown("two.ex")[0] == 9.0
    start('half_life = "1h"')
    assert shown() == (1.0, 3600)


def test_what_is_taken_out_of_the_settings_is_taken_back(here):
    from dayfly.cli.run import _Listed
    from dayfly.config.settings import read_settings
    from dayfly.serve import Office, StillHouse
    from dayfly.store import MemoryStore

    store = MemoryStore()
    office = Office(StillHouse(store))

    def start(*lines):
        text = "\n".join(["[[sources]]", 'url = "https://one.example.org/"', *lines])
        (here / "dayfly.toml").write_text(text)
        _Listed(None, read_settings("dayfly.toml"), "dayfly.toml").put_into(office)
        return store.sources()[0]

    plain = start()
    much = start(
        "obey_robots = false", "verify_tls = false", "weight = 5", 'bearer = "token"',
        'min_interval = "1m"', 'max_interval = "9d"', 'tags = ["x"]', 'title = "T"', "cost = 2",
        "window = 20", 'kind = "page"', 'select = { item = "li" }',
    )  # fmt: skip
    assert not much.obey_robots
    assert much.headers
    office.ask("sources.pause", source="one.example.org/")
    office.ask("sources.change", source="one.example.org/", arrival=1e-3, worth=7.0, decay=1e-3)
    store.change([replace(store.sources()[0], url="https://moved.example.org/")])
    kept = store.sources()[0]
    again = start("verify_tls = true", "weight = 1")
    learnt = {name: getattr(kept, name) for name in ("arrival", "worth", "decay", "state", "url")}
    assert again == replace(plain, host=kept.host, **learnt)


def test_an_address_in_the_settings_counts_for_a_source_with_an_id_and_a_move_for_others(here):
    from dayfly.cli.run import _Listed
    from dayfly.config.settings import read_settings
    from dayfly.serve import Office, StillHouse
    from dayfly.store import MemoryStore

    store = MemoryStore()
    office = Office(StillHouse(store))

    def start(address):
        text = f'[[sources]]\nurl = "http://b.example/"\n[[sources]]\nid = "a"\nurl = "{address}"\n'
        (here / "dayfly.toml").write_text(text)
        _Listed(None, read_settings("dayfly.toml"), "dayfly.toml").put_into(office)
        return [(source.url, source.etag) for source in store.sources()]

    start("http://a.example/1")
    first, second = store.sources()
    moved = replace(first, url="https://c.example/", etag="x")
    store.change([moved, replace(second, url="https://a.example/1", etag="y")])
    known = [("https://c.example/", "x"), ("https://a.example/1", "y")]
    assert start("http://a.example/1") == known
    assert start("http://a.example/2") == [known[0], ("http://a.example/2", "")]


def test_sources_of_other_settings_are_told_by_their_name(here):
    (here / "c.toml").write_text(
        '[[sources]]\nurl = "https://a.example/"\nheaders = { Host = "x" }\n'
    )
    result = CliRunner().invoke(cli, ["run", "--config", "c.toml", "--budget", "1/min"])
    assert result.exit_code == 1
    assert result.output.startswith("dayfly: c.toml, [[sources]] 1: ")


@pytest.mark.parametrize("spacing", [0, 2, 7, 60])
def test_a_dry_run_spaces_visits_to_a_host_as_the_settings_say(here, spacing):
    (here / "dayfly.toml").write_text(f'host_spacing = "{spacing}s"\n')
    (here / "list.txt").write_text("".join(f"http://{ORIGIN}:9/{n}\n" for n in range(3)))
    result = invoke("run", "list.txt", "--budget", "60/min", "--dry-run", "--json")
    first, second, third = [one["visit_at"] for one in json.loads(result.stdout)["visits"][:3]]
    # A crawl decides once per second.
    assert (second - first, third - second) == (max(spacing, 1), max(spacing, 1))


def test_the_log_of_a_refusal_tells_the_wait_that_is_stored(here):
    (here / "list.txt").write_text("http://10.0.0.1/feed\n")
    given = ["--budget", "60/min", "--contact", "https://example.org/", "--log", "json", "--once"]
    result = invoke("run", "list.txt", *given)
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    (told,) = [line for line in lines if line["event"] == "error"]
    assert (told["status"], told["why_not"]) == ("refused", "guard")
    stored = json.loads(invoke("sources", "show", "10.0.0.1", "--json").stdout)
    assert told["not_before_at"] == pytest.approx(stored["not_before_at"], abs=0.06)
    assert 3600 <= stored["not_before_at"] - stored["last_crawl_at"] <= 1.25 * 3600


def test_D05_a_run_whose_clock_was_far_ahead_starts_anew_by_itself(here, monkeypatch):
    """The first clock was set ten years ahead, and falls back while it is crawled."""
    made = []

    def clock():
        ahead = [0.0 if made else 10 * 365 * 86400.0]
        made.append(SystemClock(lambda: time.time() + ahead[0]))
        ahead[0] = 0.0
        return made[-1]

    monkeypatch.setattr("dayfly.serve.crawler.SystemClock", clock)
    (here / "list.txt").write_text("http://10.0.0.1/feed\n")
    given = ["--budget", "60/min", "--contact", "https://example.org/", "--log", "json"]
    result = invoke("run", "list.txt", *given, "--for", "2s")
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    told = [
        line["event"]
        for line in lines
        if line["event"] in ("start", "stop") or "start anew" in line.get("text", "")
    ]
    assert told == ["start", "start", "alarm", "stop"]
    assert len(made) == 2


def test_D05_a_run_that_is_told_to_stop_while_it_starts_anew_stops(here, monkeypatch):
    from dayfly.cli import watching

    def clock():
        ahead = [10 * 365 * 86400.0]
        made = SystemClock(lambda: time.time() + ahead[0])
        ahead[0] = 0.0
        return made

    async def told_to_stop(loop, told, until, once):
        told.stopping("SIGTERM")
        await loop.run(until)

    monkeypatch.setattr("dayfly.serve.crawler.SystemClock", clock)
    monkeypatch.setattr(watching, "run_watched", told_to_stop)
    (here / "list.txt").write_text("http://10.0.0.1/feed\n")
    given = ["--budget", "60/min", "--contact", "https://example.org/", "--log", "json"]
    result = invoke("run", "list.txt", *given, "--for", "1h")
    assert result.exit_code == 0, result.output
    events = [json.loads(line)["event"] for line in result.stdout.splitlines()]
    assert (events.count("start"), events[-1]) == (1, "stop")


def test_D10_a_release_of_sqlite_that_can_lose_data_is_warned_of_at_the_start(here, monkeypatch):
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 40, 1))
    (here / "list.txt").write_text("http://10.0.0.1/feed\n")
    given = ["--budget", "60/min", "--contact", "https://example.org/", "--log", "json", "--once"]
    result = invoke("run", "list.txt", *given)
    assert result.exit_code == 0, result.output
    told = [json.loads(line) for line in result.stdout.splitlines()]
    (warning,) = [line["text"] for line in told if line["event"] == "warning"]
    assert warning.startswith("SQLite 3.40.1 can lose committed data")


def test_a_dry_run_knows_what_an_allowance_lets_in(here):
    (here / "list.txt").write_text("http://10.0.0.1/feed\n")
    given = ["--budget", "60/min", "--contact", "https://example.org/"]
    invoke("run", "list.txt", *given, "--once")
    for allowed, visited in ([], []), (["--allow", "10.0.0.1/32:80"], ["10.0.0.1/feed"]):
        result = invoke("run", *given, *allowed, "--dry-run", "--json")
        assert sorted({one["id"] for one in json.loads(result.stdout)["visits"]}) == visited
