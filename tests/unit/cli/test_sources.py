"""dayfly sources: the list of what is crawled, by hand and by file."""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from dayfly.cli import adding, cli
from dayfly.cli.sources import sources
from dayfly.config.settings import Settings
from dayfly.errors import BadInput
from dayfly.serve.office import OPERATIONS

OPML = (
    '<opml><body><outline text="News & co"><outline text="A" xmlUrl="https://a.example/feed"/>\n'
    '<outline text="B" xmlUrl="https://b.example/?x=1&y=2"/></outline>\n'
    '<outline text="C" xmlUrl="ftp://c.example/"/></body></opml>'
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args, code=0, **given):
    result = CliRunner().invoke(cli, ["sources", *args], prog_name="dayfly", **given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.stderr
    return result


def document(*args, **given):
    return json.loads(run(*args, "--json", **given).stdout)


def listed(*args):
    return document("list", *args)["sources"]


def test_sources_are_added_once():
    result = run(
        "add", "https://a.example/feed", "https://b.example/", "--tag", "x", "--weight", "2"
    )
    assert result.stdout == "2 added, 0 known already.\n"
    assert run("add", "http://a.example/feed").stdout == (
        "a.example/feed, 0 added, 1 known already.\n"
        "What is known stays as it is; --update changes it to what is typed.\n"
    )
    assert [(one["id"], one["tags"], one["weight"]) for one in listed()] == [
        ("a.example/feed", ["x"], 2),
        ("b.example", ["x"], 2),
    ]


def test_known_sources_are_set_as_typed_when_asked_to(here):
    (here / "dayfly.toml").write_text('half_life = "1h"\n')
    run("add", "https://a.example/", "--id", "mine", "--tag", "x", "--half-life", "2h")
    run("add", "https://a.example/feed")
    said = run("add", "https://a.example/", "--weight", "5", "--update").stdout
    assert said.endswith("0 added, 1 known already.\nWhat is known is as typed now.\n")
    one, other = listed()
    assert (one["id"], one["weight"], one["tags"]) == ("mine", 5, ["x"])
    assert one["half_life_s"] == pytest.approx(7200), "nothing was typed about it"
    assert other["weight"] == 1
    run("add", "https://joe:pw@a.example/", "--weight", "1", "--update")
    one, _ = listed()
    assert (one["weight"], one["header_names"]) == (1, ["Authorization"])


def test_credentials_in_an_address_are_neither_needed_nor_shown_again():
    secret = "https://bob:hunter2@a.example/y"
    run("add", secret)
    assert run("show", secret).exit_code == 0
    run("pause", secret)
    for command in (["sources", "show"], ["explain"], ["refresh"], ["sources", "remove"]):
        for named in ("https://bob:hunter2@b.example/", "bob:hunter2@b.example"):
            result = CliRunner().invoke(cli, [*command, named], prog_name="dayfly")
            assert result.exit_code == 1
            assert "hunter2" not in result.output
    result = CliRunner().invoke(cli, ["run", secret, "--budget", "1/min"], prog_name="dayfly")
    assert "https://a.example/y: is an address, not a list; dayfly sources add" in result.output
    assert "must not hold a user" in run("add", "https://c.example/", "--id", secret, code=2).stderr


def test_a_pause_says_until_when():
    run("add", "https://a.example/")
    until = time.strftime("%H:%M", time.localtime(time.time() + 7200))
    said = run("pause", "a.example", "--for", "2h").stdout
    assert said.startswith(f"a.example: paused until {until}") or said.endswith("in 2h.\n")
    assert run("pause", "a.example").stdout == "a.example: paused.\n"


def test_what_is_typed_is_set():
    run("add", "https://a.example/", "--id", "a", "--title", "The A", "--half-life", "2h")
    (one,) = listed()
    assert (one["id"], one["title"], one["half_life_s"]) == ("a", "The A", pytest.approx(7200))
    assert "--id goes with one URL" in run("add", "x", "y", "--id", "a", code=2).stderr


def test_a_bad_address_adds_nothing_and_makes_no_database(here):
    result = run("add", "https://a.example/", "b.example", code=2)
    said = "URL: not an http or https address: 'b.example'; write https://b.example\n"
    assert result.stderr.endswith(said)
    assert list(here.iterdir()) == []
    assert "there is no such database" in run("list", code=1).stderr
    assert list(here.iterdir()) == []


def test_a_list_is_imported_with_its_problems_told(here):
    (here / "x.opml").write_text(OPML)
    result = run("import", "x.opml")
    assert result.stdout == "2 added, 0 known already, 1 left out.\n"
    assert result.stderr == (
        "left out: x.opml, line 3: not an http or https address: 'ftp://c.example/'\n"
    )
    again = document("import", "x.opml")
    assert again == {
        "added": 0,
        "known": 2,
        "repeated": 0,
        "ids": ["a.example/feed", "b.example/?x=1&y=2"],
        "problems": ["x.opml, line 3: not an http or https address: 'ftp://c.example/'"],
    }
    assert [one["tags"] for one in listed()] == [["News & co"]] * 2


def test_many_problems_are_not_all_told(here):
    (here / "x.txt").write_text("\n".join(f"{n}.example" for n in range(100)))
    result = run("import", "x.txt", code=1)
    assert result.stderr.count("left out: ") == 20
    assert "… and 80 more; --json tells all" in result.stderr
    assert len(document("import", "x.txt", code=1)["problems"]) == 100


def test_a_dash_imports_standard_input():
    assert run("import", "-", input="https://a.example/\n").stdout.startswith("a.example, 1 added")


def test_known_sources_change_only_when_asked_to(here):
    run("add", "https://a.example/")
    (here / "x.csv").write_text("url,weight\nhttps://a.example/,5\n")
    run("import", "x.csv")
    assert listed()[0]["weight"] == 1
    run("import", "x.csv", "--update")
    assert listed()[0]["weight"] == 5


def test_settings_give_the_database_and_the_half_life(here):
    (here / "dayfly.toml").write_text('db = "news.db"\nhalf_life = "1h"\n')
    run("add", "https://a.example/")
    assert (here / "news.db").exists()
    assert not (here / "dayfly.db").exists()
    assert listed()[0]["half_life_s"] == pytest.approx(3600)
    assert listed("--db", "news.db") == listed()


def test_sources_are_listed_by_tag_and_state():
    run("add", "https://a.example/", "--tag", "x")
    run("add", "https://b.example/", "--tag", "y")
    run("pause", "b.ex")
    assert [one["id"] for one in listed("--tag", "x")] == ["a.example"]
    assert [one["id"] for one in listed("--state", "paused")] == ["b.example"]
    table = run("list").stdout.splitlines()
    assert table[0].split() == [
        "source", "tags", "state", "last", "visit", "last", "new", "publishes", "failures",
    ]  # fmt: skip
    assert table[2].split() == ["a.example", "x", "active", "never", "never", "1/day", "0"]
    assert table[3].split()[:3] == ["b.example", "y", "paused"]
    assert table[4] == "2 sources."


def test_a_source_is_shown_without_its_secrets(here):
    (here / "x.toml").write_text(
        '[[sources]]\nurl = "https://joe:pa55word@a.example/"\nobey_robots = false\n'
        'title = "\\u001b[31mred"\nmin_interval = "1h"\n'
    )
    run("import", "x.toml")
    result = run("show", "a.example")
    facts = dict(line.split("   ", 1) for line in result.stdout.splitlines())
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    assert facts["address"] == "https://a.example/"
    assert facts["state"] == "active, no robots"
    assert facts["headers"] == "Authorization"
    assert facts["interval"] == "at least 1h"
    everything = result.stdout + run("show", "a.example", "--json").stdout + run("list").stdout
    assert "pa55word" not in everything
    assert "am9lOnBhNTV3b3Jk" not in everything
    assert "\x1b" not in everything


def test_pause_resume_and_remove():
    run("add", "https://a.example/", "https://b.example/")
    assert run("pause", "a.example", "b.example").stdout == (
        "a.example: paused.\nb.example: paused.\n"
    )
    assert {one["state"] for one in listed()} == {"paused"}
    assert run("resume", "a.example").stdout == "a.example: resumed.\n"
    found = document("pause", "a.example", "--for", "2h")["sources"]
    assert found[0]["not_before_at"] == pytest.approx(time.time() + 7200, abs=600)
    assert run("remove", "a.example").stdout == "a.example: removed.\n"
    assert [one["id"] for one in listed()] == ["b.example"]
    assert [one["id"] for one in listed("--state", "removed")] == ["a.example"]


def test_one_unknown_source_and_nothing_is_done():
    run("add", "https://a.example/")
    result = run("pause", "a.example", "nobody", code=1)
    assert "nobody" in result.stderr
    assert listed()[0]["state"] == "active"


@pytest.mark.parametrize("form", ["opml", "text", "csv", "toml"])
def test_what_is_exported_can_be_imported_elsewhere(here, form):
    (here / "x.opml").write_text(OPML)
    run("import", "x.opml")
    suffix = {"text": "txt"}.get(form, form)
    assert run("export", "--out", f"list.{suffix}").stdout == f"Wrote 2 sources to list.{suffix}.\n"
    assert run("export", "--format", form).stdout == (here / f"list.{suffix}").read_text()
    run("import", f"list.{suffix}", "--db", "other.db")
    assert [one["url"] for one in listed("--db", "other.db")] == [one["url"] for one in listed()]


def test_an_export_that_cannot_hold_a_page_says_so(here):
    (here / "p.toml").write_text(
        '[[sources]]\nurl = "https://p.example/"\nkind = "page"\nselect = { item = "li" }\n'
        '[[sources]]\nurl = "https://q.example/"\n'
    )
    run("import", "p.toml")
    result = run("export", "--out", "x.csv")
    assert result.stdout == "Wrote 1 sources to x.csv.\n"
    assert "1 of kind page" in result.stderr
    assert "--format toml" in result.stderr
    assert "p.example" in result.stderr
    assert document("import", "x.csv", "--db", "other.db")["problems"] == []
    assert run("export", "--out", "x.toml").stderr == ""


def test_export_as_json_and_by_tag():
    run("add", "https://a.example/", "--tag", "x")
    run("add", "https://b.example/")
    found = json.loads(run("export", "--format", "json").stdout)
    assert found["sources"] == listed()
    assert run("export", "--format", "text", "--tag", "x").stdout == "https://a.example/\n"
    assert run("export").stdout.startswith('<?xml version="1.0"')
    assert "no source has the tag 'typo'" in run("export", "--tag", "typo", code=1).stderr


@pytest.fixture
def discovering(monkeypatch):
    def discovering(*feeds):
        asked = []

        async def discover(_house, **arguments):
            asked.append(arguments)
            return {"feeds": [{"url": url, "title": "", "kind": "feed"} for url in feeds]}

        monkeypatch.setitem(OPERATIONS, "discover", discover)
        return asked

    return discovering


def test_the_feed_that_a_page_names_is_added(discovering):
    asked = discovering("https://a.example/atom.xml", "https://a.example/comments.xml")
    result = run("add", "--discover", "https://a.example/", "--tag", "x")
    assert result.stdout == (
        "a.example/atom.xml, 1 added, 0 known already.\n"
        "Also named there: https://a.example/comments.xml\n"
    )
    assert asked == [{"url": "https://a.example/", "allow": [], "contact": ""}]
    assert [(one["url"], one["tags"]) for one in listed()] == [
        ("https://a.example/atom.xml", ["x"])
    ]


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        page = b'<html><head><link rel="alternate" type="application/rss+xml" href="/rss"></head>'
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


def test_a_site_is_asked_for_its_feed(here):
    with ThreadingHTTPServer(("127.0.0.2", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.2:{server.server_port}/"
        try:
            refused = run("add", "--discover", url, code=1)
            assert list(here.iterdir()) == []
            allow = f"127.0.0.2/32:{server.server_port}"
            (here / "dayfly.toml").write_text(f'allow = ["{allow}"]\n')
            run("add", "--discover", url)
        finally:
            server.shutdown()
            thread.join()
    assert (
        f'address is not public; if you mean it, let it in by dayfly.toml: allow = ["{allow}"]'
        in (refused.stderr)
    )
    assert [one["url"] for one in listed()] == [f"{url}rss"]


def test_a_page_that_names_no_feed_or_a_bad_one_adds_nothing(discovering, here):
    discovering()
    assert "names no feed" in run("add", "--discover", "https://a.example/", code=1).stderr
    discovering("file:///etc/passwd")
    assert "not an http" in run("add", "--discover", "https://a.example/", code=1).stderr
    assert list(here.iterdir()) == []


def test_on_a_terminal_a_long_search_says_where_it_looks(discovering, monkeypatch, capsys):
    discovering("https://a.example/atom.xml")
    with adding._visitor(Path("none.db")) as office:
        adding._discovered(office, "https://a.example/", Settings())
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        adding._discovered(office, "https://a.example/blog/", Settings())
    assert capsys.readouterr().err.startswith(
        "Visiting https://a.example/blog/; if it names no feed, also /blog/feed,"
    )


def test_an_export_of_no_known_format_is_refused(here):
    run("add", "https://a.example/")
    said = run("export", "--out", "x.xyz", code=2).stderr
    assert ".xyz is no format" in said
    assert ".opml" in said
    assert "--format" in said
    assert not (here / "x.xyz").exists()
    run("export", "--out", "x.xyz", "--format", "text")
    assert (here / "x.xyz").read_text() == "https://a.example/\n"


def test_every_command_that_prints_a_table_takes_json():
    for name, command in sources.commands.items():
        names = {option for parameter in command.params for option in parameter.opts}
        assert ("--json" in names) or ("--format" in names), name
        assert {"--db", "--config"} <= names, name


def test_errors_of_settings_are_told(here):
    (here / "dayfly.toml").write_text("wieght = 1\n")
    assert run("list", code=1).stderr.startswith('dayfly: dayfly.toml: unknown key "wieght"')
    assert issubclass(BadInput, ValueError)


def test_settings_that_are_a_folder_are_told(here):
    (here / "dayfly.toml").mkdir()
    assert run("list", code=1).stderr.startswith("dayfly: dayfly.toml: ")
