"""The demonstration runs end to end over real sockets."""

import click.testing

from dayfly.cli import demo as command
from dayfly.cli import demo_crawl
from dayfly.cli.demo import demo


def test_it_crawls_a_web_of_feeds_and_tells(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("sys.argv", ["dayfly", "demo"])  # however the tests were started
    # Half an hour with a budget that reaches some feeds.
    monkeypatch.setattr(demo_crawl, "BUDGET", 60 / 1800)
    monkeypatch.setattr(command, "_LINE_EVERY", 600.0)
    result = click.testing.CliRunner().invoke(demo, ["--seconds", "0.5"])
    assert result.exit_code == 0, result.output
    for said in ("Dayfly", "Miniflux", "fixed interval", "at most", "10min: "):
        assert said in result.output
    assert "0 went where robots.txt says no, 0 came" in result.output
    assert "\nNext:\n  dayfly run feeds.opml --budget 60/min " in result.output
    for next_ in ("dayfly plan", "dayfly league"):
        assert next_ in result.output
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


def test_misuse_is_told():
    result = click.testing.CliRunner().invoke(demo, ["--seconds", "0"])
    assert result.exit_code == 2
